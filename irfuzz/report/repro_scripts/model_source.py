"""Writes a small model and its inputs as Python source, so that a script needs no file beside it."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.findings.output_literals import special
from irfuzz.frontends.toml_file_reading import is_list

ELEMENTS = 64
"""Most of all tensors together that are written down."""

WIDEST = 160
"""Columns of a line of text or bytes."""

PACKED_LINES = 12
"""Most lines of compressed bytes: what is longer belongs into a file."""

_A = onnx.AttributeProto
_PLAIN = frozenset({_A.INT, _A.FLOAT, _A.STRING, _A.INTS, _A.FLOATS, _A.STRINGS})

_TAKEN = frozenset({"op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload"})
"""Words of ``helper.make_node`` itself."""


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """Source of a model and its inputs.

    Attributes:
        lines: set ``inputs``, a dictionary of arrays, and ``model``, bytes.
        imports: what they need beside numpy.
    """

    lines: str
    imports: tuple[str, ...]


def written_models(proto: onnx.ModelProto, inputs: Mapping[str, Any]) -> Iterator[WrittenModel]:
    """The ways to write a model down, the one that reads best first.

    Calls of ``onnx.helper``; ONNX's own text form, which knows functions as well; bytes, compressed, of what has many
    weights. None at all if the inputs cannot be written down.

    Args:
        proto: stays as it is.
        inputs: by name. Beside numbers of numpy's own there may be strings, sequences and empty optionals.
    """
    fed = inputs_source(inputs)
    if fed is None:
        return
    line, imports = fed
    for form in (_by_helpers, _by_text, _by_bytes):
        try:
            found = form(proto)
        except (InvalidProgram, ValueError, TypeError, RuntimeError):
            continue  # ONNX's helpers and its printer do not know every type
        if found is not None:
            yield WrittenModel(f"{line}\n{found.lines}", tuple(dict.fromkeys([*found.imports, *imports])))


def inputs_source(inputs: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """A line that sets ``inputs``, and what it imports; ``None`` if they are of types that numpy lacks, or long.

    Args:
        inputs: by name.
    """
    texts = {name: _value_source(value) for name, value in inputs.items()}
    if all(texts.values()) and sum(map(_size, inputs.values())) <= ELEMENTS:
        return "inputs = {" + ", ".join(f"{name!r}: {text}" for name, text in texts.items()) + "}", ()
    arrays = {n: v for n, v in inputs.items() if isinstance(v, np.ndarray) and v.dtype.isbuiltin == 1}
    if len(arrays) < len(inputs) or any(a.dtype.kind in "OUSV" for a in arrays.values()):
        return None
    held = io.BytesIO()
    named: dict[str, Any] = {f"a{n}": a for n, a in enumerate(arrays.values())}
    np.savez(held, **named)
    packed = _packed(held.getvalue())
    if packed is None:
        return None
    line = f"inputs = {{name: stored[f'a{{n}}'] for n, name in enumerate({[*arrays]!r})}}"
    return f"stored = np.load(io.BytesIO({packed}))\n{line}", ("import base64, io, zlib",)


def _size(value: Any) -> int:
    if is_list(value):
        return sum(map(_size, value))
    return 0 if value is None else int(np.size(value))


def _value_source(value: Any) -> str:
    """Source of an input; empty if it has no numbers of numpy's own, and no strings."""
    if value is None:
        return "None"
    if is_list(value):
        items = [_value_source(item) for item in value]
        return f"[{', '.join(items)}]" if all(items) else ""
    if not isinstance(value, np.ndarray):
        return ""
    if value.dtype.kind in "OU" and all(isinstance(item, str) for item in value.ravel().tolist()):
        return f"np.array({value.tolist()!r}, object)"
    return array_source(value) if few_elements([value]) else ""


def _packed(data: bytes) -> str | None:
    """Source of compressed bytes over several lines; ``None`` if there are too many."""
    text = base64.b64encode(zlib.compress(data, 9)).decode()
    rows = [text[i : i + WIDEST] for i in range(0, len(text), WIDEST)]
    if len(rows) > PACKED_LINES:
        return None
    return "zlib.decompress(base64.b64decode(\n    " + "\n    ".join(f'"{row}"' for row in rows) + "))"


def _by_bytes(proto: onnx.ModelProto) -> WrittenModel | None:
    packed = _packed(proto.SerializeToString(deterministic=True))
    return None if packed is None else WrittenModel(f"model = {packed}", ("import base64, zlib",))


def _by_text(proto: onnx.ModelProto) -> WrittenModel | None:
    """In ONNX's text form, if that says all of it but for sizes that have no name, which get one."""
    proto = _with_named_sizes(proto)
    text = onnx.printer.to_text(proto).strip()
    few = sum(a.size for a in _arrays_in(proto.graph)) <= ELEMENTS
    if not few or '"""' in text or "\\" in text or max(map(len, text.splitlines())) > WIDEST:
        return None
    try:
        read = onnx.parser.parse_model(text)
    except onnx.parser.ParseError:  # the printer writes types that the parser lacks, as 4-bit integers
        return None
    if _canonical(read) != _canonical(proto):
        return None
    lines = f'model = onnx.parser.parse_model("""{text}""").SerializeToString()'
    return WrittenModel(lines, ("import onnx",))


def _with_named_sizes(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which each unknown size of an input or output has a name of its own: the parser takes no ``?``."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    number = 0
    for value in (*made.graph.input, *made.graph.output):
        kind = value.type
        while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
            kind = getattr(kind, str(kind.WhichOneof("value"))).elem_type
        for dim in kind.tensor_type.shape.dim if kind.HasField("tensor_type") else ():
            if dim.WhichOneof("value") is None:
                dim.dim_param, number = f"size{number}", number + 1
    return made


def _canonical(proto: onnx.ModelProto) -> bytes:
    """A model's bytes without what says nothing of what it computes: names of nodes, texts for people, who made it."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    for field in ("producer_name", "producer_version", "doc_string", "model_version", "metadata_props"):
        made.ClearField(field)
    _bare(made.graph)
    for function in made.functions:
        function.ClearField("doc_string")
        for node in function.node:
            _bare_node(node)
    return made.SerializeToString(deterministic=True)


def _bare(graph: onnx.GraphProto) -> None:
    graph.ClearField("doc_string")
    graph.ClearField("value_info")
    for tensor in graph.initializer:
        _plain_tensor(tensor)
    for node in graph.node:
        _bare_node(node)


def _bare_node(node: onnx.NodeProto) -> None:
    node.ClearField("name")
    node.ClearField("doc_string")
    for attribute in node.attribute:
        attribute.ClearField("doc_string")
        if attribute.type == _A.TENSOR:
            attribute.t.ClearField("name")
            _plain_tensor(attribute.t)
        elif attribute.type == _A.GRAPH:
            _bare(attribute.g)
    ordered = sorted(node.attribute, key=lambda a: a.name)
    del node.attribute[:]
    node.attribute.extend(ordered)


def _plain_tensor(tensor: onnx.TensorProto) -> None:
    """Store its elements as numpy_helper does."""
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))


def _by_helpers(proto: onnx.ModelProto) -> WrittenModel | None:
    """By calls of ``onnx.helper``, if that takes no more than they can say."""
    graph = proto.graph
    if proto.functions or not few_elements(_arrays_in(graph)):
        return None
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    bodies: list[str] = []
    nodes = [_node(n, bodies) for n in graph.node]
    if None in nodes or not _plain_values(graph):
        return None
    opsets = ", ".join(f"helper.make_opsetid({o.domain!r}, {o.version})" for o in proto.opset_import)
    lines = [*([f"weights = {_arrays(weights)}"] if weights else []), *bodies]
    lines.append("nodes = [" + ",\n         ".join(map(str, nodes)) + "]")
    values = [f"[{', '.join(_info(v) for v in part)}]" for part in (graph.input, graph.output)]
    end = ", [numpy_helper.from_array(a, n) for n, a in weights.items()]" if weights else ""
    lines.append(f"sides = {values[0]}, {values[1]}")
    lines.append(f"graph = helper.make_graph(nodes, {graph.name or 'g'!r}, *sides{end})")
    lines.append(
        f"model = helper.make_model(graph, opset_imports=[{opsets}], ir_version={proto.ir_version}).SerializeToString()"
    )
    text = "\n".join(lines)
    used = "helper, numpy_helper" if "numpy_helper" in text else "helper"
    return WrittenModel(text, ("import onnx", f"from onnx import {used}"))


def few_elements(arrays: Iterable[np.ndarray]) -> bool:
    """Whether arrays can be written down: numbers that numpy has itself, and not many of them.

    Args:
        arrays: of at most ``ELEMENTS`` elements together; no strings and complex numbers.
    """
    held = list(arrays)
    plain = all(a.dtype.isbuiltin == 1 and a.dtype.kind not in "OUSVc" for a in held)
    return plain and sum(a.size for a in held) <= ELEMENTS


def _arrays_in(graph: onnx.GraphProto) -> Iterator[np.ndarray]:
    """Initializers and constants, those of bodies included."""
    yield from map(numpy_helper.to_array, graph.initializer)
    for attribute in (a for node in graph.node for a in node.attribute):
        if attribute.type == _A.TENSOR:
            yield numpy_helper.to_array(attribute.t)
        elif attribute.type == _A.GRAPH:
            yield from _arrays_in(attribute.g)


def _plain_values(graph: onnx.GraphProto) -> bool:
    """Whether what enters and leaves is tensors, all of known element types."""
    values = (*graph.input, *graph.output)
    return not graph.sparse_initializer and all(v.type.WhichOneof("value") == "tensor_type" for v in values)


def _body(graph: onnx.GraphProto, bodies: list[str]) -> str | None:
    """The name of a body, whose source joins ``bodies``."""
    nodes = [_node(n, bodies) for n in graph.node]
    if None in nodes or not _plain_values(graph):
        return None
    values = [f"[{', '.join(_info(v) for v in part)}]" for part in (graph.input, graph.output)]
    held = ", ".join(
        f"numpy_helper.from_array({array_source(numpy_helper.to_array(t))}, {t.name!r})" for t in graph.initializer
    )
    name = f"body{len(bodies)}"
    inside = ",\n         ".join(map(str, nodes))
    bodies.append(f"{name} = helper.make_graph([{inside}], {graph.name or name!r}, {values[0]}, {values[1]}, [{held}])")
    return name


def _arrays(arrays: Mapping[str, np.ndarray]) -> str:
    return "{" + ", ".join(f"{name!r}: {array_source(a)}" for name, a in arrays.items()) + "}"


def array_source(array: np.ndarray) -> str:
    """Source of an array of numpy's own numbers, as ``np.array([...], 'float32')``; equal elements give ``np.full``,
    none give ``np.zeros``.
    """
    if array.size == 0:
        return f"np.zeros({array.shape}, {array.dtype.name!r})"
    if array.size > 1 and array.tobytes() == array.ravel()[:1].tobytes() * array.size:  # 0.0 is not -0.0
        return f"np.full({array.shape}, {special(repr(array.ravel()[0].item()))}, {array.dtype.name!r})"
    return f"np.array({special(repr(array.tolist()))}, {array.dtype.name!r})"


def _info(value: onnx.ValueInfoProto) -> str:
    kind = value.type.tensor_type
    shape: list[Any] | None = None
    if kind.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
    name = TensorProto.DataType.Name(kind.elem_type)
    return f"helper.make_tensor_value_info({value.name!r}, onnx.TensorProto.{name}, {shape})"


def _node(node: onnx.NodeProto, bodies: list[str]) -> str | None:
    attributes: list[str] = []
    for attribute in node.attribute:
        if not attribute.name.isidentifier() or attribute.name in _TAKEN:
            return None
        if attribute.type == _A.TENSOR:
            text = f"numpy_helper.from_array({array_source(numpy_helper.to_array(attribute.t))})"
        elif attribute.type == _A.GRAPH:
            made = _body(attribute.g, bodies)
            if made is None:
                return None
            text = made
        elif attribute.type in _PLAIN:
            value = helper.get_attribute_value(attribute)
            if isinstance(value, Sequence) and not len(value):
                return None  # of an empty list helpers do not know the type
            text = special(_literal(value))
        else:
            return None
        attributes.append(f"{attribute.name}={text}")
    domain = f", domain={node.domain!r}" if node.domain else ""
    words = "".join(f", {text}" for text in attributes)
    return f"helper.make_node({node.op_type!r}, {list(node.input)}, {list(node.output)}{domain}{words})"


def _literal(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"[{', '.join(_literal(v) for v in value)}]"
    return repr(value.decode(errors="surrogateescape") if isinstance(value, bytes) else value)
