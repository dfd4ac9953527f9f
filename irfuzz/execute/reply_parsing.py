"""Makes the result of each target from a worker's reply."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.errors import NoOperator
from irfuzz.execute.adapters import tensor_packing
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.isolate import Reply

_MARK = re.compile(rf"^irfuzz-at (\d{{1,9}}) ({'|'.join(Stage)})\n?", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"\n]+)", line \d+ in (\S+)', re.MULTILINE)
_FRAMES = 3
_OURS = ("/irfuzz/isolate/", "/irfuzz/execute/workers/")
_LOG = 8000
"""Characters of a process's log that a result keeps."""
_ERROR = 700
"""Characters of what a target says; `first_line` of the workers keeps 500 behind the kind of an error."""
_GAP = re.compile(r"not implemented for '|not (currently |yet )?(supported|implemented)", re.IGNORECASE)
MEMORY = re.compile(r"bad_alloc|can(no|')t allocate memory|not enough memory", re.IGNORECASE)
"""How components say that memory ran out."""

_NO_OPERATOR = (
    re.compile(r"Fatal error: (?P<domain>[\w.]+):(?P<op>\w+)\(-?\d+\) is not a registered function/op"),
    re.compile(r"Node type '(?P<op>\w+)' from domain '(?P<domain>[\w.]+)' is unknown"),
)
"""How components say that they do not know an operator of another domain."""

_EXITS: Mapping[str, Exit] = {
    "crash": Exit.CRASH,
    "exited": Exit.EXITED,
    "hang": Exit.HANG,
    "memory": Exit.MEMORY,
    "protocol": Exit.PROTOCOL,
}


def failed(reply: Reply, targets: Sequence[Target]) -> list[RunResult]:
    """Results of a process that gave none: the target it stood at has failed, of the others nothing is known."""
    marks = _MARK.findall(reply.log)
    at, stage = (int(marks[-1][0]), Stage(marks[-1][1])) if marks else (0, Stage.RUN)
    log = _MARK.sub("", reply.log)
    told = reply.error
    if told:
        error = f"{told['type']}: {told['message']}".splitlines()[0]
        log = told["traceback"] + log
    else:
        error = " in ".join(filter(None, (reply.signal, _stack(log)))) if reply.signal else reply.detail
    how = _raised(told) if reply.exit == "error" else _EXITS[reply.exit]
    return [
        RunResult(target, stage, how, error=error[:_ERROR], log=log[-_LOG:], seconds=reply.seconds)
        if index == min(at, len(targets) - 1)
        else RunResult(target, Stage.IMPORT, Exit.OK, error="not run")
        for index, target in enumerate(targets)
    ]


def _stack(log: str) -> str:
    """The innermost functions in which Python stood when a signal killed it, without files and lines: they move."""
    frames = [name for path, name in _FRAME.findall(log) if not any(part in path for part in _OURS)]
    return " < ".join(frames[:_FRAMES])


def _raised(told: Mapping[str, str]) -> Exit:
    """How a run ended whose handler raised."""
    if MEMORY.search(told["message"]):
        return Exit.MEMORY
    gap = told["type"] == "NotImplementedError" or _GAP.search(told["message"]) is not None
    return Exit.UNSUPPORTED if gap else Exit.REJECTED


def answered(reply: Reply, targets: Sequence[Target]) -> list[RunResult]:
    """Results of a reply.

    Args:
        reply: with the exit ``ok``.
        targets: that were asked, in the order in which the reply lists its runs.

    Returns:
        One for each target; outputs are unpacked, so that small types are those of ml_dtypes.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError: the worker's answer is none that
            a handler may give.
    """
    values: list[Any] = list(reply.values)
    results: list[RunResult] = []
    for target, status in zip(targets, reply.response["runs"], strict=True):
        about = status.get("outputs", [])
        mine, values = values[: len(about)], values[len(about) :]
        results.append(
            RunResult(
                target,
                Stage(status["stage"]),
                Exit(status["exit"]),
                outputs=tensor_packing.unpack(about, mine),
                error=_told(target, Exit(status["exit"]), str(status.get("error", "")))[:_ERROR],
                log=str(status.get("log", ""))[-_LOG:],
                seconds=_seconds(status["seconds"]),
                passes=tuple(map(str, status.get("passes", ()))),
            )
        )
    if values:
        raise ValueError(f"{len(values)} more values than outputs")
    return results


def _seconds(said: Any) -> float:
    """How long a run took.

    Raises:
        ValueError, TypeError: no clock can have said so.
    """
    seconds = float(said)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a run of {seconds} seconds")
    return seconds


def _told(target: Target, how: Exit, error: str) -> str:
    """What a component says; that it lacks an operator of another domain in the same words for all of them."""
    if how is Exit.UNSUPPORTED:
        for pattern in _NO_OPERATOR:
            found = pattern.search(error)
            if found is not None and not found["domain"].startswith("ai.onnx"):
                return str(NoOperator(target.component, f"{found['domain']}.{found['op']}"))
    return error
