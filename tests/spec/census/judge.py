"""Classes the agreement between a call's spec and what every component made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.facts import Fact, TensorFact, tensors_in
from irfuzz.mutate.editing.runtime_refusals import refusal
from irfuzz.spec import OpSpec, bindings
from tests.spec.census.calls import Case


class Agreement(StrEnum):
    """How the spec's answer and the components' stand to each other."""

    VALID = "agreed valid"
    PARTLY_REFUSED = "partly refused"
    """The spec accepts, some component refuses: element types without kernels, most often."""
    UNDER_REFUSED = "under-refused"
    """The spec accepts, every component refuses: a rule is missing."""
    DECLARED = "declared"
    """The spec accepts, but says that the call is not run: types that are not portable, ``runtime_refusals.py``."""
    INVALID = "agreed invalid"
    PARTLY_ACCEPTED = "partly accepted"
    """The spec refuses and so does a component, but not every one; or they compute different numbers."""
    OVER_REFUSED = "over-refused"
    """The spec refuses, every component accepts, and their numbers agree: a rule is too strict."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One call.

    Attributes:
        refused: what the spec has against it.
        declared: why irfuzz does not make such calls although they are valid.
        answers: by component, ``ok``, ``refused``, ``gap`` (no kernel) or ``died``, and the first line of its words.
        agree: whether the numbers of those that accept are the same; ``None`` with fewer than two of them.
    """

    kind: str
    where: str
    text: str
    refused: tuple[str, ...]
    declared: str
    answers: Mapping[str, tuple[str, str]]
    agree: bool | None
    difference: str = ""

    def accepted_by(self, among: Sequence[str]) -> list[str]:
        """Components that computed something."""
        return [c for c in among if self.answers[c][0] == "ok"]

    def agreement(self, among: Sequence[str]) -> Agreement:
        """The class, looking at the components that have the operator at all."""
        accepted = self.accepted_by(among)
        everyone = len(accepted) == len(among) and len(among) > 0
        if not self.refused:
            if everyone:
                return Agreement.VALID
            if self.declared:
                return Agreement.DECLARED
            anyone = any(answer == "ok" for answer, _ in self.answers.values())
            return Agreement.PARTLY_REFUSED if anyone else Agreement.UNDER_REFUSED
        if not accepted:
            return Agreement.INVALID
        if everyone and len(among) > 1 and self.agree:
            return Agreement.OVER_REFUSED
        return Agreement.PARTLY_ACCEPTED


def judge(kind: str, where: str, case: Case, results: Sequence[RunResult]) -> Judged:
    """Ask the spec about ``case`` and compare what the components computed."""
    env, violations = bindings(case.spec, case.facts, case.attrs)
    refused = tuple(str(v) for v in violations)
    declared = "" if refused else _declared(case, env)
    answers = {r.target.component: (_answer(r), r.error) for r in results}
    values = [list(r.outputs.values()) for r in results if r.exit is Exit.OK]
    agree = same(values) if len(values) > 1 else None
    told = " | ".join(_shown(r) for r in results if r.exit is Exit.OK) if agree is False else ""
    return Judged(kind, where, case.text(), refused, declared, answers, agree, told)


def _shown(result: RunResult) -> str:
    """The outputs on one line: element type, shape and the first elements."""
    texts = []
    for value in result.outputs.values():
        if isinstance(value, np.ndarray):
            texts.append(f"{value.dtype}{list(value.shape)} {value.ravel()[:6].tolist()}")
        else:
            texts.append("a sequence" if isinstance(value, list) else repr(value))
    return f"{result.target.component}: {'; '.join(texts)}"


def _answer(result: RunResult) -> str:
    match result.exit:
        case Exit.OK:
            return "ok"
        case Exit.UNSUPPORTED:
            return "gap"
        case Exit.REJECTED:
            return "refused"
        case _:
            return "died"


def _declared(case: Case, env: Mapping[str, Any]) -> str:
    """Why irfuzz makes no such call, though it keeps ONNX's rules; or nothing."""
    unportable = not_portable(case.spec, env, case.facts)
    if unportable:
        return unportable
    facts = [f if isinstance(f, TensorFact) else None for f in case.facts]
    refused = "" if case.spec.domain or not facts else refusal(case.spec.op, facts, case.attrs)
    if refused:
        return refused
    open_results = (u for u in case.spec.undefined if u.when is not None and u.when.holds(env) is True)
    return next((f"undefined: {u.name}: {u.why}" for u in open_results), "")


def not_portable(spec: OpSpec, env: Mapping[str, Any], facts: Sequence[Fact | None]) -> str:
    """The element types that ``[portable]`` leaves out of those that the call has."""
    bound: dict[str, ir.DataType] = {}
    for i, fact in enumerate(facts):
        formal = spec.formal(i)
        tensor = tensors_in(fact)
        if tensor is not None and formal is not None:
            bound[formal.type_str] = tensor.dtype
    for name in spec.type_vars:
        if name not in bound and isinstance(env.get(name), str):
            bound[name] = ir.DataType[env[name].upper()]
    for name, dtype in bound.items():
        if name in spec.portable and dtype not in spec.portable[name]:
            return f"{name} = {dtype.name.lower()} is not portable"
    for combination in spec.portable_except:
        if all(bound.get(v) == d for v, d in combination.items()):
            return f"{combination} is not portable"
    return ""


def same(results: Sequence[list[Any]]) -> bool:
    """All results are the first one, up to rounding of single floats (or of the output's own, where it is smaller)."""
    first, *others = results
    return all(
        len(first) == len(other) and all(_same(a, b) for a, b in zip(first, other, strict=True)) for other in others
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if a is None or b is None:
        return a is None and b is None
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "OSUT" or b.dtype.kind in "OSUT":
        return bool((a.astype(str) == b.astype(str)).all())
    if a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iub":
        wide = a.astype(np.float64) - b.astype(np.float64)
        return bool(a.dtype.kind != "b" and a.dtype.itemsize == 1 and np.all(np.abs(wide) <= 1)) or np.array_equal(a, b)
    if a.dtype.kind == "c":
        return bool(np.allclose(a, b, 1e-4, 1e-5, equal_nan=True))
    eps = float(ml_dtypes.finfo(a.dtype).eps) if a.dtype.kind in "fV" and "int" not in a.dtype.name else 0.0
    x, y = a.astype(np.float64), b.astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)))
    tolerance = max(1e-4, 16 * eps) * scale
    with np.errstate(all="ignore"):
        return bool(np.all((np.abs(x - y) <= tolerance) | (x == y) | (np.isnan(x) & np.isnan(y))))
