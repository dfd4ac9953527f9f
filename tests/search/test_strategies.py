"""Searches: COMET's acceptance rule and pool as published, what ours learns, and that it covers more for its cost."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass

import pytest

from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_table import is_steered
from irfuzz.mutate.paper_mutator_lookup import group
from irfuzz.search.coverage.coverable_call_space import SCHEMA, load
from irfuzz.search.coverage.operator_call_coverage import Coverage
from irfuzz.search.coverage.uncovered_operator_calls import Frontier
from irfuzz.search.strategies.mcmc import Mcmc, score
from irfuzz.search.strategies.parent_pool import SIZE, ParentPool
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, Search
from irfuzz.search.strategies.strategy_table import SEARCHES, USES, make_search
from irfuzz.search.strategies.thompson import AIMED, COVERED, Arms, Thompson
from irfuzz.search.strategies.weighted import FAVOURED, energy
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit


@dataclass
class Row:
    seed: str
    nodes: int = 10
    features: int = 1
    picked: int = 0
    favoured: bool = False


def test_an_unknown_search_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="thompson, weighted, mcmc, random"):
        make_search("annealing", ())


def test_score_is_half_of_each() -> None:
    assert score(MutationOutcome(("a",), 3, 0, 1)) == 0.5
    assert score(MutationOutcome(("a",), 3, 0, 1, branches=2)) == 1.0
    assert score(MutationOutcome(("a",), 0, 5, 1)) == 0.0


def test_operators_are_accepted_as_in_table_4() -> None:
    """From MDtype, third of eight, the ranks 1 to 8 are accepted in proportion 1, 1, 1, 0.6, 0.36, 0.22, 0.13, 0.08."""
    operators = group("comet")
    search = Mcmc(operators)
    for place, name in enumerate(operators):
        for n in range(100):
            search.learn(Row("s"), (name,), MutationOutcome((name,), int(n < 90 - 10 * place), 0, 1))
    # Calls that something else planned are no operator's.
    search.learn(Row("s"), ("insert-neighbours",), MutationOutcome(("insert-neighbours",), 9, 0, 1))
    assert [search.fitness(name) for name in operators] == pytest.approx([0.05 * (9 - place) for place in range(8)])
    search.learn(Row("s"), (operators[0],), MutationOutcome((), 0, 0, 1))  # what comes to nothing is no mutant
    assert search.fitness(operators[0]) == pytest.approx(0.45)
    found: Counter[str] = Counter()
    choices = Choices.from_seed(1)
    for _ in range(8000):
        search._last = operators[2]
        plan = search.plan(Row("s"), choices, 4)
        assert 1 <= len(plan) <= 10
        assert set(plan) == {search._last}
        found[search._last] += 1
    wanted = [1.0, 1.0, 1.0, 0.6, 0.36, 0.216, 0.1296, 0.07776]
    for name, weight in zip(operators, wanted, strict=True):
        assert found[name] / 8000 == pytest.approx(weight / sum(wanted), abs=0.02)


def test_the_pool_is_full_at_fifty_and_newcomers_take_places() -> None:
    pool, choices = ParentPool(), Choices.from_seed(1)
    rows = [Row(str(n)) for n in range(10)]
    for n in range(10, 300):
        pool.pick(rows, choices)
        rows.append(Row(str(n)))
    pool.pick(rows, choices)
    assert len(pool._places) == SIZE
    assert len(set(pool._places)) == SIZE
    assert max(pool._places) == 299


@pytest.mark.parametrize("name", ["mcmc", "random"])
def test_members_that_come_to_nothing_give_their_places_to_seeds(name: str) -> None:
    search = make_search(name, group("comet"))
    rows = [Row(str(n)) for n in range(10)]
    for n in range(2000):
        choices = Choices.from_seed(n)
        row = search.choose(rows, choices)
        plan = search.plan(row, choices, 4)
        full = row.nodes >= 200
        search.learn(row, plan, MutationOutcome(() if full else tuple(name for name in plan if name), 1, 1, row.nodes))
        if not full:
            rows.append(Row(row.seed, row.nodes + 30))
    places = search.state()["pool"]["places"]
    assert len(places) == SIZE
    assert sum(rows[place].nodes >= 200 for place in places) < SIZE / 4
    assert any(place < 10 for place in places), "no seed came back"


@pytest.mark.parametrize("name", ["mcmc", "random"])
def test_mparam_draws_forbidden_values_now_and_then(name: str) -> None:
    search, choices = make_search(name, USES[name] or ()), Choices.from_seed(3)
    plans = [search.plan(Row("s"), choices, 4) for _ in range(3000)]
    forbidden = sum(plan == ("invalid-value",) for plan in plans)
    parameter = sum(plan[0] == "change-attribute" for plan in plans)
    assert 0.05 < forbidden / (forbidden + parameter) < 0.16
    search.learn(Row("s"), ("invalid-value",), MutationOutcome(("invalid-value",), 0, 0, 4))
    valid = make_search(name, group("comet"))
    assert not any("invalid-value" in valid.plan(Row("s"), choices, 4) for _ in range(500))


def test_arms_that_bring_more_for_their_cost_are_drawn_more_often() -> None:
    arms, choices = Arms(["good", "dear", "none"]), Choices.from_seed(1)
    for _ in range(50):
        arms.add("good", 2.0, 1.0)
        arms.add("dear", 2.0, 4.0)
        arms.add("none", 0.0, 1.0)
    best = Counter(arms.draw(choices, times=200).argmax(axis=1).tolist())
    assert best[0] > 190
    for _ in range(2000):
        arms.add("good", 0.0, 1.0)  # used up
    best = Counter(arms.draw(choices, times=200).argmax(axis=1).tolist())
    assert best[1] > 190
    for _ in range(4000):
        arms.fade()  # and long ago
    best = Counter(arms.draw(choices, times=300).argmax(axis=1).tolist())
    assert min(best[n] for n in range(3)) > 60


def test_edits_are_aimed_while_that_pays() -> None:
    search, choices = Thompson(("a", "b", "invalid-value")), Choices.from_seed(1)

    def aimed() -> float:
        plans = [search.plan(Row("s"), choices, 4) for _ in range(500)]
        names = [name for plan in plans for name in plan]
        assert "invalid-value" not in names
        return sum(name is not None for name in names) / len(names)

    assert aimed() == pytest.approx(AIMED[1], abs=0.07)
    for _ in range(1000):
        search.learn(Row("s"), ("a",), MutationOutcome(("a",), 0, 0, 10))
    assert aimed() == pytest.approx(AIMED[0], abs=0.07)


def test_pairs_are_aimed_at_besides_while_programs_bring_features() -> None:
    search, choices = Thompson(("a", "cover-next")), Choices.from_seed(2)

    def besides() -> float:
        return sum(search.plan(Row("s"), choices, 1)[1:] == ("cover-next",) for _ in range(500)) / 500

    assert besides() == pytest.approx(COVERED, abs=0.07)
    for _ in range(1000):
        search.learn(Row("s"), ("a",), MutationOutcome(("a",), 0, 0, 10))
    assert besides() < 0.05
    without = Thompson(("a", "b"))
    assert all(len(without.plan(Row("s"), choices, 1)) == 1 for _ in range(200))


def test_cheap_mutators_do_not_live_on_what_dear_ones_bring() -> None:
    search = Thompson(("cover-next", "expose-value"))
    for n in range(400):
        both = ("cover-next", "expose-value") if n % 2 else ("expose-value",)
        search.learn(Row("s"), both, MutationOutcome(both, 6 * (n % 2), 0, 10))
    gains = {name: gain for name, (gain, _) in search.state()["mutators"].items()}
    assert gains["cover-next"] > 4 * gains["expose-value"]


def test_what_counts_is_worth_not_number() -> None:
    search = Thompson(("a", "b"))
    for _ in range(50):
        search.learn(Row("s"), ("a",), MutationOutcome(("a",), 5, 0, 10, worth=1.0))
        search.learn(Row("s"), ("b",), MutationOutcome(("b",), 1, 0, 10, worth=8.0))
    assert Counter(m for n in range(60) for m in search.plan(Row("s"), Choices.from_seed(n), 4))["a"] < 5


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_recalls_goes_on_as_the_one_before(name: str) -> None:
    names = group("comet")

    def learns(search: Search, rows: list[Row], first: int, last: int) -> list[tuple[str, tuple[str | None, ...]]]:
        done = []
        for n in range(first, last):
            choices = Choices.from_seed(n)
            row = search.choose(rows, choices)
            plan = search.plan(row, choices, 4)
            done.append((row.seed, plan))
            applied = tuple(m or names[n % 8] for m in plan) or names[:1]
            search.learn(row, plan, MutationOutcome(applied, n % 3, n % 3, 5 + n % 40))
            rows.append(Row(f"{row.seed}{n % 2}"[:8], 5 + n % 40, n % 3))
        return done

    search, rows = make_search(name, names), [Row(str(n)) for n in range(60)]
    learns(search, rows, 0, 300)
    told = json.loads(json.dumps(search.state()))
    again = make_search(name, names)
    again.recall(told)
    assert again.state() == search.state()
    assert learns(again, deepcopy(rows), 300, 400) == (went := learns(search, deepcopy(rows), 300, 400))
    if name != "weighted":
        assert learns(make_search(name, names), deepcopy(rows), 300, 400) != went, "there is nothing to recall"


def test_a_mutator_that_is_gone_is_not_recalled() -> None:
    search = Thompson(("a", "b"))
    search.learn(Row("s"), ("a",), MutationOutcome(("a",), 3, 0, 10))
    later = Thompson(("b", "c"))
    later.recall(search.state())
    assert set(later.state()["mutators"]) == {"b", "c"}
    assert later.state()["seeds"] == search.state()["seeds"] != {}


def explored(name: str, programs: int, seed: int = 3) -> tuple[Frontier, list[tuple[object, object]]]:
    """A short search that starts from sprouts, without runs."""
    specs, seen, frontier = load_specs(), FeatureCounts(), Frontier(load())
    table = {"thompson": None, "weighted": None}
    engine = Engine(specs, table.get(name, group("comet")), seen=seen, wanted=frontier)
    search = make_search(name, tuple(engine.mutators))
    parents = [Row(n) for n in sprouts() if n.endswith("-17")]
    known = {id(row): sprouts()[row.seed] for row in parents}
    made = []
    for n in range(programs):
        choices = Choices.from_seed(f"{seed}/{n}")
        parent = search.choose(parents, choices)
        plan = search.plan(parent, choices, 4)
        mutant = engine.mutate(known[id(parent)], choices, len(plan), plan)
        if mutant is None:
            search.learn(parent, plan, MutationOutcome((), 0, 0, 1))
            continue
        before = frontier.worth
        gain, features = frontier.add_mutant(mutant.program), seen.add_mutant(mutant.program)
        applied, nodes = tuple(e.mutator for e in mutant.edits), len(mutant.program.nodes())
        outcome = MutationOutcome(applied, gain, features, nodes, worth=frontier.worth - before)
        search.learn(parent, plan, outcome)
        made.append((known[id(parent)], mutant))
        if search.keeps(outcome, 1):
            row = Row(parent.seed, outcome.nodes, features)
            parents.append(row)
            known[id(row)] = mutant.program
    return frontier, made


def test_ours_covers_more_than_comets_and_edits_replay_without_what_steered_them() -> None:
    ours, made = explored("thompson", 60)
    theirs, _ = explored("mcmc", 60)
    assert ours.covered > 1.15 * theirs.covered
    free = [(parent, mutant) for parent, mutant in made if not is_steered(mutant.edits)]  # type: ignore[attr-defined]
    assert len(free) >= 10
    for parent, mutant in free[::7]:
        assert replay(parent, mutant.edits, load_specs()).to_bytes() == mutant.to_bytes()  # type: ignore[arg-type,attr-defined]


@pytest.mark.parametrize("name", SEARCHES)
def test_equal_seeds_give_equal_programs(name: str) -> None:
    first, second = explored(name, 8), explored(name, 8)
    assert first[0].state() == second[0].state()


def test_coverage_goes_on_from_what_was_stored() -> None:
    frontier, _ = explored("thompson", 20)
    again = Frontier(load())
    again.absorb(frontier.state())
    assert again.shares() == frontier.shares()
    assert again.covered == frontier.covered == again.shares()["all"].covered
    again.absorb(frontier.state())
    assert again.covered == frontier.covered
    other = Coverage(load())
    other.absorb(frontier.state() | {"schema": -1})
    assert other.covered == 0
    # Features that a space of another version held.
    gone = {"input": [["Gone", "dtype", "FLOAT"], ["Relu", "rank", 99]], "parameter": [["Relu", "alpha", "1"]]}
    many = [["input", "Gone", "shape", ["(2,)"]], ["parameter", "Relu", "alpha", ["1"]]]
    other.absorb(frontier.state() | {"named": gone | {"sequence": [["Gone", "Relu"]]}, "several": many})
    assert other.covered == 0


def test_the_frontier_knows_pairs_of_many_at_once_and_what_features_are_worth() -> None:
    frontier, _ = explored("thompson", 30)
    names = tuple(load().operators)
    for producer in ("Relu", "Cast", "Shape", "Identity"):
        assert frontier.pairs(producer, names) == [frontier.pair(producer, name) for name in names]
    assert frontier.pairs("<input>", names) is None
    totals, shares = load().totals(), frontier.shares()
    mean = sum(totals.values()) / 3
    assert frontier.worth == pytest.approx(mean * sum(shares[c].ratio for c in totals))
    counted = Coverage(load())
    counted.absorb(frontier.state())
    assert counted.shares() == shares


def test_the_frontier_wants_what_is_missing_and_gives_up_slowly() -> None:
    frontier = Frontier(load())
    assert frontier.pair("Relu", "Relu") > 0
    before = frontier.pair("Relu", "Tanh")
    frontier.failed("Relu", "Tanh")
    assert 0 < frontier.pair("Relu", "Tanh") < before
    assert frontier.dtype("Relu", "FLOAT") == 1.0
    assert frontier.dtype("Relu", "BOOL") == 0.0
    frontier.absorb({
        "schema": SCHEMA, "opset": load().opset, "programs": 1, "several": [],
        "named": {"input": [["Relu", "dtype", "FLOAT"]], "parameter": [], "sequence": [["Relu", "Relu"]]},
    })  # fmt: skip
    assert frontier.pair("Relu", "Relu") == 0.0
    assert frontier.dtype("Relu", "FLOAT") == 0.0
    assert frontier.call("NoSuchOperator") > 0


def test_a_favoured_parent_weighs_more() -> None:
    assert energy(Row("s", favoured=True)) == FAVOURED * energy(Row("s"))
    assert energy(Row("s", features=50)) == energy(Row("s", features=51)) == 25.5 * energy(Row("s"))
