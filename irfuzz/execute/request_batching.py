"""Sends requests to one worker together, and says what became of each, even if one ends the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from irfuzz.execute.adapters.adapter import Request
from irfuzz.execute.reply_parsing import failed
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.isolate import Reply

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_ENDS = frozenset({Exit.CRASH, Exit.EXITED, Exit.HANG, Exit.MEMORY, Exit.PROTOCOL})
"""Ends that leave no process behind, or none to go on with."""


class Runnable(Protocol):
    """What a ``Task`` has, as the programs of a campaign have it too."""

    @property
    def program(self) -> Program | bytes: ...

    @property
    def inputs(self) -> Mapping[str, Value]: ...

    @property
    def targets(self) -> Sequence[Target] | None: ...

    @property
    def tag(self) -> str: ...

    @property
    def model(self) -> bytes | None: ...

    @property
    def asks(self) -> Mapping[str, str] | None: ...


@dataclass(frozen=True, slots=True)
class Task:
    """One program to run, see ``Runner.run``.

    Attributes:
        program: a program, or bytes that claim to be a model.
        inputs: values by graph input name.
        targets: some of the runner's; all if ``None``.
        tag: how ``Runner.prefix`` is to call it.
        model: the program's bytes, if they are at hand.
        asks: options that the most optimised target of a component gets besides, if it can tell its passes
            (``PassCoverage.asks``).
    """

    program: Program | bytes
    inputs: Mapping[str, Value]
    targets: Sequence[Target] | None = None
    tag: str = ""
    model: bytes | None = None
    asks: Mapping[str, str] | None = None

    def data(self) -> bytes:
        """The model's bytes."""
        if self.model is not None:
            return self.model
        return self.program if isinstance(self.program, bytes) else self.program.to_bytes()


@dataclass(frozen=True, slots=True)
class BatchItem:
    """What one worker is asked about one program."""

    request: Request
    targets: list[Target]
    tag: str


class BatchWorker(Protocol):
    """The worker, as far as it matters here."""

    @property
    def full(self) -> bool:
        """Whether the last result read says that memory ran out, so that the process must not go on."""
        ...

    def ask(self, row: Sequence[BatchItem]) -> list[Reply]:
        """Send requests as one; what ``Worker.call_all`` returns.

        Returns:
            Replies in order. If a request failed its reply is the last, and says by ``place`` which it is; a process
            that died answered none of those before.
        """
        ...

    def read(self, reply: Reply, asked: BatchItem) -> list[RunResult]:
        """The results of an answered request, one for each of its targets; sets ``full``.

        Args:
            reply: one of ``ask``.
            asked: the request that it answers.
        """
        ...

    def alone(self, asked: BatchItem) -> list[RunResult]:
        """Run one request by itself; if it ends the process, its targets one by one.

        Returns:
            One result for each target, in order.
        """
        ...

    def one_by_one(self, asked: BatchItem, results: list[RunResult]) -> list[RunResult]:
        """Run the targets of a request that failed with ``results`` one by one.

        Args:
            asked: the request.
            results: of the run in which the process ended. They are returned if there is one target only.
        """
        ...


def run_together(worker: BatchWorker, asked: Sequence[BatchItem]) -> list[list[RunResult]]:
    """The results of each request, as if each had been sent alone.

    If the process ends, the request that ran is sent again alone, those before it, whose answers are lost, and those
    behind it together.
    """
    done: list[list[RunResult]] = []
    blamed: dict[int, Reply | None] = {}
    while (first := len(done)) < len(asked):
        stop = min((place for place in blamed if place >= first), default=len(asked))
        if stop - first < 2:
            done.append(_blame(asked[first], worker.alone(asked[first]), blamed.pop(first, None)))
            continue
        row = asked[first:stop]
        replies = worker.ask(row)
        failure = replies.pop() if replies[-1].exit != "ok" else None
        for reply, one in zip(replies, row, strict=False):
            done.append(worker.read(reply, one))
            if worker.full:
                break  # what the same process answered behind it does not count
        else:
            if failure is None:
                continue
            at = failure.place
            if failure.exit != "error":
                blamed[first + at] = failure
            elif at == len(replies):
                done.append(worker.one_by_one(row[at], failed(failure, row[at].targets)))
            else:  # the answers could not be sent, and whose fault that is nobody knows
                blamed[first] = None
    return done


def _blame(asked: BatchItem, results: list[RunResult], failure: Reply | None) -> list[RunResult]:
    """Results of a request alone; if they show nothing of how it ended among others, that is kept."""
    if failure is None or any(result.exit in _ENDS for result in results):
        return results
    note = f"not seen when run alone; {failure.served} requests ran before it in this process\n"
    return [
        replace(then, log=note + then.log) if then.exit is not Exit.OK else now
        for now, then in zip(results, failed(failure, asked.targets), strict=True)
    ]
