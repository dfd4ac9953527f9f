"""Replies of hostile processes become results: nothing that one prints or says raises, or is kept without a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irfuzz.execute.reply_parsing import answered, failed
from irfuzz.execute.run_types import Exit, Stage, Target
from irfuzz.isolate import Reply

pytestmark = pytest.mark.unit

ONE = Target("own:a", "own", "python")
TWO = Target("own:b", "own", "python")


@pytest.mark.parametrize(
    ("log", "at", "stage"),
    [
        ("irfuzz-at 0 run\nirfuzz-at 1 compile\n", 1, Stage.COMPILE),
        ("irfuzz-at 1 convert\nirfuzz-at 0 nowhere\n", 1, Stage.CONVERT),
        ("irfuzz-at " + "9" * 5000 + " run\n", 0, Stage.RUN),
        ("irfuzz-at 999999999 import\n", 1, Stage.IMPORT),
        ("irfuzz-at -1 run\nirfuzz-at 1 ru\n", 0, Stage.RUN),
    ],
)
def test_where_a_process_died_is_what_it_printed_last_that_can_be(log: str, at: int, stage: Stage) -> None:
    results = failed(Reply("exited", exit_code=3, detail="exited with code 3", log=log), [ONE, TWO])
    assert (results[at].exit, results[at].stage) == (Exit.EXITED, stage)
    assert results[1 - at].error == "not run"


def reply(**status: Any) -> Reply:
    runs = [{"stage": "run", "exit": "ok", "seconds": 0.5, **status}]
    return Reply("ok", {"runs": runs}, [np.ones(2)] * len(status.get("outputs", ())))


def test_what_is_said_is_kept_up_to_a_length() -> None:
    (result,) = answered(reply(exit="rejected", error="E" * 100_000, log="l" * 100_000), [ONE])
    assert (len(result.error), len(result.log)) == (700, 8000)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -0.5, 10**400, "x", None, []])
def test_a_time_that_no_clock_says_is_no_answer(seconds: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        answered(reply(seconds=seconds), [ONE])
    assert answered(reply(seconds=0), [ONE])[0].seconds == 0
