"""How a child ended: each boundary that tells a crash from memory, an exit or a broken protocol."""

from __future__ import annotations

import signal

import pytest

from irfuzz.isolate.child import PIPE_GONE
from irfuzz.isolate.child_connection import Cause, ChildEnded
from irfuzz.isolate.exit_classification import answered, each, ended
from irfuzz.isolate.worker_spec_and_reply import Reply
from irfuzz.isolate.zygote_client import ChildDeath

pytestmark = pytest.mark.unit

LIMIT = 1000
OK = {"exit": "ok", "seconds": 0.5, "response": {}}


def died(number: int, peak: int = 0, *, killed: bool = False) -> ChildDeath:
    """A death by a signal."""
    return ChildDeath(int(number), peak, killed)


@pytest.mark.parametrize(("memory", "kind"), [(LIMIT // 2, "crash"), (LIMIT // 2 + 1, "memory")])
def test_an_unasked_sigkill_is_the_kernels_if_more_than_half_of_the_limit_was_in_use(memory: int, kind: str) -> None:
    assert ended("died", "", died(signal.SIGKILL), "", LIMIT, 0, memory).exit == kind


def test_without_a_limit_a_sigkill_is_a_crash() -> None:
    assert ended("died", "", died(signal.SIGKILL), "", None, 0, 10**9).exit == "crash"


def test_memory_counts_over_what_the_zygote_held() -> None:
    reply = ended("died", "", died(signal.SIGKILL, 700), "", LIMIT, 300, 10)
    assert (reply.exit, reply.memory) == ("crash", 400)
    assert ended("died", "", died(signal.SIGKILL, 901), "", LIMIT, 300, 10).exit == "memory"


@pytest.mark.parametrize(
    ("number", "log", "kind"),
    [
        (signal.SIGSEGV, "bad_alloc", "crash"),
        (signal.SIGABRT, "what(): std::bad_alloc", "memory"),
        (signal.SIGABRT, "assertion", "crash"),
    ],
)
def test_an_abort_for_want_of_memory_is_memory(number: int, log: str, kind: str) -> None:
    reply = ended("died", "", died(number), log, LIMIT, 0, LIMIT)
    assert (reply.exit, reply.signal) == (kind, signal.Signals(number).name)


@pytest.mark.parametrize(
    ("cause", "kind"), [("hang", "hang"), ("memory", "memory"), ("protocol", "protocol"), ("died", "protocol")]
)
def test_a_child_that_was_killed_ended_for_the_cause_of_that(cause: Cause, kind: str) -> None:
    assert ended(cause, "", died(signal.SIGKILL, killed=True), "", LIMIT, 0, LIMIT).exit == kind
    assert ended(cause, "", None, "", LIMIT, 0, 0).exit == kind


@pytest.mark.parametrize(("code", "kind"), [(3, "exited"), (0, "exited"), (PIPE_GONE, "protocol")])
def test_an_exit_of_its_own_keeps_its_code(code: int, kind: str) -> None:
    reply = ended("died", "", ChildDeath(code << 8, 0, False), "", LIMIT, 0, 0)
    assert (reply.exit, reply.exit_code) == (kind, code if kind == "exited" else None)


@pytest.mark.parametrize(("memory", "kind"), [(LIMIT, "ok"), (LIMIT + 1, "memory")])
def test_an_answer_counts_up_to_the_limit(memory: int, kind: str) -> None:
    assert answered(OK, [], memory, LIMIT, 0).exit == kind


@pytest.mark.parametrize(
    "message",
    [
        *(
            {},
            {**OK, "seconds": True},
            {**OK, "seconds": "1"},
            {**OK, "response": None},
            {"exit": "odd", "seconds": 0.5},
        ),
        *({**OK, "seconds": seconds} for seconds in (float("nan"), float("inf"), -0.1)),
    ],
)
def test_what_is_no_answer_breaks_the_protocol(message: dict[str, object]) -> None:
    with pytest.raises(ChildEnded):
        answered(message, [], 0, LIMIT, 0)


def test_other_languages_write_whole_seconds_without_a_point() -> None:
    assert answered({**OK, "seconds": 1}, [], 0, LIMIT, 0).seconds == 1.0


@pytest.mark.parametrize(("words", "kind"), [("Failed to allocate memory", "memory"), ("bad shape", "error")])
def test_an_error_that_speaks_of_memory_is_memory(words: str, kind: str) -> None:
    error = {"type": "E", "message": words, "traceback": ""}
    assert answered({"exit": "error", "seconds": 0.5, "error": error}, [], 0, LIMIT, 0).exit == kind


def test_several_answers_need_a_row_each_and_values_that_add_up() -> None:
    row = {"values": 0, **OK}
    with pytest.raises(ChildEnded):
        each(Reply("ok", {"each": [row, row, row]}, []), 2)
    with pytest.raises(ChildEnded):
        each(Reply("ok", {"each": []}, []), 2)
