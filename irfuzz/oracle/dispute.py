"""A disagreement that an oracle has found, before it is decided whether anything excuses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irfuzz.execute.run_types import RunResult, Target
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.numeric.nan_order_dependence import contradicts_itself
from irfuzz.oracle.verdict import Symptom

if TYPE_CHECKING:
    from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
    from irfuzz.oracle.runs_to_judge import Case, Leaf


def _no() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Dispute:
    """A disagreement that is about to be told, and what the excuses look at.

    Attributes:
        case: the program and its runs.
        symptom: what is wrong.
        target: who is blamed.
        witnesses: those that agree against it.
        firm: two independent ones do, and nobody independent supports it.
        path: what the output is computed from; of values only.
        leaf: the tensor; of numbers only.
        result: what the target did; of refusals only.
        specials: NaN or Inf is fed, is a constant, or is what the witnesses give.
        clean: asks whether it was seen that neither NaN nor infinity arises inside; may cost a run of the shadow.
        settled: asks whether every run of the shadow gives what the witnesses give, while nothing overflows in it; may
            cost a run of the shadow.
        measured: asks whether a move of the inputs moved anything; may cost reruns.
        blurred: moving the inputs by rounding errors changes every element that differs.
        unsteady: targets whose results differ from run to run.
        distance: the largest difference; ``None`` if elements are no numbers.
        spread: what ``FACTOR`` times the witnesses' own spread allows; only if no shadow decides.
        steady_shape: asks whether rounding errors leave the shape as it is; may cost reruns, or a run of the shadow.
        fixed_shape: the program says the whole shape before any run.
        small_type: a type of less than a byte was given or expected.
        proven: the refusal contradicts the component itself, or ONNX: no other has to.
        overruled: as many components are on its side as on that of the witnesses.
        ruled: ONNX's rules decide every element in dispute (``irfuzz.oracle.onnx_rules``).
    """

    case: Case
    symptom: Symptom
    target: Target
    witnesses: tuple[Target, ...]
    firm: bool = True
    path: Dataflow | None = None
    leaf: Leaf | None = None
    result: RunResult | None = None
    specials: bool = False
    clean: Callable[[], bool] = _no
    settled: Callable[[], bool] = _no
    steady_shape: Callable[[], bool] = _no
    fixed_shape: bool = False
    measured: Callable[[], bool] = _no
    blurred: bool = False
    unsteady: frozenset[str] = frozenset()
    distance: float | None = None
    spread: float = 0.0
    small_type: bool = False
    overruled: bool = False
    proven: bool = False
    ruled: bool = False

    @property
    def of_floats(self) -> bool:
        """Whether the tensor in dispute is floating-point."""
        return self.leaf is not None and is_float(next(iter(self.leaf.values.values())).dtype)

    def numeric(self) -> bool:
        """Whether the shadow has met no NaN; may cost a run of it."""
        run = self.case.whole_shadow()
        return run is not None and run.numeric

    def two_minds(self) -> bool:
        """Whether the target answers the same numbers, turned around, in another way; may cost reruns."""
        return self.leaf is not None and contradicts_itself(self.case, self.leaf, self.target, self.witnesses)
