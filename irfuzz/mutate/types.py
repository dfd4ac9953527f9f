"""The mutator protocol: a program and a site enter, a recorded edit or a reason leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from irfuzz.choices import Choices, Draw

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


class Relation(StrEnum):
    """What an edit does to the meaning of a program."""

    EQUIVALENT = "equivalent"
    CHANGED = "changed"
    INVALID = "invalid"
    """The result deliberately breaks a rule: a runtime is right to refuse it, but must not crash."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One applied mutation.

    Attributes:
        mutator: name of the mutator.
        version: its version; a replay refuses another one.
        site: the name of the node or value it worked on.
        choices: every draw it made, in order.
        relation: what it did to the meaning.
        detail: one readable sentence, for reports.
    """

    mutator: str
    version: int
    site: str
    choices: tuple[Draw, ...]
    relation: Relation
    detail: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A mutator looked at a site and left the program exactly as it was."""

    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """An edit whose relation is its own and not that of all edits of its mutator.

    Attributes:
        detail: one readable sentence.
        relation: what this edit did to the meaning.
    """

    detail: str
    relation: Relation


class Donors(Protocol):
    """Other programs of the campaign, for mutators that take parts from a second parent."""

    def digests(self) -> Sequence[str]:
        """Digests of the programs that may be taken from, in a fixed order."""
        ...

    def get(self, digest: str) -> Program:
        """One of them, to be read and not to be changed."""
        ...


class Mutator(Protocol):
    """One way to change a program. It checks first and edits second, never half.

    Attributes:
        name: kebab-case, unique among mutators.
        version: raised whenever the same draws would give another program.
        relation: what edits of this mutator do to the meaning, unless ``apply`` says otherwise.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    relation: ClassVar[Relation]

    def sites(self, program: Program) -> Sequence[str]:
        """Names of the nodes or values that this mutator could work on."""
        ...

    def apply(self, program: Program, site: str, choices: Choices) -> str | Applied | Skipped:
        """Edit ``program`` in place and describe it in one sentence, or leave it alone and say why."""
        ...
