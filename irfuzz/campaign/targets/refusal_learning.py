"""Learns from runs which calls a target refuses, so that they are drawn no more.

A feature of a call (``irfuzz.mutate.call_traits``) counts as refused if ``ENOUGH`` refusals are put down to it and no
program with it ever ran. A refusal is put down in parts to features of the program that never ran, of the coarsest
level that has any: to the operator before its element type, to that before an attribute; the parts are the smaller the
more features of their kind ran. If a feature alone is new, one refusal is enough. If one of them counts as refused
already, it explains the refusal, and the others are left out. What is put down to the element type of a call's input
is put down to that of the program's inputs, too, for a quarter of what is enough. If a target that calls something a
gap names one operator that never ran, that one counts as refused.

A feature that no program had yet counts as refused if more features of its kind (operators; of one operator element
types, ranks, values of one attribute) are refused than ran. Of kinds that concern whole programs (operators, opsets,
element types of inputs) those count in part that something is put down to, and are refused as those that nobody had.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irfuzz.campaign.targets.operator_support import CLASS, identity
from irfuzz.execute.run_types import Exit, RunResult, Target, TargetRole
from irfuzz.frontends.toml_file_reading import is_list
from irfuzz.mutate.call_traits import LEVELS, TYPE, Trait, traits

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.mutate.feature_counts import Feature

SCHEMA = 1
"""Version of what ``RefusalMemory.state`` gives."""

ENOUGH = 2.0
"""So many refusals in which nothing else is new count for as much as a word of the target."""

EXPLORED = 0.03
"""Share of the programs that are drawn as if nothing had been refused: what is thought to be refused wrongly shows."""

REFUSALS = frozenset({Exit.UNSUPPORTED, Exit.REJECTED})
"""A crash or a hang is a fault whatever the target takes."""

ASKED, REFUSED = "valid runs", "valid refused"
"""Ends of the names of counts: runs of valid programs on a target that is learnt of, and those that it refused."""


COARSE = frozenset({"operator", "opset", "input"})
"""Those of which a program has few, and a target takes few or most."""

_ROUNDING = 1e-6
"""Sums of parts come to a little less than 1."""

KINDS = frozenset({"operator", "opset", "input", "dtype", "rank", "computed", "attr"})
"""Features that are one of a kind: of the same words but for the last."""


class RefusalTable:
    """What one target, in one version, ran and refused.

    Attributes:
        ran: how often a program with a feature ran.
        doubt: how many refusals are put down to a feature.
    """

    def __init__(self) -> None:
        self.ran: Counter[Feature] = Counter()
        self.doubt: defaultdict[Feature, float] = defaultdict(float)
        self._kinds: defaultdict[Feature, float] = defaultdict(float)
        self._kinds_ran: Counter[Feature] = Counter()

    def refuses(self, feature: Feature) -> bool:
        """Whether a feature counts as refused."""
        if feature in self.ran:
            return False
        doubt = self.doubt.get(feature, 0.0)
        if doubt >= ENOUGH or (doubt and feature[0] not in COARSE):
            return doubt >= ENOUGH
        return feature[0] in KINDS and self._kinds.get(feature[:-1], 0.0) >= 1 - _ROUNDING

    def saw(self, shown: Sequence[Trait], how: Exit, error: str = "") -> None:
        """Take note of one run of a valid program.

        Args:
            shown: by the program.
            how: it ended; ends that say nothing of what is supported are passed over.
            error: what the target said of it.
        """
        if how is Exit.OK:
            for feature in {feature for _, feature in shown}:
                self._took(feature, 1)
        elif how in REFUSALS:
            new = {feature: level for level, feature in shown if feature not in self.ran}
            inputs = [feature for feature in new if feature[0] == "input"]
            new = {feature: level for feature, level in new.items() if feature[0] != "input"} or new
            explained = [feature for feature in new if self.doubt.get(feature, 0.0) >= ENOUGH]
            coarsest = min(new.values(), default=LEVELS)
            named = _named(new, error) if how is Exit.UNSUPPORTED else []
            blamed = explained or named or [feature for feature, level in new.items() if level == coarsest]
            parts = [1.0 / (1 + self._kinds_ran[feature[:-1]]) for feature in blamed]
            whole = ENOUGH if len(new) == 1 or len(named) == 1 else 1.0
            for feature, part in zip(blamed, parts, strict=True):
                self._blame(feature, whole * part / sum(parts))
            if coarsest == TYPE and not (explained or named):  # the type may be refused for every operator
                for feature in inputs:
                    self._blame(feature, ENOUGH / 4)

    def _took(self, feature: Feature, times: int) -> None:
        if feature not in self.ran and feature[0] in KINDS:
            self._kinds[feature[:-1]] -= 1 + _part(feature, self.doubt.get(feature, 0.0))
            self._kinds_ran[feature[:-1]] += 1
        self.ran[feature] += times

    def _blame(self, feature: Feature, share: float) -> None:
        before = self.doubt[feature]
        self.doubt[feature] = before + share
        if feature not in self.ran and feature[0] in KINDS:
            self._kinds[feature[:-1]] += _part(feature, before + share) - _part(feature, before)

    def merge(self, ran: Mapping[Feature, int], doubt: Mapping[Feature, float]) -> None:
        """Add what another one knows, who may know a part of this from here: the larger number holds.

        Args:
            ran: as the attribute.
            doubt: likewise.
        """
        for feature, count in ran.items():
            self._took(feature, max(0, count - self.ran.get(feature, 0)))
        for feature, share in doubt.items():
            self._blame(feature, max(0.0, share - self.doubt[feature]))


class RefusalMemory:
    """Tables of all targets that are learnt of; what runs show holds from the next ``settle`` on.

    Attributes:
        changed: something was learnt since ``state`` was asked for.
    """

    def __init__(self) -> None:
        self._tables: dict[str, RefusalTable] = {}
        self._under_test: tuple[str, ...] = ()
        self._waiting: list[tuple[str, list[Trait], Exit, str]] = []
        self.changed = False

    def test(self, targets: Iterable[Target]) -> None:
        """These targets have to take what is drawn.

        Args:
            targets: in the versions in which they run.
        """
        self._under_test = tuple(map(identity, targets))
        for name in self._under_test:
            self._tables.setdefault(name, RefusalTable())

    def knows(self, target: Target) -> bool:
        """Whether anything is known of a target."""
        return identity(target) in self._tables

    def table(self, target: Target) -> RefusalTable:
        """What is known of a target, to be read."""
        return self._tables.setdefault(identity(target), RefusalTable())

    def refuses(self, feature: Feature) -> bool:
        """Whether any target under test refuses a feature."""
        return any(self._tables[name].refuses(feature) for name in self._under_test)

    def saw(self, program: Program, results: Iterable[RunResult], counts: Counter[str] | None = None) -> bool:
        """Take note of runs of a valid program; true if one of the targets refused it.

        Args:
            program: that ran.
            results: of targets; those that are not learnt of are passed over.
            counts: get ``ASKED`` and ``REFUSED`` of each target.
        """
        shown: list[Trait] = []
        refused = False
        for result in results:
            name = identity(result.target)
            if name not in self._under_test:
                continue
            shown = shown or list(traits(program))
            self._waiting.append((name, shown, result.exit, result.error))
            refused |= result.exit in REFUSALS
            if counts is not None:
                counts[f"{result.target.name} {ASKED}"] += 1
                counts[f"{result.target.name} {REFUSED}"] += result.exit in REFUSALS
        return refused

    def settle(self) -> bool:
        """Learn from what was seen since the last call; false if that was nothing."""
        for name, shown, how, error in self._waiting:
            self._tables[name].saw(shown, how, error)
        learnt = bool(self._waiting)
        self.changed |= learnt
        self._waiting.clear()
        return learnt

    def state(self) -> dict[str, Any]:
        """All tables as JSON-able data that ``absorb`` takes; what waits for ``settle`` is left out."""
        self.changed = False
        rows = {
            name: {"ran": [[*f, n] for f, n in t.ran.items()], "doubt": [[*f, round(x, 3)] for f, x in t.doubt.items()]}
            for name, t in self._tables.items()
        }
        return {"schema": SCHEMA, "targets": rows}

    def absorb(self, state: Mapping[str, Any]) -> None:
        """Add what ``state`` gave, here or in another process; the same twice changes nothing.

        Args:
            state: of this schema; that of another one is passed over, since it can be learnt again.
        """
        if state.get("schema") != SCHEMA:
            return
        for name, rows in state["targets"].items():
            found = {kind: {_tuple(f): n for *f, n in rows[kind]} for kind in ("ran", "doubt")}
            self._tables.setdefault(name, RefusalTable()).merge(found["ran"], found["doubt"])


def learnt_of(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets that have to take what is drawn: classes of the user's, if there are some; else converters; else all.

    ONNX's reference evaluator, which takes nearly everything and only bears witness, is never one unless it is alone.
    """
    own = [t for t in targets if CLASS in t.options]
    converters = [t for t in targets if t.role is not TargetRole.RUNTIME]
    others = [t for t in targets if t.component != "reference"]
    return tuple(own or converters or others or targets)


def _part(feature: Feature, doubt: float) -> float:
    """How much a feature that never ran counts as refused for its kind."""
    return min(1.0, doubt / ENOUGH) if feature[0] in COARSE else float(doubt >= ENOUGH)


def _named(new: Iterable[Feature], error: str) -> list[Feature]:
    """The operators among some features that a message names as words; those of other domains by their last word."""
    words = set(re.findall(r"\w+", error))
    return [feature for feature in new if feature[0] == "operator" and str(feature[1]).rpartition(".")[2] in words]


def _tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(item) if is_list(item) else item for item in items)
