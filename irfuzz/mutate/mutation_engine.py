"""Applies mutators to a program by recorded choices, and repeats recorded edits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import onnx

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import MOST_ELEMENTS
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.insertion.splice import Splice
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.model_interface.freeze_defaults import SITE, FreezeDefaults
from irfuzz.mutate.model_interface.import_domain import ImportDomain, known_domains
from irfuzz.mutate.model_interface.name_sizes import NameSizes
from irfuzz.mutate.mutator_context import Context, CoverageGaps, Novelty
from irfuzz.mutate.mutator_protocol import Applied, Donors, Edit, Mutator, MutatorUse, Relation, Skipped, profile_of
from irfuzz.mutate.mutator_table import BUILTIN, build_mutators
from irfuzz.mutate.paper_mutator_lookup import OPERATORS, PAPERS, expanded

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.spec import Specs

ATTEMPTS = 16
"""How many mutator and site pairs are tried for one edit before it is given up."""

PLANNED_ATTEMPTS = 4
"""The same where the mutator is given, and only the site is drawn."""

TOO_LARGE = "more nodes than allowed"
"""Why an edit that stands nowhere was taken back."""

STEADY = frozenset(BUILTIN) - {Splice.name}
"""Mutators whose sites hang on nothing but the program, the specs and the limits of the engine."""

MOST_COMPUTED = 1 << 29
"""Elements of a value; edits around larger ones would make constants of their size, and no target would hold them."""

MOST_OPERANDS = 4096
"""Inputs of a node: to take one with more out of a graph takes onnx_ir seconds, and four times as long if it has twice
as many.
"""

MIN_OPSET = 9
"""Older models are not mutated: operators that adapt types and shapes are missing or spelt in a way of their own."""


class EditCheck(Protocol):
    """What decides which edits stand (``Constraints``, ``DrawingLimits``); false if it lets everything pass."""

    def __bool__(self) -> bool: ...

    def mark(self, program: Program) -> Any:
        """What ``broken`` has to know of a program as it is before an edit."""
        ...

    def broken(self, program: Program, before: Any) -> str:
        """Why an edit is taken back; empty if it stands.

        Args:
            program: after the edit.
            before: what ``mark`` gave.
        """
        ...


@dataclass(slots=True)
class AttemptCounts:
    """What became of the attempts.

    Attributes:
        applied: edits that stand, by mutator.
        skipped: attempts that changed nothing, by mutator and reason.
        thrown: edits that were made and taken back because the result was not valid, by mutator and message.
    """

    applied: Counter[str] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    thrown: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: AttemptCounts) -> None:
        """Add another count to this one, number by number; the other one stays as it is."""
        self.applied.update(other.applied)
        self.skipped.update(other.skipped)
        self.thrown.update(other.thrown)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program made from another by at least one edit.

    Attributes:
        program: the result; the program it was made from is untouched.
        edits: what was done, in order.
        counts: what was tried on the way.
    """

    program: Program
    edits: tuple[Edit, ...]
    counts: AttemptCounts

    def to_bytes(self) -> bytes:
        """The mutant as a serialized ONNX model, the same bytes whenever the same edits are made again."""
        return self.program.to_bytes()

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The mutant as an ONNX model, built anew at each access: keep it if it is read more than once."""
        return self.program.to_proto()


class _Failed(Enum):
    """How the program is after an attempt that came to nothing."""

    UNCHANGED = 1
    SPOILT = 2
    GROWN = 3
    """Larger than allowed."""


class Engine:
    """Applies mutators to programs.

    Args:
        specs: operator specs.
        mutators: names of those to use (default: all in the table and from entry points).
        max_nodes: no mutant gets more nodes than this in its main graph, unless it already had more; such a program
            may only shrink or keep its size.
        seen: weighs down choices that were seen before; it never enters what a recorded choice means.
        donors: programs from which ``splice`` takes parts.
        max_opset: conversion of models goes no further than this version of the default domain.
        weights: how often each mutator is tried, relative to others (default: the table's).
        wanted: what is not covered yet, for mutators that aim at it; like ``seen`` it steers draws only.
        constraints: edits that break one are taken back.
        domains: other domains whose operators every program is given, whatever it uses (``import-domain``).

    Raises:
        UsageError: an unknown domain, an unknown mutator, a negative weight, or nothing left to choose from.
    """

    def __init__(
        self,
        specs: Specs,
        mutators: Sequence[str] | None = None,
        *,
        max_nodes: int = 200,
        seen: Novelty | None = None,
        donors: Donors | None = None,
        max_opset: int = NEWEST,
        weights: Mapping[str, float] | None = None,
        wanted: CoverageGaps | None = None,
        constraints: EditCheck | None = None,
        domains: Sequence[str] = (),
    ) -> None:
        self._domains = known_domains(specs, domains)
        if max_nodes < 1:
            raise UsageError(f"max_nodes: expected at least 1, got {max_nodes}")
        self.specs = specs
        self.max_nodes = max_nodes
        self.counts = AttemptCounts()
        self._constraints = constraints or None
        table = build_mutators(Context(specs, seen, donors, max_opset, wanted))
        self._table = table
        self._key = object()  # others may have other specs and limits
        self.mutators: dict[str, Mutator] = {name: table[name] for name in select(mutators, table)}
        for name in weights or ():
            if name not in table:
                raise UsageError(f"weights: unknown mutator {name!r}; known: {', '.join(sorted(table))}")
        named = [table[name] for name in mutators or () if name in table]
        asked = {mutator.name: 1.0 for mutator in named if profile_of(mutator).use is MutatorUse.ON_DEMAND}
        given = {**asked, **(weights or {})}
        self._names = tuple(self.mutators)
        profiles = [profile_of(mutator) for mutator in self.mutators.values()]
        self._weights = tuple(float(given.get(n, p.weight)) for n, p in zip(self._names, profiles, strict=True))
        if min(self._weights) < 0 or sum(self._weights) <= 0:
            got = dict(zip(self._names, self._weights, strict=True))
            raise UsageError(f"weights: expected none below 0 and one above it, got {got}")
        full = tuple(0.0 if p.grows else w for p, w in zip(profiles, self._weights, strict=True))
        self._weights_when_full = full if sum(full) > 0 else self._weights

    def mutate(
        self,
        program: Program,
        choices: Choices,
        edits: int = 1,
        plan: Sequence[str | None] = (),
        *,
        max_nodes: int | None = None,
    ) -> Mutant | None:
        """A mutant of ``program``, which stays as it is.

        Args:
            program: a valid program.
            choices: every draw comes from here.
            edits: how many edits are wanted; fewer are made if too many attempts fail.
            plan: names of the mutators of the first edits; what is ``None`` in it, or behind it, is drawn by weight.
            max_nodes: in place of the engine's.

        Returns:
            ``None`` if not one edit could be made: ``counts`` of the engine says why. An edit that makes the program
            invalid on purpose is the last one.
        """
        counts = AttemptCounts()
        reason = self._refused(program)
        if reason is not None:
            counts.skipped["engine", reason] += 1
            self.counts.add(counts)
            return None
        done: list[Edit] = []
        work = program.clone()
        for name in (FreezeDefaults.name, NameSizes.name):
            mutator = self._table[name]
            if mutator.sites(work):
                work = self._prepare(work, mutator, SITE, done)
        for domain in self._domains:
            if domain not in work.domains:
                work = self._prepare(work, self._table[ImportDomain.name], domain, done)
        given = len(done)
        most = self.max_nodes if max_nodes is None else max_nodes
        full: set[str] = set()  # what would make it too large: a plan often names the same mutator ten times
        for number in range(edits):
            wanted = plan[number] if number < len(plan) else None
            if wanted in full:
                counts.skipped[wanted, TOO_LARGE] += 1
                continue
            for _attempt in range(ATTEMPTS if wanted is None else PLANNED_ATTEMPTS):
                size = len(work.graph)
                edit = self._attempt(work, choices, counts, most, wanted)
                if isinstance(edit, Edit):
                    work.asked = {}  # a mutator of another package may have edited the model itself
                    done.append(edit)
                    if len(work.graph) < size:
                        full.clear()
                    break
                if edit is not _Failed.UNCHANGED:
                    work = self._redo(program, done)
                if edit is _Failed.GROWN and wanted is not None:
                    full.add(wanted)
                    break
            if done and done[-1].relation is Relation.INVALID:
                break  # of a program that breaks a rule nothing is known any more
        self.counts.add(counts)
        if len(done) == given:
            return None
        return Mutant(work, tuple(done), counts)

    def _refused(self, program: Program) -> str | None:
        """Why nothing can be done with a program, whatever the mutator."""
        known: dict[object, str | None] = program.asked
        if self._key not in known:
            why = why_not_mutated(program)
            problems = [] if why else verify(program, self.specs, nodes=())
            known[self._key] = why or (str(problems[0]) if problems else None)
        return known[self._key]

    def _sites(self, work: Program, mutator: Mutator) -> Sequence[str]:
        """The sites of a mutator; those of a program that is often mutated are looked for once."""
        if mutator.name not in STEADY:
            return mutator.sites(work)
        key = (self._key, mutator.name)
        sites: Sequence[str] | None = work.asked.get(key)
        if sites is None:
            sites = work.asked[key] = mutator.sites(work)
        return sites

    def _prepare(self, work: Program, mutator: Mutator, site: str, done: list[Edit]) -> Program:
        """What some models need before much is known of their values; as it was if that does not hold."""
        made = work.clone()
        try:
            answer = mutator.apply(made, site, Choices.from_record(()))
        except InvalidProgram:
            return work
        if isinstance(answer, Skipped):
            return work
        applied = described(mutator, answer)
        done.append(Edit(mutator.name, mutator.version, site, (), applied.relation, applied.detail))
        made.asked = {}
        return made

    def _attempt(
        self, work: Program, choices: Choices, counts: AttemptCounts, most: int, wanted: str | None = None
    ) -> Edit | _Failed:
        """One mutator at one site."""
        weights = self._weights if len(work.graph) < most else self._weights_when_full
        name = choices.weighted(self._names, weights) if wanted is None else wanted
        mutator = self.mutators[name]
        sites = self._sites(work, mutator)
        if not sites:
            counts.skipped[name, "no site"] += 1
            return _Failed.UNCHANGED
        site = choices.pick(sites)
        before = snapshot(work)
        held = None if self._constraints is None else self._constraints.mark(work)
        mark = choices.mark()
        try:
            answer = mutator.apply(work, site, choices)
            if isinstance(answer, Skipped):
                counts.skipped[name, answer.reason] += 1
                return _Failed.UNCHANGED
            if mutator.relation is not Relation.INVALID:
                self._check(work, before)
        except InvalidProgram as error:
            counts.thrown[name, str(error)] += 1
            return _Failed.SPOILT
        why = "" if self._constraints is None else self._constraints.broken(work, held)
        if why:
            counts.skipped[name, why] += 1
            return _Failed.SPOILT
        size = len(work.graph)
        if size > most and size > len(before):
            counts.skipped[name, TOO_LARGE] += 1
            return _Failed.GROWN
        counts.applied[name] += 1
        applied = described(mutator, answer)
        draws = tuple(choices.record[mark:])
        return Edit(name, mutator.version, site, draws, applied.relation, applied.detail, applied.pattern)

    def _check(self, work: Program, before: Snapshot) -> None:
        changed = changed_nodes(work, before)
        if why := _too_large(work, changed):
            raise InvalidProgram(why)
        problems = verify(work, self.specs, nodes=changed)
        if problems:
            raise InvalidProgram(str(problems[0]))

    def _redo(self, program: Program, done: Iterable[Edit]) -> Program:
        work = program.clone()
        for edit in done:
            apply_edit(work, edit, self._table)
        return work


_WHY = "why not mutated"


def why_not_mutated(program: Program) -> str:
    """Why its versions or the size of its values forbid to mutate a program; empty if they do not.

    It must import the default domain at version ``MIN_OPSET`` or above. No input may have more than ``MOST_ELEMENTS``
    elements, of which named sizes and those of 0 count as 1, and nothing that is computed, in bodies too, more than
    ``MOST_COMPUTED``. No node may have more than ``MOST_OPERANDS`` inputs.
    The answer is kept with the program until that is edited.
    """
    known: dict[object, str] = program.asked
    if _WHY not in known:
        known[_WHY] = _forbidden(program)
    return known[_WHY]


def _forbidden(program: Program) -> str:
    if not {"", "ai.onnx"} & set(program.model.opset_imports):
        return "the model imports no version of the default domain"
    if program.opset < MIN_OPSET:
        return f"opset {program.opset} is below {MIN_OPSET}"
    for value in program.graph.inputs:
        fact = program.tensor(value)
        count = _sides(fact)
        if count > MOST_ELEMENTS:
            return f"input {value.name!r} has {count} elements; at most {MOST_ELEMENTS} are made"
    for node in program.graph.all_nodes():
        if len(node.inputs) > MOST_OPERANDS:
            return f"{node.op_type} has {len(node.inputs)} inputs; at most {MOST_OPERANDS} are edited"
    return _too_large(program, program.graph.all_nodes())


def _sides(fact: TensorFact | None) -> int:
    """The sizes that are known of a tensor, multiplied; without those of 0, since edits make others of them."""
    return math.prod(d for d in (fact.shape if fact else None) or () if isinstance(d, int) and d)


def _too_large(program: Program, nodes: Iterable[ir.Node]) -> str:
    """Which of some nodes computes more than ``MOST_COMPUTED`` elements; empty if none does."""
    for node in nodes:
        for value in node.outputs:
            fact = program.tensor(value)
            count = 0 if fact is None or fact.static_shape is None else _sides(fact)
            if count > MOST_COMPUTED:
                return f"{node.op_type} computes {value.name!r} with {count} elements; at most {MOST_COMPUTED} are held"
    return ""


def described(mutator: Mutator, answer: str | Applied) -> Applied:
    """What there is to say of an edit, whatever its mutator left out: an answer that is only text gets the relation
    that the mutator declares for all of its edits.
    """
    return answer if isinstance(answer, Applied) else Applied(answer, mutator.relation)


Snapshot: TypeAlias = "dict[int, tuple[ir.Node, Sequence[ir.Value | None]]]"


def snapshot(program: Program) -> Snapshot:
    """Which values each main-graph node reads, to tell later which nodes an edit touched.

    It holds the nodes and values themselves, so that their identities are not given to new ones.
    """
    return {id(node): (node, node.inputs) for node in program.graph}


def changed_nodes(program: Program, before: Snapshot) -> list[ir.Node]:
    """New and rewired nodes of the main graph, with the readers of what they compute, in the graph's order.

    Args:
        program: after the edits.
        before: its ``snapshot`` from before them.
    """
    nodes = [(node, node.inputs) for node in program.graph]
    changed: set[ir.Node] = set()
    made: set[ir.Value | None] = set()
    for node, inputs in nodes:
        known = before.get(id(node))
        if known is None or known[1] != inputs:
            changed.add(node)
            made.update(node.outputs)
    return [node for node, inputs in nodes if node in changed or not made.isdisjoint(inputs)]


def apply_edit(program: Program, edit: Edit, mutators: Mapping[str, Mutator]) -> None:
    """Do a recorded edit again, in place.

    Args:
        program: as it was when the edit was made; if an error is raised it may be half changed.
        edit: whose choices answer every draw.
        mutators: by name, as ``build_mutators`` gives them.

    Raises:
        InvalidProgram: the mutator is unknown or has another version, or the record does not fit the program.
    """
    mutator = mutators.get(edit.mutator)
    if mutator is None:
        raise InvalidProgram(
            f"edit at {edit.site}: unknown mutator {edit.mutator!r}; known: {', '.join(sorted(mutators))}"
        )
    if mutator.version != edit.version:
        raise InvalidProgram(
            f"edit {edit.mutator} at {edit.site}: made by version {edit.version} of the mutator, "
            f"this one is {mutator.version}"
        )
    choices = Choices.from_record(edit.choices)
    answer = mutator.apply(program, edit.site, choices)
    if isinstance(answer, Skipped):
        raise InvalidProgram(f"edit {edit.mutator} at {edit.site} does not fit this program: {answer.reason}")
    if len(choices.record) != len(edit.choices):
        raise InvalidProgram(
            f"edit {edit.mutator} at {edit.site}: expected to use {len(edit.choices)} draws, used {len(choices.record)}"
        )


def replay(seed: Program, edits: Iterable[Edit], specs: Specs, donors: Donors | None = None) -> Program:
    """The program that recorded edits make of ``seed``, which stays as it is.

    Args:
        seed: the program from which the first edit started.
        edits: in order.
        specs: operator specs.
        donors: must hold every donor that a splice names.

    Raises:
        InvalidProgram: an edit does not fit.
    """
    mutators = build_mutators(Context(specs, None, donors))
    program = seed.clone()
    for edit in edits:
        apply_edit(program, edit, mutators)
    return program


def select(wanted: Sequence[str] | None, table: Mapping[str, Mutator]) -> tuple[str, ...]:
    """Names of the mutators to use, in the table's order; names of papers and of their operators count
    (``paper_mutator_lookup``).

    Args:
        wanted: names in any order, repeats allowed; ``None`` for all but those that are parts of others.
        table: every mutator by name.

    Raises:
        UsageError: a name is unknown, or none is given.
    """
    if wanted is None:
        return tuple(name for name, made in table.items() if profile_of(made).use is not MutatorUse.PART)
    wanted = expanded(wanted)
    for name in wanted:
        if name not in table:
            raise UsageError(
                f"unknown mutator {name!r}; known: {', '.join(sorted(table))}; groups: {', '.join(PAPERS)}; "
                f"operators of papers: {', '.join(OPERATORS)}"
            )
    if not wanted:
        raise UsageError("no mutator is selected")
    chosen = frozenset(wanted)
    return tuple(name for name in table if name in chosen)
