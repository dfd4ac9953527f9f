"""The parent's side of one child: exchanges frames, with a deadline, and watches its memory and its death."""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from irfuzz.isolate import linux, transport
from irfuzz.isolate.output_log import OutputLog
from irfuzz.isolate.request_deadline import RequestDeadline
from irfuzz.isolate.worker_spec_and_reply import Limits
from irfuzz.isolate.zygote_client import ZygoteClient

WATCH_SECONDS = 0.05
"""How often the memory of a child that has not answered yet is looked at."""
CLOSING_SECONDS = 0.5
"""A closed socket mostly means that the child is dying; so long the news of its death is waited for."""

_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""How half of a character (a surrogate) begins in JSON, escaped or not; whole ones beyond U+FFFF begin so, too."""

Cause = Literal["died", "hang", "memory", "protocol"]


class ChildEnded(Exception):
    """There will be no answer, and why."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause: Cause = cause
        self.detail = detail


class ChildConnection:
    """The parent's side of one child."""

    __slots__ = (
        "_deadline", "_memory", "_place", "_poll", "_reader", "_seconds", "_statm", "_zygote", "cwd", "log",
        "pid", "served", "sock", "warm",
    )  # fmt: skip

    def __init__(self, zygote: ZygoteClient, limits: Limits, cwd: Path) -> None:
        """Fork a child.

        Raises:
            StartError, ZygoteGone: there is no child.
        """
        cwd.mkdir(parents=True)  # a child before it may have removed the worker's folder
        self.cwd = cwd
        self.served = 0
        self.warm = False
        self._zygote = zygote
        self._memory = limits.memory_bytes
        self._reader = transport.FrameReader(self._receive, limits.answer_bytes)
        self._seconds = 0.0
        self._deadline = RequestDeadline()
        self._place = -1
        self.log = OutputLog(limits.log_bytes)
        self.sock, theirs = socket.socketpair()
        try:
            self.pid = zygote.fork(theirs.fileno(), self.log.fd, cwd)
        except BaseException:
            self.log.close()
            self.sock.close()
            raise
        finally:
            theirs.close()
        self.sock.settimeout(0)
        with contextlib.suppress(OSError):  # already dead
            # Should the machine run out of memory, this process is the one to go; its sandbox keeps it from saying so.
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("1000")
        try:
            self._statm = os.open(f"/proc/{self.pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # already dead
            self._statm = -1
        self._poll = select.poll()
        self._poll.register(self.sock, select.POLLIN)
        self._poll.register(zygote.control, select.POLLIN)

    def news(self) -> bool:
        """Whether the child wrote or died without having been asked; to be looked at between requests.

        It returns at once.
        """
        return bool(self._poll.poll(0))

    def exchange(
        self, number: int, parts: Sequence[Any], seconds: float, *, many: bool = False
    ) -> tuple[dict[str, Any], list[Any]]:
        """Send a request and wait for its answer.

        Args:
            number: of the request.
            parts: the request as a frame.
            seconds: until it must be answered; what the child waits for a processor on a busy machine does not count.
            many: it consists of several, and each of them may take so long.

        Returns:
            The message and the values of the answer, as ``transport.decode`` gives them.

        Raises:
            ChildEnded: there is none; the caller must end the child.
            LateAnswer: an answer to an earlier request came instead.
            ZygoteGone: the zygote died.
        """
        self._deadline.begin(seconds)
        self._seconds = seconds
        self._place = -1
        self.log.rewind()
        if many:
            self._place = 0
            self.log.mark(0)
        try:
            transport.write(self._send, parts)
            answered, meta, body = self._reader.read()
            if answered != number:
                raise _wrong_request(answered, number)
            message, values = transport.decode(meta, body)
            return _without_surrogates(message, meta), values
        except transport.Trailing as error:
            if error.request_id < number:
                raise _wrong_request(error.request_id, number) from error
            raise ChildEnded("protocol", str(error)) from error
        except transport.Closed as error:
            if self._zygote.hear(CLOSING_SECONDS) is not None:
                raise ChildEnded("died", "") from error
            raise ChildEnded("protocol", "closed its pipe without an answer") from error
        except transport.ProtocolError as error:
            raise ChildEnded("protocol", str(error)) from error

    def _send(self, parts: Sequence[Any]) -> int:
        while True:
            try:
                return self.sock.sendmsg(parts)
            except BlockingIOError:
                self._poll.modify(self.sock, select.POLLIN | select.POLLOUT)
                flags = self._wait()
                self._poll.modify(self.sock, select.POLLIN)
                if flags & select.POLLIN and not flags & select.POLLHUP:
                    raise transport.ProtocolError("it answered before it had the whole request") from None
            except (BrokenPipeError, ConnectionResetError):
                raise transport.Closed("the stream ended while the request was sent") from None

    def _receive(self, target: memoryview) -> int:
        self._wait()
        try:
            return self.sock.recv_into(target)
        except ConnectionResetError:
            return 0

    def _wait(self) -> int:
        """Until the socket can be used; the poll flags."""
        mine = self.sock.fileno()
        while True:
            left = self._deadline.left()
            if left <= 0 and not self._went_on() and not self._was_kept_waiting():
                raise ChildEnded("hang", "")
            ready = dict(self._poll.poll(math.ceil(min(max(left, 0.0), WATCH_SECONDS) * 1000)))
            if mine in ready:
                return ready[mine]
            if ready and self._zygote.hear() is not None:
                # What the child wrote before its death is in the socket by now.
                flags = dict(self._poll.poll(0)).get(mine)
                if flags is None:
                    raise ChildEnded("died", "")
                return flags
            if not ready:
                self._went_on()
                self._was_kept_waiting()
                self._watch_memory()

    def place(self) -> int:
        """Which of several requests sent as one the child is busy with, from 0 on; 0 for a single one."""
        return 0 if self._place < 0 else self.log.place()

    def _went_on(self) -> bool:
        """Whether the child has begun with the next of several requests, which may take as long again."""
        if self._place < 0 or (place := self.place()) == self._place:
            return False
        self._place = place
        self._deadline.begin(self._seconds)
        return True

    def _was_kept_waiting(self) -> bool:
        """Whether the child has time left, now that it was looked what others kept it from."""
        self._deadline.look((self.pid, *self._below()))
        return self._deadline.left() > 0

    def _below(self) -> list[int]:
        """Processes that the child started, those among them that its zygote adopted."""
        return [pid for pid in linux.descendants(self._zygote.pid) if pid != self.pid]

    def _watch_memory(self) -> None:
        if self._memory is None:
            return
        used = self.memory()
        for pid in self._below():
            used += max(0, linux.resident(pid) - self._zygote.resident)
        if used > self._memory:
            raise ChildEnded("memory", f"held {used >> 20} MiB more than at its start")

    def memory(self) -> int:
        """Bytes of RAM that the child holds more than its zygote did.

        Processes that it started are left out; 0 if it is gone.
        """
        try:
            fields = os.pread(self._statm, 128, 0).split()
        except OSError:
            return 0
        return max(0, int(fields[1]) * linux.PAGE - self._zygote.resident) if len(fields) > 1 else 0

    def close(self) -> None:
        """Free the descriptors of socket and log; the child must be dead or about to be killed."""
        self.sock.close()
        self.log.close()
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1


def _without_surrogates(message: dict[str, Any], meta: bytes) -> dict[str, Any]:
    """A message in which halves of characters, which no database or file takes, are replaced by U+FFFD.

    Args:
        message: what ``meta`` says.
        meta: its JSON; a message in whose JSON no half can stand is returned as it is.
    """
    return _cleaned(message) if _HALF.search(meta) else message


def _cleaned(item: Any) -> Any:
    if isinstance(item, str):
        return item.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(item, list):
        return [_cleaned(one) for one in item]
    if isinstance(item, dict):
        return {_cleaned(name): _cleaned(one) for name, one in item.items()}
    return item


def _wrong_request(answered: int, number: int) -> Exception:
    if answered < number:
        return LateAnswer("it answered an earlier request a second time")
    return transport.ProtocolError(f"an answer to request {answered}, which was never made")


class LateAnswer(Exception):
    """The child answered an earlier request a second time."""
