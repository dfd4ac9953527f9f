"""Every way in which a child can fail is told as what it is, and the next request works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irfuzz.isolate import Limits, Reply, Worker, WorkerSpec

MIB = 1 << 20


def ask(
    worker: Worker, do: str, values: Any = (), *, seconds: float | None = None, fresh: bool = False, **more: Any
) -> Reply:
    return worker.call({"do": do, **more}, values, seconds=seconds, fresh=fresh)


def good(worker: Worker, *, fresh: bool = False) -> Reply:
    """A request that works."""
    sent = np.arange(6, dtype=np.float32).reshape(2, 3)
    reply = ask(worker, "echo", [sent], fresh=fresh)
    assert reply.exit == "ok", reply
    assert reply.response["got"] == {"do": "echo"}
    assert reply.response["warm"] == 1
    np.testing.assert_array_equal(reply.values[0], sent, strict=True)
    return reply


def test_answers_come_from_one_child_that_stays(worker: Worker) -> None:
    first, second = good(worker), good(worker)
    assert first.response["pid"] == second.response["pid"]
    assert second.served == first.served + 1
    assert first.log == first.before == first.detail == ""


def test_fresh_means_a_child_that_served_nothing(worker: Worker) -> None:
    first = good(worker)
    fresh = ask(worker, "echo", fresh=True)
    assert fresh.served == 0
    assert fresh.response["pid"] != first.response["pid"]


@pytest.mark.parametrize(
    ("do", "more", "signal"),
    [
        ("segfault", {}, "SIGSEGV"),
        ("overflow", {}, "SIGSEGV"),
        ("abort", {}, "SIGABRT"),
        *[("signal", {"signal": name}, name) for name in ("SIGFPE", "SIGILL", "SIGBUS", "SIGTERM", "SIGKILL")],
    ],
)
def test_crash(worker: Worker, do: str, more: dict[str, Any], signal: str) -> None:
    good(worker)
    reply = ask(worker, do, **more)
    assert (reply.exit, reply.signal, reply.exit_code) == ("crash", signal, None)
    assert signal in reply.detail
    assert reply.served > 0
    assert good(worker).served == 0


def test_what_was_printed_before_a_crash_is_told(worker: Worker) -> None:
    log = ask(worker, "segfault").log
    assert log.startswith("last words\n")
    assert "in do_segfault" in log, "the child's Python stack is missing"
    assert "last words" not in ask(worker, "raise").log, "output of an earlier request"


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("code", [0, 3])
def test_exit(worker: Worker, hard: bool, code: int) -> None:
    reply = ask(worker, "exit", hard=hard, code=code)
    assert (reply.exit, reply.exit_code, reply.signal) == ("exited", code, "")
    good(worker)


def test_error_keeps_the_child(worker: Worker) -> None:
    pid = good(worker).response["pid"]
    reply = ask(worker, "raise")
    assert reply.exit == "error"
    assert reply.error["type"] == "ValueError"
    assert reply.error["message"] == "no such axis: 7"
    assert "in do_raise" in reply.error["traceback"]
    assert reply.detail == "ValueError: no such axis: 7"
    assert good(worker).response["pid"] == pid


def test_error_that_cannot_be_printed(worker: Worker) -> None:
    reply = ask(worker, "unprintable")
    assert (reply.exit, reply.error["type"]) == ("error", "Rude")
    good(worker)


@pytest.mark.parametrize("what", ["none", "list", "set", "array"])
def test_wrong_return_is_the_handlers_error(worker: Worker, what: str) -> None:
    reply = ask(worker, "wrong", what=what)
    assert (reply.exit, reply.error["type"]) == ("error", "TypeError")
    good(worker)


@pytest.mark.parametrize(
    ("do", "more"),
    [
        ("sleep", {}),
        ("deaf", {}),
        ("gil", {}),
        ("signal", {"signal": "SIGSTOP"}),
        ("fork", {"note": "pids", "then": "hang"}),
    ],
)
def test_hang(worker: Worker, do: str, more: dict[str, Any]) -> None:
    good(worker)  # so that no fork is in the time
    reply = ask(worker, do, seconds=0.3, **more)
    assert reply.exit == "hang"
    assert 0.3 <= reply.seconds < 10
    good(worker)


def test_hang_tells_where(worker: Worker) -> None:
    assert "in do_sleep" in ask(worker, "sleep", seconds=0.3).log
    assert "in do_gil" in ask(worker, "gil", seconds=0.3).log


def test_slow_is_not_hanging(worker: Worker) -> None:
    assert ask(worker, "shared_hog", pieces=0, sleep=0.3, seconds=20).exit == "ok"


def test_waiting_for_a_processor_is_not_hanging(worker: Worker) -> None:
    here = {min(os.sched_getaffinity(0))}
    child = good(worker).response["pid"]
    os.sched_setaffinity(child, here)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        for other in others:
            os.sched_setaffinity(other.pid, here)
        reply = ask(worker, "compute", processor_seconds=0.5, seconds=0.6)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert reply.exit == "ok"
    assert reply.seconds > 0.6  # it did wait


def test_what_a_child_takes_from_itself_is_no_wait_for_a_processor(worker: Worker) -> None:
    good(worker)
    cores = len(os.sched_getaffinity(0))
    reply = ask(worker, "spin", processes=12 * cores, seconds=0.5)
    assert reply.exit == "hang"
    good(worker)


def test_a_request_that_nobody_reads(worker: Worker) -> None:
    stat = Path("/proc", str(ask(worker, "stop_later").response["pid"]), "stat")
    end = time.monotonic() + 20
    while stat.read_text().rpartition(")")[2].split()[0] != "T" and time.monotonic() < end:
        time.sleep(0.01)  # a busy machine stops it late, and nothing may be asked before
    reply = ask(worker, "echo", [np.zeros(32 * MIB, np.uint8)], seconds=1.0)
    assert reply.exit == "hang"
    good(worker)


@pytest.mark.parametrize(
    ("do", "more"),
    [
        ("hog", {"bytes": 1024 * MIB}),
        ("hog", {"bytes": 1 << 60}),
        ("shared_hog", {"pieces": 20, "sleep": 0}),
        ("shared_hog", {"pieces": 20, "sleep": 60}),
        ("child_hog", {"pieces": 20}),
        ("terminate", {}),
        ("say", {"text": "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : std::bad_alloc"}),
        (
            "say",
            {"text": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4611686018427387904 bytes"},
        ),
    ],
)
def test_memory(worker: Worker, do: str, more: dict[str, Any]) -> None:
    reply = ask(worker, do, **more)
    assert reply.exit == "memory", reply
    assert reply.detail
    after = good(worker)
    assert after.served == 0
    assert after.memory < 64 * MIB


def test_slow_leak_is_told_apart_by_a_fresh_child(many: WorkerSpec) -> None:
    with Worker(many, Limits(memory_bytes=128 * MIB)) as worker:
        replies = []
        while len(replies) < 20 and (not replies or replies[-1].exit == "ok"):
            replies.append(ask(worker, "hog", bytes=20 * MIB))
        assert replies[-1].exit == "memory"
        assert replies[-1].served == len(replies) - 1 > 2
        used = [reply.memory for reply in replies[:-1]]
        assert used == sorted(used)
        assert used[-1] - used[0] > 15 * MIB * (len(used) - 1)
        assert ask(worker, "hog", bytes=20 * MIB, fresh=True).exit == "ok"


def test_no_memory_limit(many: WorkerSpec) -> None:
    with Worker(many, Limits(memory_bytes=None)) as worker:
        assert ask(worker, "hog", bytes=300 * MIB).exit == "ok"


@pytest.mark.parametrize("sleep", [0, 60])
def test_closed_pipe(worker: Worker, sleep: int) -> None:
    reply = ask(worker, "close", sleep=sleep)
    assert (reply.exit, reply.detail) == ("protocol", "closed its pipe without an answer")
    good(worker)


@pytest.mark.parametrize("text", ["hello\n", "x" * 100_000, "IRFUZZ", "\0"])
def test_rubbish(worker: Worker, text: str) -> None:
    reply = ask(worker, "rubbish", text=text)
    assert reply.exit == "protocol"
    assert "no frame" in reply.detail
    good(worker)


@pytest.mark.parametrize(("meta", "body"), [(2, 1 << 60), (1 << 60, 0), ((1 << 64) - 1, (1 << 64) - 1)])
def test_claims_are_checked_before_memory_is_taken(worker: Worker, meta: int, body: int) -> None:
    reply = ask(worker, "claim", id=next_id(worker), meta=meta, body=body)
    assert reply.exit == "protocol"
    assert "claims" in reply.detail
    good(worker)


def answer(values: Any = (), **more: Any) -> str:
    return json.dumps({"exit": "ok", "response": {}, "seconds": 0.0, "values": list(values), **more})


@pytest.mark.parametrize(
    ("meta", "body"),
    [
        ("{", 0),
        ("[]", 0),
        ('{"exit": "ok"}', 0),
        ("[" * 100_000, 0),
        (answer(values=[], response=7), 0),
        (answer(exit="fine"), 0),
        (answer(exit="error"), 0),
        (answer(exit="error", error={"type": 1, "message": 2, "traceback": 3}), 0),
        (answer(seconds="long"), 0),
        (answer([["t", "float32", [4]]]), 8),
        (answer([["t", "float32", [1 << 61]]]), 64),
        (answer([["t", "float32", [1 << 61, 1 << 61, 0]]]), 0),
        (answer([["t", "float32", [-1]]]), 64),
        (answer([["t", "float32", [1.0]]]), 64),
        (answer([["t", "float32", [True]]]), 64),
        (answer([["t", "object", [1]]]), 64),
        (answer([["t", "V8", [1]]]), 64),
        (answer([["t", 5, [1]]]), 64),
        (answer([["s", [1]]]), 64),
        (answer([["s", [1 << 50]]]), 64),
        (answer([["b", -5]]), 64),
        (answer([["b", 1 << 40]]), 64),
        (answer([["l", 5]]), 0),
        (answer([7]), 0),
        (answer([json.loads("[" * 50 + "]" * 50)]), 0),
        (answer(), 64),
    ],
)
def test_frames_that_contradict_themselves(worker: Worker, meta: str, body: int) -> None:
    reply = ask(worker, "frame", [b"\xff" * body], id=next_id(worker), meta=meta)
    assert reply.exit == "protocol", reply
    assert reply.detail
    good(worker)


def test_the_forged_frames_would_be_taken_if_they_were_right(worker: Worker) -> None:
    reply = ask(worker, "frame", [b"\0" * 64], id=next_id(worker), meta=answer([["t", "float32", [4]]]))
    assert reply.exit == "ok"
    np.testing.assert_array_equal(reply.values[0], np.zeros(4, np.float32), strict=True)
    good(worker, fresh=True)


def test_an_answer_to_a_request_never_made(worker: Worker) -> None:
    reply = ask(worker, "frame", [b""], id=next_id(worker) + 5, meta=answer())
    assert (reply.exit, "never made" in reply.detail) == ("protocol", True)
    good(worker)


@pytest.mark.parametrize("sleep", [0.0, 0.05])
def test_second_answer_is_never_taken_for_the_next_request(worker: Worker, sleep: float) -> None:
    reply = ask(worker, "twice", id=next_id(worker), sleep=sleep)
    if reply.exit == "ok":  # else both came at once, and that is told
        assert reply.response == {"first": True}
        assert "previous answer" in (after := good(worker)).before or "second time" in after.before
    else:
        assert reply.exit == "protocol"
    assert good(worker).before == ""


def test_death_between_two_requests_is_told_and_harms_nobody(worker: Worker, gone: Callable[[list[int]], bool]) -> None:
    pid = good(worker).response["pid"]
    assert ask(worker, "die_later").exit == "ok"
    assert gone([pid])
    after = good(worker)
    assert after.before == "after its previous answer it died with SIGABRT"
    assert after.served == 0


def test_gigabytes_of_output(worker: Worker) -> None:
    reply = ask(worker, "chatter", mebibytes=2048, then="raise")
    assert (reply.exit, reply.error["message"]) == ("error", "after much talk")
    assert len(reply.log) < 10_000
    assert "bytes left out" in reply.log
    assert "more was printed than is kept" in reply.log
    assert ask(worker, "chatter", mebibytes=8, then="return").exit == "ok"
    assert ask(worker, "raise").log == ""


@pytest.mark.parametrize("then", ["crash", "hang"])
def test_grandchildren_go_with_the_child(
    worker: Worker, tmp_path: Path, gone: Callable[[list[int]], bool], then: str
) -> None:
    note = tmp_path / "pids"
    reply = ask(worker, "fork", note=str(note), then=then, seconds=0.5 if then == "hang" else None)
    assert reply.exit == then
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 4
    assert gone(pids)
    good(worker)


def test_a_child_that_kills_its_zygote(worker: Worker) -> None:
    reply = ask(worker, "kill_parent", signal="SIGKILL")
    assert (reply.exit, reply.signal) == ("crash", "SIGKILL")
    assert "zygote" in reply.detail
    good(worker)


def test_a_child_that_stops_its_zygote(many: WorkerSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irfuzz.isolate.zygote_client.ANSWER_SECONDS", 1.0)
    with Worker(many) as worker:
        good(worker)
        assert ask(worker, "kill_parent", signal="SIGSTOP", seconds=0.3).exit == "hang"
        monkeypatch.undo()
        good(worker)


def test_files_are_bounded(many: WorkerSpec) -> None:
    with Worker(many, Limits(file_bytes=MIB)) as worker:
        assert ask(worker, "big_file", bytes=MIB // 2).exit == "ok"
        reply = ask(worker, "big_file", bytes=2 * MIB)
        assert (reply.exit, reply.error["type"]) == ("error", "OSError")
        good(worker)


@pytest.mark.parametrize("place", [None, ".", "~"])
def test_what_is_left_in_the_scratch_folder_is_bounded(
    many: WorkerSpec, monkeypatch: pytest.MonkeyPatch, place: str | None
) -> None:
    monkeypatch.setattr("irfuzz.isolate.scratch_quota.LOOK_SECONDS", 0.0)
    with Worker(many, Limits(file_bytes=MIB)) as worker:
        litter: dict[str, Any] = {"bytes": 3 * MIB // 8, "dir": place}  # folders and empty files count, too
        first = ask(worker, "litter", **litter).response
        second = ask(worker, "litter", **litter).response
        assert second["pid"] == first["pid"], "as much as may be there"
        ask(worker, "litter", **litter)
        third = good(worker)
        assert third.response["pid"] != first["pid"]
        scratch = Path(good_folder(worker)).parent
        assert sum(path.stat().st_size for path in scratch.rglob("*")) < 3 * MIB // 8
        calls: list[tuple[dict[str, Any], list[Any]]] = [({"do": "litter", **litter}, [])] * 3
        assert [reply.exit for reply in worker.call_all(calls)] == ["ok"] * 3
        assert good(worker).response["pid"] != third.response["pid"]


def next_id(worker: Worker) -> int:
    """The number of the next request, which hostile code would read from its own memory."""
    return worker._number + 1


@pytest.mark.parametrize("removes", [False, True])
def test_every_request_begins_in_a_folder_of_the_child_s_own(worker: Worker, removes: bool) -> None:
    first = good_folder(worker)
    calls: list[tuple[dict[str, Any], list[Any]]] = [({"do": "leave", "removes": removes}, []), ({"do": "touch"}, [])]
    assert worker.call_all(calls)[1].response["cwd"] == first
    ask(worker, "leave", removes=removes)
    assert good_folder(worker) == first


def good_folder(worker: Worker) -> str:
    reply = ask(worker, "touch")
    assert reply.exit == "ok"
    return reply.response["cwd"]


def test_a_child_cannot_keep_its_parent_from_writing_into_the_log(worker: Worker) -> None:
    refused = ask(worker, "seal")
    assert (refused.exit, refused.error["type"]) == ("error", "PermissionError")
    assert [reply.exit for reply in worker.call_all([({"do": "echo"}, []), ({"do": "echo"}, [])])] == ["ok", "ok"]


def test_halves_of_characters_never_arrive(worker: Worker) -> None:
    assert ask(worker, "halves", raises=False).response == {"\ufffd": ["\ufffd", "\U0001f600"]}
    assert ask(worker, "halves", raises=True).detail == "ValueError: half \ufffd of a character"
