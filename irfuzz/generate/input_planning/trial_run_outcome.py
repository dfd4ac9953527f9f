"""How a run of a program ended, as far as the search for sizes asks, and what can run one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program

if TYPE_CHECKING:
    from irfuzz.generate.input_values import Value

MOST_SHAPES = 400
"""Shapes of so many inner values are asked for in one run."""


@dataclass(frozen=True, slots=True)
class TrialRun:
    """How a run ended.

    Attributes:
        error: what the runtime said; empty if it ran.
        seconds: that it took.
        outputs: values by name.
    """

    error: str = ""
    seconds: float = 0.0
    outputs: Mapping[str, Value] = field(default_factory=dict)


class Runtime(Protocol):
    """Runs programs where a crash or a hang does no harm."""

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> TrialRun:
        """Run one program once."""
        ...


def with_shapes(program: Program, names: Sequence[str]) -> tuple[Program, tuple[str, ...]]:
    """A copy that also gives the shapes of some inner tensors, and the names of the outputs that hold them.

    Args:
        program: it stays as it is.
        names: of values of the main graph; those that are no dense tensors, and all beyond ``MOST_SHAPES``, are left
            out.
    """
    copy = program.clone()
    outputs: list[str] = []
    for name in names[:MOST_SHAPES]:
        value = copy.value(name)
        if value is not None and isinstance(copy.fact(value), TensorFact):
            (shape,) = copy.insert("Shape", [value], name_hint="irfuzz_shape").outputs
            copy.add_output(shape)
            outputs.append(shape.name or "")
    return copy, tuple(outputs)
