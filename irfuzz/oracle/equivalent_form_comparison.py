"""Decides whether a target contradicts itself on a program and another form of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from irfuzz.execute.run_types import Exit, RunResult, Stage, Value
from irfuzz.oracle.message_normalization import DATA_DEPENDENT
from irfuzz.oracle.numeric.discontinuity_distance import far_from_steps
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, huge, is_float
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.numeric.witness_spread_comparison import floor, scale_of
from irfuzz.oracle.runs_to_judge import Case, Leaf
from irfuzz.oracle.value_structure import leaves_of
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
    from irfuzz.spec import Specs

Proof: TypeAlias = "Callable[[Program, Mapping[str, Value]], bool]"
"""Whether every value of a program is a finite number on inputs like these; ``False`` if that is not known."""

_DECIDED = frozenset({"Mod: integer_fmod"})
"""ONNX's text leaves open whether there is such a call, not what it computes: a component that takes it has decided."""

_OTHER = " (rewritten)"

INTERNAL = re.compile(
    r"(?i)INTERNAL ASSERT|please report (?:a bug|this)|internal (?:compiler |invariant )?error\b"
    r"|InternalTorchDynamoError|InductorError|SystemError:|should never happen|unreachable code"
)
"""Messages by which a component says that it broke, not that it does not take something."""


class Answer(StrEnum):
    """What a comparison says."""

    SAME = "same"
    DIFFERENT = "different"
    REFUSED = "refused"
    """The target runs the one form and says that it does not take the other."""
    UNDECIDED = "undecided"
    """The forms differ, but correct arithmetic might too."""


@dataclass(frozen=True, slots=True)
class FormComparison:
    """The answer, and for all but ``SAME`` the reason.

    Attributes:
        answer: what it says.
        symptom: of ``DIFFERENT``: crash, hang, rejection, shape or difference.
        output: name of the graph output.
        reason: values, limits or the component's message.
        element: of ``DIFFERENT`` numbers, the one that is off most.
        expected: what is there originally: the number, or type and shape.
        got: what the other form gives there.
        distance: between the two.
        bound: what would still have been accepted; ``None`` if nothing would.
    """

    answer: Answer
    symptom: str = ""
    output: str = ""
    reason: str = ""
    element: str = ""
    expected: str = ""
    got: str = ""
    distance: float | None = None
    bound: float | None = None


def compare_forms(
    program: Program,
    form: Program,
    inputs: Mapping[str, Value],
    results: tuple[RunResult, RunResult],
    *,
    specs: Specs,
    bitwise: bool,
    optimised: bool = False,
    rerun: Rerun | None = None,
    finite: Proof | None = None,
) -> FormComparison:
    """Decide whether a target computes the same for both forms.

    Args:
        program: the original.
        form: the rewritten program.
        inputs: those of the form, which has all of the original's.
        results: of the original, which went through, and of the form, on one target.
        specs: operator specs.
        bitwise: all rewrites between the two promise the same bits. That is asked for if no operator behind an
            output rounds; elsewhere a component may fuse the one form and not the other.
        optimised: the form is the original itself, only optimised: what an optimiser may not refuse.
        rerun: runs the original on the same target with other inputs.
        finite: proves, if it can, that no value of a program is NaN, infinite or overflows on inputs like these.

    Returns:
        ``DIFFERENT`` only if an element is off by more than ``FACTOR`` times what rounding errors explain: the
        larger of the floor for either form and the measured sensitivity of the original (``oracle.numeric``).
    """
    one, other = results
    if other.exit is not Exit.OK or other.stage is not Stage.RUN:
        return _ended(other, optimised)
    before = Case(program, inputs, [one, _renamed(other)], specs=specs, rerun=rerun)
    after = Case(form, inputs, [one, _renamed(other)], specs=specs)
    open_answer: FormComparison | None = None
    proofs = [functools.cache(functools.partial(finite, p, inputs)) if finite else None for p in (program, form)]
    for output in program.graph.outputs:
        name = output.name or ""
        if name not in one.outputs or name not in other.outputs:
            return FormComparison(Answer.DIFFERENT, "shape", name, "an output is missing")
        mine, its = dict(leaves_of(name, one.outputs[name])), dict(leaves_of(name, other.outputs[name]))
        if mine.keys() != its.keys():
            return FormComparison(Answer.DIFFERENT, "shape", name, f"expected {len(mine)} elements, got {len(its)}")
        if all(_same(array, its[label]) for label, array in mine.items()):
            continue  # what leads there is not looked at: that takes longer than all the rest
        value = form.value(name)
        paths = (before.path(output), after.path(value if value is not None else output))
        for label, array in mine.items():
            leaf = Leaf(name, label, output, {r.target.name: a for r, a in _pairs(before, array, its[label])})
            steady = functools.cache(functools.partial(far_from_steps, program, output, inputs, rerun))
            found = _compare(before, after, leaf, array, its[label], paths, bitwise, steady, proofs)
            if found.answer is Answer.DIFFERENT:
                return found
            if found.answer is Answer.UNDECIDED:
                open_answer = found
    return open_answer or FormComparison(Answer.SAME)


def _same(mine: np.ndarray, its: np.ndarray) -> bool:
    """Whether type, sizes and elements are equal, NaN being equal to itself."""
    return mine.dtype == its.dtype and mine.shape == its.shape and bool(np.all(_alike(mine, its)))


def _alike(mine: np.ndarray, its: np.ndarray) -> np.ndarray:
    same = np.asarray(mine == its)
    if is_float(mine.dtype) or mine.dtype.kind == "c":
        same = same | (np.isnan(mine) & np.isnan(its))
    return same


def _renamed(result: RunResult) -> RunResult:
    return replace(result, target=replace(result.target, name=result.target.name + _OTHER))


def _pairs(case: Case, mine: np.ndarray, its: np.ndarray) -> Sequence[tuple[RunResult, np.ndarray]]:
    return [(r, its if r.target.name.endswith(_OTHER) else mine) for r in case.results]


def _ended(result: RunResult, optimised: bool) -> FormComparison:
    if result.exit in (Exit.CRASH, Exit.EXITED):
        return FormComparison(Answer.DIFFERENT, "crash", reason=result.error)
    if result.exit is Exit.HANG:
        return FormComparison(Answer.DIFFERENT, "hang", reason="the other form ran")
    if result.exit is Exit.REJECTED and (
        INTERNAL.search(result.error) or (optimised and not DATA_DEPENDENT.search(result.error))
    ):
        return FormComparison(Answer.DIFFERENT, "rejection", reason=result.error)
    if result.exit in (Exit.REJECTED, Exit.UNSUPPORTED):
        return FormComparison(Answer.REFUSED, reason=result.error)
    return FormComparison(Answer.UNDECIDED, reason=f"{result.exit}: {result.error}")


def _compare(
    before: Case,
    after: Case,
    leaf: Leaf,
    mine: np.ndarray,
    its: np.ndarray,
    paths: tuple[Dataflow, Dataflow],
    bitwise: bool,
    steady: Callable[[], bool],
    proofs: Sequence[Callable[[], bool] | None],
) -> FormComparison:
    name = leaf.output
    if mine.dtype != its.dtype or mine.shape != its.shape:
        got, wanted = f"{its.dtype}{list(its.shape)}", f"{mine.dtype}{list(mine.shape)}"
        if any(p.data_shaped or p.random for p in paths):
            return FormComparison(Answer.UNDECIDED, "shape", name, f"{wanted} and {got}: the shape depends on elements")
        return FormComparison(Answer.DIFFERENT, "shape", name, f"expected {wanted}, got {got}", "", wanted, got)
    same = _alike(mine, its)
    if bool(np.all(same)):
        return FormComparison(Answer.SAME)
    place = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0])
    exact = bitwise and (not paths[0].dtypes or paths[0].ops <= with_trait("bit_exact"))
    doubt = _doubt(paths[:1] if exact else paths, mine, its, steady, proofs)
    if doubt:
        return FormComparison(Answer.UNDECIDED, "difference", name, doubt)
    if exact or not paths[0].dtypes:
        return _differs(leaf, mine, its, place, "nothing on the way rounds")
    if not is_float(mine.dtype):
        if paths[0].jumps and steady():
            return _differs(leaf, mine, its, place, "every step on the way is far from where it jumps")
        return FormComparison(Answer.UNDECIDED, "difference", name, "rounding errors may have decided it")
    least = max(floor(before, leaf, paths[0], measured=False), floor(after, leaf, paths[1], measured=False))
    distance = np.abs(mine.astype(np.float64) - its.astype(np.float64))
    if bool(np.all(same | (distance <= FACTOR * least))):
        return FormComparison(Answer.SAME)  # however far rounding moves it
    scale = scale_of(before, leaf, paths[0], {n: a.astype(np.float64) for n, a in leaf.values.items()})
    if scale.unsteady:
        return FormComparison(Answer.UNDECIDED, "difference", name, "it differs from run to run")
    known = scale.measured or bool(paths[0].jumps)  # steps far from where they jump move nothing
    if not known:
        return FormComparison(Answer.UNDECIDED, "difference", name, "how far rounding moves it could not be measured")
    bound = np.broadcast_to(FACTOR * (np.maximum(scale.unit, least) if scale.measured else least), mine.shape)
    with np.errstate(invalid="ignore"):
        far = np.where(np.isinf(bound), 0.0, distance / bound)
    far = np.where(same, 0.0, far)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
    if not far[place] > 1:
        return FormComparison(Answer.SAME)
    why = f"a difference of {distance[place]:.3g} where {bound[place]:.3g} is allowed"
    return _differs(leaf, mine, its, place, why, float(bound[place]))


def _differs(
    leaf: Leaf, mine: np.ndarray, its: np.ndarray, place: tuple[int, ...], why: str, bound: float | None = None
) -> FormComparison:
    element = f"{leaf.label}[{', '.join(map(str, place))}]"
    expected, got = str(mine[place]), str(its[place])
    numbers = mine.dtype.kind in "iuf"
    distance = abs(float(mine[place]) - float(its[place])) if numbers else None
    reason = f"{element}: {expected} as it was, {got} rewritten; {why}"
    return FormComparison(Answer.DIFFERENT, "difference", leaf.output, reason, element, expected, got, distance, bound)


def _doubt(
    paths: Sequence[Dataflow],
    mine: np.ndarray,
    its: np.ndarray,
    steady: Callable[[], bool],
    proofs: Sequence[Callable[[], bool] | None],
) -> str:
    """Why a difference of elements is no fault; empty if nothing speaks against it."""
    floats = is_float(mine.dtype)
    special = floats and not (np.isfinite(mine).all() and np.isfinite(its).all())
    for path, proof in zip(paths, proofs, strict=False):
        if path.random:
            return f"{', '.join(path.random)} draws"
        specials = path.specials or (floats and not np.isfinite(mine).all())
        if opens := [
            o.what for o in path.open if (specials or special or not o.specials_only) and o.what not in _DECIDED
        ]:
            return f"undefined behaviour ({', '.join(opens)})"
        if path.jumps and not (set(path.jumps) <= set(paths[0].jumps) and steady()):
            return f"{', '.join(path.jumps)} jump"
        if specials and path.ops - with_trait("defined_for_nan"):
            return "NaN or Inf stands in the inputs or in the original's results"
        if path.subnormal:
            return "subnormal numbers"
        blur = path.blur()
        if blur and proof is not None and proof():
            blur = path.blur(clean=True)  # what cannot arise hides nothing
        if blur:
            return blur
    if floats:
        finite = np.abs(mine[np.isfinite(mine)].astype(np.float64))
        dtypes = frozenset({mine.dtype}).union(*(path.dtypes for path in paths))
        if finite.size and finite.max() >= min(map(huge, dtypes)):
            return "magnitudes are close to an overflow"
    return ""
