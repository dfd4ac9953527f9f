"""Runs valid calls of operators, and all neighbours of these, and records one row an operator version."""

from __future__ import annotations

import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.adapters.adapter import Request
from irfuzz.execute.adapters.generated_source import TORCH, SourceAdapter
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.export.torch import lower_model
from irfuzz.isolate import Limits
from irfuzz.spec import OpSpec, Specs
from tests.spec.census.calls import Case, draw
from tests.spec.census.judge import Agreement, Judged, judge
from tests.spec.census.perturb import KINDS, neighbours

TARGETS = ("reference", "onnxruntime:disabled", "torch:eager")
AHEAD = 12
"""Calls under way at once, so that the three workers keep each other waiting less."""
OPSETS = (17, 21, 26)
"""Opsets at which operators are looked at: the one that everybody shares, one between, the newest of ONNXRuntime."""


class Lowering(SourceAdapter):
    """The PyTorch target without the checks that a ``Program`` makes on its way in: the lowering's own answer."""

    def prepare(self, program: Any, model: bytes, inputs: Mapping[str, Any], targets: Sequence[Target]) -> Request:
        """As ``SourceAdapter.prepare``; a lowering that fails is a refusal."""
        try:
            lowered = lower_model(ir.serde.deserialize_model(onnx.load_model_from_string(model)))
        except Unsupported:
            raise
        except Exception as error:
            raise InvalidProgram(f"lowering: {type(error).__name__}: {error}") from error
        message = {
            "do": "run",
            "source": lowered.source,
            "arrays": list(lowered.arrays),
            "inputs": [{"name": name} for name in inputs],
            "variants": [dict(t.options) for t in targets],
        }
        return message, [*lowered.arrays.values(), *inputs.values()]


@dataclass
class Census:
    """What came of one operator version.

    Attributes:
        drawn: valid calls that were drawn.
        components: those that run at least one of them; the others do not have the operator.
        refused_draws: drawn calls that none ran.
        counts: perturbed calls by class.
        examples: some calls by class, and those whose numbers differ or that killed a component.
    """

    op: str
    since: int
    opset: int
    drawn: int = 0
    components: tuple[str, ...] = ()
    bad_draws: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    differ: int = 0
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Perturbed calls."""
        return sum(self.counts.values())

    def add(self, judged: Judged) -> None:
        """Count one perturbed call."""
        agreement = judged.agreement(self.components)
        self.counts[agreement.value] += 1
        self.kinds[judged.kind] += 1
        if agreement in (Agreement.UNDER_REFUSED, Agreement.OVER_REFUSED):
            self._keep(agreement.value, judged)
        if agreement is Agreement.PARTLY_REFUSED:
            self._keep(agreement.value, judged, 60)
        if not judged.refused and not judged.declared and judged.agree is False:
            self.differ += 1
            self._keep("numbers differ", judged)
        if any(a == "died" for a, _ in judged.answers.values()):
            self._keep("died", judged)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        names = ("op", "since", "opset", "drawn", "components", "bad_draws", "differ", "examples")
        return {**{n: getattr(self, n) for n in names}, "counts": dict(self.counts), "kinds": dict(self.kinds)}

    def _keep(self, what: str, judged: Judged, most: int = 400) -> None:
        kept = self.examples.setdefault(what, [])
        if len(kept) < most:
            kept.append(
                {
                    "where": f"{judged.kind}: {judged.where}",
                    "call": judged.text,
                    "spec": list(judged.refused) or judged.declared,
                    "difference": judged.difference,
                    "answers": {c: (a if a == "ok" else f"{a}: {e}"[:300]) for c, (a, e) in judged.answers.items()},
                }
            )


def versions(specs: Specs, opsets: Sequence[int] = OPSETS, ops: Iterable[str] = ()) -> list[tuple[OpSpec, int]]:
    """Operator versions with an overlay, each with the newest of ``opsets`` at which it applies."""
    wanted = set(ops)
    found: dict[tuple[str, int], tuple[OpSpec, int]] = {}
    for opset in sorted(opsets):
        for spec in (*specs.overlaid(opset), *specs.nested(opset)):
            if not spec.domain and (not wanted or spec.op in wanted) and runs(spec):
                found[spec.op, spec.since] = (spec, opset)
    return [found[key] for key in sorted(found)]


def runs(spec: OpSpec) -> bool:
    """False where ``[portable]`` says that ONNXRuntime has no kernel for any element type: nothing can be drawn."""
    variables = [f.type_str for f in spec.inputs if f.option != "optional"]
    variables += [a.domain.dtype_of for a in spec.attrs.values() if a.domain and a.domain.dtype_of and not spec.inputs]
    return all(spec.portable.get(v, True) for v in variables)


def open_runner(seconds: float = 10.0) -> Runner:
    """A runner of the three components; a context manager."""
    adapters = {"torch:eager": Lowering(TORCH.component, TORCH.title, TORCH.distributions, preload=TORCH.preload)}
    return Runner(resolve(TARGETS), Limits(seconds=seconds, memory_bytes=1 << 30), adapters=adapters)


def census(
    runner: Runner,
    specs: Specs,
    n: int,
    seed: int | str = 0,
    *,
    most: int = 0,
    opsets: Sequence[int] = OPSETS,
    ops: Iterable[str] = (),
    progress: Callable[[Census], None] = lambda _: None,
) -> list[Census]:
    """Draw ``n`` valid calls of each operator version and perturb each; with ``most``, so many neighbours at most."""
    out: list[Census] = []
    for spec, opset in versions(specs, opsets, ops):
        record = Census(spec.op, spec.since, opset)
        cases = [c for k in range(n) if (c := draw(spec, opset, f"{seed} {k}")) is not None]
        record.drawn = len(cases)
        judged = list(judge_all(runner, (("drawn", "", c) for c in cases)))
        names = tuple(t.component for t in runner.targets)
        record.components = tuple(c for c in names if any(j.answers[c][0] == "ok" for j in judged))
        record.bad_draws = [f"{j.text}: {j.answers}" for j in judged if not j.accepted_by(record.components)]
        for j in judge_all(runner, _neighbours(cases, f"{seed} {spec.op} {spec.since}", most)):
            record.add(j)
        progress(record)
        out.append(record)
    return out


def _neighbours(cases: Sequence[Case], seed: str, most: int) -> Iterator[tuple[str, str, Case]]:
    """Each different neighbour once; where there are more than ``most`` of one call, an even choice over the kinds."""
    known = {c.key() for c in cases}
    for number, case in enumerate(cases):
        rng = np.random.default_rng(zlib.crc32(f"{seed} {number}".encode()))
        found: list[tuple[str, str, Case]] = []
        for kind, where, changed in neighbours(case, rng):
            other = changed.settled()
            key = other.key()
            if key not in known:
                known.add(key)
                found.append((kind, where, other))
        yield from found if not most or len(found) <= most else _some(found, most, rng)


def _some(found: list[tuple[str, str, Case]], most: int, rng: np.random.Generator) -> list[tuple[str, str, Case]]:
    order = [found[i] for i in rng.permutation(len(found))]
    queues = [deque(f for f in order if f[0] == kind) for kind in KINDS]
    out: list[tuple[str, str, Case]] = []
    while len(out) < most and any(queues):
        out += [q.popleft() for q in queues if q]
    return out[:most]


def judge_all(runner: Runner, cases: Iterable[tuple[str, str, Case]]) -> Iterator[Judged]:
    """Run each call on all components and judge it; what ONNX cannot spell is left out."""
    under_way: deque[tuple[str, str, Case, Any]] = deque()

    def first() -> Judged:
        kind, where, case, pending = under_way.popleft()
        return judge(kind, where, case, runner.collect(pending))

    for kind, where, case in cases:
        try:
            model, feeds = case.model()
        except (TypeError, ValueError, KeyError, AssertionError):
            if kind == "drawn":
                raise
            continue  # ONNX's own helper cannot spell it: there is no such call
        under_way.append((kind, where, case, runner.submit(model, feeds)))
        if len(under_way) >= AHEAD:
            yield first()
    while under_way:
        yield first()
