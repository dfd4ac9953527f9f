"""The program: an ONNX model in which every value has a fact, and each edit keeps the facts right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.clone import clone_with, free
from irfuzz.ir.fact_type_conversion import conflict, declare, declared_fact, fact_of_shape, undeclare
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs, infer_attribute_types
from irfuzz.ir.inference.graph_facts import constant_fact, fact_of_constant, infer_call
from irfuzz.ir.inference.opaque_nodes import is_foreign
from irfuzz.ir.program_view import ProgramView
from irfuzz.ir.serialization import serde
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.ir.value import fact_of, new_value, set_fact


class Program(ProgramView):
    """An ONNX model whose every value has a fact (design: ``Program``).

    Nodes and values are named by the name of a value: a node by its first named output. Names are
    unique in the main graph, which is all that edits touch; subgraphs and functions are carried.

    An edit that raises ``InvalidProgram`` may leave the program half changed: edit a ``clone()``.

    Attributes:
        model: the onnx-ir model. Change it through the methods below, or call ``infer()`` afterwards.
        residue: the parts of the model that onnx-ir cannot carry.
        parents: digests of the programs that this one was made from.
        asked: what others found out about the program as it is, by a key of theirs. Clones share it until they are
            edited, so it holds names, never nodes or values.
        touched: nodes inserted or inferred again since the program was made; what a verification must look at.
    """

    __slots__ = ()

    # ---- in and out -------------------------------------------------------------------------

    @classmethod
    def from_proto(cls, proto: onnx.ModelProto) -> Program:
        """Take in a model and infer it.

        Raises:
            InvalidProgram: the model breaks a rule of ONNX; the message names the node or value.
        """
        program = cls(*serde.decode(proto))
        program.infer()
        return program

    @classmethod
    def from_bytes(cls, data: bytes, recorded: Mapping[str, Fact] | None = None) -> Program:
        """``from_proto`` on a serialized ``ModelProto``.

        Args:
            data: the model.
            recorded: see ``infer``.

        Raises:
            InvalidProgram: the bytes are no ONNX model, or the model breaks a rule of ONNX.
        """
        program = cls(*serde.decode(data))
        program.infer(recorded)
        return program

    @classmethod
    def from_model(cls, model: ir.Model) -> Program:
        """Take in an onnx-ir model; it is copied, so later changes to ``model`` do not reach the program.

        Raises:
            InvalidProgram: see ``from_proto``.
        """
        return cls.from_proto(ir.to_proto(model))

    def to_proto(self) -> onnx.ModelProto:
        """The model as ONNX, with what onnx-ir could not carry put back.

        It is a message of its own: changes of it do not reach the program.

        Raises:
            InvalidProgram: it is over 2 GiB, or nested deeper than protobuf reads.
        """
        return serde.encode(self.model, self.residue)

    def to_bytes(self) -> bytes:
        """The model as serialized ONNX; equal programs built alike give equal bytes.

        Raises:
            InvalidProgram: it is over 2 GiB, which is more than one file holds.
        """
        return serde.encode_bytes(self.model, self.residue)

    def clone(self) -> Program:
        """A copy that shares tensors and facts (both immutable) and nothing else.

        Edits of one do not reach the other. Its ``parents`` are those of this program, and ``touched`` is empty.
        """
        model, values = clone_with(self.model, self._by_name())  # a mutator will ask for a value by its name
        copy = Program(model, self.residue, self.parents, self.inference.size_names)
        copy._digest, copy._values, copy.asked = self._digest, values, self.asked
        copy.domains = self.domains
        copy._names = set(self._all_names())  # nearly every edit needs a fresh name
        return copy

    def __del__(self, free: Callable[[list[object]], object] = free) -> None:  # of the module nothing may be left
        if hasattr(self, "touched"):
            holder: list[object] = [self.model]
            del self.model, self.inference, self.touched, self._values, self._owners  # they refer to parts of it
            free(holder)

    # ---- editing ----------------------------------------------------------------------------

    def use_domain(self, domain: str, version: int) -> None:
        """Let operators of another domain be inserted; it is imported at this version unless it is at another one.

        Args:
            domain: not the default one.
            version: what the model says that it imports, if it does not import the domain yet.
        """
        imports = self.model.opset_imports
        if domain not in imports:
            imports[domain] = version
            self.inference.import_domain(domain, version)
        self.domains |= {domain}
        self._changed()

    def constant(
        self, array: np.ndarray | ir.TensorProtocol, name_hint: str = "const", fact: TensorFact | None = None
    ) -> ir.Value:
        """Add an initializer and return its value.

        Args:
            array: its elements; only strings are copied, so do not write to the array later.
            name_hint: its name is this and a number that makes it unique.
            fact: that of the elements, if somebody has it already.
        """
        tensor = array_tensor(array) if isinstance(array, np.ndarray) else array
        value = new_value(
            self.fresh(name_hint),
            ir.TensorType(tensor.dtype),
            ir.Shape(fact_of_shape(tensor.shape) or () if fact is None else fact.shape or ()),
            constant_fact(tensor) if fact is None else fact,
        )
        value.const_value = tensor
        self.graph.register_initializer(value)
        self._added(value)
        return value

    def add_input(self, fact: TensorFact, name_hint: str = "input") -> ir.Value:
        """Add a graph input of the given type and shape, behind the others, and return its value.

        Args:
            fact: what the model declares of it.
            name_hint: its name is this and a number that makes it unique.
        """
        value = new_value(self.fresh(name_hint), fact=fact)
        declare(value, fact)
        self.graph.inputs.append(value)
        self._added(value)
        return value

    def declare_inputs(self, facts: Mapping[ir.Value, TensorFact]) -> None:
        """Give graph inputs other types or shapes, all at once, and infer what follows.

        Args:
            facts: the new fact of each input that changes. Names of sizes in them hold in the whole program.

        Raises:
            InvalidProgram: a node is ill-typed then; the program is half changed.
        """
        dirty: set[ir.Node] = set()
        for value, fact in facts.items():
            declare(value, fact)
            set_fact(value, fact)
            self.inference.size_names |= {d for d in fact.shape or () if isinstance(d, str)}
            dirty.update(self.owner(node) for node in value.consumers())
        self._changed()
        self._reinfer(dirty)

    def state(self, value: ir.Value, fact: TensorFact) -> None:
        """Let the model state a type and shape of a computed value that hold, but need not say all that is known."""
        declare(value, fact)
        self._changed()

    def add_output(self, value: ir.Value) -> None:
        """Make a value a graph output as well, behind the others (nothing happens if it is one already).

        The model declares its type as inference has it.
        """
        if not value.is_graph_output():
            declare(value, fact_of(value))
            self.graph.outputs.append(value)
            self._changed()

    def insert(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attrs: Mapping[str, Any] | None = None,
        *,
        before: ir.Node | None = None,
        after: ir.Node | None = None,
        outputs: int = 1,
        domain: str = "",
        name_hint: str | None = None,
    ) -> ir.Node:
        """Add a node with inferred outputs; nothing consumes them yet.

        It is placed before or after the given node, else directly behind the last producer of its inputs, or as the
        first node if they have none.

        Args:
            op: operator type.
            inputs: values of the main graph, ``None`` for one that is left out.
            attrs: Python values by name, typed as the operator's schema says; ``None`` leaves one out.
            before: place it directly in front of this node.
            after: place it directly behind this node, if ``before`` is not given.
            outputs: how many it has; all get names.
            domain: of the operator, if not the default one (``use_domain``).
            name_hint: what the outputs are named after; the operator if omitted.

        Returns:
            The node, as in ``program.insert("Add", [x, y]).outputs[0]``.

        Raises:
            InvalidProgram: the call is ill-typed; the program is then unchanged.
        """
        opset = self.inference.opset(domain)
        attributes = infer_attribute_types(op, opset, domain, attrs or {})
        facts = infer_call(
            CallKey(
                domain,
                op,
                opset,
                hashable_attrs(attributes),
                tuple(None if v is None else fact_of(v) for v in inputs),
                (True,) * outputs,
            )
        )
        # As is_constant has it: the node is made only when its facts are known.
        if op == "Constant" and not domain:
            facts = tuple(fact_of_constant(attributes) or fact for fact in facts)
        hint = name_hint or op
        name = self.fresh(f"{hint}_node")
        made = [new_value(self.fresh(hint), fact=fact) for fact in facts]
        node = ir.Node(domain, op, inputs, attributes, outputs=made, name=name)
        self._place(node, before, after)
        self.touched.add(node)
        self._added(*node.outputs)
        return node

    def put_in(self, nodes: Iterable[ir.Node], before: ir.Node | None = None) -> None:
        """Add ready nodes with named outputs, in topological order and with their bodies, and infer them.

        They stand in front of ``before``, else at the end; nothing of the main graph reads them yet.

        Raises:
            InvalidProgram: one is ill-typed; the program is then half changed.
        """
        for node in nodes:
            if before is None:
                self.graph.append(node)
            else:
                self.graph.insert_before(before, node)
            self.inference.visit(node, f"node {node.name!r} ({node.op_type})")
            self.touched.add(node)
            self._added(*node.outputs)
        self._owners = None

    def take_out(self, nodes: Sequence[ir.Node]) -> None:
        """Detach nodes that will stand in a body or function; they keep their names, which stay taken.

        Args:
            nodes: all of the main graph; their inputs stay connected.
        """
        self.graph.remove(nodes)
        for node in nodes:
            self.hide(node.outputs)
            self.touched.discard(node)
        self._owners = None
        self._changed()

    def hide(self, values: Iterable[ir.Value]) -> None:
        """Note that values belong to the main graph no more, but to a body or function.

        ``value()`` does not find them from then on, and their names stay taken.
        """
        if self._values is not None:
            for value in values:
                self._values.pop(value.name or "", None)

    def changed_inside(self, node: ir.Node) -> None:
        """Infer a node whose bodies, function or attributes were edited, and what follows; names are counted anew.

        Raises:
            InvalidProgram: it is ill-typed now, or a node that reads from it is.
        """
        self._owners = None
        self._changed()
        self._names = None
        self._reinfer({node})

    def names_freed(self) -> None:
        """Note that something left the model with names inside.

        All names are counted anew before ``fresh`` gives the next.
        """
        self._names = None
        self._owners = None
        self._changed()

    def replace_uses(
        self,
        old: ir.Value,
        new: ir.Value,
        *,
        users: Iterable[tuple[ir.Node, int]] | None = None,
        outputs: bool = False,
    ) -> int:
        """Let users of ``old`` read ``new``, and infer what follows.

        Args:
            old: value that is read now.
            new: value to read instead.
            users: ``(node, input index)`` pairs; all of them if omitted. Users that ``new`` itself
                needs, or that stand before it, keep reading ``old``.
            outputs: if ``old`` is a graph output, let ``new`` take its place and its name.

        Returns:
            How many uses were changed.
        """
        position = self.positions()
        producer = new.producer()
        earliest = -1 if producer is None else position[producer]
        dirty: set[ir.Node] = set()
        count = 0
        for node, index in list(old.uses()) if users is None else list(users):
            owner = self.owner(node)
            if position[owner] > earliest:
                node.replace_input_with(index, new)
                dirty.add(owner)
                count += 1
        if outputs and old.is_graph_output() and not new.is_graph_output() and not new.is_graph_input():
            self._take_output(old, new)
            count += 1
        self._changed()
        self._reinfer(dirty)
        return count

    def set_input(self, node: ir.Node, index: int, value: ir.Value | None) -> None:
        """Connect one input of a node to another value, or omit it, and infer what follows.

        Args:
            node: of the main graph.
            index: which input; one behind the last that the node has adds inputs, those between omitted.
            value: is computed before the node, or ``None``.

        Raises:
            InvalidProgram: the node, or one that reads from it, is ill-typed then.
        """
        if index >= len(node.inputs):
            node.resize_inputs(index + 1)
        node.replace_input_with(index, value)
        self._changed()
        self._reinfer({node})

    def set_attr(self, node: ir.Node, name: str, value: Any, *, infer: bool = True) -> None:
        """Set an attribute (``None`` removes it) and infer what follows, unless the value breaks a rule on purpose.

        Args:
            node: of the main graph.
            name: of the attribute.
            value: a Python value, typed as the operator's schema says.
            infer: if false, the facts stay as they were.

        Raises:
            InvalidProgram: the operator has no such attribute, or a node is ill-typed then.
        """
        if value is None:
            node.attributes.pop(name, None)
        else:
            domain = "" if node.domain == "ai.onnx" else node.domain
            typed = infer_attribute_types(node.op_type, self.inference.opset(domain), domain, {name: value})
            node.attributes[name] = typed[name]
        self._changed()
        if infer:
            self._reinfer({node})

    def set_constant(self, value: ir.Value, array: np.ndarray) -> None:
        """Give an initializer other elements (and possibly another type and shape), and infer what follows.

        Args:
            value: an initializer that is no graph input.
            array: is not copied, except for strings.

        Raises:
            InvalidProgram: it is no such initializer, or a node is ill-typed then.
        """
        if not value.is_initializer() or value.is_graph_input():
            raise InvalidProgram(f"{value.name!r} is not an initializer")
        tensor = array_tensor(array)
        value.const_value = tensor
        value.type, value.shape = ir.TensorType(tensor.dtype), ir.Shape(fact_of_shape(tensor.shape) or ())
        self._changed()
        fact = constant_fact(tensor)
        if fact != fact_of(value):
            set_fact(value, fact)
            self._reinfer({self.owner(node) for node in value.consumers()})

    def remove(self, node: ir.Node) -> None:
        """Remove a node of the main graph whose outputs nothing uses; its names are free again.

        Raises:
            InvalidProgram: an output is read, or is a graph output.
        """
        for output in node.outputs:
            if output.is_graph_output() or output.uses():
                raise InvalidProgram(f"{output.name!r} is still in use, so its node cannot be removed")
        self.forget(*node.outputs)
        if node.name and self._names is not None:
            self._names.discard(node.name)
        if within := list(nodes_within(node)):
            self._names = None
            for inner in within:  # they would stay users of what they capture
                for index in range(len(inner.inputs)):
                    inner.replace_input_with(index, None)
        self.graph.remove(node, safe=True)
        self.touched.discard(node)
        self._owners = None
        self._changed()

    def prune(self) -> int:
        """Remove nodes and initializers that no output depends on; returns how many.

        Graph inputs stay, and so do initializers that are their defaults.
        """
        removed = 0
        for node in reversed(self.nodes()):
            for output in node.outputs:
                if output.is_graph_output() or output.uses():
                    break
            else:
                self.remove(node)
                removed += 1
        for name, value in list(entries(self.graph.initializers).items()):
            if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
                del self.graph.initializers[name]
                self.forget(value)
                removed += 1
        self._changed()
        return removed

    def infer(self, recorded: Mapping[str, Fact] | None = None) -> None:
        """Infer the whole main graph from its declared inputs; call it after ``model`` was changed by hand.

        Args:
            recorded: of a program that breaks a rule on purpose, the facts by name that outputs of its nodes had before
                it did; they are believed if nothing can be inferred or something else is. Empty for any other.

        Raises:
            InvalidProgram: a node is ill-typed, or a declaration contradicts what is computed.
        """
        self._changed()
        for value in self.graph.inputs:
            set_fact(value, declared_fact(value))
        self.inference.recorded = recorded or {}
        try:
            self.inference.graph(self.graph)
        finally:
            self.inference.recorded = {}
        for value in self.graph.outputs:
            declared = declared_fact(value)
            reason = conflict(fact_of(value), declared)
            if reason is not None:
                raise InvalidProgram(f"output {value.name!r} is {reason}")

    # ---- inside -----------------------------------------------------------------------------

    def _reinfer(self, dirty: set[ir.Node]) -> None:
        """Infer the given nodes and whatever their changed outputs reach, in topological order."""
        if not dirty:
            return
        left = set(dirty)
        for index, node in enumerate(self.graph):
            if node not in left:
                continue
            left.discard(node)
            self.touched.add(node)
            facts = self.inference.node(node, f"node {node.name or f'#{index}'!r} ({node.op_type})")
            for output, fact in zip(node.outputs, facts, strict=True):
                if fact == fact_of(output):
                    continue
                set_fact(output, fact)
                if output.is_graph_output() or (is_foreign(node) and self.inference.is_opaque(node)):
                    declare(output, fact)
                else:
                    # What the model declared may have come from facts that no longer hold.
                    undeclare(output)
                left.update(self.owner(user) for user in output.consumers())
            if not left:
                return

    def _take_output(self, old: ir.Value, new: ir.Value) -> None:
        """Let ``new`` be the graph output that ``old`` was, under the same public name."""
        public, fact = old.name, fact_of(new)
        inner, used = self.fresh("inner"), new.name
        for index, value in enumerate(self.graph.outputs):
            if value is old:
                self.graph.outputs[index] = new
        kept = old.is_initializer() or old.is_graph_input()
        if kept:
            # An input or initializer is found by its name, so it keeps it and the output gets a new one.
            self._names.discard(inner)  # type: ignore[union-attr]
        else:
            old.name, new.name = inner, public
            if self._names is not None and used:
                self._names.discard(used)
        declare(new, fact)
        if not kept:
            undeclare(old)
        self._values = None

    def _place(self, node: ir.Node, before: ir.Node | None, after: ir.Node | None) -> None:
        graph = self.graph
        if before is not None:
            graph.insert_before(before, node)
            return
        if after is None:
            position = self.positions()
            producers = [p for v in node.inputs if v is not None and (p := v.producer()) is not None]
            after = max(producers, key=position.__getitem__, default=None)
        if after is not None:
            graph.insert_after(after, node)
        elif len(graph):
            graph.insert_before(graph[0], node)
        else:
            graph.append(node)

    def _changed(self) -> None:
        """Forget what was found out about the program as it was."""
        self._digest = None
        self.asked = {}

    def _added(self, *values: ir.Value) -> None:
        self._changed()
        if self._values is not None:
            self._values.update((v.name, v) for v in values if v.name)

    def forget(self, *values: ir.Value) -> None:
        """Free the names of values that were taken out of the model, so that ``fresh`` may give them again."""
        for value in values:
            if value.name:
                if self._values is not None:
                    self._values.pop(value.name, None)
                if self._names is not None:
                    self._names.discard(value.name)
