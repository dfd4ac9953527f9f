"""How near what targets computed is to NaN or to an inconsistency, and whether it is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from irfuzz._native import difference, distances
from irfuzz.execute.run_types import RunResult, Value
from irfuzz.ir.program import Program
from irfuzz.oracle.numeric.dtype_thresholds import huge, is_float, largest
from irfuzz.spec import has_trait, trait_values

MARGIN = 1e-3
"""A label counts where it leads by this share of the largest score; below, rounding may decide it."""

T_M = 0.2
"""CRADLE's threshold, for outputs without labels: ``sum |a - b| / (sum |a| + sum |b|)`` (equation 4, truth 0)."""

MOST_OBJECTIVES = 32
"""So many operands are watched at most; with more objectives than parents selection would know no best."""


@dataclass(frozen=True, slots=True)
class EvolutionFault:
    """What was found.

    Attributes:
        kind: ``nan``, ``inconsistency`` or ``crash``.
        targets: names of the target that shows it, and of the one it disagrees with.
        value: name of the value in question; empty for a crash.
        shown: for people.
        largest: largest absolute difference; 0 if there is none.
    """

    kind: str
    targets: tuple[str, ...]
    value: str
    shown: str
    largest: float = 0.0


def _floats(values: Mapping[str, Value]) -> dict[str, np.ndarray]:
    return {n: v for n, v in values.items() if isinstance(v, np.ndarray) and v.size and is_float(v.dtype)}


Hazard = Callable[[np.ndarray, np.ndarray], float]


def _least(operand: np.ndarray, other: np.ndarray) -> float:
    return -float(operand.min())


def _most(operand: np.ndarray, other: np.ndarray) -> float:
    return float(operand.max())


def _outside(operand: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(operand).max())


def _both_zero(operand: np.ndarray, other: np.ndarray) -> float:
    """0 / 0 is NaN, and so is Inf / Inf, which ``overflow`` is for."""
    return -float((np.abs(operand) + np.abs(other)).min())


def _no_row(operand: np.ndarray, other: np.ndarray) -> float:
    """A row whose norm is 0."""
    return -float(np.abs(operand).max(axis=-1).min()) if operand.ndim else -float(np.abs(operand))


def _zero_by_infinity(operand: np.ndarray, other: np.ndarray) -> float:
    """How near to 0 a factor of an infinity comes; nothing if there is no infinity."""
    one, two = np.broadcast_arrays(np.abs(operand), np.abs(other))
    factors = [*two[np.isinf(one)], *one[np.isinf(two)]]
    return -float(min(factors)) if factors else -np.inf


HAZARDS: Mapping[str, Hazard] = {
    "largest": _outside,
    "least": _least,
    "most": _most,
    "row": _no_row,
    "zero_by_infinity": _zero_by_infinity,
    "zeros": _both_zero,
}
"""By name (the trait ``nan_objective``): larger is nearer to where a result is NaN, or an infinity that becomes one."""


class NanFitness:
    """Objectives that lead to NaN; more is nearer.

    The first is the paper's (2.4.4): ``max - min`` of the outputs. Then how near any inner value is to overflow, how
    many inner values have infinities, and for operators with a domain how near their operands are to its end.

    Args:
        program: whose inner values are read.
        paper: only the paper's objective.
    """

    def __init__(self, program: Program, *, paper: bool = False) -> None:
        self._outputs = [v.name or "" for v in program.graph.outputs]
        self._order = [o.name for n in program.nodes() for o in n.outputs if o.name]
        self._paper = paper
        self._hazards: list[tuple[Hazard, str, str]] = []
        for node in program.nodes():
            goal = trait_values("nan_objective").get(node.op_type) if node.domain in ("", "ai.onnx") else None
            names = [v.name or "" for v in node.inputs if v is not None]
            if goal is not None and names and len(self._hazards) < MOST_OBJECTIVES:
                self._hazards.append((HAZARDS[goal["name"]], names[0], names[-1]))

    def score(self, results: Sequence[RunResult], inputs: Mapping[str, Value]) -> list[float]:
        """Objectives of one chromosome: the best of its targets in each, more being nearer to NaN.

        Args:
            results: of each target on it, with inner values as outputs; targets without outputs do not count.
            inputs: values of the program's inputs, which operators may read, too.

        Returns:
            One number with ``paper``, else three and one for each operator that is watched; ``-inf`` in what nothing is
                known of.
        """
        rows = [self._of(_floats(r.outputs), _floats(inputs)) for r in results if r.outputs]
        count = 1 if self._paper else 3 + len(self._hazards)
        return np.max(rows, axis=0).tolist() if rows else [-np.inf] * count

    def _of(self, values: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> list[float]:
        names = list(values)
        table = distances([*values.values()], [*values.values()])
        low, high = dict(zip(names, table["low_a"], strict=True)), dict(zip(names, table["high_a"], strict=True))
        spreads = [float(high[n]) - float(low[n]) for n in self._outputs if n in values]
        spread = max((s for s in spreads if s == s), default=-np.inf)
        if self._paper:
            return [spread]
        heights = [
            max(abs(float(low[n])), abs(float(high[n]))) / largest(values[n].dtype)
            for n in names
            if low[n] == low[n]  # NaN: nothing finite
        ]
        infinite = int(((table["posinf_a"] + table["neginf_a"]) > 0).sum())
        known = {**inputs, **values}
        return [
            spread,
            max(heights, default=-np.inf),
            float(infinite),
            *(_near(hazard, known.get(a), known.get(b)) for hazard, a, b in self._hazards),
        ]

    def fault(self, results: Sequence[RunResult]) -> EvolutionFault | None:
        """The first value, in order of computation, that is NaN on a target (the paper's oracle 2).

        Args:
            results: of each target on one chromosome, with inner values as outputs; targets are looked at in this
                order.

        Returns:
            A fault of kind ``nan`` that names one target and the value; ``None`` if no floating-point value has a NaN.
        """
        for result in results:
            values = _floats(result.outputs)
            for name in [*(n for n in self._order if n in values), *(n for n in values if n not in self._order)]:
                count = int(np.isnan(values[name]).sum())
                if count:
                    shown = f"{name} is NaN in {count} of {values[name].size} elements on {result.target.name}"
                    return EvolutionFault("nan", (result.target.name,), name, shown)
        return None


def _near(hazard: Hazard, operand: np.ndarray | None, other: np.ndarray | None) -> float:
    if operand is None or other is None:
        return -np.inf
    with np.errstate(all="ignore"):
        score = hazard(operand.astype(np.float64), other.astype(np.float64))
    return score if score == score else -np.inf


class InconsistencyFitness:
    """Objectives that lead targets apart.

    The first is the paper's (2.4.3): the layer distance (definition 4) of the logits, which are the outputs, or what a
    Softmax at the end reads; the largest over pairs of targets. The second is the same relative to the magnitude.

    Args:
        program: whose outputs are compared.
    """

    def __init__(self, program: Program) -> None:
        self._labels = {v.name or "" for v in program.graph.outputs}
        ends = [(v.name or "", v.producer()) for v in program.graph.outputs]
        self.logits = tuple(
            p.inputs[0].name or ""
            for _, p in ends
            if p is not None and has_trait(p, "probabilities") and p.inputs and p.inputs[0] is not None
        )

    def score(self, results: Sequence[RunResult], inputs: Mapping[str, Value]) -> list[float]:  # noqa: ARG002 - as the other
        """Objectives of one chromosome: the greatest layer distance over pairs of targets (definition 4), and the same
        relative to the magnitude.

        Args:
            results: of each target on it, with logits and outputs; those without outputs do not count.
            inputs: not read; ``NanFitness`` needs them.

        Returns:
            Two numbers, more is further apart; ``-inf`` if no two targets computed a float value of the same name, type
                and shape.
        """
        best = [-np.inf, -np.inf]
        for a, b in combinations([r for r in results if r.outputs], 2):
            pairs = self._pairs(a, b)
            if not pairs:
                continue
            table = distances([x for _, x, _ in pairs], [y for _, _, y in pairs])
            means = table["mean_abs"]
            relative = [
                float(m) / max(float(np.abs(x.astype(np.float64)).mean()), 1e-30)
                for m, (_, x, _) in zip(means, pairs, strict=True)
            ]
            rows = [float(np.max(means)), float(np.max(relative))]
            best = [max(o, n) if n == n else o for o, n in zip(best, rows, strict=True)]
        return best

    def fault(self, results: Sequence[RunResult]) -> EvolutionFault | None:
        """The first output with another label, NaN on one side only, or beyond ``T_M`` if it has no labels.

        Args:
            results: of each target on one chromosome; pairs are looked at in this order. Outputs of different types or
                shapes are not compared.

        Returns:
            A fault of kind ``inconsistency`` that names both targets and the output; ``None`` if all pairs agree.
        """
        for a, b in combinations([r for r in results if r.outputs], 2):
            for name, x, y in self._pairs(a, b):
                shown = apart(x, y) if name in self._labels else ""
                if shown:
                    most = float(difference(x, y).max_abs)
                    names = (a.target.name, b.target.name)
                    return EvolutionFault(
                        "inconsistency", names, name, f"{name} of {names[0]} and {names[1]}: {shown}", most
                    )
        return None

    def _pairs(self, a: RunResult, b: RunResult) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Float values that both computed, in one type and shape; other types and shapes are not numeric matters."""
        first, second = _floats(a.outputs), _floats(b.outputs)
        return [
            (n, x, second[n])
            for n, x in first.items()
            if n in second and x.dtype == second[n].dtype and x.shape == second[n].shape
        ]


def apart(a: np.ndarray, b: np.ndarray) -> str:
    """How two arrays of one shape and type are inconsistent (definition 2); empty if they are not.

    If one of them is so large that overflow depends on the order of operations, nothing is said, and neither is of
    infinities, or of NaN on both sides. Arrays with a last axis of at least 2 have labels, the places of the largest
    element of each row; they differ if both lead clearly (``MARGIN``). Others are compared by their relative distance
    (``T_M``).
    """
    found = difference(a, b)
    if max(found.max_a, found.max_b) >= huge(a.dtype):
        return ""
    if bool(found.nan_a) != bool(found.nan_b):
        return f"NaN in {found.nan_a} and {found.nan_b} elements"
    x, y = a.astype(np.float64), b.astype(np.float64)
    sure = np.isfinite(x) & np.isfinite(y)
    if not sure.all():
        return ""
    if x.ndim and x.shape[-1] >= 2:
        rows = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]), strict=True)
        for index, (r, s) in enumerate(rows):
            i, j = int(r.argmax()), int(s.argmax())
            least = MARGIN * max(float(np.abs(r).max()), float(np.abs(s).max()))
            if i != j and r[i] - r[j] > least and s[j] - s[i] > least:
                return f"label {i} and {j} in row {index}"
        return ""
    total = float(np.abs(x).sum() + np.abs(y).sum())
    share = float(np.abs(x - y).sum()) / total if total else 0.0
    return f"relative distance {share:.3g} beyond {T_M:g}" if share > T_M else ""
