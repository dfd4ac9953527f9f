"""Which passes of optimisers, and which pairs of them, changed a program for the first time.

A pass is a graph transformer or a rewrite rule of a component that tells what changed a program. Counted are those that
a version registers and that the CPU can reach (``execute.passes.excluded``), each version apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from irfuzz.execute.onnxruntime_passes import excluded, rule_names, rules
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.mutate.feature_counts import Feature
from irfuzz.search.coverage.operator_call_coverage import Share

SCHEMA = 1


class PassCoverage:
    """Passes that changed a program so far, each with the first one."""

    __slots__ = ("_fired", "_names", "_pairs")

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._fired: dict[str, dict[str, str]] = {}
        self._pairs: dict[str, set[str]] = {}

    def register(self, target: Target, names: Sequence[str]) -> None:
        """Take note of what passes a target's version has; transformers that only hold rewrite rules and passes that
        the CPU cannot reach are left out.

        Args:
            target: whose component and version they are of.
            names: of passes; registering a version again adds to them.
        """
        wanted = self._names.setdefault(version_of(target), set())
        wanted.update(name for name in names if name not in excluded() and name not in rules())

    def asks(self) -> Mapping[str, str] | None:
        """What to ask the most optimised target of each such component for besides; ``None`` if none tells anything.

        Of rewrite rules, each of which costs a session, those that some version has and that were not seen there.
        """
        if not self._names:
            return None
        all_rules = rule_names()
        unseen = {r for version, names in self._names.items() for r in names if r not in self._fired.get(version, {})}
        looked_for = [rule for rule in all_rules if rule in unseen]
        return {
            "tell": "modified",
            "rules": ",".join(looked_for),
            "other_rules": ",".join(rule for rule in all_rules if rule not in looked_for),
        }

    def add(self, results: Sequence[RunResult], digest: str) -> int:
        """Count what changed one program.

        Args:
            results: of its targets; only those that ended well and tell their passes count.
            digest: the program's, which is kept for each pass that fired first with it.

        Returns:
            How many passes, and pairs of them, changed a program for the first time, each version apart.
        """
        before = self.covered
        for result in results:
            if result.passes and result.exit is Exit.OK:
                self._count(version_of(result.target), result.passes, digest)
        return self.covered - before

    def _count(self, version: str, names: Sequence[str], digest: str) -> None:
        fired, pairs = self._fired.setdefault(version, {}), self._pairs.setdefault(version, set())
        for name in names:
            if name not in rules():
                fired.setdefault(name, digest)
        pairs.update(f"{a} {b}" for a, b in combinations(_transformers(names), 2))

    def features(self, results: Sequence[RunResult]) -> Iterator[Feature]:
        """What a program shows of passes: each that changed it, and each pair of transformers, by version.

        Args:
            results: of its targets; only those that ended well and tell their passes count.
        """
        for result in results:
            if result.passes and result.exit is Exit.OK:
                version = version_of(result.target)
                yield from (("pass", version, name) for name in result.passes if name not in rules())
                for one, other in combinations(_transformers(result.passes), 2):
                    yield ("passes", version, one, other)

    def follow(self, holder: Callable[[Feature], str | None]) -> None:
        """Name for each pass a program that the corpus has.

        Args:
            holder: digest of the program that holds a feature (``features``); ``None`` if nobody does.
        """
        for version, found in self._fired.items():
            for name, digest in found.items():
                found[name] = holder(("pass", version, name)) or digest

    @property
    def covered(self) -> int:
        """How many passes and pairs of passes were seen, each version apart: the sum over all versions."""
        return sum(map(len, self._fired.values())) + sum(map(len, self._pairs.values()))

    def shares(self) -> dict[str, Share]:
        """By version (``version_of``): how many of its registered passes changed some program. Pairs do not count
        here.
        """
        return {
            version: Share(len(names & {*self._fired.get(version, {})}), len(names))
            for version, names in sorted(self._names.items())
        }

    def labelled(self) -> dict[str, Share]:
        """The shares of all versions in one, under ``passes``, for people; empty if no component tells anything."""
        shares = self.shares().values()
        return {"passes": Share(sum(s.covered for s in shares), sum(s.total for s in shares))} if shares else {}

    def missing(self) -> dict[str, list[str]]:
        """By version: registered passes that changed no program, in alphabetical order; an empty list if all did."""
        return {v: sorted(names - {*self._fired.get(v, {})}) for v, names in sorted(self._names.items())}

    def fired(self) -> dict[str, dict[str, str]]:
        """By version and pass: the digest of the first program that it changed. The dictionaries are new ones, sorted
        by name.
        """
        return {version: dict(sorted(found.items())) for version, found in sorted(self._fired.items())}

    def names(self, version: str) -> frozenset[str]:
        """Registered passes of a version that the CPU can reach; empty for a version that was not registered.

        Args:
            version: as ``version_of`` spells it.
        """
        return frozenset(self._names.get(version, ()))

    def paired(self) -> dict[str, frozenset[tuple[str, str]]]:
        """By version: pairs of graph transformers that changed one program, each in alphabetical order; rewrite rules
        form no pairs.
        """
        split = {version: (pair.split(" ") for pair in found) for version, found in self._pairs.items()}
        return {version: frozenset((one, other) for one, other in found) for version, found in split.items()}

    def pairs(self) -> dict[str, int]:
        """By version: how many pairs of graph transformers changed one program, the numbers to what ``paired``
        lists.
        """
        return {version: len(found) for version, found in sorted(self._pairs.items())}

    def state(self) -> dict[str, Any]:
        """All of it, as JSON-able data that ``absorb`` takes: registered names, what fired first with which program,
        and pairs, each by version.
        """
        return {
            "schema": SCHEMA,
            "names": {version: sorted(names) for version, names in self._names.items()},
            "fired": self._fired,
            "pairs": {version: sorted(found) for version, found in self._pairs.items()},
        }

    def absorb(self, state: Mapping[str, Any]) -> None:
        """Count what others have seen; what is of another schema is left out.

        Args:
            state: what ``state`` of another one gave. A pass that both have seen keeps the program that it has here.
        """
        if state.get("schema") != SCHEMA:
            return
        for version, names in state["names"].items():
            self._names.setdefault(version, set()).update(names)
        for version, found in state["fired"].items():
            known = self._fired.setdefault(version, {})
            for name, digest in found.items():
                known.setdefault(name, digest)
        for version, found in state["pairs"].items():
            self._pairs.setdefault(version, set()).update(found)


def _transformers(names: Sequence[str]) -> list[str]:
    # Rules are looked for until they are seen, so what they stand beside would depend on what came before.
    return sorted(name for name in names if name not in rule_names())


def version_of(target: Target) -> str:
    """What a target's passes are counted under: its component and version, as ``onnxruntime 1.20.0``.

    Targets that differ in other options only are counted together.
    """
    return f"{target.component} {target.version}"
