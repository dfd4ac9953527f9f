"""``irfuzz.reduce`` makes a model as small as it can be while a function still calls it interesting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from irfuzz.api.loaded_model import Inputs, Model, loaded, program_of
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Value
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate.scratch_folder import ScratchFolder
from irfuzz.reduce.inner_value_computation import InnerValues
from irfuzz.reduce.interestingness_command import CheckCommand
from irfuzz.reduce.pass_loop import reduce_case
from irfuzz.reduce.resume_folder import ReductionState, worthless
from irfuzz.reduce.session import Reduced

Interesting: TypeAlias = Callable[[Program, Mapping[str, Value]], bool]
"""Says of a valid program and its inputs whether they still show what is looked for."""

TRIES = 1 << 30
"""Whoever reduces one model says how long, not how often."""


@dataclass(frozen=True, slots=True)
class ReduceReport:
    """A model made small.

    Attributes:
        model: its name.
        before: nodes that it had.
        reduced: the smallest program that was found, and its inputs.
    """

    model: str
    before: int
    reduced: Reduced

    @property
    def program(self) -> Program:
        """The smallest program."""
        return self.reduced.program

    @property
    def inputs(self) -> Mapping[str, Value]:
        """Its inputs by name."""
        return self.reduced.inputs

    def to_json(self) -> dict[str, Any]:
        """What became of it as JSON-able data, without the program.

        Returns:
            ``model``, nodes ``before`` and now (``nodes``), ``operators`` of what is left, ``tries``, and whether it is
            ``complete``.
        """
        operators = [node.op_type for node in self.program.nodes()]
        return {
            "model": self.model,
            "before": self.before,
            "nodes": len(self.program.graph),
            "operators": operators,
            "tries": self.reduced.tries,
            "complete": self.reduced.complete,
        }

    def __str__(self) -> str:
        """A line for people."""
        return f"{self.model}: {self.before} -> {len(self.program.graph)} nodes, {self.reduced.tries} tries"


def reduce(
    model: Model,
    interesting: Interesting,
    *,
    inputs: Inputs | None = None,
    seconds: float = 600.0,
    timeout: float = 60.0,
    jobs: int = 1,
    state: str | Path | None = None,
    progress: Observer[ReduceReport] = unobserved,
) -> ReduceReport:
    """Make a model and its inputs smaller, as long as they are interesting.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) '
        ...     "{ a = Exp(x) b = Log(a) y = Neg(b) }"
        ... )
        >>> small = irfuzz.reduce(model, lambda program, inputs: "Log" in {n.op_type for n in program.nodes()})
        >>> [node.op_type for node in small.program.nodes()]
        ['Log']

    Args:
        model: in any form that ``irfuzz.mutate`` takes; it stays as it is.
        interesting: is called with a valid ``Program`` and its inputs, in this process.
        inputs: one sample, or an ``InputSpec`` of what is drawn.
        seconds: at most.
        timeout: seconds for the inner values of one candidate, with which models are cut in the middle.
        jobs: candidates that are tried at once; ``interesting`` is called from as many threads.
        state: a folder that remembers how far it has come, and is made if need be: the same call goes on from there.
        progress: gets an ``Update`` for each candidate.

    Returns:
        The smallest program and inputs that were found.

    Raises:
        UsageError: the model cannot be read, or is not interesting as it is, or the state is that of another model.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    given = loaded(model, inputs, observer=progress)
    samples = given.said.spec.samples
    if len(samples) > 1:
        raise UsageError(f"inputs: expected one sample, got {len(samples)}")
    program = program_of(given, plan=not samples, observer=progress)
    first = dict(samples[0]) if samples else make_inputs(program, 0)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(ScratchFolder("reduce")).path if state is None else Path(state)
        kept = ReductionState(place, program, first, _question(interesting))
        stack.callback(kept.close)

        def so_far() -> ReduceReport:
            best = Reduced(kept.program, kept.inputs, kept.tries, kept.complete)
            return ReduceReport(given.name, len(program.graph), best)

        def told(key: bytes, best: Reduced | None) -> None:
            kept.saw(key, best)
            note = f"{len(kept.program.graph)} nodes"
            progress(Update("reducing", kept.tries, unit="tries", note=note, so_far=so_far))

        progress(Update("reducing", kept.tries, unit="tries", so_far=None if worthless(place) else so_far))
        if not kept.complete:
            why = _refusal(interesting, kept)
            if why is not None:
                raise UsageError(f"{given.name}: is not interesting as it is{why}")
            values_of = stack.enter_context(InnerValues(timeout))
            small = reduce_case(
                kept.program, kept.inputs, interesting, values_of=values_of, seconds=seconds, tries=TRIES, jobs=jobs,
                skip=kept.skip, on_try=told,
            )  # fmt: skip
            kept.keep(small)
        return so_far()


def _question(interesting: Interesting) -> str:
    """What a reduction's folder says of a function: its name at least has to be the same for it to go on."""
    return interesting.question if isinstance(interesting, CheckCommand) else getattr(interesting, "__qualname__", "")


def _refusal(interesting: Interesting, kept: ReductionState) -> str | None:
    """How a case shows that it is not interesting; ``None`` if it is."""
    if isinstance(interesting, CheckCommand):
        shows, how = interesting.look(kept.program, kept.inputs)
        return None if shows else f": --check {interesting.text!r} {how}"
    return None if interesting(kept.program, kept.inputs) else ""
