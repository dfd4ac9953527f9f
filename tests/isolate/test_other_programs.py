"""Workers whose children are programs of another language: they speak the protocol, and the sandbox holds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from irfuzz.isolate import Limits, Worker, WorkerSpec
from irfuzz.isolate.sandbox_report import what_holds

HANDLER = Path(__file__).parent / "handlers" / "other_program.py"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(WorkerSpec("other", HANDLER), Limits(seconds=20)) as one:
        yield one


def test_values_go_there_and_back(worker: Worker) -> None:
    values = [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array(["a", "zü"], object),
        b"model",
        [np.float32(1)],
        None,
    ]
    reply = worker.call({"do": "echo"}, values)
    assert reply.exit == "ok", reply
    tensor, strings, data, sequence, nothing = reply.values
    assert isinstance(tensor, np.ndarray)
    assert (tensor.dtype, tensor.tolist()) == (np.int16, [[0, 1, 2], [3, 4, 5]])
    assert np.asarray(strings).tolist() == ["a", "zü"]
    assert (data, sequence, nothing) == (b"model", [np.float32(1)], None)


def test_several_requests_travel_as_one_and_one_process_answers_them(worker: Worker) -> None:
    replies = worker.call_all([({"do": "echo"}, []), ({"do": "echo"}, [])])
    assert [reply.exit for reply in replies] == ["ok", "ok"]
    assert len({reply.response["pid"] for reply in replies}) == 1


def test_what_it_raises_and_how_it_dies_is_told_and_the_next_request_has_a_new_process(worker: Worker) -> None:
    refused = worker.call({"do": "refuse"}, [])
    assert (refused.exit, refused.error["type"]) == ("error", "NotImplementedError")
    died = worker.call({"do": "exit"}, [])
    assert (died.exit, died.exit_code) == ("exited", 7)
    assert worker.call({"do": "echo"}, []).exit == "ok"


def test_it_stays_in_the_sandbox(worker: Worker, tmp_path: Path) -> None:
    here = what_holds()
    for word, attempt in (("network", "network"), ("files", str(tmp_path / "new"))):
        if word in here:
            reply = worker.call({"do": "echo", "try": attempt}, [])
            assert reply.response["try"] in ("OSError", "PermissionError", "TimeoutError")


def test_it_ends_with_its_worker() -> None:
    with Worker(WorkerSpec("other", HANDLER), Limits(seconds=20)) as one:
        pid = one.call({"do": "echo"}, []).response["pid"]
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
