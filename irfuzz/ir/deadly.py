"""A call enters; why onnx's inference, which runs in this process, would not survive it leaves.

onnx 1.23.2 reads beyond lists, allocates without end or never comes back for each of these (``docs/bugs.md``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from irfuzz.facts import Fact, TensorFact

Attrs: TypeAlias = Mapping[str, Any]
Inputs: TypeAlias = Sequence[Fact | None]

MOST_RANK = 1024
"""A rank that no tensor has; inference takes any number for one, and makes that many dimensions."""

_TERM = r"[A-Za-z]*(?:\.\.\.[A-Za-z]*)?"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM})*(?:->{_TERM})?")


def deadly(op: str, attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    """Why a call must not be asked about; empty where it may.

    Args:
        op: operator of the default domain.
        attrs: values by name, of whatever type the node has them.
        inputs: their facts.
        outputs: how many the node has.
    """
    for i, fact in enumerate(inputs):
        for size in (isinstance(fact, TensorFact) and fact.shape) or ():
            if type(size) is int and size < 0:  # GatherND counts back from it
                return f"input {i} has a size of {size}"
    rule = _RULES.get(op)
    return "" if rule is None else rule(attrs, inputs, outputs)


def _split(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    wanted = attrs.get("num_outputs", outputs)
    return "" if wanted == outputs else f"num_outputs is {wanted}, but the node has {outputs} outputs"


def _gather_nd(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    batch = attrs.get("batch_dims", 0)
    negative = isinstance(batch, int) and batch < 0
    return f"batch_dims is {batch}, but no number of dimensions is negative" if negative else ""


def _layer_norm(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    axis = attrs.get("axis", -1)
    beyond = isinstance(axis, int) and not -MOST_RANK <= axis < MOST_RANK
    return f"axis is {axis}, but no tensor has so many dimensions" if beyond else ""


def _expand(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    wanted = inputs[1] if len(inputs) > 1 else None
    rank = wanted.shape[0] if isinstance(wanted, TensorFact) and wanted.shape else 0
    beyond = isinstance(rank, int) and rank > MOST_RANK
    return f"shape has {rank} elements, but no tensor has so many dimensions" if beyond else ""


def _einsum(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    equation = attrs.get("equation", "")
    if isinstance(equation, bytes):  # not UTF-8
        equation = equation.decode(errors="replace")
    if not isinstance(equation, str) or _EQUATION.fullmatch(equation.replace(" ", "")):
        return ""
    return f"equation {equation!r}: each operand, and what '->' gives, is letters with at most one '...'"


_RULES: Mapping[str, Callable[[Attrs, Inputs, int], str]] = {
    "Einsum": _einsum,
    "Expand": _expand,
    "GatherND": _gather_nd,
    "LayerNormalization": _layer_norm,
    "Split": _split,
}
