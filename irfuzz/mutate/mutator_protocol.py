"""The mutator protocol: a program and a site give a recorded edit, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
        pattern: that was inserted, by its name; empty if there is none, and of an edit that was read from a trace.
    """

    mutator: str
    version: int
    site: str
    choices: tuple[Draw, ...]
    relation: Relation
    detail: str
    pattern: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A mutator looked at a site and left the program exactly as it was."""

    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """An edit of which there is more to say than a sentence.

    Attributes:
        detail: one readable sentence.
        relation: what this edit did to the meaning, if that is not what all edits of its mutator do.
        pattern: that was inserted, by its name; empty if there is none.
    """

    detail: str
    relation: Relation
    pattern: str = ""


class MutatorUse(StrEnum):
    """When an engine uses a mutator that nobody has named."""

    ALWAYS = "always"
    ON_DEMAND = "on demand"
    """Never, but with weight 1 if it is named: who wants mutants mostly wants valid ones that run."""
    PART = "part"
    """Never: it is a part of what another mutator does, and an operator of a paper that can be asked for alone."""


@dataclass(frozen=True, slots=True)
class PublishedOperator:
    """An operator that a paper defines, on the mutator that does it.

    Attributes:
        paper: ``comet`` (Li et al., TOSEM 2023, table 3), ``lemon`` (Wang et al., ESEC/FSE 2020, table 1) or
            ``muffin`` (Gu et al., ICSE 2022, section 3.1).
        row: its place in the paper's table.
        name: the paper's.
        title: the paper's, in full.
        note: what irfuzz does more, or otherwise, than the paper says; empty if it is the same.
        beside: another mutator is the operator itself, and this one does more of its kind.
    """

    paper: str
    row: int
    name: str
    title: str
    note: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """How an engine and a search are to use a mutator.

    Attributes:
        weight: how often it is tried, relative to others.
        campaign_weight: the same in a campaign; ``weight`` if omitted. There new operators and patterns bring the most,
            and whether a component survives what is invalid is worth a look now and then.
        cost: of an edit beside that of running a small program, which is 1, as measured: seconds would make searches
            differ from run to run.
        grows: it hardly ever leaves a program with no more nodes than before: not tried on one that must not grow.
        covers: it may bring new calls; the others are for something else than coverage.
        steered: what it does hangs on what a campaign has covered, so that its draws alone may not make it again.
        use: when it is used.
        papers: what it is called in papers.
    """

    weight: float = 1.0
    campaign_weight: float | None = None
    cost: float = 0.4
    grows: bool = False
    covers: bool = True
    steered: bool = False
    use: MutatorUse = MutatorUse.ALWAYS
    papers: tuple[PublishedOperator, ...] = ()


class Donors(Protocol):
    """Other programs of the campaign, for mutators that take parts from a second parent."""

    def digests(self) -> Sequence[str]:
        """Digests of the programs that may be taken from, in a fixed order: recorded choices are indices into it."""
        ...

    def get(self, digest: str) -> Program:
        """One of them, to be read and not to be changed: whether it is a copy is left to each kind of donors.

        Args:
            digest: one of ``digests()``.
        """
        ...


def profile_of(mutator: object) -> Profile:
    """The profile of a mutator or of its class; the default one if it has none, as for a mutator of another package
    that knows nothing of profiles.
    """
    return getattr(mutator, "profile", Profile())


class Mutator(Protocol):
    """One way to change a program. It checks first and edits second, never half.

    Attributes:
        name: kebab-case, unique among mutators.
        version: raised whenever the same draws would give another program.
        relation: what edits of this mutator do to the meaning, unless ``apply`` says otherwise.

    A class attribute ``profile`` of type ``Profile`` says how often it is used; without one the defaults hold.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    relation: ClassVar[Relation]

    def sites(self, program: Program) -> Sequence[str]:
        """Names of the nodes or values that this mutator could work on, in a fixed order.

        A node is named by its first named output. ``apply`` may still refuse a site; an empty answer means that there
        is nothing to do. The program is not changed.
        """
        ...

    def apply(self, program: Program, site: str, choices: Choices) -> str | Applied | Skipped:
        """Edit ``program`` in place and describe it in one sentence, or leave it alone and say why.

        Args:
            program: it is changed only if the answer is not ``Skipped``.
            site: one of ``sites(program)``, or one from a trace.
            choices: every draw; the same answers give the same edit.

        Returns:
            The sentence, with more to say in an ``Applied``; ``Skipped`` if nothing was done.

        Raises:
            InvalidProgram: the site is not there, or ONNX finds the result ill-typed; the program may be half changed
                then.
        """
        ...
