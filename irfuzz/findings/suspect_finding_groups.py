"""Which suspects are alike, so that triage looks into one of them and a list names one of them.

Suspects are not made small before they are stored, so neither a signature nor a cause is known of them. Alike are those
of one component and symptom in which the same operator gives the wrong value, or that said the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import onnx_ir as ir

from irfuzz.findings.causes.cause_grouping import BY_MESSAGE
from irfuzz.ir.program import Program
from irfuzz.oracle.fault_signature import SMALL_PROGRAM, operators_of
from irfuzz.oracle.message_normalization import names_of, normalise_message, operators
from irfuzz.oracle.verdict import Verdict
from irfuzz.spec import has_trait


def group_of(verdict: Verdict, program: Program) -> str:
    """Text that is equal for suspects that are alike: ``onnxruntime|difference|MaxPool|``.

    Args:
        verdict: of the suspect.
        program: it was seen on; if that is large, all its operators say nothing of the fault.
    """
    component = verdict.target.partition(":")[0].partition("@")[0]
    words = normalise_message(verdict.message, names_of(program)) if verdict.symptom in BY_MESSAGE else ""
    return "|".join((component, verdict.symptom.value, _operators(verdict, program, words), words))


def _operators(verdict: Verdict, program: Program, words: str) -> str:
    if verdict.operator:
        return verdict.operator
    if words:
        named = operators() & set(words.replace("(", " ").replace("'", " ").split())
        # A message that names its operator needs no other; a general one of a large program is all that there is.
        return "" if named or len(program.graph) > SMALL_PROGRAM else ",".join(operators_of(verdict, program))
    node = _deciding(program, verdict.output)
    return "" if node is None else node.op_type


def _deciding(program: Program, output: str) -> ir.Node | None:
    """The node that gives an output, behind those that only hand values on or convert them."""
    value = program.value(output) if output else None
    node = first = None if value is None else value.producer()
    while node is not None and (has_trait(node, "transparent") or has_trait(node, "incidental")):
        source = next((v for v in node.inputs if v is not None), None)
        node = None if source is None else source.producer()
    return node or first


def alike(groups: Sequence[Hashable]) -> list[list[int]]:
    """Places of equal groups together, in the order of the first of each; what has no group (an empty one) is alone."""
    rows: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        rows.setdefault(group or ("alone", place), []).append(place)
    return list(rows.values())
