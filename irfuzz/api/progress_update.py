"""What a call reports while it works: how far it has come, remarks for people, and what is known so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Update(Generic[T]):
    """One step of a long call.

    Attributes:
        doing: what is under way, such as ``comparing``.
        done: how many of it are done; ``None`` if that has not changed.
        total: of how many; ``None`` if that is not known.
        unit: what is counted, such as ``inputs``.
        note: what else is worth a look, such as the best so far.
        remark: a sentence that a person should read, such as what was left out and why; empty if there is none.
        so_far: makes what the call would return if it ended now, from any thread; ``None`` before anything is known.
    """

    doing: str = ""
    done: int | None = None
    total: int | None = None
    unit: str = ""
    note: str = ""
    remark: str = ""
    so_far: Callable[[], T | None] | None = None


Observer: TypeAlias = Callable[[Update[T]], None]


def unobserved(update: Update[T]) -> None:
    """The observer of those who gave none."""
