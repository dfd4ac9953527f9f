"""Turns a model into what the script draws: nodes with constants folded into them, edges, bodies and types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import defs, helper, numpy_helper

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.program import Program
from irfuzz.report.pages.html_elements import Markup, element, json_block, shown, together
from irfuzz.report.pages.repeated_blocks import repeated_blocks
from irfuzz.spec import has_trait

FEW = 8
"""Constants of at most so many elements are written out."""

LONGEST = 160
"""Characters of an attribute or a constant that are kept."""

TYPED = 20_000
"""Nodes of a model up to which types are inferred, which takes a second; of a larger one the declared ones count."""

_GROUPS = (
    ("control_flow", "control"),
    ("contracts", "product"),
    ("activation", "activation"),
    ("copies", "move"),
    ("carries", "move"),
    ("casts", "cast"),
    ("reduces", "reduce"),
    ("elementwise", "elementwise"),
)
"""Traits of operators that decide the colour of a node, the first that it has."""


@dataclass(frozen=True, slots=True)
class NodeMark:
    """What is to be said of a node in the drawing.

    Attributes:
        kind: ``blamed`` (it is shown first), ``warning`` or ``note``.
        text: a few words.
    """

    kind: str
    text: str


@dataclass(slots=True)
class _Drawn:
    """All graphs of a model while they are collected: the main one, bodies and functions."""

    opsets: Mapping[str, int]
    types: Mapping[str, str]
    marks: Mapping[str, NodeMark]
    functions: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    graphs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def graph_data(model: onnx.ModelProto, marks: Mapping[str, NodeMark] | None = None) -> dict[str, Any]:
    """A model as JSON for the script.

    Constants (initializers, and Constant nodes of the same graph) are no nodes: whoever reads them shows them.

    Args:
        model: of any validity; edges to values that nobody makes come from outside.
        marks: by the name of a value: what is said of the node that makes it.

    Returns:
        ``graphs``, the main one first, then functions and bodies; each has ``values`` (name and type), ``nodes`` and
        ``blocks`` (start, length and times of what repeats). ``focus`` is the place of the first node with a mark, or
        ``None``.
    """
    drawn = _Drawn({o.domain or "": o.version for o in model.opset_import}, _types(model), marks or {})
    drawn.graphs.append({})
    for place, function in enumerate(model.functions, 1):
        drawn.graphs.append({"name": shown(function.name)})
        drawn.functions = {**drawn.functions, (function.domain, function.name): place}
    _fill(drawn, 0, model.graph.name, model.graph.node, model.graph)
    for function in model.functions:
        _fill(drawn, drawn.functions[function.domain, function.name], function.name, function.node, function)
    focus = next(
        (
            [at, place]
            for kind in ("blamed", "warning")
            for at, graph in enumerate(drawn.graphs)
            for place, node in enumerate(graph["nodes"])
            if node.get("mark", ["", ""])[0] == kind
        ),
        None,
    )
    return {"graphs": drawn.graphs, "focus": focus}


def graph_view(name: str, data: Mapping[str, Any], told: str, *, text: str = "") -> Markup:
    """A graph that the script draws, with what is said in its place without one.

    Args:
        name: unique on the page, for the data.
        data: of ``graph_data``.
        told: what it shows, for people who do not see it.
        text: of the program, shown without a script; a list of its nodes if omitted.
    """
    main = data["graphs"][0]
    nodes = "\n".join(
        f"{place}: {node['op']}({', '.join(main['values'][v][0] for _, v, _ in node['in'])}) -> "
        f"{', '.join(' '.join(main['values'][v]) for v in node['out'])}"
        for place, node in enumerate(main["nodes"][:400])
    )
    plain = element("noscript", element("pre", text or nodes, tabindex="0"))
    return together(
        json_block(f"{name}-data", data),
        element("div", plain, class_="graph", id=name, data_graph=f"{name}-data", data_label=told),
    )


def _fill(
    drawn: _Drawn, at: int, name: str, nodes: Iterable[onnx.NodeProto], holder: onnx.GraphProto | onnx.FunctionProto
) -> None:
    """Draw one graph or function at its place."""
    constants = {c.name: _tensor_text(c) for c in getattr(holder, "initializer", ())}
    kept: list[onnx.NodeProto] = []
    for node in nodes:
        text = _constant_text(node)
        if text is None:
            kept.append(node)
        else:
            constants[node.output[0]] = text
    inputs = [i if isinstance(i, str) else i.name for i in holder.input]
    outputs = [o if isinstance(o, str) else o.name for o in holder.output]
    values: dict[str, int] = {}
    makers: dict[str, int] = {n: -1 - k for k, n in enumerate(i for i in inputs if i not in constants)}
    for place, node in enumerate(kept):
        makers.update({output: place for output in node.output if output})
    graph: dict[str, Any] = {"name": shown(name)}
    drawn.graphs[at] = graph
    graph["nodes"] = [_node(drawn, node, constants, makers, values) for node in kept]
    graph["inputs"] = [_value(values, n) for n in inputs if n not in constants]
    graph["outputs"] = [[makers.get(n), _value(values, n)] for n in outputs]
    graph["values"] = [[shown(n), drawn.types.get(n, "")] for n in values]
    kinds = [(n.domain, n.op_type, len(n.input), tuple(a.name for a in n.attribute)) for n in kept]
    graph["blocks"] = [[b.start, b.length, b.times] for b in repeated_blocks(kinds)]


def _value(values: dict[str, int], name: str) -> int:
    return values.setdefault(name, len(values))


def _node(
    drawn: _Drawn,
    node: onnx.NodeProto,
    constants: Mapping[str, str],
    makers: Mapping[str, int],
    values: dict[str, int],
) -> dict[str, Any]:
    """One node; what is empty is left out."""
    labels = _labels(node, drawn.opsets)
    data: dict[str, Any] = {"op": shown(node.op_type), "group": colour_group(node.op_type, node.domain)}
    if node.domain not in ("", "ai.onnx"):
        data["domain"] = shown(node.domain)
    if node.name:
        data["name"] = shown(node.name)
    edges: list[list[Any]] = []
    folded: list[list[str]] = []
    for place, name in enumerate(node.input):
        label = labels[min(place, len(labels) - 1)] if labels else str(place)
        if name in constants:
            folded.append([label, constants[name], shown(name)])
        elif name:
            edges.append([makers.get(name), _value(values, name), label])
    data["in"] = edges
    data["out"] = [_value(values, name) for name in node.output if name]
    bodies = [(a.name, g) for a in node.attribute for g in (*([a.g] if a.HasField("g") else []), *a.graphs)]
    told = [[shown(a.name), _attribute_text(a)] for a in node.attribute if not a.HasField("g") and not a.graphs]
    inside: list[list[Any]] = []
    for name, body in bodies:
        drawn.graphs.append({})
        place = len(drawn.graphs) - 1
        _fill(drawn, place, name, body.node, body)
        inside.append([shown(name), place])
    function = drawn.functions.get((node.domain, node.op_type))
    if function is not None:
        inside.append(["function", function])
    mark = next((drawn.marks[name] for name in node.output if name in drawn.marks), None)
    extra = {"attrs": told, "consts": folded, "bodies": inside, "mark": [mark.kind, shown(mark.text)] if mark else None}
    return data | {key: value for key, value in extra.items() if value}


def _labels(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Sequence[str]:
    """Names of the operator's inputs, if ONNX knows it; the last one stands for all that follow."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        schema = defs.get_schema(node.op_type, opsets.get(domain, opsets.get(node.domain, 1)), domain)
    except defs.SchemaError:
        return ()
    return [i.name for i in schema.inputs]


def colour_group(op: str, domain: str = "") -> str:
    """What kind of operator it is, which decides the colour of its box.

    Args:
        op: the operator.
        domain: of it.

    Returns:
        A group of ``_GROUPS``; ``other`` for those of which nothing is known.
    """
    node = onnx.NodeProto(op_type=op, domain=domain)
    return next((group for trait, group in _GROUPS if has_trait(node, trait)), "other")


def _constant_text(node: onnx.NodeProto) -> str | None:
    """What a node that only holds a constant holds; ``None`` of any other."""
    if node.input or len(node.output) != 1 or not (has_trait(node, "source") and has_trait(node, "copies")):
        return None
    attribute = next(iter(node.attribute), None)
    if attribute is None:
        return None
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _tensor_text(attribute.t)
    return _attribute_text(attribute)


def _tensor_text(tensor: onnx.TensorProto) -> str:
    """``float32[2] = 1, 2``; elements only of a small one that lies in the model."""
    kind = _dtype(tensor.data_type)
    text = f"{kind}[{', '.join(map(str, tensor.dims))}]"
    if math.prod(tensor.dims) > FEW or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return text
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):  # damaged, or of a type that this onnx does not know
        return text
    return _short(f"{text} = {', '.join(map(str, array.ravel().tolist()))}")


def _dtype(number: int) -> str:
    try:
        return onnx.TensorProto.DataType.Name(number).lower().replace("float", "float32" if number == 1 else "float")
    except ValueError:
        return f"type {number}"


def _attribute_text(attribute: onnx.AttributeProto) -> str:
    if attribute.ref_attr_name:
        return _short(f"of the call: {attribute.ref_attr_name}")
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _tensor_text(attribute.t)
    try:
        value = helper.get_attribute_value(attribute)
    except ValueError:
        return "?"
    if isinstance(value, bytes):
        return _short(value.decode(errors="backslashreplace"))
    if isinstance(value, int | float | str):
        return _short(f"{value:.7g}" if isinstance(value, float) else str(value))
    items = (v.decode(errors="backslashreplace") if isinstance(v, bytes) else v for v in list(value)[:FEW])
    more = f", ... ({len(value)})" if len(value) > FEW else ""
    return _short(", ".join(f"{v:.7g}" if isinstance(v, float) else str(v).strip() for v in items) + more)


def _short(text: str) -> str:
    flat = " ".join(shown(text).split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 3]}..."


def _types(model: onnx.ModelProto) -> dict[str, str]:
    """Types of values by name: inferred ones if the model is valid, else those that it declares."""
    graph = model.graph
    found = {v.name: _declared(v.type) for v in (*graph.input, *graph.output, *graph.value_info) if v.HasField("type")}
    if len(graph.node) > TYPED:
        return found
    try:
        program = Program.from_proto(model)
    except (InvalidProgram, Unsupported):
        return found
    for value in program.values():
        if value.name:
            found[value.name] = _fact_text(program.fact(value)) or found.get(value.name, "")
    return found


def _declared(kind: onnx.TypeProto) -> str:
    if kind.HasField("sequence_type"):
        return f"sequence of {_declared(kind.sequence_type.elem_type)}"
    if kind.HasField("optional_type"):
        return f"optional {_declared(kind.optional_type.elem_type)}"
    if not kind.HasField("tensor_type"):
        return ""
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return _dtype(tensor.elem_type)
    sizes = (d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in tensor.shape.dim)
    return shown(f"{_dtype(tensor.elem_type)}[{', '.join(sizes)}]")


def _fact_text(fact: Fact) -> str:
    if isinstance(fact, TensorFact):
        shape = "" if fact.shape is None else f"[{', '.join('?' if d is None else str(d) for d in fact.shape)}]"
        return shown(f"{_dtype(fact.dtype.value)}{shape}")
    if isinstance(fact, SequenceFact):
        return "sequence" if fact.elem is None else f"sequence of {_fact_text(fact.elem)}"
    if isinstance(fact, OptionalFact):
        return "optional" if fact.elem is None else f"optional {_fact_text(fact.elem)}"
    return ""
