"""Who of the corpus holds which feature: the cheapest program that brought it (AFL's ``top_rated``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from irfuzz.execute.large_model_limits import weight_bytes
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of
from irfuzz.mutate.feature_counts import Feature, FeatureCounts, features

Keys: TypeAlias = npt.NDArray[np.uint64]
"""Features by 64 bits of a hash of theirs."""

CHEAPER = 0.75
"""A program takes a feature from another if it costs at most so much of it: else each that is a little smaller would
be stored, and soon leave again."""

NODE, WEIGHTS, ELEMENTS = 8, 512, 2048
"""Parts of a program's cost: for each node, and one for so many bytes of weights and elements of results."""


def cost_of(program: Program) -> int:
    """What it costs to run and to store a program, estimated: a clock would make campaigns differ.

    Args:
        program: its nodes count, those of bodies too, its weights, and the results of its main graph whose sizes are
            known.
    """
    nodes = sum(1 for _ in program.graph.all_nodes())
    facts = (fact_of(value) for node in program.nodes() for value in node.outputs)
    elements = sum(fact.size() or 0 for fact in facts if isinstance(fact, TensorFact))
    return 1 + NODE * nodes + weight_bytes(program) // WEIGHTS + elements // ELEMENTS


@dataclass(frozen=True, slots=True)
class Brought:
    """What a mutant would bring to the corpus.

    Attributes:
        new: how many of its features no program before had.
        cost: of it.
        keys: of features that nobody holds, or a program for which its cost is a good deal less.
    """

    new: int
    cost: int
    keys: Keys


@dataclass(frozen=True, slots=True)
class FeatureClaim:
    """What a program brings to the corpus.

    Attributes:
        number: of the program in the database.
        cost: of it.
        keys: of the features that nobody held, or somebody dearer.
    """

    number: int
    cost: int
    keys: Keys


class FeatureHolders:
    """For each feature the cheapest program that brought it, of equal ones the oldest.

    That depends on the programs alone and not on the order in which they come, so all jobs agree. Features are compared
    by 64 bits of a hash, as they are in the database.
    """

    def __init__(self) -> None:
        self._names: dict[Feature, int] = {}
        self._keys: Keys = np.zeros(0, np.uint64)
        self._costs = np.zeros(0, np.int64)
        self._owners = np.zeros(0, np.int64)
        self._pending: dict[int, int] = {}
        self.held: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self, found: Iterable[Feature]) -> Keys:
        """Keys of features, each once, sorted.

        Args:
            found: in any order and with repeats.
        """
        names = self._names
        keys: set[int] = set()
        for feature in found:
            key = names.get(feature)
            if key is None:
                digest = blake2b(repr(feature).encode(), digest_size=8).digest()
                key = names[feature] = int.from_bytes(digest, "little")
            keys.add(key)
        return np.array(sorted(keys), np.uint64)

    def weigh(self, program: Program, seen: FeatureCounts) -> Brought:
        """What a mutant would bring.

        Args:
            program: features of what was edited in it count.
            seen: counts them.
        """
        found, cost = list(features(program, program.touched)), cost_of(program)
        return Brought(seen.add_features(found), cost, self.news(self.keys(found), cost))

    def news(self, keys: Keys, cost: int) -> Keys:
        """Those of some features that nobody holds, or a program for which ``cost`` is a good deal less.

        Args:
            keys: of the features, as ``keys`` gives them.
            cost: of a program that has them.
        """
        places = np.searchsorted(self._keys, keys)
        news: list[int] = []
        for key, place in zip(keys.tolist(), places.tolist(), strict=True):
            known = self._pending.get(key)
            if known is None and place < len(self._keys) and self._keys[place] == key:
                known = int(self._costs[place])
            if known is None or cost <= CHEAPER * known:
                news.append(key)
        return np.array(news, np.uint64)

    def reserve(self, keys: Keys, cost: int) -> None:
        """Let features count as held until ``forget_reserved``, when it is known who holds them.

        Args:
            keys: of the features.
            cost: of a program that is about to come.
        """
        self._pending.update(dict.fromkeys(keys.tolist(), cost))

    def forget_reserved(self) -> None:
        """Let only those hold features whose claims were taken."""
        self._pending.clear()

    def take(self, claims: Sequence[FeatureClaim]) -> set[int]:
        """Let programs hold what they brought; numbers of those that hold more or less than before."""
        if not claims:
            return set()
        sizes = [len(claim.keys) for claim in claims]
        keys = np.concatenate([claim.keys for claim in claims])
        costs = np.repeat(np.array([claim.cost for claim in claims], np.int64), sizes)
        owners = np.repeat(np.array([claim.number for claim in claims], np.int64), sizes)
        order = np.lexsort((owners, costs, keys))
        first = np.ones(len(order), bool)
        first[1:] = np.diff(keys[order]) != 0
        order = order[first]
        return self._merge(keys[order], costs[order], owners[order])

    def _merge(self, keys: Keys, costs: npt.NDArray[np.int64], owners: npt.NDArray[np.int64]) -> set[int]:
        places = np.searchsorted(self._keys, keys)
        there = np.zeros(len(keys), bool)
        inside = places < len(self._keys)
        there[inside] = self._keys[places[inside]] == keys[inside]
        at = places[there]
        better = (costs[there] < self._costs[at]) | (
            (costs[there] == self._costs[at]) & (owners[there] < self._owners[at])
        )
        lost, at = self._owners[at[better]], at[better]
        won = owners[there][better]
        self._costs[at], self._owners[at] = costs[there][better], won
        new = ~there
        self._keys = np.insert(self._keys, places[new], keys[new])
        self._costs = np.insert(self._costs, places[new], costs[new])
        self._owners = np.insert(self._owners, places[new], owners[new])
        self.held.subtract(Counter(lost.tolist()))
        self.held.update(Counter(won.tolist()))
        self.held.update(Counter(owners[new].tolist()))
        return {*lost.tolist(), *won.tolist(), *owners[new].tolist()}

    def holder(self, feature: Feature) -> int | None:
        """Number of the program that holds a feature; ``None`` if nobody does."""
        key = int(self.keys([feature])[0])
        place = int(np.searchsorted(self._keys, key))
        found = place < len(self._keys) and self._keys[place] == key
        return int(self._owners[place]) if found else None

    def favoured(self, claims: Iterable[FeatureClaim]) -> set[int]:
        """Numbers of a few programs that together brought every feature (AFL's ``cull_queue``).

        Args:
            claims: of all programs. In this order, one that holds a feature which none before it brought is taken.
        """
        taken: set[int] = set()
        covered = np.zeros(len(self._keys), bool)
        for claim in claims:
            places = np.searchsorted(self._keys, claim.keys)
            own = places[self._owners[places] == claim.number]
            if not covered[own].all():
                taken.add(claim.number)
                covered[places] = True
        return taken
