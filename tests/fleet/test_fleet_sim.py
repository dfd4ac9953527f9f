"""The simulation of a fleet counts as a fleet does: on cases whose result is known, and beside two real sleepers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fleet_large import (
    CLASSES,
    EXCHANGES,
    UNIVERSE,
    FleetPlan,
    FleetSimulation,
    fitted_law,
    most_machines,
    scale,
    table,
)
from benchmarks.fleet_model import (
    EVERY,
    SLEEP,
    Cores,
    Cost,
    FeatureLaw,
    MeasuredCosts,
    as_idle,
    duplicate_share,
    sync_cost,
)
from benchmarks.fleet_sim import SleeperSimulation

FREE = MeasuredCosts(
    Cost(), Cost(), Cost(), Cost(), Cost(), Cost(), program=0.0, stored=0.0, overslept=0.0, stretch=1.0, row_bytes=4000,
    blob_bytes=1000, connection_bytes=5_000_000, discovery=[(1000, 400)], machine={},
)  # fmt: skip
LAW = FeatureLaw(universe=500, exponent=1.0, per_program=3)


@pytest.mark.unit
def test_processors_serve_in_the_order_of_requests() -> None:
    cores = Cores(2)
    assert [cores.serve(0.0, 2.0), cores.serve(0.0, 5.0), cores.serve(1.0, 1.0), cores.serve(9.0, 1.0)] == [2, 5, 3, 10]
    assert cores.busy == 9.0


@pytest.mark.unit
@pytest.mark.parametrize("agents", [1, 4, 16])
def test_what_costs_nothing_is_linear(agents: int) -> None:
    found = SleeperSimulation(FREE, agents, LAW, cores=1).run(1.0, 20.0)
    assert sum(found.rates) == pytest.approx(agents / SLEEP, rel=0.01)


@pytest.mark.unit
def test_processors_are_the_limit_of_dear_programs() -> None:
    found = SleeperSimulation(replace(FREE, program=0.01), 16, LAW, cores=2).run(1.0, 20.0)
    assert sum(found.rates) == pytest.approx(2 / 0.01, rel=0.02)
    stretched = SleeperSimulation(replace(FREE, program=0.01, stretch=2.0), 16, LAW, cores=2).run(1.0, 20.0)
    assert sum(stretched.rates) == pytest.approx(1 / 0.01, rel=0.02)


@pytest.mark.unit
def test_agents_that_exchange_find_what_there_is_once() -> None:
    found = SleeperSimulation(FREE, 4, LAW, cores=1).run(0.0, 120.0)
    assert found.features <= LAW.universe
    assert found.features > 0.9 * LAW.universe
    assert 0 < found.duplicates < 0.7  # all begin at once, and exchange every five seconds only
    assert found.taken <= 3 * found.given
    again = SleeperSimulation(FREE, 4, LAW, cores=1).run(0.0, 120.0)
    assert again == found


@pytest.mark.unit
def test_a_cost_is_a_sum() -> None:
    costs = replace(
        FREE, sync=Cost(1, 2, 3), per_agent=Cost(0, 1, 1), per_query=Cost(0, 10, 10), per_given=Cost(1, 0, 1),
        per_looked=Cost(0.5, 0, 0.5), per_taken=Cost(2, 0, 2),
    )  # fmt: skip
    assert sync_cost(costs, 4, 2, 3, 6, 1) == Cost(1 + 3 + 3.5 + 2, 2 + 4 + 20, 3 + 4 + 20 + 3 + 3.5 + 2)
    assert MeasuredCosts.from_json(costs.to_json()) == costs
    idle = as_idle(replace(costs, stretch=4.0))
    assert (idle.stretch, idle.sync.wall, idle.sync.database) == (1.0, 3, 2)
    assert Cost(1, 2, 3).less(Cost(2, 1, 1), 2) == Cost(0.0, 0.5, 1.0)


@pytest.mark.unit
def test_duplicates_are_programs_that_bring_nothing() -> None:
    assert duplicate_share([[1, 2], [2], [2, 3], [1, 3]]) == 0.5
    assert duplicate_share([]) == 0


@pytest.mark.unit
def test_a_large_fleet_counts_what_it_must() -> None:
    plan = FleetPlan(50, jobs=2, rate=10.0, before=1e4, seconds=40.0)
    figures = FleetSimulation(FREE, plan, FeatureLaw()).run()
    assert figures.programs == 1000
    assert figures.synchronisations == pytest.approx(50 / EVERY, rel=0.05)
    assert figures.database_cores == figures.wait == 0
    assert 0 < figures.found < figures.rows_written
    assert figures.blob_out == pytest.approx(figures.blob_in * 49 * (1 - figures.duplicates), rel=0.35)
    one = FleetSimulation(FREE, replace(plan, exchange="without list"), FeatureLaw()).run()
    assert one.queries == pytest.approx(figures.queries, rel=0.1)  # one query asks for all agents
    assert one.rows_read < figures.rows_read
    few = FleetSimulation(FREE, replace(plan, exchange="subscribed"), FeatureLaw()).run()
    assert few.blob_out < figures.blob_out / CLASSES * 3
    assert few.duplicates > one.duplicates  # who does not look finds again what others have found


@pytest.mark.unit
def test_a_database_that_is_too_slow_is_the_limit() -> None:
    costs = replace(FREE, sync=Cost(0.0, 0.1, 0.1))  # of one processor that is busy for 0.8 of the time: 40 agents
    plan = FleetPlan(1, jobs=1, rate=1.0, cores=1, exchange="without list")
    assert most_machines(costs, LAW, plan) == pytest.approx(0.8 * EVERY / 0.1, rel=0.2)
    crowded = FleetSimulation(costs, replace(plan, machines=200), LAW).run()
    assert crowded.database_cores == pytest.approx(1.0, abs=0.1)
    assert crowded.wait > 3


@pytest.mark.unit
def test_a_law_is_found_again() -> None:
    law = FeatureLaw(UNIVERSE, 1.25, 12)
    ends, rng = np.cumsum(law.weights()), np.random.default_rng(3)
    _, first = np.unique(law.draw(ends, rng, 2000).ravel(), return_index=True)
    new = np.unique(first // 12)
    curve = [(n, int(np.searchsorted(new, n))) for n in (125, 250, 500, 1000, 2000)]
    found = fitted_law(curve)
    assert found.exponent == pytest.approx(law.exponent, abs=0.11)


@pytest.mark.unit
def test_the_table_has_a_row_for_each_fleet_and_the_limits() -> None:
    costs = replace(FREE, sync=Cost(0.0, 0.1, 0.1))
    plan = FleetPlan(1, jobs=1, rate=1.0, cores=1, seconds=20.0)
    lines = table(scale(costs, [10, 20], plan, LAW)).splitlines()
    assert len(lines) == 2 + 2 * len(EXCHANGES) + 2
    assert lines[2].startswith("| 10 | as built |")
    assert {line.count("|") for line in lines[:-2]} == {lines[0].count("|")}
    assert lines[-1].startswith("Machines until the database is full: as built: ")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_sleepers_do_what_is_simulated(tmp_path: Path) -> None:
    from benchmarks.fleet_sleepers import run_sleepers

    real = run_sleepers(f"sqlite:///{tmp_path}/fleet.sqlite", tmp_path, 2, 6.0, law=LAW, sync=1.0, warm=1.0)
    assert len(real.rates) == 2
    assert 0 < sum(real.rates) <= 2 / SLEEP
    assert 0 < real.features <= LAW.universe + 60  # and those of the seed
    assert real.given > 10
    assert real.taken > 10
    assert 0 <= real.duplicates < 1
