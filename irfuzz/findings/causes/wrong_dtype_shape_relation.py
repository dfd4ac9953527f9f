"""How a wrong type or shape relates to the right one, whatever the sizes are."""

from __future__ import annotations

import re

from irfuzz.oracle.verdict import Symptom, Verdict

KINDS = frozenset({Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE})

IN_A_SEQUENCE = "in a sequence"
OUT_OF_SEQUENCE = "out of its sequence"

_SHAPE = re.compile(r"\[([^\]]*)\]")


def relation_of(verdict: Verdict) -> str:
    """``int32->int64``, ``fewer dimensions``, ``in a sequence``; empty if types and shapes are right or not known.

    Args:
        verdict: of which ``expected`` and ``got`` are compared, as texts of ``value_structure.describe``.

    Returns:
        Types before shapes: of a wrong type nothing is said of sizes. The other texts are ``out of its sequence``,
        ``more dimensions`` and ``other sizes``.
    """
    expected, got = verdict.expected, verdict.got
    if verdict.symptom not in KINDS or not expected or not got:
        return ""
    if got == f"sequence({expected})":
        return IN_A_SEQUENCE
    if expected == f"sequence({got})":
        return OUT_OF_SEQUENCE
    types = [_SHAPE.sub("", kind) for kind in (expected, got)]
    if types[0] != types[1]:
        return "->".join(types)
    shapes = [_SHAPE.search(kind) for kind in (expected, got)]
    if shapes[0] is None or shapes[1] is None:
        return ""
    right, wrong = (len([size for size in shape[1].split(",") if size]) for shape in shapes if shape is not None)
    return "other sizes" if wrong == right else "more dimensions" if wrong > right else "fewer dimensions"
