"""One component's worker, and the thread that waits for the answers of its targets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.adapters.adapter import Adapter, ModelAdapter, Request
from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.adapters.mapped_weights import MappedModel
from irfuzz.execute.adapters.tool_made_model_runs import Baseline
from irfuzz.execute.line_traced_packages import watching
from irfuzz.execute.reply_parsing import answered, failed
from irfuzz.execute.request_batching import BatchItem, run_together
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits, Reply, Worker, WorkerSpec

_T = TypeVar("_T")

SHARE_OF_RESULTS = 32
"""What a component may hold, over what it may answer: irfuzz holds an answer of each target, and several of one in
float64, where they are compared."""

HISTORY = 64
"""How many requests before the last one are remembered for a child."""


class ComponentWorker:
    """One component's worker, and the thread that waits for its answers."""

    def __init__(
        self, adapter: Adapter, interpreter: str, limits: Limits, baseline: Baseline, *, lines: bool = False
    ) -> None:
        self.adapter = adapter
        self._baseline = baseline
        self.before: list[str] = []
        self._history: deque[str] = deque(maxlen=HISTORY)
        env = {**adapter.env, **(watching(adapter) if lines else {})}
        spec = WorkerSpec(adapter.component, adapter.handler, adapter.preload, interpreter, env, adapter.allowed)
        most = None if limits.memory_bytes is None else limits.memory_bytes // SHARE_OF_RESULTS
        self._worker = Worker(spec, replace(limits, result_bytes=most))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"irfuzz-{adapter.component}")
        self._limits = limits
        self._last: Future[Any] | None = None
        self._about: Mapping[str, Any] | None = None
        self._problem = ""
        self.full = False
        try:
            self._worker.start()
        except UsageError as error:
            self._problem = str(error)

    def about(self) -> Mapping[str, Any]:
        """What the worker says it is; asked once.

        Returns:
            The handler's answer to ``Adapter.describe``: ``version``, and perhaps ``opset``, ``ir`` and what is wrong
            with devices and modes.

        Raises:
            UsageError: it does not start; later calls say the same again without another try.
        """
        if self._problem:
            raise UsageError(self._problem)
        if self._about is not None:
            return self._about
        try:
            message, blobs = self.adapter.describe()
            reply = self._worker.call(message, blobs, seconds=self._limits.start_seconds)
        except UsageError as error:
            self._problem = str(error)
            raise
        if reply.exit != "ok":
            told = reply.error
            self._problem = f"{told['type']}: {told['message']}" if told else reply.detail or reply.exit
            raise UsageError(self._problem)
        self._about = reply.response
        return self._about

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._worker.close()

    def submit(
        self,
        program: Program | bytes,
        model: bytes | MappedModel,
        inputs: Mapping[str, Value],
        targets: list[Target],
        tag: str,
        *,
        here: bool,
    ) -> Future[list[RunResult]]:
        """Prepare now, for the program may change; run in the thread, or ``here`` if the thread is idle.

        Args:
            program: the program, or bytes that claim to be one.
            model: the same as ONNX bytes, or with weights that are mapped.
            inputs: values by name.
            targets: of this component.
            tag: how to call this request if a later one has to name what ran before it.
            here: in the caller's thread, so that the future is done at once.

        Returns:
            One result for each target; a refusal to prepare the request is one.
        """
        request = self.prepare(program, model, inputs, targets)
        if isinstance(request, list):
            done: Future[list[RunResult]] = Future()
            done.set_result(request)
            return done
        return self._begin(lambda: self.alone(BatchItem(request, targets, tag)), here=here)

    def submit_all(self, asked: Sequence[BatchItem], *, here: bool) -> Future[list[list[RunResult]]]:
        """The same for several requests that travel together.

        Args:
            asked: requests that are prepared already.
            here: as for ``submit``.

        Returns:
            For each request one result for each of its targets.
        """
        return self._begin(lambda: run_together(self, asked), here=here)

    def _begin(self, work: Callable[[], _T], *, here: bool) -> Future[_T]:
        done: Future[_T] = Future()
        if here and (self._last is None or self._last.done()):
            done.set_result(work())
        else:
            done = self._last = self._thread.submit(work)
        return done

    def run_fresh(
        self, program: Program | bytes, model: bytes | MappedModel, inputs: Mapping[str, Value], target: Target
    ) -> RunResult:
        request = self.prepare(program, model, inputs, [target])
        if isinstance(request, list):
            return request[0]
        return self._thread.submit(self._call, request, [target], "", fresh=True).result()[0][0]

    @property
    def keeps(self) -> bool:
        """Whether the worker can keep what it made of a model for the next request."""
        return isinstance(self.adapter, ModelAdapter) and self.adapter.keeps

    @property
    def tells(self) -> bool:
        """Whether the worker names passes of its optimiser."""
        return isinstance(self.adapter, ModelAdapter) and self.adapter.tells

    def prepare(
        self,
        program: Program | bytes,
        model: bytes | MappedModel,
        inputs: Mapping[str, Value],
        targets: list[Target],
    ) -> Request | list[RunResult]:
        adapter = self.adapter
        try:
            if isinstance(model, bytes):
                return adapter.prepare(program, model, inputs, targets)
            assert not isinstance(program, bytes)
            if isinstance(adapter, ModelAdapter) and adapter.maps and self.about().get("maps"):
                return adapter.prepare_mapped(program, model, inputs, targets)
            return adapter.prepare(program, _whole(program) if adapter.reads_bytes else b"", inputs, targets)
        except Unsupported as error:
            return [RunResult(t, Stage.CONVERT, Exit.UNSUPPORTED, error=str(error)) for t in targets]
        except InvalidProgram as error:
            return [RunResult(t, Stage.IMPORT, Exit.REJECTED, error=str(error)) for t in targets]

    def alone(self, asked: BatchItem) -> list[RunResult]:
        results, died = self._call(asked.request, asked.targets, asked.tag)
        return self.one_by_one(asked, results) if died else results

    def one_by_one(self, asked: BatchItem, results: list[RunResult]) -> list[RunResult]:
        """One target took the process down: run them one by one to see which, and what the others make of it."""
        if len(asked.targets) == 1:
            return results
        before = self.before
        message, blobs = asked.request
        alone: list[RunResult] = []
        seen = False
        for target, variant in zip(asked.targets, message["variants"], strict=True):
            again, died = self._call(({**message, "variants": [variant]}, blobs), [target], asked.tag)
            alone += again
            seen = seen or died
        if not seen:
            # It depends on what ran before in that process: keep the blame where the process stood when it died.
            culprit = next(i for i, result in enumerate(results) if result.exit is not Exit.OK)
            note = (
                f"not seen when run alone; {len(before)} requests and {culprit} targets ran before it in this process\n"
            )
            alone[culprit] = replace(results[culprit], log=note + results[culprit].log)
        self.before = before
        return alone

    def ask(self, row: Sequence[BatchItem]) -> list[Reply]:
        replies = self._worker.call_all([asked.request for asked in row], fresh=self.full)
        if replies[0].served == 0:
            self._history.clear()
        self._history.extend(asked.tag for asked in row[: replies[-1].place])
        self.before = list(self._history)
        self._history.append(row[replies[-1].place].tag)
        self.full = False
        return replies

    def _call(
        self, request: Request, targets: list[Target], tag: str, *, fresh: bool = False
    ) -> tuple[list[RunResult], bool]:
        """Results, and whether the handler failed to give them."""
        message, blobs = request
        reply = self._worker.call(message, blobs, fresh=fresh or self.full)
        if reply.served == 0:
            self._history.clear()
        self.before = list(self._history)
        self._history.append(tag)
        self.full = False
        if reply.exit != "ok":
            return failed(reply, targets), True
        return self.read(reply, BatchItem(request, targets, tag), fresh=fresh), False

    def read(self, reply: Reply, asked: BatchItem, *, fresh: bool = False) -> list[RunResult]:
        targets = asked.targets
        try:
            results = answered(reply, targets)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            text = f"unreadable answer: {type(error).__name__}: {error}"
            results = [RunResult(t, Stage.RUN, Exit.PROTOCOL, error=text[:500], seconds=reply.seconds) for t in targets]
        if isinstance(self.adapter, ToolAdapter):
            results = self._baseline.finish(self.adapter, results, asked.request, fresh=fresh)
        if reply.exit == "ok" and reply.response.get("lines"):
            results[0] = replace(results[0], lines=reply.response["lines"])
        # Whatever took the memory may still hold it, and a GPU may fail all that follows: the next request gets a new
        # process.
        self.full = any(result.exit is Exit.MEMORY for result in results) or bool(reply.response.get("spent"))
        if reply.before:
            results[0] = replace(
                results[0], log=f"before this request the process was replaced: {reply.before}\n{results[0].log}"
            )
        return results


def _whole(program: Program) -> bytes:
    """A large model in one piece.

    Raises:
        Unsupported: it is over 2 GiB, so that only those run it who map its weights.
    """
    try:
        return program.to_bytes()
    except InvalidProgram as error:
        raise Unsupported("a target that is sent the whole model", "so large a model", str(error)) from error
