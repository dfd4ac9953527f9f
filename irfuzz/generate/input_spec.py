"""What a user says of a model's inputs: shapes, sizes of named dimensions, ranges and arrays from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irfuzz.generate.input_values import Value


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What is said of the inputs of one model; what is not said is decided from the model.

    Whoever makes one has checked it against the model: names are those of inputs and dimensions, shapes have the
    declared rank and agree with fixed sizes and with ``sizes``, samples have the declared types.

    Attributes:
        shapes: whole shapes by input name.
        sizes: sizes of named dimensions.
        ranges: lowest and highest element by input name.
        samples: arrays by input name, from data; each entry is one run of the model. An input that is missing in one
            is drawn.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])
    samples: Sequence[Mapping[str, Value]] = ()

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.shapes or self.sizes or self.ranges or self.samples)
