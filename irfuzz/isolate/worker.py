"""A component under test that answers each request with a ``Reply``, whatever it does to its own process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from irfuzz import stop_request
from irfuzz.errors import InternalError
from irfuzz.isolate import exit_classification, linux, transport
from irfuzz.isolate.child_connection import ChildConnection, ChildEnded, LateAnswer
from irfuzz.isolate.folder_removal import remove_folder
from irfuzz.isolate.worker_spec_and_reply import Limits, Reply, StartError, Value, WorkerSpec
from irfuzz.isolate.zygote_client import ZygoteClient, ZygoteGone


class Worker:
    """One component in one environment, ready to take requests one after the other from one thread.

    Nothing runs before the first call. A child that dies or misbehaves is replaced at the next call by a fork, which
    takes milliseconds; imports are repeated only if the zygote itself is lost. Always ``close`` it (or use ``with``).
    """

    __slots__ = (
        "_busy", "_closed", "_described", "_limits", "_line", "_lock", "_number", "_owner", "_spec", "_zygote",
        "forks",
    )  # fmt: skip

    def __init__(self, spec: WorkerSpec, limits: Limits | None = None) -> None:
        self._spec = spec
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._zygote: ZygoteClient | None = None
        self._line: ChildConnection | None = None
        self._number = 0
        self._busy = False
        self._closed = False
        self._described: dict[str, Any] | None = None
        self.forks = 0
        """Children made so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin with the imports and return at once, so that several workers import side by side.

        Raises:
            StartError: the interpreter or the handler file cannot be run.
        """
        if self._closed:
            raise InternalError(f"worker {self._spec.name} is closed")
        stop_request.check()
        if self._zygote is None:
            self._zygote = ZygoteClient(self._spec, self._limits)

    def call(
        self,
        request: Mapping[str, Any],
        blobs: Sequence[Value] = (),
        *,
        seconds: float | None = None,
        fresh: bool = False,
    ) -> Reply:
        """Have the handler's ``handle(request, values)`` run in the child.

        Args:
            request: JSON-able.
            blobs: what the handler gets as ``values``: arrays of any shape, layout and numpy or ml_dtypes type, bytes,
                sequences as lists, ``None``.
            seconds: wall time allowed instead of ``Limits.seconds``.
            fresh: use a child that has served nothing yet.

        Raises:
            StartError: the interpreter does not start or fails to import; never because of the request.
            TypeError: request or blobs cannot be sent.
        """
        self._number += 1
        parts = transport.encode(self._number, {"kind": "call", "request": dict(request)}, blobs)
        return self._guarded(parts, self._limits.seconds if seconds is None else seconds, fresh=fresh)

    def call_all(
        self,
        requests: Sequence[tuple[Mapping[str, Any], Sequence[Value]]],
        *,
        seconds: float | None = None,
        fresh: bool = False,
    ) -> list[Reply]:
        """Have the handler answer several requests in turn for the price of one: they travel and come back together.

        Ends at the first that is not answered ``ok``; the caller decides what becomes of the others.

        Args:
            requests: at least one, each as for ``call``.
            seconds: wall time allowed for each of them instead of ``Limits.seconds``.
            fresh: use a child that has served nothing yet.

        Returns:
            The reply to each; if not all are ``ok``, the last one is the failure, and its ``place`` tells of which.
            A child that died answered none of those before.

        Raises:
            StartError: the interpreter does not start or fails to import.
            TypeError: a request cannot be sent.
        """
        self._number += 1
        calls = [{"request": dict(request), "count": len(blobs)} for request, blobs in requests]
        values = [value for _, blobs in requests for value in blobs]
        parts = transport.encode(self._number, {"kind": "calls", "calls": calls}, values)
        whole = self._guarded(parts, self._limits.seconds if seconds is None else seconds, fresh=fresh, many=len(calls))
        replies = whole.each
        if whole.exit != "ok":
            return [replace(whole, place=min(whole.place, len(calls) - 1))]
        if whole.before:
            replies[0] = replace(replies[0], before=whole.before)
        replies[-1] = replace(replies[-1], place=len(replies) - 1)
        return replies

    def describe(self) -> dict[str, Any]:
        """What the handler's ``describe()`` says (asked once, in a child), with the ``python`` and ``numpy`` versions.

        Raises:
            StartError: the interpreter does not start, or ``describe()`` or ``warm()`` fails.
        """
        if self._described is None:
            self._number += 1
            parts = transport.encode(self._number, {"kind": "describe"})
            reply = self._guarded(parts, self._limits.start_seconds)
            if reply.exit != "ok":
                what = f"{'warm' if reply.warming else 'describe'}() of {self._spec.handler}"
                who = f"worker {self._spec.name}: interpreter {self._spec.python}"
                raise StartError(f"{who}: {what}: {reply.detail}\n{reply.log}".strip())
            assert self._zygote is not None
            self._described = {**self._zygote.versions, **reply.response}
        return dict(self._described)

    def close(self) -> None:
        """End the worker's processes and reap them, and remove its scratch folder; may be called twice.

        No call is possible afterwards.
        """
        self._closed = True
        line, self._line = self._line, None
        zygote, self._zygote = self._zygote, None
        if line is not None:
            line.close()
        if zygote is not None:
            zygote.close()

    def _guarded(self, parts: Sequence[Any], seconds: float, *, fresh: bool = False, many: int = 0) -> Reply:
        """One request; afterwards the worker is in order, or knows that it is not."""
        if not self._lock.acquire(blocking=False):
            raise InternalError(f"worker {self._spec.name} is used by two threads at once; give each its own")
        try:
            if os.getpid() != self._owner:
                raise InternalError(f"worker {self._spec.name} belongs to process {self._owner}; each needs its own")
            if self._busy:  # an exception (Ctrl-C) cut the previous call short: nobody knows where it stood
                self._destroy()
            self.start()
            self._busy = True
            try:
                with stop_request.waiting(self._spec.name):
                    reply = self._request(parts, seconds, fresh, many)
            except StartError:
                stop_request.check()  # it was us who ended it
                raise
            stop_request.check()
            self._busy = False
            return reply
        finally:
            self._lock.release()

    def _request(self, parts: Sequence[Any], seconds: float, fresh: bool, many: int) -> Reply:
        before = self._settle(fresh)
        for last in (False, True):
            line = self._line
            if line is None:
                line = self._fork()
            if not line.warm:
                reply = self._exchange(line, 0, transport.encode(0, {"kind": "warm"}), self._limits.start_seconds)
                if reply.exit != "ok":
                    return replace(reply, warming=True, before=before)
                line.warm = True
            try:
                reply = self._exchange(line, self._number, parts, seconds, many)
            except LateAnswer as late:
                before = str(late)
                served = line.served
                self._end()
                if last:
                    return Reply("protocol", detail=before, served=served)
                continue
            return replace(reply, before=before) if before else reply
        raise InternalError("unreachable")

    def _settle(self, fresh: bool) -> str:
        """See what became of the child since its last answer; what went wrong with it, or nothing."""
        line = self._line
        if line is None:
            return ""
        if line.news():
            before = self._describe_news()
            self._end()
            return before
        if fresh and line.served:
            self._end()
        return ""

    def _describe_news(self) -> str:
        assert self._zygote is not None
        try:
            death = self._zygote.hear(0.05)
        except ZygoteGone as gone:
            return f"after its previous answer the zygote was lost ({gone})"
        if death is not None:
            return f"after its previous answer it {exit_classification.how(death)}"
        return "after its previous answer it wrote to its pipe, or closed it"

    def _fork(self) -> ChildConnection:
        """A new child, of a new zygote if the old one is lost."""
        for last in (False, True):
            self.start()
            assert self._zygote is not None
            self._zygote.ready()
            self.forks += 1
            cwd = self._zygote.scratch / str(self.forks)
            try:
                self._line = ChildConnection(self._zygote, self._limits, cwd)
            except ZygoteGone as gone:
                self._destroy()
                if last:
                    raise StartError(f"worker {self._spec.name}: its zygote dies before it can fork: {gone}") from gone
            else:
                return self._line
        raise InternalError("unreachable")

    def _exchange(
        self, line: ChildConnection, number: int, parts: Sequence[Any], seconds: float, many: int = 0
    ) -> Reply:
        """One request (or so many sent as one) to the child, whose end is seen to if there is no answer."""
        began = time.perf_counter()
        served = line.served
        try:
            message, values = line.exchange(number, parts, seconds, many=bool(many))
            memory = line.memory()
            reply = exit_classification.answered(message, values, memory, self._limits.memory_bytes, served)
            each = exit_classification.each(reply, many) if many and reply.exit == "ok" else []
        except ChildEnded as ended:
            return self._without_answer(line, ended, time.perf_counter() - began)
        except ZygoteGone as gone:
            return self._without_zygote(line, gone, time.perf_counter() - began)
        if number:  # ``warm()`` is no request
            line.served += len(each) or 1
        if reply.exit == "ok":
            self._clear_scratch()
        if each:
            if each[-1].exit != "ok":
                each[-1] = replace(each[-1], log=line.log.text())
            return replace(reply, each=each)
        if reply.exit == "ok":
            return reply
        reply = replace(reply, log=line.log.text(), place=line.place())
        if reply.exit != "error":
            self._end()  # whatever took the memory still holds it
        return reply

    def _clear_scratch(self) -> None:
        """If the children have left too much in the scratch folder, end the last one and remove it."""
        if self._zygote is not None and self._zygote.quota.is_exceeded():
            self._end()
            if self._zygote is not None:
                self._zygote.quota.clear()

    def _without_answer(self, line: ChildConnection, ended: ChildEnded, seconds: float) -> Reply:
        assert self._zygote is not None
        memory, place = line.memory(), line.place()
        try:
            death = self._zygote.death or self._zygote.kill(dump=ended.cause == "hang")
        except ZygoteGone as gone:
            if ended.cause == "died":
                return self._without_zygote(line, gone, seconds)
            death = None  # the zygote is stopped or stuck; the cause is known all the same
        limit, base = self._limits.memory_bytes, self._zygote.resident
        reply = exit_classification.ended(ended.cause, ended.detail, death, line.log.text(), limit, base, memory)
        self._end(lost=death is None)
        return replace(reply, seconds=seconds, served=line.served, place=place)

    def _without_zygote(self, line: ChildConnection, gone: ZygoteGone, seconds: float) -> Reply:
        """The child went down with its zygote, which nobody but the child has reason to touch."""
        log, place = line.log.text(), line.place()
        code = self._destroy()
        name = linux.signal_name(-code) if code < 0 else ""
        detail = f"its zygote was lost ({name or f'code {code}'}; {gone})"
        return Reply("crash", signal=name, log=log, seconds=seconds, detail=detail, served=line.served, place=place)

    def _end(self, lost: bool = False) -> None:
        """See that the child is dead, and clear up after it."""
        line, self._line = self._line, None
        if line is None or self._zygote is None:
            return
        line.close()
        try:
            if not lost and self._zygote.death is None:
                self._zygote.kill(dump=False)
        except ZygoteGone:
            lost = True
        remove_folder(line.cwd)
        if lost:
            self._destroy()

    def _destroy(self) -> int:
        """Kill everything; the zygote's return code."""
        line, self._line = self._line, None
        zygote, self._zygote = self._zygote, None
        if line is not None:
            line.close()
        return zygote.destroy() if zygote is not None else 0
