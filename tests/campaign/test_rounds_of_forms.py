"""Forms are made in rounds from the first rewrite that is asked for; what no target runs has none, and no parent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.corpus.feature_holders import Brought
from irfuzz.campaign.metamorphic_testing_strategy import SelfTests
from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))


class Engine:
    """An ``Equivalence`` that notes which forms it is to run."""

    def __init__(self, before: list[str]) -> None:
        self.runs = SimpleNamespace(before=before, program="p")
        self.made: list[tuple[list[int], int]] = []

    def run_ways(self, *_: Any) -> Any:
        return self.runs

    def judge_ways(self, runs: Any) -> list[str]:
        return ["way"]

    def _first(self, program: Any, since: int | None) -> str:
        return f"{program}{since}"

    def run_forms(self, runs: Any, places: Any, turns: str, since: int) -> Any:
        assert (runs, turns[0]) == (self.runs, "p")
        self.made.append((list(places), since))
        return self.runs

    def judge_forms(self, runs: Any) -> list[str]:
        return ["form"]


@pytest.mark.parametrize(
    ("before", "forms", "since", "made"),
    [
        (["t"], 2, None, [([0, 1], 0)]),
        (["t"], 2, 3, [([0, 1], 3)]),
        (["t"], 2, 0, [([0, 1], 0)]),
        (["t"], 0, None, []),
        ([], 2, None, []),
    ],
)
def test_forms_begin_where_they_are_to(before: list[str], forms: int, since: int | None, made: Any) -> None:
    engine: Any = Engine(before)
    assert Equivalence.run(engine, "m", PROGRAM, {}, forms, lambda place: True, since) is engine.runs
    assert engine.made == made
    engine = Engine(before)
    found: list[Any] = list(
        Equivalence.check(engine, "m", PROGRAM, forms, inputs={}, dear=lambda place: True, since=since)
    )
    assert found[0] == "way"
    assert set(found[1:]) == ({"form"} if made else set())
    assert sorted(p for places, _ in engine.made for p in places) == [p for places, _ in made for p in places]
    assert {s for _, s in engine.made} == {s for _, s in made}


@dataclass(frozen=True)
class Case:
    """As much of a test case as ``keep`` looks at."""

    program: str
    edits: tuple[str, ...]
    features: int = 0
    cost: int = 0
    brings: bytes = b""


@pytest.mark.parametrize(
    ("before", "edits", "bar", "room", "kept", "lost"),
    [
        (["t"], ("e",), 5, True, 1, 0),
        (["t"], ("e",), 5, False, 1, 1),
        (["t"], ("e",), 6, True, 0, 0),
        (["t"], (), 0, True, 0, 0),
        ([], ("e",), 5, True, 0, 0),
    ],
)
def test_a_mutant_that_shows_enough_is_kept(
    before: list[str], edits: tuple[str, ...], bar: int, room: bool, kept: int, lost: int
) -> None:
    added: list[Case] = []

    def add(case: Case) -> bool:
        added.append(case)
        return room

    counts: Counter[str] = Counter()
    brought = Brought(9, 3, np.arange(5, dtype=np.uint64))
    holders = SimpleNamespace(weigh=lambda program, seen: brought, reserve=lambda keys, cost: None)
    strategy: Any = SimpleNamespace(
        _seen=None,
        corpus=SimpleNamespace(bar=lambda: bar, add=add, holders=holders),
        _job=SimpleNamespace(counts=counts),
    )
    testcase: Any = Case("p", edits)
    runs: Any = SimpleNamespace(before=before)
    SelfTests.keep(strategy, testcase, runs)
    assert [(c.features, c.cost, len(c.brings)) for c in added] == [(9, 3, 40)] * kept
    assert counts.total() == lost


def test_seeds_come_first_and_then_take_turns_with_mutants() -> None:
    strategy: Any = SimpleNamespace(
        _job=SimpleNamespace(number=1, config=SimpleNamespace(jobs=2)),
        corpus=SimpleNamespace(seed_count=6, seed=lambda number: number, program=lambda entry: PROGRAM),
        _engine=SimpleNamespace(fitting=lambda program: 1000),
    )
    turns = [SelfTests._turn(strategy, iteration) for iteration in range(10)]
    assert [None if t is None else t.entry for t in turns] == [1, 3, 5, 1, None, 3, None, 5, None, 1]
    strategy.corpus.seed_count = 1
    assert SelfTests._turn(strategy, 0) is None
