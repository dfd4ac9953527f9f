"""What a rewrite is: a pattern, its side conditions, its replacement and the exactness that it promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from irfuzz.choices import Choices, Draw
from irfuzz.mutate.mutator_protocol import Skipped

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs


class Exactness(StrEnum):
    """How close what is computed stays in correct arithmetic."""

    BITWISE = "bitwise"
    """Every element is the same number; zeros keep their sign."""
    BOUNDED = "bounded"
    """Elements differ by rounding errors at most: sums are taken in another order, or a step is rounded anew."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to say the same in other words.

    Attributes:
        name: kebab-case, unique.
        exactness: what it promises.
        about: pattern and replacement.
        sites: names of the nodes or values if pattern and side conditions hold.
        apply: edits the program at a site and describes it, or leaves it as it is and says why. Raises
            ``InvalidProgram`` if the result is ill-typed; the program may then be half changed.
        eagle: number of the rule of EAGLE (ICSE 2022, table 1) that it realises.
    """

    name: str
    exactness: Exactness
    about: str
    sites: Callable[[Program, Specs], Sequence[str]]
    apply: Callable[[Program, Specs, str, Choices], str | Skipped]
    eagle: int | None = None


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One rewrite that was applied.

    Attributes:
        rewrite: its name.
        site: the node or value.
        operator: the operator that was rewritten, or that computes or first reads the value.
        detail: one readable sentence.
        exactness: what the rewrite promises.
        choices: what was drawn for it, by which it can be done again.
    """

    rewrite: str
    site: str
    operator: str
    detail: str
    exactness: Exactness
    choices: tuple[Draw, ...] = ()
