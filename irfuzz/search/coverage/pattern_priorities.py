"""Patterns that are worth drawing because they may fire a pass of an optimiser, or a pair of passes, that none fired.

What a pattern fires is written in the book of patterns (``fused_by``), and is learnt of each version from the log: a
pass belongs to a pattern if it fires clearly more often where that was inserted than elsewhere. Most passes have a
pattern, and most patterns are tried within the first thousands of programs; what is left is what a version, an opset or
an element type hides, and that wants many tries. So a pattern whose pass has not fired counts several times, less with
each try in vain, and one whose passes fired often counts for less than others.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from irfuzz.execute.onnxruntime_passes import rule_names
from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.mutate.feature_counts import Feature
from irfuzz.mutate.patterns.insert_pattern import feature_of
from irfuzz.mutate.patterns.pattern_file_reader import patterns
from irfuzz.search.coverage.pass_coverage import PassCoverage, version_of

SCHEMA = 1

UNFIRED = 8.0
"""Worth of a pattern whose pass no program has fired."""

PATIENCE = 16
"""After so many tries in vain it is worth half of that."""

FIRED_OFTEN = 0.5
"""Worth of a pattern whose passes fired in very many programs."""

NEWS = 8
"""A pass that fired in so many programs has lost half of what is above that."""

NEW_PAIR = 1.0
"""So much of its worth a pattern gains, at most, if its passes have not fired beside those that the parent fires."""

LEARNT, TIMES = 3, 3.0
"""A pass belongs to a pattern if it fired so often with it, and so much more often than in other programs."""

PARENTS = 256
"""Of so many programs it is remembered which passes they fire, the newest ones."""


LEVELS = ("", "L1", "L2")
"""What newer versions call a pass behind its name that they run at several levels."""


@cache
def written() -> Mapping[str, frozenset[str]]:
    """Passes of onnxruntime that the book says a pattern fires, by the pattern's name; an empty set if it names none.

    Each pass stands with and without the level that newer versions put behind its name (``LEVELS``). The result is kept
    for later calls.
    """
    found: dict[str, frozenset[str]] = {}
    for pattern in patterns():
        words = (text.split() for text in pattern.fused_by)
        names = [rest[0] for component, *rest in words if component == "onnxruntime" and rest]
        found[pattern.name] = frozenset(name + level for name in names for level in LEVELS)
    return found


class PatternAims:
    """What each pattern is worth, as of the last ``settle``: programs do not depend on how many travel together.

    Args:
        passes: what has fired, and which passes there are.
    """

    def __init__(self, passes: PassCoverage) -> None:
        self._passes = passes
        self._programs: Counter[str] = Counter()
        self._fires: dict[str, Counter[str]] = defaultdict(Counter)
        self._tries: dict[str, Counter[str]] = defaultdict(Counter)
        self._hits: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._parents: deque[tuple[str, dict[str, frozenset[str]]]] = deque(maxlen=PARENTS)
        self._worth: dict[Feature, float] = {}
        self._beside: dict[str, dict[str, frozenset[str]]] = {}
        self._firing: list[tuple[Feature, str, str]] = []
        self._partners: dict[str, dict[str, set[str]]] = {}

    def ran(self, inserted: Sequence[str], results: Sequence[RunResult]) -> None:
        """Take note of the patterns that were inserted into a program, and of the passes that then changed it.

        Rules count if they are new: they are looked for until they are seen, so how often depends on what came before.

        Args:
            inserted: names of patterns, of which each counts once.
            results: of its targets; only those that ended well and tell their passes count.
        """
        for result in results:
            if result.exit is not Exit.OK or not result.passes:
                continue
            version = version_of(result.target)
            fired = [name for name in result.passes if name not in rule_names()]
            self._programs[version] += 1
            self._fires[version].update(fired)
            self._tries[version].update(set(inserted))
            for pattern in set(inserted):
                self._hits[version][pattern].update(fired)

    def keep(self, digest: str, results: Sequence[RunResult]) -> None:
        """Take note of what a program fires that may be a parent, for ``worths``; the newest ``PARENTS`` are kept.

        Args:
            digest: the program's.
            results: of its targets; if none tells passes, nothing is kept.
        """
        fired = {
            version_of(r.target): frozenset(r.passes).difference(rule_names())
            for r in results
            if r.exit is Exit.OK and r.passes
        }
        if fired:
            self._parents.append((digest, fired))

    def settle(self) -> None:
        """Let all that was noted since the last time count: ``worths`` changes here and nowhere else.

        A campaign calls this at times that do not depend on how many programs travel together.
        """
        missing = {version: frozenset(names) for version, names in self._passes.missing().items()}
        known = {version: self._known(version) for version in missing}
        self._beside = dict(self._parents)
        self._partners = {version: _partners(pairs) for version, pairs in self._passes.paired().items()}
        self._worth, self._firing, rules = {}, [], frozenset(rule_names())
        for pattern in patterns():
            fired = [(version, name) for version, fires in known.items() for name in fires[pattern.name]]
            if fired:
                key = feature_of(pattern)
                self._worth[key] = max(
                    self._pass_worth(version, name, pattern.name, unfired=name in missing[version])
                    for version, name in fired
                )
                self._firing += [(key, version, name) for version, name in fired if name not in rules]

    def _pass_worth(self, version: str, name: str, pattern: str, *, unfired: bool) -> float:
        if unfired:
            return max(1.0, UNFIRED / (1.0 + self._tries[version][pattern] / PATIENCE))
        return FIRED_OFTEN + (1.0 - FIRED_OFTEN) / (1.0 + self._fires[version][name] / NEWS)

    def _known(self, version: str) -> dict[str, frozenset[str]]:
        """By pattern: the passes of a version that it fires, as it is written and was learnt."""
        names = self._passes.names(version)
        programs, fires = self._programs[version], self._fires[version]
        found: dict[str, frozenset[str]] = {}
        for pattern, told in written().items():
            tries, hits = self._tries[version][pattern], self._hits[version][pattern]
            learnt = {
                name
                for name, times in hits.items()
                if times >= LEARNT and times * programs >= TIMES * tries * fires[name]
            }
            found[pattern] = (told | learnt) & names
        return found

    def worths(self, parent: str) -> Mapping[Feature, float]:
        """Worth of patterns on a parent, by ``insert_pattern.feature_of``; 1 of those that are left out.

        It grows, at most to twice as much, if a pattern's passes have not fired beside those that the parent fires.

        Args:
            parent: digest of the program; of one that ``keep`` was not told of, the parent has no part in it.
        """
        beside = self._beside.get(parent)
        if not beside:
            return self._worth
        # Most patterns share their passes with others: how many pairs would be new is counted once a pass.
        news: dict[tuple[str, str], int] = {}
        pairs: Counter[Feature] = Counter()
        for key, version, name in self._firing:
            new = news.get((version, name))
            if new is None:
                new = news[version, name] = self._new_pairs(version, name, beside.get(version, frozenset()))
            if new:
                pairs[key] += new
        found = dict(self._worth)
        for key, new in pairs.items():
            found[key] *= 1.0 + NEW_PAIR * new / (1.0 + new)
        return found

    def _new_pairs(self, version: str, name: str, others: frozenset[str]) -> int:
        """Beside how many other passes no program has fired this one."""
        partners = self._partners.get(version, {}).get(name, frozenset())
        return len(others) - (name in others) - len(others & partners)

    def state(self) -> dict[str, Any]:
        """All that was noted, as JSON-able data that ``recall`` takes; worths are not in it, but follow from it."""
        return {
            "schema": SCHEMA,
            "programs": self._programs,
            "fires": self._fires,
            "tries": self._tries,
            "hits": self._hits,
            "parents": [(digest, {v: sorted(names) for v, names in fired.items()}) for digest, fired in self._parents],
        }

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state`` gave, and settle; what is of another schema is left out, and then nothing
        changes.
        """
        if state.get("schema") != SCHEMA:
            return
        self._programs = Counter(state["programs"])
        for version in state["programs"]:
            self._fires[version] = Counter(state["fires"][version])
            self._tries[version] = Counter(state["tries"][version])
            for pattern, hits in state["hits"].get(version, {}).items():
                self._hits[version][pattern] = Counter(hits)
        parents = ((digest, {v: frozenset(names) for v, names in fired.items()}) for digest, fired in state["parents"])
        self._parents = deque(parents, maxlen=PARENTS)
        self.settle()


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """By pass: those that changed a program together with it."""
    found: dict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
        found[other].add(one)
    return found
