"""Why onnx's inference, which runs in this process, would not survive a call.

onnx 1.23.2 reads beyond lists, allocates without end or never comes back for each of these (``docs/bugs.md``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from irfuzz.facts import Fact, TensorFact
from irfuzz.spec import trait_values

Attrs: TypeAlias = Mapping[str, Any]
Inputs: TypeAlias = Sequence[Fact | None]

MOST_RANK = 1024
"""A rank that no tensor has; inference takes any number for one, and makes that many dimensions."""

_TERM = r"[A-Za-z]*(?:\.\.\.[A-Za-z]*)?"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM})*(?:->{_TERM})?")


def deadly(op: str, attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    """Why a call must not be asked about; empty if it may.

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
    guard = trait_values("inference_guard").get(op)
    return "" if guard is None else GUARDS[guard](attrs, inputs, outputs)


def _outputs(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    wanted = attrs.get("num_outputs", outputs)
    return "" if wanted == outputs else f"num_outputs is {wanted}, but the node has {outputs} outputs"


def _batch(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    batch = attrs.get("batch_dims", 0)
    negative = isinstance(batch, int) and batch < 0
    return f"batch_dims is {batch}, but no number of dimensions is negative" if negative else ""


def _axis(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    axis = attrs.get("axis", -1)
    beyond = isinstance(axis, int) and not -MOST_RANK <= axis < MOST_RANK
    return f"axis is {axis}, but no tensor has so many dimensions" if beyond else ""


def _rank(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    wanted = inputs[1] if len(inputs) > 1 else None
    rank = wanted.shape[0] if isinstance(wanted, TensorFact) and wanted.shape else 0
    beyond = isinstance(rank, int) and rank > MOST_RANK
    return f"shape has {rank} elements, but no tensor has so many dimensions" if beyond else ""


def _equation(attrs: Attrs, inputs: Inputs, outputs: int) -> str:
    equation = attrs.get("equation", "")
    if isinstance(equation, bytes):  # not UTF-8
        equation = equation.decode(errors="replace")
    if not isinstance(equation, str) or _EQUATION.fullmatch(equation.replace(" ", "")):
        return ""
    return f"equation {equation!r}: each operand, and what '->' gives, is letters with at most one '...'"


GUARDS: Mapping[str, Callable[[Attrs, Inputs, int], str]] = {
    "axis_of_a_tensor": _axis,
    "letters_and_dots": _equation,
    "no_negative_batch": _batch,
    "outputs_as_given": _outputs,
    "rank_of_a_tensor": _rank,
}
"""By name (the trait ``inference_guard``): what a call must keep."""
