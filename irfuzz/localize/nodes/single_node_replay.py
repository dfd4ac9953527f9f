"""Replays each node alone on one target with the inputs that it had on another, and ranks them, the worst first."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import difference
from irfuzz.errors import InvalidProgram
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.ir.value import is_constant
from irfuzz.localize.nodes.control_flow_unrolling import PLACE
from irfuzz.localize.nodes.subprogram_extraction import Cutter
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, is_float
from irfuzz.oracle.numeric.witness_spread_comparison import floor
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.value_structure import describe
from irfuzz.oracle.verdict import Symptom

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

CHUNK = 32
"""At most so many nodes travel at once: one, then twice as many as before while they take no longer than ``QUICK``."""

QUICK = 1.0
"""Seconds; a target that hangs, or that starts anew after each node, is asked about one node at a time."""


class ReplayOutcome(StrEnum):
    """What became of a node that was replayed alone."""

    AGREES = "agrees"
    DIFFERS = "differs"
    FAILS = "fails"
    """The target refuses it, crashes or hangs, and the other does not."""
    OPEN = "open"
    """It differs where ONNX leaves open what is computed."""
    UNSUPPORTED = "unsupported"
    """The target has no kernel for it alone."""
    SKIPPED = "skipped"
    """It cannot be isolated, or the other target does not run it alone."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A node, or several that stand together, replayed alone.

    Attributes:
        first: place of the first one among the program's nodes.
        end: the place behind the last one.
        name: of the first named output of the last node.
        op: operators, in order.
        outcome: what became of it.
        ratio: largest difference over its bound, infinite if it is one of kind; above 1 is ``DIFFERS``.
        distance: the largest difference.
        bound: what rounding explains there.
        detail: output and element, message or reason.
        specials: an input of it holds NaN or an infinity.
        place: where in the model the last node stands, if that is inside a body or function (``unfold.PLACE``).
        symptom: what is wrong, if it is faulty.
        said: the target's own message if it fails, what it gave if type or shape are wrong.
        open_sizes: it ran with no other sizes than the program knows before it runs.
    """

    first: int
    end: int
    name: str
    op: str
    outcome: ReplayOutcome
    ratio: float = 0.0
    distance: float = 0.0
    bound: float = 0.0
    detail: str = ""
    specials: bool = False
    place: str = ""
    symptom: Symptom | None = None
    said: str = ""
    open_sizes: bool = False

    @property
    def faulty(self) -> bool:
        """Whether it computes something else, or fails; what ONNX leaves open is no fault."""
        return self.outcome in (ReplayOutcome.DIFFERS, ReplayOutcome.FAILS)


def replay(
    runner: Runner,
    program: Program,
    known: Mapping[str, Value],
    base: Target,
    other: Target,
    *,
    stopping: Callable[[], bool] = lambda: False,
    first: Collection[str] = (),
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Replayed]:
    """Run every node alone on both targets, with the inputs that it had on the first.

    A difference is then the node's own: nothing propagates, and no threshold is needed but that of rounding. If no
    node differs alone, though the program does, the smallest run of nodes that does is looked for (a fusion). Where
    that finds nothing and the program leaves sizes open, both are done once more with these sizes open: what a target
    makes of a size that it does not know is gone once every size is known.

    Args:
        runner: has both targets.
        program: stays as it is.
        known: values by name: what was fed, and what ``base`` computed (``RunResult.taps`` and its outputs).
        base: whose inputs every node gets.
        other: the target under suspicion.
        stopping: asked now and then; true once what was found so far has to do.
        first: operators whose nodes are run before all others.
        progress: is told how many nodes are done, and of how many.

    Returns:
        One entry a node, the faulty ones first and the largest ratio first among them; before them the run of nodes,
        if one was looked for and found.
    """

    def looked_at(cutter: Cutter) -> list[Replayed]:
        def run(places: list[tuple[int, int]]) -> list[Replayed]:
            return _chunk(runner, cutter, places, base, other)

        return _nodes_and_rows(run, cutter, stopping, first, progress)

    cutter = Cutter(program, known)
    found = looked_at(cutter)
    if not found or found[0].faulty or stopping() or not cutter.leaves_sizes_open():
        return found
    again = looked_at(Cutter(program, known, open_sizes=True))
    if not again or not again[0].faulty:
        return found
    return [replace(r, open_sizes=True, detail=f"{r.detail} (sizes left open)" * r.faulty) for r in again]


def _nodes_and_rows(
    run: Callable[[list[tuple[int, int]]], list[Replayed]],
    cutter: Cutter,
    stopping: Callable[[], bool],
    first: Collection[str],
    progress: Callable[[int, int], None],
) -> list[Replayed]:
    """Every node alone; if none differs, the smallest run of nodes that does as well, before them."""
    found: list[Replayed] = []
    places = [p for p, n in enumerate(cutter.nodes) if not is_constant(n)]
    places.sort(key=lambda p: cutter.nodes[p].op_type not in first)
    size = 1
    while len(found) < len(places) and not stopping():
        progress(len(found), len(places))
        began = time.monotonic()
        found += run([(p, p + 1) for p in places[len(found) : len(found) + size]])
        size = min(2 * size, CHUNK) if time.monotonic() - began <= QUICK else 1
    found.sort(key=lambda r: (not r.faulty, r.outcome is not ReplayOutcome.OPEN, -r.ratio, r.first))
    if found and not found[0].faulty and not stopping():
        region = _narrow(lambda a, b: run([(a, b)])[0], len(cutter.nodes), stopping)
        return found if region is None else [region, *found]
    return found


def faulty_parts(
    runner: Runner,
    program: Program,
    known: Mapping[str, Value],
    base: Target,
    other: Target,
    *,
    most: int,
    stopping: Callable[[], bool] = lambda: False,
) -> list[tuple[Program, dict[str, Value]]]:
    """What ``replay`` finds at fault, each as a program of its own with its inputs; the worst first.

    Parts that are no valid program alone are left out.

    Args:
        runner: has both targets.
        program: stays as it is.
        known: values by name, as in ``replay``.
        base: whose inputs every node gets.
        other: the target under suspicion.
        most: parts that are looked at.
        stopping: asked now and then; true once what was found so far has to do.
    """
    found: list[tuple[Program, dict[str, Value]]] = []
    for one in [r for r in replay(runner, program, known, base, other, stopping=stopping) if r.faulty][:most]:
        with contextlib.suppress(InvalidProgram):
            found.append(Cutter(program, known, open_sizes=one.open_sizes).cut(one.first, one.end))
    return found


def feeds(program: Program, name: str, output: str) -> bool:
    """Whether a value is, or goes into, a graph output.

    Args:
        program: bodies on the way count as read.
        name: of the value.
        output: of the graph; if there is none of that name, nothing goes into it.
    """
    todo = [value for value in program.graph.outputs if value.name == output]
    seen = set(todo)
    while todo:
        value = todo.pop()
        if value.name == name:
            return True
        producer = value.producer()
        for node in () if producer is None else (producer, *nodes_within(producer)):
            new = {v for v in (*node.inputs, *node.outputs) if v is not None and v not in seen}
            seen |= new
            todo += new
    return False


def _narrow(
    run: Callable[[int, int], Replayed], count: int, stopping: Callable[[], bool] = lambda: False
) -> Replayed | None:
    """The smallest run of nodes that is faulty, as far as halving finds it; ``None`` if there is none.

    What ONNX leaves open in a part of a run excuses the whole, so a run that differs where it may is halved too, after
    those that are faulty.
    """
    first, end = 0, count
    best = run(first, end)
    if not best.faulty and best.outcome is not ReplayOutcome.OPEN:
        return None
    step = count // 2
    while step and not stopping():
        parts = [(a, b) for a, b in ((first + step, end), (first, end - step)) if a < b]
        found = [(run(a, b), a, b) for a, b in parts]
        smaller = next((f for f in found if f[0].faulty), None)
        if smaller is None and not best.faulty:
            smaller = next((f for f in found if f[0].outcome is ReplayOutcome.OPEN), None)
        if smaller is None:
            step //= 2
        else:
            best, first, end = smaller
    return best if best.faulty else None


def _chunk(
    runner: Runner, cutter: Cutter, places: list[tuple[int, int]], base: Target, other: Target
) -> list[Replayed]:
    cuts: dict[tuple[int, int], tuple[Program, dict[str, Value]]] = {}
    reasons: dict[tuple[int, int], str] = {}
    for place in places:
        try:
            cuts[place] = cutter.cut(*place)
        except InvalidProgram as error:
            reasons[place] = str(error)
    ran = runner.run_all([Task(program, feeds, (base, other)) for program, feeds in cuts.values()])
    results = dict(zip(cuts, ran, strict=True))
    return [
        compare_alone(cutter, place, *cuts[place], *results[place])
        if place in cuts
        else _entry(cutter, place, ReplayOutcome.SKIPPED, detail=reasons[place])
        for place in places
    ]


def _entry(
    cutter: Cutter,
    place: tuple[int, int],
    outcome: ReplayOutcome,
    ratio: float = 0.0,
    distance: float = 0.0,
    bound: float = 0.0,
    detail: str = "",
) -> Replayed:
    nodes = cutter.nodes[place[0] : place[1]]
    name = next((o for o in nodes[-1].output if o), "")
    op = " ".join(n.op_type for n in nodes if not is_constant(n))
    inside = next((p.value for p in nodes[-1].metadata_props if p.key == PLACE), "")
    return Replayed(*place, name, op, outcome, ratio, distance, bound, detail, place=inside)


def compare_alone(
    cutter: Cutter, place: tuple[int, int], program: Program, feeds: dict[str, Value], one: RunResult, two: RunResult
) -> Replayed:
    """What became of a cut, judged by the bound of the numeric oracle's floor.

    Args:
        cutter: that cut it.
        place: the first of its nodes, and the place behind the last.
        program: the cut.
        feeds: its inputs.
        one: of the base.
        two: of the target under suspicion.
    """
    if one.exit is not Exit.OK:
        why = f"{one.target.name} does not run it alone: {one.exit}: {one.error}"
        return _entry(cutter, place, ReplayOutcome.SKIPPED, detail=why)
    if two.exit is Exit.UNSUPPORTED:
        return _entry(cutter, place, ReplayOutcome.UNSUPPORTED, detail=two.error)
    if two.exit is not Exit.OK:
        failed = _entry(
            cutter, place, ReplayOutcome.FAILS, math.inf, math.inf, detail=f"{two.stage}: {two.exit}: {two.error}"
        )
        return replace(failed, symptom=_FAILED.get(two.exit, Symptom.CRASH), said=two.error)
    for name, value in one.outputs.items():
        got = two.outputs.get(name)
        if kind := _other_kind(value, got):
            other = _entry(cutter, place, ReplayOutcome.DIFFERS, math.inf, math.inf, detail=f"{name}: {kind}")
            return replace(other, symptom=_kind_symptom(value, got), said=describe(got))
    case = Case(program, feeds, [one, two])
    worst = _entry(cutter, place, ReplayOutcome.AGREES)
    fed = not all(_finite(v) for v in feeds.values() if isinstance(v, np.ndarray))
    for leaf in case.leaves():
        path = case.path(leaf.value)
        a, b = (leaf.values[r.target.name] for r in (one, two))
        if path.random or not a.size:
            continue
        specials = path.specials or not (_finite(a) and _finite(b))
        opens = [o.what for o in path.open if specials or not o.specials_only]
        if a.dtype.kind in "OUSc":
            ratio, distance, bound, detail = math.inf, math.inf, 0.0, leaf.label
        else:
            apart = difference(a, b)
            bound = FACTOR * floor(case, leaf, path, measured=False) if is_float(a.dtype) else 0.0
            at = apart.first_mismatch if apart.mismatched else apart.argmax
            distance = math.inf if apart.mismatched else apart.max_abs
            ratio = distance / bound if bound else math.inf if distance else 0.0
            index = np.unravel_index(max(at, 0), a.shape)
            where = ", ".join(str(int(i)) for i in index)
            detail = f"{leaf.label}[{where}]: {a[index]} on {one.target.name}, {b[index]} on {two.target.name}"
        if ratio > worst.ratio:
            outcome = ReplayOutcome.AGREES if ratio <= 1 else ReplayOutcome.OPEN if opens else ReplayOutcome.DIFFERS
            detail = f"{detail} ({', '.join(opens)})" if outcome is ReplayOutcome.OPEN else detail
            worst = _entry(cutter, place, outcome, ratio, distance, bound, detail)
            worst = replace(worst, symptom=Symptom.NAN_INF if distance == math.inf else Symptom.DIFFERENCE)
    return replace(worst, specials=fed)


_FAILED = {Exit.REJECTED: Symptom.REJECTION, Exit.HANG: Symptom.HANG, Exit.MEMORY: Symptom.MEMORY}


def _kind_symptom(a: Value, b: Value) -> Symptom:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype != b.dtype:
        return Symptom.WRONG_DTYPE
    return Symptom.WRONG_SHAPE


def _finite(a: np.ndarray) -> bool:
    return not is_float(a.dtype) or bool(np.isfinite(a.astype(np.float64)).all())


def _other_kind(a: Value, b: Value) -> str:
    """In what two values differ before their elements do; empty if in nothing."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype:
            return f"{b.dtype} where {a.dtype} was expected"
        return f"shape {list(b.shape)} where {list(a.shape)} was expected" if a.shape != b.shape else ""
    return "" if type(a) is type(b) else f"{type(b).__name__} where {type(a).__name__} was expected"
