"""Runs programs on targets, each component in a worker process of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from irfuzz.errors import InternalError, UsageError
from irfuzz.execute.adapters.adapter import Adapter
from irfuzz.execute.adapters.mapped_weights import MappedModel, mapped_model
from irfuzz.execute.adapters.tool_made_model_runs import Baseline
from irfuzz.execute.component_worker import ComponentWorker
from irfuzz.execute.float64_shadow_runs import Shadow, ShadowRun
from irfuzz.execute.request_batching import BatchItem, Runnable
from irfuzz.execute.run_types import RunResult, Target, Value, check_values
from irfuzz.execute.target_table import LEVELS, Availability, adapter_of, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

PATIENCE, PATIENCE_LEAST = 6, 120.0
"""How many times the time of others slow targets have, and how many seconds at least."""

GPU_LIBRARIES = 4 << 30
"""Bytes of the machine's memory that a framework and CUDA's libraries may take beside what a program needs."""


class Runner:
    """Runs programs on a fixed set of targets, with one persistent worker for each component in each interpreter.

    A context manager; the workers live as long as it is open. A worker that dies is forked anew for the next request.
    Not for use from several threads.

    Example:
        >>> import irfuzz, numpy, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
        ... )
        >>> with irfuzz.Runner(["onnxruntime:all", "reference"]) as runner:
        ...     results = runner.run(irfuzz.load(model), {"x": numpy.array([1, -2], numpy.float32)})
        >>> [(result.target.name, str(result.exit), result.outputs["y"].tolist()) for result in results]
        [('onnxruntime:all', 'ok', [-1.0, 2.0]), ('reference', 'ok', [-1.0, 2.0])]
    """

    def __init__(
        self,
        targets: Sequence[str | Target],
        limits: Limits | None = None,
        *,
        required: bool = True,
        adapters: Mapping[str, Adapter] | None = None,
        lines: bool = False,
        longest: float = math.inf,
        shadow: str = "",
    ) -> None:
        """Prepare to run ``targets``.

        Args:
            targets: as ``resolve`` gives them, or names for it.
            limits: of each request. A request holds all of a component's targets; when it goes over a limit, each
                target is run again with the whole limit to itself.
            adapters: by target name, for targets that are not in the table.
            lines: results tell which lines of the components' Python code ran for the first time.
            required: refuse to start if a target cannot be used; otherwise leave it out and list it in ``absent``.
            longest: seconds that starting a slow target, or a request to one, may take; others have ``limits`` alone.
            shadow: what computes shadows, ``torch`` or ``numpy``; torch if it is installed.

        Raises:
            UsageError: there are no targets, or a name is unknown, or what it names is not installed.
        """
        if not targets:
            raise UsageError("targets: expected at least one, got none; `irfuzz targets` lists them")
        self.targets: tuple[Target, ...] = tuple(
            one for target in targets for one in ((target,) if isinstance(target, Target) else resolve([target]))
        )
        self.absent: tuple[Availability, ...] = ()
        self._limits = limits or Limits()
        self._required = required
        self._lines = lines
        self._longest = longest
        self._adapters = dict(adapters or {})
        self._lanes: dict[tuple[str, str, bool, str], ComponentWorker] = {}
        self._starting: tuple[Target, float] | None = None
        self._baseline = Baseline(self._limits)
        self._shadow = Shadow(self._limits, shadow)

    def __enter__(self) -> Self:
        """Start the workers and fill in versions.

        Raises:
            UsageError: a target cannot be used (if ``required``), or none can.
        """
        started: list[Target] = []
        absent: list[Availability] = []
        try:
            for target in self.targets:
                self._begin(target)
            for target in self.targets:
                try:
                    started.append(self._start(target))
                except UsageError as error:
                    if self._required:
                        raise UsageError(f"target {target.name!r} cannot be used: {error}") from error
                    absent.append(Availability(target, str(error)))
        except BaseException:
            self.close()
            raise
        self.targets, self.absent = tuple(started), tuple(absent)
        if not started:
            self.close()
            reasons = "; ".join(f"{a.target.name}: {a.why_not}" for a in absent) or "none was given"
            raise UsageError(f"no target can be used ({reasons})")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        lanes, self._lanes = list(self._lanes.values()), {}
        for lane in lanes:
            lane.close()
        self._baseline.close()
        self._shadow.close()

    def add(self, target: Target, limits: Limits | None = None) -> Target:
        """Take one more target while the runner is open; it is the last of ``targets`` then.

        Args:
            target: as ``resolve`` gives it.
            limits: of its requests, if it has a worker of its own; the runner's if omitted.

        Raises:
            UsageError: it cannot be used.
        """
        self._begin(target, limits)
        started = self._start(target)
        self.targets = (*self.targets, started)
        return started

    @property
    def starting(self) -> tuple[Target, float] | None:
        """The target whose worker is waited for, and since when by ``time.monotonic``; may be asked by any thread."""
        return self._starting

    def run(
        self,
        program: Program | bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target] | None = None,
        *,
        inflight: Path | None = None,
        tag: str = "",
    ) -> list[RunResult]:
        """Run one program on one set of inputs.

        Args:
            program: a program, or bytes that claim to be a model.
            inputs: values by graph input name.
            targets: some of ``self.targets``; all if omitted.
            inflight: the file into which the model's bytes are written before anything runs.
            tag: how ``prefix`` is to call this request.

        Returns:
            One result a target, in the order of ``targets``.

        Raises:
            UsageError: an input is no ``Value``, the program is none, or a target is not one of ``self.targets``.
        """
        return self.collect(self._submit(program, inputs, targets, inflight, tag, wait=True))

    def run_all(self, tasks: Sequence[Runnable]) -> list[list[RunResult]]:
        """Run several programs, each as by ``run``, at a lower price: each worker gets all of its part at once.

        A program that ends a worker's process costs the others a second run, not their results.

        Returns:
            What ``run`` returns, for each task.
        """
        for task in tasks:
            check_values(task.inputs)
        wanted = [self._own(task.targets) for task in tasks]
        results: list[dict[str, RunResult]] = [{} for _ in tasks]
        rows: dict[ComponentWorker, list[tuple[int, BatchItem]]] = {}
        for places in _alike(tasks):
            first = places[0]
            model = self._model(tasks[first].program, tasks[first].model)
            for lane in dict.fromkeys(self._lane(t) for t in wanted[first]):
                targets = [t for t in wanted[first] if self._lane(t) is lane]
                one_by_one = lane.keeps and len(places) > 1 and _size(model) <= RESENT
                for part in [[t] for t in targets] if one_by_one else [targets]:
                    for place in places:
                        task = tasks[place]
                        request = lane.prepare(task.program, model, task.inputs, part)
                        if isinstance(request, list):
                            results[place].update((r.target.name, r) for r in request)
                            continue
                        if task.asks is not None and lane.tells:
                            _ask(request[0]["variants"], targets, part, task.asks)
                        if one_by_one and place != places[-1]:
                            request[0]["keep"] = True
                        rows.setdefault(lane, []).append((place, BatchItem(request, part, task.tag)))
        lanes = list(rows)
        futures = [lane.submit_all([asked for _, asked in rows[lane]], here=lane is lanes[-1]) for lane in lanes]
        for lane, future in zip(lanes, futures, strict=True):
            for (place, _), found in zip(rows[lane], future.result(), strict=True):
                results[place].update((r.target.name, r) for r in found)
        return [[found[t.name] for t in targets] for targets, found in zip(wanted, results, strict=True)]

    def submit(
        self,
        program: Program | bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target] | None = None,
        *,
        inflight: Path | None = None,
        tag: str = "",
    ) -> PendingRuns:
        """Like ``run``, but returns at once; the caller may change ``program`` and prepare the next one meanwhile.

        Args:
            program: as for ``run``.
            inputs: likewise.
            targets: likewise.
            inflight: likewise.
            tag: likewise.

        Returns:
            What ``collect`` waits for.
        """
        return self._submit(program, inputs, targets, inflight, tag, wait=False)

    def _submit(
        self,
        program: Program | bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target] | None,
        inflight: Path | None,
        tag: str,
        *,
        wait: bool,
    ) -> PendingRuns:
        check_values(inputs)
        wanted = self._own(targets)
        model = self._model(program)
        if inflight is not None:
            inflight.write_bytes(model if isinstance(model, bytes) else model.data)
        lanes = list(dict.fromkeys(self._lane(t) for t in wanted))
        # Who waits anyway runs the last one itself: waking a thread and being woken by it costs a tenth of a run.
        futures = [
            lane.submit(
                program,
                model,
                inputs,
                [t for t in wanted if self._lane(t) is lane],
                tag,
                here=wait and lane is lanes[-1],
            )
            for lane in lanes
        ]
        return PendingRuns(wanted, tuple(futures))

    def collect(self, pending: PendingRuns) -> list[RunResult]:
        """Wait for what ``submit`` began.

        Returns:
            What ``run`` returns: one result a target, in the order of the targets that were asked for.
        """
        results = {result.target.name: result for future in pending.futures for result in future.result()}
        return [results[target.name] for target in pending.targets]

    def run_fresh(
        self, program: Program | bytes, inputs: Mapping[str, Value], targets: Sequence[Target] | None = None
    ) -> list[RunResult]:
        """Like ``run``, with each target alone in a newly forked process: no earlier request caused what it shows.

        Args:
            program: as for ``run``.
            inputs: likewise.
            targets: some of ``self.targets``, run one after the other; all if omitted.
        """
        check_values(inputs)
        wanted = self._own(targets)
        model = self._model(program)
        return [self._lane(target).run_fresh(program, model, inputs, target) for target in wanted]

    def run_as(
        self, program: Program, inputs: Mapping[str, Value], target: Target, options: Mapping[str, str | bool]
    ) -> RunResult:
        """What one of this runner's targets does with more options.

        Args:
            program: a program.
            inputs: values by graph input name.
            target: one of ``self.targets``.
            options: added to the target's own for this run; one of the same name is replaced.

        Returns:
            A result of the target itself, without these options.
        """
        (own,) = self._own([target])
        other = replace(own, options={**own.options, **options})
        asked = self._lane(own).submit(program, self._model(program), inputs, [other], "", here=True)
        return replace(asked.result()[0], target=own)

    def shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        """What a program computes in float64, and how far its own roundings may move that, in a worker of its own."""
        return self._shadow.run(program, inputs)

    def quick_shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        """The same at a quarter of the price; its bounds are never larger, so what is within them needs no other."""
        return self._shadow.run(program, inputs, quick=True)

    def prefix(self, target: Target) -> tuple[str, ...]:
        """Tags of what the target's process had already run when its last collected request came, oldest first.

        A finding that ``run_fresh`` does not show may depend on these. At most ``lane.HISTORY`` are remembered.
        """
        return tuple(self._lane(self._own([target])[0]).before)

    @staticmethod
    def _model(program: Program | bytes, known: bytes | None = None) -> bytes | MappedModel:
        """What workers get of a program: its bytes, which may be ``known``, without weights that they can map."""
        if isinstance(program, bytes):
            return program
        if not isinstance(program, Program):
            got = type(program).__name__
            raise UsageError(f"program: expected a Program or the bytes of a model, got {got}; irfuzz.load makes one")
        mapped = mapped_model(program)
        if mapped is not None:
            return mapped
        return program.to_bytes() if known is None else known

    def _own(self, targets: Sequence[Target] | None) -> tuple[Target, ...]:
        if targets is None:
            return self.targets
        own = {target.name: target for target in self.targets}
        for target in targets:
            if target.name not in own:
                raise UsageError(f"target {target.name!r} is not one of this runner's: {', '.join(own)}")
        return tuple(own[target.name] for target in targets)

    def _lane(self, target: Target) -> ComponentWorker:
        lane = self._lanes.get(_key(target))
        if lane is None:
            raise InternalError(f"the runner is not open, so target {target.name!r} has no worker")
        return lane

    def _begin(self, target: Target, limits: Limits | None = None) -> None:
        """Let the target's worker import, without waiting for it."""
        key = _key(target)
        if key not in self._lanes:
            adapter = self._adapters.get(target.name) or adapter_of(target)
            self._lanes[key] = ComponentWorker(
                adapter,
                target.interpreter,
                _limits_of(target, limits or self._limits, self._longest),
                self._baseline,
                lines=self._lines,
            )

    def _start(self, target: Target) -> Target:
        """Wait for the target's worker, and see whether it offers the target."""
        lane = self._lane(target)
        self._starting = target, time.monotonic()
        try:
            about = lane.about()
        finally:
            self._starting = None
        why_not = lane.adapter.absent(target, about)
        if why_not:
            raise UsageError(why_not)
        return replace(
            target,
            version=str(about.get("version") or target.version),
            opset=int(about.get("opset") or target.opset),
            ir=int(about.get("ir") or target.ir),
        )


@dataclass(frozen=True, slots=True)
class PendingRuns:
    """Requests under way, for ``Runner.collect``."""

    targets: tuple[Target, ...]
    futures: tuple[Future[list[RunResult]], ...]


def _ask(
    variants: list[dict[str, Any]], targets: Sequence[Target], part: Sequence[Target], asks: Mapping[str, str]
) -> None:
    """Give the most optimised of the targets the options ``asks``, if it is one of the part that is requested."""
    most = most_optimised(targets)
    for variant, target in zip(variants, part, strict=True):
        if target is most:
            variant.update(asks)


def most_optimised(targets: Sequence[Target]) -> Target | None:
    """The target with the highest level of optimisation; ``None`` if none optimises.

    Args:
        targets: those without the option ``level``, or at its lowest, do not count. Of several at one level it is the
            first.
    """
    found = [target for target in targets if target.options.get("level") in LEVELS[1:]]
    return max(found, key=lambda target: LEVELS.index(str(target.options["level"])), default=None)


def versions_that_tell(targets: Sequence[Target]) -> list[Target]:
    """The most optimised target of each version of a component that has levels of optimisation.

    Args:
        targets: of any components.

    Returns:
        One for each worker whose targets optimise, in the order in which these first occur.
    """
    kinds = dict.fromkeys(_key(target) for target in targets)
    found = (most_optimised([target for target in targets if _key(target) == kind]) for kind in kinds)
    return [target for target in found if target is not None]


RESENT = 1 << 20
"""A model of more bytes is not sent again for each target, for the sake of one session for all inputs."""


def _size(model: bytes | MappedModel) -> int:
    """Bytes that travel with each request."""
    return len(model if isinstance(model, bytes) else model.data)


def _alike(tasks: Sequence[Runnable]) -> list[list[int]]:
    """Places of the tasks, those together that follow one another with the same program and targets."""
    found: list[list[int]] = []
    for place, task in enumerate(tasks):
        before = tasks[place - 1] if place else None
        if before is not None and before.program is task.program and before.targets == task.targets:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _key(target: Target) -> tuple[str, str, bool, str]:
    """What targets of one worker have in common."""
    return target.interpreter, target.component, target.slow, target.process


def _limits_of(target: Target, limits: Limits, longest: float) -> Limits:
    """What a request of a target may take: a compiler takes far longer than what it compiles.

    On a GPU the process that runs it has imported the component, too, and CUDA's libraries.
    """
    if target.device != "cpu" and limits.memory_bytes is not None:
        limits = replace(limits, memory_bytes=limits.memory_bytes + GPU_LIBRARIES)
    if not target.slow:
        return limits
    seconds = max(limits.seconds, min(longest, max(limits.seconds * PATIENCE, PATIENCE_LEAST)))
    return replace(limits, seconds=seconds, start_seconds=min(limits.start_seconds, max(limits.seconds, longest)))
