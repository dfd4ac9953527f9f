"""``convert-opset``: the whole model is converted to another version of the default domain by ONNX's own converter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir
from onnx import version_converter

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.editing.layer_rewiring import predict
from irfuzz.mutate.editing.mutation_sites import has_subgraph
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import OpSpec

TARGETS = tuple(range(11, 27))
"""Versions that a model may be converted to."""

IR_VERSIONS = {
    11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10,
    22: 10, 23: 11, 24: 12, 25: 13, 26: 13,
}  # fmt: skip
"""The IR version that came with each opset (ONNX Versioning.md); an older one does not know the opset."""

NEWEST = 21
"""The newest to which models are converted if nobody says what targets take, and with which the converter is trusted.

Beyond it a model only changes its number, if all of its operators are alike there.
"""

MAX_NODES = 400
"""Larger models take too long in the converter, which is quadratic in places."""

SITE = "model"


@dataclass(frozen=True, slots=True)
class ConvertOpset:
    """Converts models that consist of operators whose conversion is known to be right.

    To an older version only by its number, if each operator had the same inputs, attributes and defaults there.
    """

    context: Context
    name: ClassVar[str] = "convert-opset"
    version: ClassVar[int] = 4
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.3, cost=4.0)

    def sites(self, program: Program) -> list[str]:
        """The model, under the name ``model``, if the converter can be trusted with it: not too large, no functions,
        control flow or other domains, only dense tensors of plain types.
        """
        return [] if _refused(program) else [SITE]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Draw a version of ``TARGETS``, convert the whole model, and infer anew, all in place.

        If every operator means the same there only the number changes; else ONNX's converter is called. The IR version
        rises as far as the opset needs. Skipped if the converter refuses or no version is allowed.
        """
        reason = _refused(program)
        if reason is not None:
            return Skipped(reason)
        opset = program.opset
        weights = [float(self._allowed(program, target)) for target in TARGETS]
        if not any(weights):
            return Skipped("no version to which it can be converted")
        target = choices.weighted(TARGETS, weights)
        if target < opset or target > NEWEST or self._unchanged(program, target):
            model = program.model
            imports = model.graph.opset_imports
            imports["ai.onnx" if "ai.onnx" in imports else ""] = target
            model.ir_version = max(model.ir_version, IR_VERSIONS[target])
            Program.__init__(program, model, program.residue, program.parents, program.inference.size_names)
            return f"opset {opset} becomes {target}, in which these operators mean the same"
        if broken := verify(program, self.context.specs):
            return Skipped(f"an earlier edit breaks a rule, of which the converter's inference may die: {broken[0]}")
        proto = program.to_proto()
        try:
            converted = version_converter.convert_version(proto, target)
        except (RuntimeError, version_converter.ConvertError) as error:
            return Skipped(f"the converter refuses: {str(error).splitlines()[0][:80]}")
        converted.ir_version = max(proto.ir_version, IR_VERSIONS[target])
        new = Program.from_proto(converted)
        # The converter drops all metadata, and with it what an input may be given.
        written = {value.name: value.metadata_props for value in program.graph.inputs if value.metadata_props}
        for value in new.graph.inputs:
            value.metadata_props.update(written.get(value.name, {}))
        Program.__init__(program, new.model, new.residue, program.parents)
        program.touched.update(program.graph)
        return f"opset {opset} becomes {target}"

    def _unchanged(self, program: Program, target: int) -> bool:
        """Whether every operator of the model is of the same version there: then its number alone changes."""
        specs, opset = self.context.specs, program.opset
        return all(
            specs.get(op, opset) is specs.get(op, target) for op in dict.fromkeys(n.op_type for n in program.nodes())
        )

    def _allowed(self, program: Program, target: int) -> bool:
        opset = program.opset
        if target == opset or target > self.context.max_opset:
            return False
        if target < opset or target > NEWEST:
            return all(self._alike(program, node, target) for node in program.nodes())
        specs = self.context.specs
        return all(specs.get(op, target) is not None for op in dict.fromkeys(n.op_type for n in program.nodes()))

    def _alike(self, program: Program, node: ir.Node, target: int) -> bool:
        """Whether a node means the same at an older version of its operator, which mostly took fewer element types.

        Operators that were changed between opset 11 and 21 have other inputs, attributes or defaults since; before that
        an axis could not be negative.
        """
        specs = self.context.specs
        new, old = specs.get(node.op_type, program.opset), specs.get(node.op_type, target)
        if new is None or old is None or _form(new) != _form(old):
            return False
        facts = [None if value is None else program.tensor(value) for value in node.inputs]
        attrs = dict(node.attributes)
        found = predict(specs, target, node.op_type, facts, attrs, len(node.outputs), 1 << 30, open_sizes=True)
        return not isinstance(found, Skipped)


def _form(spec: OpSpec) -> tuple[object, ...]:
    """What a call of an operator may have: its formals and attributes, without element types."""
    formals = tuple((formal.option, formal.least) for formal in (*spec.inputs, None, *spec.outputs) if formal)
    attrs = tuple(sorted((a.name, a.type, a.required, repr(a.default)) for a in spec.attrs.values()))
    return len(spec.inputs), formals, attrs


def newest_for(limits: Iterable[tuple[int, int]]) -> int:
    """The newest version to which programs may be converted that are to run on several targets.

    Args:
        limits: for each target the newest opset and the newest IR version that it takes; 0 if that is not known.

    Returns:
        One of ``TARGETS``; 0 if every one is too new.
    """
    known = list(limits)
    fit = [
        t for t in TARGETS if all((not o or t <= o) and (not i or IR_VERSIONS[t] <= i) for o, i in known)
    ]  # fmt: skip
    return fit[-1] if fit else 0


def _refused(program: Program) -> str | None:
    """Why the converter, which aborts or errs on some models, is not tried."""
    nodes = program.nodes()
    if len(nodes) > MAX_NODES:
        return "too many nodes for the converter"
    if program.model.functions or set(program.model.opset_imports) - {"", "ai.onnx"}:
        return "functions or other domains"
    if any(has_subgraph(node) for node in nodes):
        return "control flow"
    for value in program.values():
        fact = program.fact(value)
        if value.name and not (isinstance(fact, TensorFact) and fact.dtype in CASTABLE and fact.shape is not None):
            return "a value that is not a dense tensor of a plain type"
    if any(
        attr.type is ir.AttributeType.TENSOR and attr.value.dtype not in CASTABLE
        for node in nodes
        for attr in node.attributes.values()
    ):
        return "a tensor attribute of an unusual type"
    return None
