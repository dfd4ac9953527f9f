"""What programs cover of the space of operator calls (COMET, equations 1 to 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from irfuzz.facts import TensorFact, tensors_in
from irfuzz.generate.synthesis_steps.covered_features import spelled, spelled_attribute, spelled_input
from irfuzz.ir.program_view import ProgramView
from irfuzz.ir.value import fact_of
from irfuzz.search.coverage.coverable_call_space import INPUT, SCHEMA, Space
from irfuzz.spec.operator_registry import load_specs

CRITERIA = ("input", "parameter", "sequence")


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a criterion is covered."""

    covered: int
    total: int

    @property
    def ratio(self) -> float:
        """Covered of the total, between 0 and 1; 1 if the total is 0."""
        return self.covered / self.total if self.total else 1.0


class Coverage:
    """What the programs that were added cover of a space; what it does not hold is not counted."""

    __slots__ = ("_lacking", "_named", "_new", "_several", "_space", "_specs", "_todo", "programs")

    def __init__(self, space: Space) -> None:
        self._space = space
        self._specs = load_specs()
        self._named: dict[str, set[tuple[Any, ...]]] = {name: set() for name in CRITERIA}
        # Shapes, and parameters of which any few values count: what was seen, no more than count.
        self._several: dict[str, dict[tuple[str, str], set[str]]] = {name: {} for name in CRITERIA}
        # Parameters of each operator of which values are left to be seen, and how many: others need no look.
        self._todo = {op: dict(o.parameters) for op, o in space.operators.items()}
        self._lacking = {
            (op, name): values if isinstance(values, int) else len(values)
            for op, o in space.operators.items()
            for name, values in o.parameters.items()
        }
        self._new = 0
        self.programs = 0

    def add(self, program: ProgramView) -> int:
        """Count a program, bodies included.

        Args:
            program: only nodes of ONNX's default domain count; types and shapes are read from the facts of its values.

        Returns:
            How many features of the space are new.
        """
        return self._add(program, (node for graph in program.model.graphs() for node in graph))

    def add_mutant(self, program: ProgramView) -> int:
        """Count what was edited since the program was cloned, bodies included, which is faster than all of it.

        Args:
            program: a mutant, whose ``touched`` has the nodes that were edited.

        Returns:
            How many features are new; as many as ``add`` finds if its parent was counted before.
        """
        touched = program.touched  # a set, and which values come first decides which five count
        return self._add(program, (node for graph in program.model.graphs() for node in graph if node in touched))

    def _add(self, program: ProgramView, nodes: Iterable[ir.Node]) -> int:
        before = self._new
        for node in nodes:
            if node.domain in ("", "ai.onnx"):
                self._node(program, node)
        self.programs += 1
        return self._new - before

    @property
    def opset(self) -> int:
        """Opset of the default domain whose space this is."""
        return self._space.opset

    @property
    def covered(self) -> int:
        """How many features of the space are covered, of all three criteria together."""
        return self._new

    def gained(self, criterion: str, *operators: str) -> None:
        """Called for each feature that is new; it does nothing here, and is there for subclasses.

        Args:
            criterion: ``input``, ``parameter`` or ``sequence``.
            *operators: that show it: one, or producer and consumer of a sequence.
        """

    def state(self) -> dict[str, Any]:
        """What is covered, as JSON-able data that ``absorb`` takes; values of which any few will do as they are.

        ``named`` has features that the space lists, ``several`` values seen of those of which it only says how many
        count.
        """
        named = {name: sorted(map(list, found)) for name, found in self._named.items()}
        several = [
            [criterion, op, name, sorted(values)]
            for criterion, found in self._several.items()
            for (op, name), values in sorted(found.items())
        ]
        return {
            "schema": SCHEMA,
            "opset": self._space.opset,
            "programs": self.programs,
            "named": named,
            "several": several,
        }

    def absorb(self, state: Mapping[str, Any]) -> None:
        """Count what others have covered; what is of another schema or opset, or not in the space, is left out.

        Args:
            state: what ``state`` of another one gave; its programs are added to the number of programs, and features
                that both have count once.
        """
        if (state.get("schema"), state.get("opset")) != (SCHEMA, self._space.opset):
            return
        self.programs += state["programs"]
        for criterion, found in state["named"].items():
            for feature in found:
                if self._holds(criterion, feature):
                    self._name(criterion, tuple(feature))
        for criterion, op, name, values in state["several"]:
            space = self._space.operators.get(op)
            size = None if space is None else space.shapes if criterion == "input" else space.parameters.get(name)
            if isinstance(size, int):
                for value in values:
                    self._any_of(criterion, (op, name), value, size)

    def _holds(self, criterion: str, feature: Sequence[Any]) -> bool:
        """Whether a named feature is one of the space."""
        if criterion == "sequence":
            return tuple(feature) in self._space.sequences
        op, name, value = feature
        space = self._space.operators.get(op)
        if space is None:
            return False
        if criterion == "input":
            return value in (space.dtypes if name == "dtype" else space.ranks)
        values = space.parameters.get(name, ())
        return not isinstance(values, int) and value in values

    def shares(self) -> dict[str, Share]:
        """Each criterion, pooled over the operators, and all three together: by ``input``, ``parameter``, ``sequence``
        and ``all``.
        """
        totals = self._space.totals()
        found = {name: Share(self._covered(name), totals[name]) for name in CRITERIA}
        return {**found, "all": Share(sum(s.covered for s in found.values()), sum(totals.values()))}

    def _covered(self, criterion: str) -> int:
        return len(self._named[criterion]) + sum(map(len, self._several[criterion].values()))

    def by_operator(self) -> dict[str, tuple[Share, Share]]:
        """Layer input and layer parameter coverage of each operator (equations 1 and 2).

        Returns:
            By name of every operator of the space, covered or not, a pair (input, parameter). Sequences are of no
                single operator, and not in it.
        """
        counts = {name: Counter(f[0] for f in self._named[name]) for name in ("input", "parameter")}
        for name, count in counts.items():
            for (op, _), values in self._several[name].items():
                count[op] += len(values)
        found: dict[str, tuple[Share, Share]] = {}
        for op, space in self._space.operators.items():
            size = sum(v if isinstance(v, int) else len(v) for v in space.parameters.values())
            inputs = Share(counts["input"][op], len(space.dtypes) + len(space.ranks) + space.shapes)
            found[op] = inputs, Share(counts["parameter"][op], size)
        return found

    def feeding(self) -> dict[str, tuple[list[str], int]]:
        """Layer sequence coverage of each operator that can be fed.

        Returns:
            By name: the operators that were seen to feed it, sorted, and how many of the space can.
        """
        found = {op: ([], most) for op, most in sorted(Counter(op for _, op in self._space.sequences).items())}
        for producer, consumer in sorted(self._named["sequence"]):
            found[consumer][0].append(producer)
        return found

    def _node(self, program: ProgramView, node: ir.Node) -> None:
        op = node.op_type
        inputs = node.inputs
        todo = self._todo.get(op)
        if todo is None:
            return
        covered = self._named["sequence"]
        for value in inputs:
            producer = None if value is None else value.producer()
            if producer is not None and producer.domain in ("", "ai.onnx"):
                pair = producer.op_type, op
                if pair not in covered and pair in self._space.sequences:
                    self._name("sequence", pair)
        data = inputs[0] if inputs else None
        fact = None if data is None else tensors_in(fact_of(data))
        if fact is not None:
            self._input(op, fact)
        if todo:
            for name, values in tuple(todo.items()):
                self._parameter(program, node, name, values)

    def _input(self, op: str, fact: TensorFact) -> None:
        space = self._space.operators[op]
        if fact.dtype.name in space.dtypes:
            self._name("input", (op, "dtype", fact.dtype.name))
        if fact.shape is None:
            return
        if len(fact.shape) in space.ranks:
            self._name("input", (op, "rank", len(fact.shape)))
        if len(self._several["input"].get((op, "shape"), ())) < space.shapes:
            sizes = tuple(size if isinstance(size, int) else None for size in fact.shape)  # names tell no shapes apart
            self._any_of("input", (op, "shape"), repr(sizes), space.shapes)

    def _parameter(self, program: ProgramView, node: ir.Node, name: str, values: tuple[str, ...] | int) -> None:
        value = self._value(program, node, name)
        if value is None:
            return
        if isinstance(values, int):
            self._any_of("parameter", (node.op_type, name), value, values)
        elif value in values:
            self._name("parameter", (node.op_type, name, value))

    def _name(self, criterion: str, feature: tuple[Any, ...]) -> None:
        """Count a feature that has a name."""
        seen = self._named[criterion]
        if feature not in seen:
            seen.add(feature)
            self._new += 1
            if criterion == "parameter":
                self._one_less(feature[0], feature[1])
            self.gained(criterion, *(feature if criterion == "sequence" else feature[:1]))

    def _any_of(self, criterion: str, key: tuple[str, str], value: str, most: int) -> None:
        """Count a value of which any ``most`` different ones will do."""
        seen = self._several[criterion].setdefault(key, set())
        if len(seen) < most and value not in seen:
            seen.add(value)
            self._new += 1
            if criterion == "parameter":
                self._one_less(*key)
            self.gained(criterion, key[0])

    def _one_less(self, op: str, name: str) -> None:
        """A value of a parameter was seen; one of which all were is not looked at again."""
        self._lacking[op, name] -= 1
        if not self._lacking[op, name]:
            del self._todo[op][name]

    def _value(self, program: ProgramView, node: ir.Node, name: str) -> str | None:
        """A parameter as it is counted; an attribute that is left out has its default.

        What is an attribute at one opset and an input at another (the axes of reductions) is one parameter.
        """
        name = name.removeprefix(INPUT)
        attr = node.attributes.get(name)
        if attr is not None:
            return None if attr.is_ref() else spelled_attribute(attr)
        spec = self._specs.get(node.op_type, program.opset)
        if spec is None:
            return None
        if name in spec.attrs:
            default = spec.attrs[name].default
            return None if default is None else spelled(default)
        for formal, value in zip(spec.inputs, node.inputs, strict=False):
            if formal.name == name:
                return None if value is None else spelled_input(program, value)
        return None
