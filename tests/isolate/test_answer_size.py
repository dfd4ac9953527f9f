"""An answer whose values take too many bytes is refused in the child, and the child goes on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from irfuzz.isolate import Limits, Worker, WorkerSpec

MIB = 1 << 20


@pytest.fixture(scope="module")
def bounded(many: WorkerSpec) -> Iterator[Worker]:
    with Worker(many, Limits(seconds=20, result_bytes=MIB)) as worker:
        yield worker


def test_as_much_as_is_allowed_is_given_and_a_byte_more_is_not(bounded: Worker) -> None:
    assert bounded.call({"do": "echo"}, [np.zeros(MIB, np.uint8)]).exit == "ok"
    for value in ([np.zeros(MIB + 1, np.uint8)], [[np.zeros(MIB, np.uint8)], b"x"], [bytes(MIB), None, b"x"]):
        reply = bounded.call({"do": "echo"}, value)
        assert (reply.exit, reply.error["type"]) == ("error", "NotImplementedError")
        assert reply.error["message"] == "outputs of 1 MiB; at most 1 MiB are compared"


def test_it_is_counted_for_each_of_several_requests(bounded: Worker) -> None:
    small, large = np.zeros(MIB // 2 + 1, np.uint8), np.zeros(2 * MIB, np.uint8)
    asked = [({"do": "echo"}, [value]) for value in (small, small, large, small)]
    replies = bounded.call_all(asked)
    assert [reply.exit for reply in replies] == ["ok", "ok", "error"]
    assert replies[-1].place == 2


def test_nothing_is_counted_without_a_limit(worker: Worker) -> None:
    assert worker.call({"do": "echo"}, [np.zeros(8 * MIB, np.uint8)]).exit == "ok"
