"""The layers and values of a program that mutators may touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import fact_of
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.spec import has_trait, names_input, trait_values, with_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

# These have no file under ``ops/``: what they learnt is in attributes, which nothing here draws.
_LEARNT = frozenset(
    {
        *("Binarizer", "FeatureVectorizer", "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor"),
        *("Normalizer", "SVMClassifier", "SVMRegressor", "Scaler", "ZipMap"),
        *("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    }
)
"""Operators of ai.onnx.ml that take any elements."""


def is_exact(node: ir.Node, index: int, dtype: ir.DataType | None = None) -> bool:
    """True if the elements of this input may not be changed freely: they decide shapes, indices or scales, or the
    operator belongs to another domain.

    Args:
        node: of any domain.
        index: place among its inputs.
        dtype: of the input, which matters for divisors: floats are free there.
    """
    if node.domain not in ("", "ai.onnx"):
        return True
    return is_exact_input(node.op_type, index, dtype)


def is_exact_input(op: str, index: int, dtype: ir.DataType | None = None) -> bool:
    """``is_exact`` for an operator of the default domain, by its name. A divisor is exact if it is an integer, or if no
    type is given.
    """
    if index == 1 and op in with_trait("divides"):
        return dtype is None or dtype.is_integer()
    return names_input("exact_inputs", op, index)


def exact_values(program: Program) -> set[ir.Value]:
    """Values whose elements decide shapes, indices, scales or what an optional is asked for somewhere downstream,
    through bodies and functions, too. The set has no fixed order: it is for membership tests only.
    """
    exact: set[ir.Value] = set()
    stack: list[ir.Value] = []
    fed: dict[ir.Value, list[ir.Value]] = {}
    functions = program.model.functions
    _enter_all(program.graph, functions, stack, fed)
    _follow(exact, stack, fed)
    return exact


def _follow(exact: set[ir.Value], stack: list[ir.Value], fed: Mapping[ir.Value, list[ir.Value]]) -> None:
    """Add to ``exact`` what stands in ``stack`` and all that it is computed from."""
    deep, always = with_trait("control_flow"), with_trait("always_valid")
    while stack:
        value = stack.pop()
        if value in exact:
            continue
        exact.add(value)
        producer = value.producer()
        if producer is None:
            if value in fed:
                stack.extend(fed[value])
        elif producer.op_type in deep and producer.domain in _DEFAULT:
            stack.extend(_sources_of(producer, value))
        elif (
            producer.op_type not in always
            and not (has_trait(producer, "casts") and _is_text(value))
            # Only a Clip makes integers fit for something, whatever they were.
            and not (producer.op_type == "Clip" and _is_limited(producer, value))
        ):
            stack.extend(v for v in producer.inputs if v is not None and v not in exact)


def _is_limited(node: ir.Node, value: ir.Value) -> bool:
    """True for integers between constant limits that only pick from floats: fit for that, whatever went in."""
    fact = fact_of(value)
    limits = [v for v in node.inputs[1:3] if v is not None and v.is_initializer() and not v.is_graph_input()]
    if not isinstance(fact, TensorFact) or not fact.dtype.is_integer() or len(limits) != 2 or value.is_graph_output():
        return False
    for use in value.uses():
        data = use.node.inputs[0]
        picked = None if data is None else fact_of(data)
        if not has_trait(use.node, "limited_indices") or not isinstance(picked, TensorFact):
            return False
        if not picked.dtype.is_floating_point():
            return False  # what is picked may be a shape
    return True


def _is_text(value: ir.Value | None) -> bool:
    fact = None if value is None else fact_of(value)
    return isinstance(fact, TensorFact) and fact.dtype is ir.DataType.STRING


def _enter_plain(node: ir.Node, positions: Sequence[int], stack: list[ir.Value]) -> None:
    """Push what an operator without bodies reads as shapes, indices or scales."""
    inputs = node.inputs
    places = positions or range(len(inputs))
    stack.extend(v for index in places if index < len(inputs) and (v := inputs[index]) is not None)


def _enter_divisor(node: ir.Node, stack: list[ir.Value]) -> None:
    value = node.inputs[1] if len(node.inputs) > 1 else None
    fact = None if value is None else fact_of(value)
    if value is not None and (not isinstance(fact, TensorFact) or fact.dtype.is_integer()):
        stack.append(value)


def _enter_deep(
    node: ir.Node, functions: _Functions, stack: list[ir.Value], fed: dict[ir.Value, list[ir.Value]]
) -> None:
    """``_enter_plain`` for what has bodies or calls a function; ``fed`` gets what each input of a body may be."""
    if not has_subgraph(node) or node.domain not in _DEFAULT:
        function = functions.get(node.op_identifier())
        exact = _exact_parameters(function, functions) if function is not None else _exact_elsewhere(node)
        stack.extend(v for index in exact if index < len(node.inputs) and (v := node.inputs[index]) is not None)
        return
    inputs = node.inputs
    first, behind, states = _layout(node)
    stack.extend(v for v in inputs[:first] if v is not None)
    # The condition of an If, alone among inputs, tells whether an optional has an element.
    if node.op_type == "If" and inputs[0] is not None and any(map(_reads_optional, bodies_of(node))):
        stack.append(inputs[0])
    for body in bodies_of(node):
        _enter_all(body, functions, stack, fed)
        if first and inputs[0] is None:
            stack.append(body.outputs[0])  # nothing else ends it
        for place, value in enumerate(body.inputs[first:]):
            before = inputs[first + place] if first + place < len(inputs) else None
            # What a turn gives is what the next one takes; a Scan's inputs behind its states only come from outside.
            again = [body.outputs[place + behind]] if place < states else []
            fed[value] = [v for v in (before, *again) if v is not None]


def _reads_optional(body: ir.Graph) -> bool:
    # The only operator that an optional without an element stops.
    return any(node.op_type == "OptionalGetElement" for node in body)


def _layout(node: ir.Node) -> tuple[int, int, int]:
    """Of a node with a body: the inputs in front of the body's, the outputs of the body in front of its own, states."""
    first = trait_values("body_inputs_from").get(node.op_type, 0)
    behind = trait_values("body_outputs_from").get(node.op_type, 0)
    attr = node.attributes.get("num_scan_inputs")
    scanned = 0 if attr is None else len(node.inputs) if attr.is_ref() else attr.as_int()
    return first, behind, len(node.inputs) - first - scanned if has_trait(node, "iterates") else 0


def _enter_all(
    nodes: Iterable[ir.Node], functions: _Functions, stack: list[ir.Value], fed: dict[ir.Value, list[ir.Value]]
) -> None:
    exact, deep = trait_values("exact_inputs"), with_trait("control_flow")
    divides, casts = with_trait("divides"), with_trait("casts")
    for node in nodes:
        op = node.op_type
        if node.domain not in _DEFAULT or op in deep:
            _enter_deep(node, functions, stack, fed)
        elif op in exact:
            _enter_plain(node, exact[op], stack)
        elif op in divides:
            _enter_divisor(node, stack)
        elif op in casts and _is_text(node.inputs[0]) and not _is_text(node.outputs[0]):
            stack.extend(v for v in node.inputs[:1] if v is not None)  # other text may be no number


def _sources_of(node: ir.Node, value: ir.Value) -> list[ir.Value]:
    """What an output of a node with bodies is computed from."""
    index = node.outputs.index(value)
    first, behind, states = _layout(node)
    found = [node.inputs[index + first]] if index < states else []
    found += node.inputs[:first] if has_trait(node, "iterates") else node.inputs
    for body in bodies_of(node):
        found += [body.outputs[index + behind], *body.outputs[:behind]]
    return [v for v in found if v is not None]


def _exact_elsewhere(node: ir.Node) -> Sequence[int]:
    """Inputs of an operator of another domain whose elements may not be changed freely; all of ONNX's if unknown."""
    if node.domain == "ai.onnx.ml":
        if node.op_type in _LEARNT:
            return ()
        # The others are looked at as a whole; of this one the first input is data.
        if node.op_type == "ArrayFeatureExtractor":
            return (1,)
    if node.domain in _SPECIFIED:
        return range(len(node.inputs))
    return [index for index, value in enumerate(node.inputs) if value is not None and not _is_data(value)]


def _is_data(value: ir.Value) -> bool:
    """Whether an opaque node takes a value as data, whose elements are free: no scalar, and no number that may count.

    Constants may be tables, scales or zero points, and integers of more than eight bits lengths, masks or positions.
    """
    fact = fact_of(value)
    if not isinstance(fact, TensorFact) or not fact.shape or value.is_initializer():
        return False
    return fact.dtype.is_floating_point() or (fact.dtype.is_integer() and fact.dtype.bitwidth <= 8)


def _exact_parameters(function: ir.Function, functions: _Functions) -> list[int]:
    """Inputs of a function whose elements decide shapes, indices or scales inside of it."""
    exact: set[ir.Value] = set()
    stack: list[ir.Value] = []
    fed: dict[ir.Value, list[ir.Value]] = {}
    _enter_all(function, functions, stack, fed)
    _follow(exact, stack, fed)
    return [index for index, value in enumerate(function.inputs) if value in exact]


_Functions: TypeAlias = "Mapping[ir.OperatorIdentifier, ir.Function]"
_DEFAULT = frozenset({"", "ai.onnx"})
_SPECIFIED = frozenset({"ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training"})
"""Other domains that ONNX itself defines operators in."""
_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def has_open_indices(node: ir.Node) -> bool:
    """True if indices that are not known elements limit the sizes that the data may have, as the second input of Gather
    and its like does.
    """
    if not has_trait(node, "indexes"):
        return False
    fact = None if len(node.inputs) < 2 or node.inputs[1] is None else fact_of(node.inputs[1])
    return not isinstance(fact, TensorFact) or not fact.known


def has_subgraph(node: ir.Node) -> bool:
    """True if an attribute holds a graph: for ONNX's own operators if they are control flow, for others if there is
    one.
    """
    if node.domain in _DEFAULT:
        return has_trait(node, "control_flow")
    return any(attr.type in _GRAPHS for attr in node.attributes.values())


def layer_nodes(program: Program, specs: Specs) -> list[ir.Node]:
    """Nodes of the main graph that irfuzz understands and may replace, in order.

    They belong to the default domain, have at least one input, no subgraph, dense tensors of known rank everywhere,
    and nothing that they compute decides a shape or an index.
    """
    exact = exact_values(program)
    opset = program.opset
    found = []
    others = with_trait("not_a_layer") | with_trait("random")
    for node in program.graph:
        op = node.op_type
        if op in others or node.domain not in _DEFAULT or not node.inputs:
            continue
        outputs = node.outputs
        if specs.get(op, opset) is None or not exact.isdisjoint(outputs):
            continue
        if _all_dense(node.inputs) and _all_dense(outputs):
            found.append(node)
    return found


def _all_dense(values: Sequence[ir.Value | None]) -> bool:
    for value in values:
        if value is not None and value.name:
            fact = fact_of(value)
            if type(fact) is not TensorFact or fact.shape is None:
                return False
    return True


def layer_sites(program: Program, specs: Specs, *, overlaid: bool = False) -> list[str]:
    """Site names of ``layer_nodes``, in their order.

    Args:
        program: it is not changed.
        specs: operator specs.
        overlaid: only layers whose operator's rules stand under ``ops/``.
    """
    opset = program.opset
    return [
        program.site_of(node)
        for node in layer_nodes(program, specs)
        if not overlaid or ((spec := specs.get(node.op_type, opset)) is not None and spec.has_overlay)
    ]


def flow_values(program: Program, *, graph_inputs: bool = True) -> list[ir.Value]:
    """Values that flow between layers and may be replaced by others of the same type, in order.

    They are inputs of the graph or computed in it, dense tensors of known rank, read by somebody or an output, and do
    not decide a shape or an index anywhere.
    """
    exact = exact_values(program)
    graph = program.graph
    values: list[ir.Value] = []
    if graph_inputs:
        initializers = graph.initializers
        values.extend(value for value in graph.inputs if value.name not in initializers)
    for node in graph:
        if not has_trait(node, "source"):
            values.extend(node.outputs)
    found: list[ir.Value] = []
    for value in values:
        if not value.name or value in exact:
            continue
        fact = fact_of(value)
        if type(fact) is TensorFact and fact.shape is not None and (value.uses() or value.is_graph_output()):
            found.append(value)
    return found


def node_at(program: Program, site: str) -> ir.Node:
    """The node of a recorded site, which is the name of a value that it computes.

    Raises:
        InvalidProgram: there is none in the main graph.
    """
    node = program.node(site)
    if node is None:
        raise InvalidProgram(f"site {site!r}: no such node in the main graph")
    return node


def value_at(program: Program, site: str) -> ir.Value:
    """The value of a recorded site, by its name; an input, an initializer or the result of a node.

    Raises:
        InvalidProgram: there is none in the main graph.
    """
    value = program.value(site)
    if value is None:
        raise InvalidProgram(f"site {site!r}: no such value in the main graph")
    return value


def tensor_fact(program: Program, value: ir.Value) -> TensorFact:
    """The fact of a value that must be a dense tensor; its rank may be unknown.

    Raises:
        InvalidProgram: it is a sequence, an optional, or something of unknown type.
    """
    fact = program.fact(value)
    if not isinstance(fact, TensorFact):
        raise InvalidProgram(f"value {value.name!r}: expected a dense tensor, got {type(fact).__name__}")
    return fact


def node_after(program: Program, value: ir.Value) -> ir.Node | None:
    """The first node that may read ``value``: what is inserted before it comes before every reader. That is the node
    behind the producer, or the graph's first one; ``None`` if there is none.
    """
    nodes = iter(program.graph)
    producer = value.producer()
    if producer is None:
        return next(nodes, None)
    for node in nodes:
        if node is producer:
            break
    return next(nodes, None)


def main_uses(program: Program, value: ir.Value) -> list[tuple[ir.Node, int]]:
    """Uses of a value by nodes of the main graph, in graph order, as pairs of a node and the input's index. Readers in
    bodies, and the graph's outputs, are not among them.
    """
    graph = program.model.graph
    uses = [(use.node, use.idx) for use in value.uses() if use.node.graph is graph]
    if len(uses) > 1:
        order = {id(node): i for i, node in enumerate(program.nodes())}
        uses.sort(key=lambda use: (order[id(use[0])], use[1]))
    return uses
