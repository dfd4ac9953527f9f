"""Spells a model in an older opset whose operators of the same names mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rules.operator_decomposition import reduced_axes

if TYPE_CHECKING:
    from irfuzz.spec import Specs

SITE = "model"
OLDEST = 13
_AXES_SINCE = 18
"""From here on reductions have their axes as an input, as ReduceSum had before."""

OTHERWISE = frozenset(
    {
        *("BatchNormalization", "Bernoulli", "DFT", "GridSample", "GroupNormalization", "Resize", "RoiAlign", "Split"),
        *("Dropout", "STFT", "ImageDecoder", "StringNormalizer", "Attention", "AveragePool"),
    }
)
"""Calls of the same look mean something else in some version behind the oldest, or have no fixed meaning."""


def _older(program: Program, specs: Specs) -> list[int]:
    """Versions in which every operator of the model exists, and means the same."""
    plain = not program.model.functions and not set(program.model.opset_imports) - {"", "ai.onnx"}
    nodes = program.nodes()
    if not plain or any(_has_body(node) for node in nodes):
        return []
    ops = {node.op_type for node in nodes}
    versions: list[int] = []
    for version in range(OLDEST, program.opset):
        kept = {op for op in ops if specs.get(op, version) is specs.get(op, program.opset) is not None}
        if all(specs.get(op, version) is not None for op in ops) and not (ops - kept) & OTHERWISE:
            versions.append(version)
    return versions


def _has_body(node: ir.Node) -> bool:
    return any(a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS) for a in node.attributes.values())


def _sites(program: Program, specs: Specs) -> list[str]:
    return [SITE] if _older(program, specs) else []


def _older_form(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
    versions = _older(program, specs)
    if not versions:
        return Skipped("no older version in which its operators mean the same")
    opset, target = program.opset, choices.pick(versions)
    proto = program.to_proto()
    if target < _AXES_SINCE <= opset:
        for node, spelt in zip(program.nodes(), proto.graph.node, strict=True):
            if node.op_type.startswith("Reduce") and node.op_type != "ReduceSum":
                reason = _axes_as_attribute(program, node, spelt)
                if reason:
                    return Skipped(reason)
    for entry in proto.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = target
    new = Program.from_proto(proto)
    problems = verify(new, specs)
    if problems:
        return Skipped(str(problems[0]))
    Program.__init__(program, new.model, new.residue, program.parents)
    program.touched.update(program.graph)
    return f"opset {opset} becomes {target}, in which these operators mean the same"


def _axes_as_attribute(program: Program, node: ir.Node, spelt: onnx.NodeProto) -> str:
    """Spell a reduction as before opset 18; why not."""
    if program.attrs(node).get("noop_with_empty_axes", 0):
        return "an attribute that older reductions lack"
    axes = reduced_axes(program, node)
    if axes is None:
        return "axes that are computed"
    kept = [attr for attr in spelt.attribute if attr.name != "noop_with_empty_axes"]
    del spelt.attribute[:]
    spelt.attribute.extend([*kept, *([onnx.helper.make_attribute("axes", axes)] if axes else [])])
    del spelt.input[1:]
    return ""


REWRITES: tuple[Rewrite, ...] = (
    Rewrite("older-opset", Exactness.BITWISE, "model -> the same in an older opset", _sites, _older_form),
)
