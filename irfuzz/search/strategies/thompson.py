"""``thompson``: what mutators and seeds bring for their cost is learnt, and uncovered features are aimed at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from irfuzz.choices import Choices
from irfuzz.mutate.mutator_protocol import Profile, profile_of
from irfuzz.mutate.mutator_table import BUILTIN
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, P, Parent
from irfuzz.search.strategies.weighted import candidates, energy

FADES, SEEDS_FADE = 0.997, 0.999
"""What was learnt counts so much less after each program: what brings much at first is used up."""

AIMED = 0.1, 0.6
"""How often an edit is aimed at coverage, at least and at most; in between, as many as programs bring new features of
late. The others are drawn by the engine's weights: coverage of calls is not all there is, and it is used up."""

COVERS, COVERED = "cover-next", 0.6
"""What aims at pairs of operators, and how often a program gets such an edit besides, at most: as many as programs
bring new features of late. Of pairs there are ten times as many as of all else, and by its worth alone it made a tenth
of all edits.
"""

_LATE = 0.99

PRIOR = 0.5
"""Cost before anything is known, and with it what the other arms bring for as much: every arm is tried."""


def _profile(name: str) -> Profile:
    """Of a built-in mutator; those of other packages count as an average one."""
    return profile_of(BUILTIN[name]) if name in BUILTIN else Profile()


class Arms:
    """For each name the features that it brought, and what it cost, both fading."""

    def __init__(self, names: Sequence[str] = (), keeps: float = FADES) -> None:
        self._keeps = keeps
        self._places: dict[str, int] = {}
        self._gain = np.zeros(0)
        self._cost = np.zeros(0)
        self._grow(names)

    def _grow(self, names: Sequence[str]) -> None:
        for name in names:
            self._places.setdefault(name, len(self._places))
        more = np.zeros(len(self._places) - len(self._gain))
        self._gain, self._cost = np.concatenate((self._gain, more)), np.concatenate((self._cost, more))

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def names(self) -> list[str]:
        """The names of all arms, in the order of what ``draw`` gives: that in which they were first told."""
        return list(self._places)

    def add(self, name: str, gain: float, cost: float) -> None:
        """Take note of a program.

        Args:
            name: of the arm; a new one is added.
            gain: how much that is new the program brought.
            cost: what it cost, in the same unit for all arms.
        """
        if name not in self._places:
            self._grow([name])
        place = self._places[name]
        self._gain[place] += gain
        self._cost[place] += cost

    def fade(self) -> None:
        """Count all that is known for less: what an arm brought when much was left says little of now.

        Gains and costs of all arms are multiplied by ``keeps``, so that newer programs weigh more.
        """
        self._gain *= self._keeps
        self._cost *= self._keeps

    def _prior(self) -> float:
        """Features before anything is known of an arm: what the others bring for the same cost."""
        return PRIOR * max(1e-3, float((PRIOR + self._gain.sum()) / (PRIOR + self._cost.sum())))

    def credit(self, name: str, gain: float) -> None:
        """Count more features for a program that was counted already, at no further cost.

        Args:
            name: of the arm; a name that is no arm is passed over.
            gain: how much more it brought.
        """
        if name in self._places:
            self._gain[self._places[name]] += gain

    def rate(self, name: str) -> float:
        """Features that a unit of cost is expected to bring, the mean of what ``draw`` draws; 0 of what is no arm.

        Args:
            name: of the arm. One that nothing is known of has the rate of all arms together, more or less.
        """
        place = self._places.get(name)
        return 0.0 if place is None else float((self._prior() + self._gain[place]) / (PRIOR + self._cost[place]))

    def draw(self, choices: Choices, names: Sequence[str] | None = None, times: int = 1) -> np.ndarray:
        """Rates, features for a unit of cost, from the arms' Gamma posteriors.

        Args:
            choices: seed the draw.
            names: arms in the order of the columns; all, in the order of ``names()``, if ``None``. A name that is no
                arm has the prior.
            times: how many rows, each an independent draw.

        Returns:
            float64 of shape (times, names).
        """
        if names is None:
            gain, cost = self._gain, self._cost
        else:
            places = [self._places.get(name, -1) for name in names]
            gain = np.array([0.0 if p < 0 else self._gain[p] for p in places])
            cost = np.array([0.0 if p < 0 else self._cost[p] for p in places])
        rng = np.random.default_rng(choices.seed())
        return rng.standard_gamma(self._prior() + gain, (times, len(gain))) / (PRIOR + cost)

    def state(self) -> Mapping[str, tuple[float, float]]:
        """What each arm brought and cost, faded, as (gain, cost) by name; it is JSON-able."""
        return {n: (float(self._gain[p]), float(self._cost[p])) for n, p in self._places.items()}

    def recall(self, state: Mapping[str, tuple[float, float]]) -> None:
        """Set what each arm brought and cost.

        Args:
            state: (gain, cost) by name, as ``state`` gives it. New names are added; arms that are not in it keep
                theirs.
        """
        self._grow(list(state))
        for name, (gain, cost) in state.items():
            self._gain[self._places[name]], self._cost[self._places[name]] = gain, cost


class Thompson:
    """Thompson sampling over mutators and over seeds, with parents of equal seeds by energy.

    Cost is counted in nodes and edits. ``cover-next`` and ``rare-dtype`` are arms like others: they draw calls that
    cover what is missing through the specs' constraints, and the search finds out how long that pays.
    """

    name: ClassVar[str] = "thompson"
    mutators: ClassVar[tuple[str, ...] | None] = None
    sprouts: ClassVar[bool] = True
    culls: ClassVar[bool] = True

    def __init__(self, mutators: Sequence[str]) -> None:
        self._mutators = Arms([name for name in mutators if _profile(name).covers])
        self._seeds = Arms(keeps=SEEDS_FADE)
        self._recent = 1.0

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """One of a few candidates, by energy and by what mutants of its seed have brought.

        The weight of a candidate is its ``energy`` times a rate drawn for its seed. ``picked`` of the chosen one grows
        by one.
        """
        among = candidates(parents, choices)
        seeds = list(dict.fromkeys(p.seed for p in among))
        rates = dict(zip(seeds, self._seeds.draw(choices, seeds)[0].tolist(), strict=True))
        parent = choices.weighted(among, [energy(p) * (1e-3 + rates[p.seed]) for p in among])
        parent.picked += 1
        return parent

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:  # noqa: ARG002 - the protocol's
        """Some edits, each by the best of a draw for every mutator, or by weight.

        Their number is drawn evenly from 1 to ``most``. Each is aimed at coverage with a probability between the two of
        ``AIMED``, else it is ``None``; ``cover-next`` follows besides, at most as often as ``COVERED`` says.
        """
        arms = self._mutators.names()
        share = min(max(self._recent, AIMED[0]), AIMED[1]) if arms else 0.0
        aimed = [choices.boolean(share) for _ in range(choices.integer(1, most))]
        best = iter(self._mutators.draw(choices, times=sum(aimed)).argmax(axis=1).tolist() if any(aimed) else ())
        plan = tuple(arms[next(best)] if one else None for one in aimed)
        besides = COVERS in self._mutators and choices.boolean(min(self._recent, COVERED))
        return (*plan, COVERS) if besides else plan

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:
        """Share what a mutant brought among the mutators that made it; those that failed cost as much.

        Each gets what is due to it by its cost and what it was known to bring before: cheap mutators would live on what
        dear ones bring beside them. The root keeps the first that was lucky from taking all.
        """
        failed = [name for name in plan if name is not None and name not in outcome.applied]
        made = (*outcome.applied, *failed)
        worth = float(outcome.gain) if outcome.worth is None else outcome.worth
        base = (0.5 + outcome.nodes / 60.0) / max(1, len(made))
        costs = [base + _profile(name).cost for name in made]
        self._mutators.fade()
        self._seeds.fade()
        due = [math.sqrt(self._mutators.rate(n)) * c for n, c in zip(outcome.applied, costs, strict=False)]
        total = sum(due) or 1.0
        shares = [worth * each / total for each in due] + [0.0] * len(failed)
        for name, share, cost in zip(made, shares, costs, strict=True):
            if name in self._mutators:
                self._mutators.add(name, share, cost)
        self._seeds.add(parent.seed, worth, sum(costs) or base)
        self._recent = _LATE * self._recent + (1.0 - _LATE) * outcome.gain

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:
        """Count lines of code as features, though many that run together are hardly more than one: ``log2(1 +
        branches)``.

        That is shared among the applied mutators by the root of their rates, and all of it is counted for the parent's
        seed.
        """
        worth = math.log2(1.0 + branches)
        due = [math.sqrt(self._mutators.rate(name)) for name in applied]
        total = sum(due)
        for name, each in zip(applied, due, strict=True):
            if each > 0:
                self._mutators.credit(name, worth * each / total)
        self._seeds.credit(parent.seed, worth)

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:
        """Whether a mutant shows enough: at least ``bar`` features of what mutation counts, new or cheaper."""
        return outcome.features >= bar

    def state(self) -> Mapping[str, Any]:
        """The posteriors of mutators and seeds, and how much programs bring of late, as JSON-able data for
        ``recall``.
        """
        return {"mutators": self._mutators.state(), "seeds": self._seeds.state(), "recent": self._recent}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on from the posteriors that ``state`` gave; mutators that this search does not have are left out, seeds
        are not.
        """
        self._mutators.recall({n: row for n, row in state["mutators"].items() if n in self._mutators})
        self._seeds.recall(state["seeds"])
        self._recent = state["recent"]
