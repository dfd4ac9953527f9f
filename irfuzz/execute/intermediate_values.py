"""Reads inner values of a program on each target, and checks whether reading them changed what it computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import undeclare
from irfuzz.ir.program import Program

ELEMENTS = 1 << 22
"""Where no names are given, inner values are read up to so many elements in all."""

LARGEST = 1 << 26
"""Elements of a tensor that is too large to be read at all."""

APART = 512
"""At most so many inner values are read in runs of their own."""
CHUNK = 32
"""So many such runs travel at once."""


def tap(program: Program, names: Collection[str] | None = None, *, elements: int | None = None) -> Program:
    """The program with inner tensors as further outputs, without declared shapes.

    Args:
        program: stays as it is.
        names: of the values; those of bodies and sequences have no place among a graph's outputs and are left out.
            ``None``: all tensors of the main graph whose sizes are known, in order, as far as they fit.
        elements: so many in all, if no names are given; ``ELEMENTS`` if omitted.
    """
    elements = ELEMENTS if elements is None else elements
    probe = program.clone()
    outputs = {value.name for value in probe.graph.outputs}
    for value in [v for node in probe.nodes() for v in node.outputs if v.name]:
        if names is not None:
            wanted = value.name in names and value.name not in outputs and isinstance(probe.fact(value), TensorFact)
        else:
            fact = probe.fact(value)
            size = (fact.size() or 0) if isinstance(fact, TensorFact) else elements + 1
            wanted = size <= elements
            elements -= size if wanted else 0
        if wanted:
            probe.add_output(value)
            undeclare(value)  # a wrong fact, declared, would be refused before it is computed
    return probe


def beyond(program: Program, elements: int | None = None) -> list[list[str]]:
    """Names of the tensors for which ``tap`` has no room, in order, each list to be read in a run of its own.

    Args:
        program: stays as it is.
        elements: so many in one run; ``ELEMENTS`` if omitted. A tensor with more is in a list by itself.
    """
    room = ELEMENTS if elements is None else elements
    there = {value.name for value in tap(program, elements=room).graph.outputs}
    found: list[list[str]] = []
    left = 0
    for value in [v for node in program.nodes() for v in node.outputs if v.name and v.name not in there]:
        fact = program.fact(value)
        size = fact.size() if isinstance(fact, TensorFact) else None
        if size is None or size > LARGEST:
            continue
        if size > left:
            found.append([])
            left = room
        found[-1].append(value.name or "")
        left -= size
    return found


def has_inner(program: Program) -> bool:
    """Whether the main graph computes a tensor that is no output already, so that ``tap`` may have something to add.

    Args:
        program: values of bodies and functions, and sequences, do not count.
    """
    outputs = {value.name for value in program.graph.outputs}
    inner = (v for node in program.nodes() for v in node.outputs if v.name and v.name not in outputs)
    return any(isinstance(program.fact(value), TensorFact) for value in inner)


def run_tapped(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    targets: Sequence[Target] | None = None,
    names: Collection[str] | None = None,
    *,
    apart: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> list[RunResult]:
    """Run a program as it is, and once more with inner values as outputs.

    Reading a value as an output keeps optimisers from fusing or removing what computes it. Only if the graph's own
    outputs are the same in both runs, to the bit, do the inner values say something about the untapped one.

    Args:
        runner: has the targets.
        program: stays as it is.
        inputs: values by graph input name.
        targets: some of the runner's; all if omitted.
        names: of the inner values; see ``tap``.
        apart: if reading them all changes the outputs of a target, read each in a run of its own, and keep those
            that change nothing: what is left are the values that no fusion hides.
        stopping: asked now and then; true once the values that were read apart so far have to do.

    Returns:
        The results of the untapped runs, with ``taps`` and ``taps_faithful``.
    """
    plain = runner.run(program, inputs, targets)
    probe = tap(program, names)
    tapped = runner.run(probe, inputs, targets)
    found = [_joined(before, after) for before, after in zip(plain, tapped, strict=True)]
    changed = [r.target for r in found if r.exit is Exit.OK and not r.taps_faithful]
    known = {value.name for value in program.graph.outputs}
    inner = [v.name for v in probe.graph.outputs if v.name and v.name not in known]
    if apart and changed and len(inner) <= APART:
        return _apart(runner, program, inputs, found, changed, inner, stopping)
    return found


def _apart(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    found: list[RunResult],
    changed: list[Target],
    names: list[str],
    stopping: Callable[[], bool],
) -> list[RunResult]:
    """``found`` with the inner values of ``changed`` targets read one by one."""
    kept: dict[str, dict[str, Value]] = {target.name: {} for target in changed}
    by_name = {r.target.name: r for r in found}
    for at in range(0, len(names), CHUNK):
        if stopping():
            break
        part = names[at : at + CHUNK]
        rows = runner.run_all([Task(tap(program, [name]), inputs, changed) for name in part])
        for name, row in zip(part, rows, strict=True):
            for after in row:
                joined = _joined(by_name[after.target.name], after)
                if joined.taps_faithful and name in joined.taps:
                    kept[after.target.name][name] = joined.taps[name]
    return [replace(r, taps=kept[r.target.name], taps_faithful=True) if kept.get(r.target.name) else r for r in found]


def _joined(before: RunResult, after: RunResult) -> RunResult:
    taps = {name: value for name, value in after.outputs.items() if name not in before.outputs}
    faithful = (
        before.exit is after.exit is Exit.OK
        and before.outputs.keys() <= after.outputs.keys()
        and all(same(value, after.outputs[name]) for name, value in before.outputs.items())
    )
    return replace(before, taps=taps, taps_faithful=faithful)


def same(a: Value, b: Value) -> bool:
    """Whether two values have the same types, shapes and bits.

    Args:
        a: an array, a list of values or ``None``.
        b: the other. Bits are compared, so NaN equals a NaN of the same bits and the zeros differ; strings are compared
            as such.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool((a == b).all()) if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a is None and b is None
