"""Turns a child's answer, or the way in which it ended, into a ``Reply``."""

from __future__ import annotations

import math
import os
from typing import Any, cast

from irfuzz.isolate import linux
from irfuzz.isolate.child import PIPE_GONE
from irfuzz.isolate.child_connection import Cause, ChildEnded
from irfuzz.isolate.worker_spec_and_reply import Reply, Value
from irfuzz.isolate.zygote_client import ChildDeath
from irfuzz.process_limits import on_memory

MEMORY_WORDS = (
    "bad_alloc",
    "Failed to allocate memory",
    "an't allocate memory",
    "annot allocate memory",
    "out of memory",
    "OOM when allocating",
)
"""How components (C++, ONNXRuntime, PyTorch, TensorFlow) say in an error message that memory ran out."""


def how(death: ChildDeath) -> str:
    """The end of a child in words: ``died with SIGSEGV`` or ``exited with code 3``."""
    if os.WIFSIGNALED(death.status):
        return f"died with {linux.signal_name(os.WTERMSIG(death.status))}"
    return f"exited with code {os.WEXITSTATUS(death.status)}"


def answered(message: dict[str, Any], values: list[Value], memory: int, limit: int | None, served: int) -> Reply:
    """The reply for a frame that the child sent.

    Args:
        message: its JSON part.
        values: what the handler returned.
        memory: bytes that the child holds over its zygote.
        limit: memory allowed, in bytes; a child that holds more than that gets the reply ``memory`` whatever it said.
        served: requests that the child had answered before.

    Raises:
        ChildEnded: the frame is none that the child loop makes.
    """
    kind, seconds = message.get("exit"), message.get("seconds")
    # Other languages write 1.0 as 1.
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ChildEnded("protocol", "an answer without its time")
    seconds = float(seconds)
    if limit is not None and memory > limit:
        detail = f"held {memory >> 20} MiB more than at its start"
        return Reply("memory", seconds=seconds, memory=memory, served=served, detail=detail)
    if kind == "ok":
        response = message.get("response")
        if not isinstance(response, dict):
            raise ChildEnded("protocol", "an answer without a response")
        return Reply("ok", response, values, seconds=seconds, memory=memory, served=served)
    error = message.get("error")
    if (
        kind not in ("error", "memory")
        or not isinstance(error, dict)
        or set(error) != {"type", "message", "traceback"}
        or not all(isinstance(text, str) for text in error.values())
    ):
        raise ChildEnded("protocol", f"an answer of an unknown kind: {str(kind)[:80]}")
    if any(word in error["message"] for word in MEMORY_WORDS):
        kind = "memory"
    detail = f"{error['type']}: {error['message']}".strip().split("\n")[0][:500]
    if kind == "memory":
        detail += on_memory()
    exit_kind = "memory" if kind == "memory" else "error"
    return Reply(exit_kind, error=error, seconds=seconds, memory=memory, detail=detail, served=served)


def each(reply: Reply, count: int) -> list[Reply]:
    """The replies to the first of ``count`` requests that were sent as one; only the last may not be ``ok``.

    Args:
        reply: to the whole; its values are shared out.
        count: how many there were.

    Raises:
        ChildEnded: the reply to the whole is none that the child loop makes.
    """
    rows = reply.response.get("answers")
    if not isinstance(rows, list) or not 0 < len(rows) <= count:
        raise ChildEnded("protocol", "an answer to other requests")
    found: list[Reply] = []
    at = 0
    for place, row in enumerate(cast("list[Any]", rows)):
        size = row.get("count", 0) if isinstance(row, dict) else -1
        if type(size) is not int or not 0 <= size <= len(reply.values) - at:
            raise ChildEnded("protocol", "an answer that does not say what belongs to which request")
        found.append(answered(row, reply.values[at : at + size], reply.memory, None, reply.served + place))
        at += size
    whole = len(found) == count or found[-1].exit != "ok"
    if at != len(reply.values) or not whole or any(r.exit != "ok" for r in found[:-1]):
        raise ChildEnded("protocol", "an answer that does not say what belongs to which request")
    return found


def ended(
    cause: Cause, detail: str, death: ChildDeath | None, log: str, limit: int | None, base: int, memory: int
) -> Reply:
    """The reply for a child that gave no answer.

    Args:
        cause: what the parent saw first.
        detail: what it saw in words.
        death: the child's end; ``None`` if it could not be had.
        log: what it printed.
        limit: memory allowed over ``base``, in bytes.
        base: bytes that the zygote held.
        memory: bytes that the child held over ``base`` when last looked at.
    """
    if death is not None:
        memory = max(memory, death.peak - base)
    # A death that nobody asked for says more than the time or memory limit that was just then reached.
    if death is not None and not death.killed and cause != "protocol":
        return _own_death(cause, death, log, limit, memory)
    if cause == "hang":
        detail = "gave no answer in time"
    return Reply("protocol" if cause == "died" else cause, log=log, detail=detail, memory=memory)


def _own_death(cause: Cause, death: ChildDeath, log: str, limit: int | None, memory: int) -> Reply:
    if os.WIFSIGNALED(death.status):
        name = linux.signal_name(os.WTERMSIG(death.status))
        # Nobody here sent it: with that much memory in use it was the kernel's out-of-memory killer.
        starved = name == "SIGKILL" and limit is not None and memory > limit // 2
        if cause == "memory" or starved or (name == "SIGABRT" and "bad_alloc" in log):
            return Reply("memory", signal=name, log=log, memory=memory, detail=how(death) + on_memory())
        return Reply("crash", signal=name, log=log, memory=memory, detail=how(death))
    code = os.WEXITSTATUS(death.status)
    if code == PIPE_GONE:
        return Reply("protocol", log=log, memory=memory, detail="closed its pipe without an answer")
    return Reply("exited", exit_code=code, log=log, memory=memory, detail=how(death))
