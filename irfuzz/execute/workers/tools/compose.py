"""Renames a model's values, or takes it apart and merges it again, by onnx.compose."""

from __future__ import annotations

import onnx
import onnx.compose
import onnx.shape_inference
import onnx.utils


def version() -> str:
    """Of the installed onnx."""
    return str(onnx.__version__)


def convert(model: bytes, do: str) -> bytes:
    """``prefix`` (another name for every inner value) or ``merge`` (cut in two with onnx.utils and merge again)."""
    proto = onnx.load_model_from_string(model)
    if do == "prefix":
        made = onnx.compose.add_prefix(proto, "inner/", rename_inputs=False, rename_outputs=False)
    else:
        made = _cut_and_merged(proto)
    return made.SerializeToString()


def _cut_and_merged(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Both halves meet in one value, and share nothing else: that is what ``merge_models`` is for."""
    if proto.functions:
        raise NotImplementedError("onnx.utils does not extract models with local functions")
    graph = proto.graph
    value = _waist(graph)
    typed = onnx.shape_inference.infer_shapes(proto)
    if value not in {v.name for v in typed.graph.value_info}:
        raise NotImplementedError(f"the type of {value!r} is not inferred")
    extractor = onnx.utils.Extractor(typed)
    first = extractor.extract_model([v.name for v in graph.input], [value])
    second = extractor.extract_model([value], [v.name for v in graph.output])
    for half in (first, second):
        del half.graph.value_info[:]  # either has those of the whole
    merged = onnx.compose.merge_models(first, second, [(value, value)])
    merged.ir_version = proto.ir_version
    return merged


def _waist(graph: onnx.GraphProto) -> str:
    """The middlemost value on which alone everything after it depends."""
    outputs = {v.name for v in graph.output}
    reads = [_read_by(node) for node in graph.node]
    found = []
    for cut in range(1, len(graph.node)):
        made = {name for node in graph.node[:cut] for name in node.output if name}
        before = {v.name for v in graph.input} | {t.name for t in graph.initializer}
        early = set().union(*reads[:cut])
        late = set().union(*reads[cut:]) | outputs
        # A weight may be read late, but not on both sides, and no input late.
        crossing = (late & made) | (late & {v.name for v in graph.input}) | (early & late & before)
        if len(crossing) == 1 and crossing <= made and not crossing & outputs:
            found.append((abs(2 * cut - len(graph.node)), crossing.pop()))
    if not found:
        raise NotImplementedError("no single value divides the model")
    return min(found)[1]


def _read_by(node: onnx.NodeProto) -> set[str]:
    """Names that a node reads, those that its bodies take from outside included (and a few more)."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for body in [attribute.g, *attribute.graphs]:
            for inner in body.node:
                names |= _read_by(inner)
            names |= {v.name for v in body.output}
    return names
