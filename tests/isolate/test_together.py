"""Several requests sent as one: order, limits of each, and which of them is at fault where one ends the child."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from irfuzz.isolate import Worker
from irfuzz.isolate.worker_spec_and_reply import Value

Request = tuple[dict[str, Any], list[Value]]

ECHO: Request = ({"do": "echo"}, [])


def echo(number: int, count: int) -> Request:
    return {"do": "echo", "number": number}, [np.full(3, number, np.float32)] * count


def test_each_request_gets_its_own_values_and_answer(worker: Worker) -> None:
    first = worker.call_all([echo(0, 0)], fresh=True)
    assert [reply.served for reply in first] == [0]
    answers = worker.call_all([echo(1, 2), echo(2, 0), echo(3, 1)])
    assert [reply.response["got"]["number"] for reply in answers] == [1, 2, 3]
    assert [len(reply.values) for reply in answers] == [2, 0, 1]
    assert [reply.served for reply in answers] == [1, 2, 3]
    np.testing.assert_array_equal(answers[2].values[0], np.full(3, 3, np.float32))
    assert worker.call({"do": "echo"}).served == 4


def test_what_is_raised_ends_the_row_but_not_the_child(worker: Worker) -> None:
    pid = worker.call({"do": "echo"}).response["pid"]
    answers = worker.call_all([echo(1, 1), ({"do": "raise"}, [echo(9, 1)[1][0]]), echo(3, 1)])
    assert [reply.response["got"]["number"] for reply in answers[:-1]] == [1]
    assert (answers[-1].exit, answers[-1].place, answers[-1].error["message"]) == ("error", 1, "no such axis: 7")
    assert worker.call({"do": "echo"}).response["pid"] == pid


@pytest.mark.parametrize("place", [0, 2])
def test_a_dead_child_tells_which_request_it_was(worker: Worker, place: int) -> None:
    requests = [echo(i, 1) for i in range(4)]
    requests[place] = ({"do": "segfault"}, [])
    answers = worker.call_all([*requests])
    assert len(answers) == 1
    assert (answers[-1].exit, answers[-1].signal, answers[-1].place) == ("crash", "SIGSEGV", place)
    assert answers[-1].log.startswith("last words\n")
    assert worker.call({"do": "echo"}).served == 0


def test_the_log_is_that_of_the_request_alone(worker: Worker) -> None:
    answers = worker.call_all([({"do": "print", "text": "of an earlier one " * 99}, []), ({"do": "segfault"}, [])])
    assert answers[-1].log.startswith("last words\n")
    assert "earlier" not in answers[-1].log


def test_time_is_for_each_request(worker: Worker) -> None:
    nap: Request = ({"do": "nap", "seconds": 0.3}, [])
    answers = worker.call_all([nap] * 4, seconds=0.7)
    assert len(answers) == 4
    began = time.monotonic()
    answers = worker.call_all([nap, ({"do": "sleep"}, []), nap], seconds=0.7)
    assert (answers[-1].exit, answers[-1].place) == ("hang", 1)
    assert time.monotonic() - began > 0.9


def test_memory_is_looked_at_after_all_of_them(worker: Worker) -> None:
    answers = worker.call_all([ECHO, ({"do": "hog", "bytes": 200 << 20}, []), ({"do": "hog", "bytes": 200 << 20}, [])])
    assert len(answers) == 1
    assert (answers[-1].exit, answers[-1].place) == ("memory", 2)
    assert worker.call({"do": "echo"}).served == 0


OK = {"exit": "ok", "response": {}, "seconds": 0.1}


@pytest.mark.parametrize(
    "answers",
    [
        None,
        [],
        [{**OK, "count": 0}],
        [{**OK, "count": 1}, {**OK, "count": 0}],
        [{**OK, "count": -1}, {**OK, "count": 0}],
        [{**OK, "count": 0}] * 3,
        [{"exit": "error", "error": {"type": "", "message": "", "traceback": ""}, "seconds": 0.1}, {**OK, "count": 0}],
        [7, 7],
    ],
)
def test_answers_that_do_not_fit_the_requests(worker: Worker, answers: Any) -> None:
    number = worker._number + 1
    meta = {"exit": "ok", "response": {"answers": answers}, "seconds": 0.5, "values": []}
    request = ({"do": "frame", "id": number, "meta": json.dumps(meta)}, [b""])
    found = worker.call_all([request, ECHO])
    assert found[-1].exit == "protocol"
    assert worker.call({"do": "echo"}).exit == "ok"
