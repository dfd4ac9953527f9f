"""One way to fill the inputs of a program: what inference and a run say of sizes for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning.axis_kinds import Kind
from irfuzz.generate.input_planning.open_axes import AxisGroup, inputs_of
from irfuzz.generate.input_planning.shape_inference_probe import InferenceProbe, probe
from irfuzz.generate.input_planning.size_search import EMPTY, FAILED, REFUSED, RUNS, Grade, Sizes
from irfuzz.generate.input_planning.trial_run_outcome import Runtime, TrialRun, with_shapes
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_domain import InputDomain, InputVariant, set_input_domain, set_input_variants
from irfuzz.ir.program import Program
from irfuzz.spec import Specs

MOST_ELEMENTS = 4_000_000
"""Of all inputs together; larger combinations are not tried."""

MOST_INNER = 1 << 28
"""Elements of all inner tensors together, where no run tells how long they take."""

MOST_SECONDS = 2.0
"""A run that takes longer is the last resort."""


class Trial:
    """Judges sizes for one program.

    Args:
        program: stays as it is.
        groups: of open axes.
        domains: of the elements of inputs.
        choices: the elements of inputs that have one of a few values.
        lengths: inputs whose elements are the size of the longest axis of the others.
        runtime: runs the program; ``None``: there is none.
        specs: rules of operators.
        seconds: that a run may take.
        ask: have a run judge even what inference settles, because elements may be wrong.
        lenient: have a run judge even what breaks a rule for certain: some runtimes let it pass.
    """

    def __init__(
        self,
        program: Program,
        groups: Sequence[AxisGroup],
        domains: Mapping[str, InputDomain],
        choices: Mapping[str, float],
        lengths: frozenset[str],
        runtime: Runtime | None,
        specs: Specs,
        *,
        ask: bool = False,
        seconds: float = MOST_SECONDS,
        lenient: bool = False,
    ) -> None:
        self._program = program
        self._axes = {place: group.name for group in groups for place in group.places}
        self._kinds = {group.name: group.kind for group in groups}
        self._domains = domains
        self.choices = choices
        self._lengths = lengths
        self._runtime = runtime
        self._specs = specs
        self._ask = ask
        self._seconds = seconds
        self._lenient = lenient
        self._probes: dict[tuple[tuple[str, int], ...], InferenceProbe] = {}
        self._runs: dict[tuple[tuple[str, int], ...], Grade] = {}

    def shapes(self, sizes: Sizes) -> dict[str, tuple[int, ...]]:
        """Shapes of all inputs by name, with ``sizes`` of the groups in place of open axes."""
        found: dict[str, tuple[int, ...]] = {}
        for value in inputs_of(self._program):
            name, fact = value.name or "", self._program.fact(value)
            assert isinstance(fact, TensorFact)
            axes = enumerate(fact.shape or ())
            found[name] = tuple(d if isinstance(d, int) else sizes[self._axes[name, axis]] for axis, d in axes)
        return found

    def elements(self, sizes: Sizes) -> int:
        """Number of elements of all inputs together, under these sizes of the groups."""
        return sum(math.prod(shape) for shape in self.shapes(sizes).values())

    def row(self, sizes: Sizes) -> dict[str, InputVariant]:
        """What each input is with these sizes, by name: its shape, and its elements if only one content is right."""
        return {
            name: InputVariant(shape, self._exact(name, shape, sizes)) for name, shape in self.shapes(sizes).items()
        }

    def inner(self, sizes: Sizes) -> int:
        """Elements of all computed values of the main graph together, as far as inference knows; what has no known size
        counts 0.
        """
        return self._probe(sizes).elements

    def settled(self, sizes: Sizes) -> bool:
        """Whether inference alone says that the program runs, and its inner tensors have no more than ``MOST_INNER``
        elements in all.
        """
        found = self._probe(sizes)
        return found.settled and found.elements <= MOST_INNER

    def probe(self, sizes: Sizes) -> Grade:
        """What inference says, without a run; equal sizes are inferred once.

        Returns:
            ``REFUSED`` if too many elements or a broken rule forbid the sizes, ``RUNS`` with ``ran`` if no run is
            needed, and ``EMPTY`` without it if one has to decide.
        """
        if self.elements(sizes) > MOST_ELEMENTS:
            return Grade(REFUSED, why=f"more than {MOST_ELEMENTS} elements")
        found = self._probe(sizes)
        if found.why_not and (self._runtime is None or (found.certain and not self._lenient)):
            return Grade(REFUSED, why=found.why_not)
        known = not self.choices and not self._lengths and not self._ask and self.settled(sizes)
        if known or self._runtime is None:
            return Grade(RUNS, -found.empty, ran=True)
        return Grade(EMPTY, -found.empty, found.why_not)

    def run(self, sizes: Sizes) -> Grade:
        """What a run says; there must be a runtime. Equal sizes are run once, and the answer is remembered."""
        key = tuple(sorted(sizes.items()))
        if key not in self._runs:
            self._runs[key] = self._run(sizes)
        return self._runs[key]

    def _run(self, sizes: Sizes) -> Grade:
        assert self._runtime is not None
        copy = self._program.clone()
        row = self.row(sizes)
        for value in inputs_of(copy):
            name = value.name or ""
            set_input_variants(value, [row[name]])
            if name in self._domains:
                set_input_domain(value, self._domains[name])
        found = self._probe(sizes)
        try:
            inputs = make_inputs(copy, 0)
            seen, shapes = with_shapes(self._program, found.unknown)
        except (InvalidProgram, Unsupported) as error:
            return Grade(FAILED, why=str(error), ran=True)
        return _graded(self._runtime(seen, inputs), shapes, found.empty, self._seconds)

    def _probe(self, sizes: Sizes) -> InferenceProbe:
        key = tuple(sorted(sizes.items()))
        if key not in self._probes:
            self._probes[key] = probe(self._program, self.shapes(sizes), self._specs)
        return self._probes[key]

    def _exact(self, name: str, shape: tuple[int, ...], sizes: Sizes) -> tuple[float, ...] | None:
        count = math.prod(shape)
        if name in self.choices:
            return (self.choices[name],) * count
        if name in self._lengths:
            longest = [
                size
                for (owner, _), group in self._axes.items()
                if owner != name and self._kinds[group] is not Kind.BATCH and (size := sizes[group])
            ]
            fixed = [d for n, s in self.shapes(sizes).items() if n != name and len(s) > 1 for d in s[1:2]]
            return (float(max(longest or fixed or [1])),) * count
        return None


def _graded(attempt: TrialRun, shapes: Sequence[str], empty: int, seconds: float) -> Grade:
    if attempt.error:
        return Grade(FAILED, why=attempt.error, ran=True)
    told = set(shapes)
    inner = [value for name, value in attempt.outputs.items() if name in told]
    outputs = {name: value for name, value in attempt.outputs.items() if name not in told}
    empty += sum(isinstance(v, np.ndarray) and v.size > 1 and 0 in v for v in inner)
    for name, value in outputs.items():
        if isinstance(value, np.ndarray) and not value.size:
            return Grade(EMPTY, -empty, f"output {name!r} is empty", ran=True)
    floats = [v for v in outputs.values() if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    if floats and all(np.isnan(v).all() for v in floats):
        return Grade(EMPTY, -empty, "outputs are NaN everywhere", ran=True)
    if attempt.seconds > seconds:
        return Grade(EMPTY, -empty, f"a run takes {attempt.seconds:.1f} s", ran=True)
    return Grade(RUNS, -empty, ran=True)
