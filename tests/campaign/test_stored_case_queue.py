"""What waits for triage outlives its job: it is stored with how far that has come, and read by the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.triage.case_queue import EACH, TriageCase
from irfuzz.campaign.triage.stored_case_queue import LIVE, StoredQueue
from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.database import Database
from irfuzz.store.waiting_rows import JOBS

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
TARGETS = (Target("bad", "bad"), Target("good", "good"))


def case(operator: str = "Neg", size: int = 1, target: str = "bad", **fields: Any) -> TriageCase:
    results = tuple(RunResult(one, Stage.RUN, Exit.OK, {"y": np.zeros(2, np.float32)}) for one in TARGETS)
    whole = FailingCase(PROGRAM, {"x": np.ones(2, np.float32)})
    seen = Finding(Verdict("o", Symptom.DIFFERENCE, target), whole, whole, results, trace={"edits": [operator]})
    return TriageCase(seen, "", frozenset({operator}), size, **fields)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "c.sqlite")


def store(queue: StoredQueue) -> None:
    queue.database.record(0, 1, 1, {}, [])


def take(queue: StoredQueue) -> TriageCase:
    item = queue.take(lambda one: True)
    assert item is not None
    return item


def left(database: Database, job: int = 0) -> list[tuple[str, int]]:
    """Operators and sizes of what the next job of that number takes, in the order in which it does."""
    queue, found = StoredQueue(database, job), []
    while (item := queue.take(lambda one: True)) is not None:
        found.append((*item.operators, item.size))
    return found


def test_what_was_stored_waits_for_the_next_job(database: Database) -> None:
    queue = StoredQueue(database)
    queue.add(case("Neg", 2))
    assert (len(queue), left(database)) == (1, []), "it is stored with how far the job has come"
    store(queue)
    queue.add(case("Exp", 1))
    assert (len(queue), left(database)) == (2, [("Neg", 2)])
    again = StoredQueue(database)
    item = take(again)
    assert (queue.is_earlier(item), again.is_earlier(item)) == (False, True)
    whole = again.whole(item, TARGETS)
    finding = whole.finding
    assert finding.case is finding.original
    assert finding.case.program.to_bytes() == PROGRAM.to_bytes()
    assert (finding.verdict, finding.trace) == (case().finding.verdict, {"edits": ["Neg"]})
    assert [(one.target, one.outputs["y"].tolist()) for one in finding.results] == [(one, [0, 0]) for one in TARGETS]  # type: ignore[union-attr]
    assert left(database) == [("Neg", 2)], "who takes it may die"
    again.done(whole)
    assert left(database) == []


def test_the_newest_cases_are_kept_as_they_were_seen(database: Database) -> None:
    queue = StoredQueue(database)
    given = [case(f"Op{n}", n, f"t{n}") for n in range(LIVE + 1)]
    for one in given:
        queue.add(one)
    store(queue)
    kept = [queue.whole(take(queue), TARGETS).finding is given[n].finding for n in range(LIVE + 1)]
    assert kept == [False] + [True] * LIVE


def test_a_case_may_be_taken_before_it_is_stored(database: Database) -> None:
    queue = StoredQueue(database)
    for n in range(LIVE + 1):
        queue.add(case(f"Op{n}", n, f"t{n}"))
    item = take(queue)
    assert queue.whole(item, TARGETS).finding.case.program.to_bytes() == PROGRAM.to_bytes()
    queue.done(item)
    store(queue)
    assert len(left(database)) == LIVE


def test_what_is_let_go_is_gone_from_the_database_too(database: Database) -> None:
    queue = StoredQueue(database)
    assert queue.add(case("Neg", 5)) == 0
    store(queue)
    assert queue.add(case("Neg", 5)) == 1, "the one that waits stays"
    assert queue.add(case("Neg", 3)) == 1
    assert queue.add(case("Neg", 2)) == 1, "of two that are new the smaller one is stored"
    store(queue)
    assert left(database) == [("Neg", 2)]
    assert sum(queue.add(case(f"Op{n}", 9 + n)) for n in range(EACH)) == 1
    store(queue)
    assert len(left(database)) == EACH
    assert max(size for _, size in left(database)) == 9 + EACH - 2


def test_what_was_learnt_of_a_case_is_kept_while_it_waits(database: Database) -> None:
    queue = StoredQueue(database)
    for n in range(2):
        queue.add(case(f"Op{n}", n))
    store(queue)
    item = take(queue)
    queue.put_back(replace(item, again=True, finding=replace(item.finding, doubted=7)))
    for one in (queue, StoredQueue(database)):
        assert [(known.again, known.finding.doubted) for known in (take(one), take(one))] == [(False, 0), (True, 7)]


def test_what_is_put_back_while_a_smaller_one_like_it_waits_is_gone(database: Database) -> None:
    queue = StoredQueue(database)
    queue.add(case("Neg", 5))
    store(queue)
    item = take(queue)
    queue.add(case("Neg", 2))
    queue.put_back(item)
    store(queue)
    assert left(database) == [("Neg", 2)]


def test_what_is_put_back_before_it_is_stored_stays_whole(database: Database) -> None:
    queue = StoredQueue(database)
    queue.add(case())
    item = queue.whole(take(queue), TARGETS)
    queue.put_back(replace(item, again=True))
    assert queue.whole(take(queue), TARGETS).finding.case.program is PROGRAM
    store(queue)
    assert take(StoredQueue(database)).again is True


def test_a_case_at_which_somebody_failed_comes_last(database: Database) -> None:
    queue = StoredQueue(database)
    queue.add(case("Neg", 1))
    queue.add(case("Exp", 50, again=True))
    store(queue)
    queue.strike(take(queue))
    assert left(database) == [("Exp", 50), ("Neg", 1)]
    assert [(item.size, item.strikes) for item in (take(queue), take(queue))] == [(50, 0), (1, 1)]


def test_whoever_asks_is_told_which_case_is_taken(database: Database) -> None:
    told: list[int] = []
    queue = StoredQueue(database, 3, busy=told.append)
    assert queue.take(lambda one: True) is None
    queue.add(case("Neg", 1))
    queue.add(case("Exp", 2))
    assert queue.take(lambda one: False) is None
    assert [take(queue).number, take(queue).number] == told == [JOBS + 3, 2 * JOBS + 3]


def test_a_program_that_is_none_by_its_bytes_is_made_by_its_edits(database: Database) -> None:
    queue = StoredQueue(database)
    queue.add(case())
    store(queue)
    with database.transaction() as connection:
        connection.exec_driver_sql("update waiting set model = x'00'")

    def remade(trace: Mapping[str, Any]) -> Program:
        assert trace == {"edits": ["Neg"]}
        return PROGRAM

    again = StoredQueue(database, remade=remade)
    assert again.whole(take(again), TARGETS).finding.case.program is PROGRAM
    again = StoredQueue(database)
    with pytest.raises(InvalidProgram, match="none by its bytes"):
        again.whole(take(again), TARGETS)


def test_a_job_reads_its_own_cases_alone(database: Database) -> None:
    queues = [StoredQueue(database, job) for job in range(3)]
    for job, queue in enumerate(queues):
        item = case(f"Op{job}", job)
        queue.add(replace(item, finding=replace(item.finding, job=job)))
        store(queue)
    assert [left(database, job) for job in range(3)] == [[("Op0", 0)], [("Op1", 1)], [("Op2", 2)]]
    database.waiting.share_out(1)
    assert left(database) == [("Op0", 0), ("Op1", 1), ("Op2", 2)]
