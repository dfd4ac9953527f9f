"""What an oracle looks at: a program and its runs; each costly part is made once and only if asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz._native import difference
from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.inlining import without_functions
from irfuzz.oracle.dataflow.concrete_size_substitution import sized
from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow, path_to
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, SCREEN, is_float, resolution, worth_a_look
from irfuzz.oracle.numeric.perturbation import Perturbations, Rerun, measure
from irfuzz.oracle.onnx_rules import DecidedValues
from irfuzz.oracle.symptoms.dtype_shape_majority import accepted
from irfuzz.oracle.value_structure import contradictions, describe, leaves_of, numpy_dtype
from irfuzz.oracle.witnesses_and_blame import rank, trusts_all, witnesses_of
from irfuzz.spec import Specs, load_specs

if TYPE_CHECKING:
    from irfuzz.execute.float64_shadow_runs import ShadowRun
    from irfuzz.ir.program import Program

Distrust = Callable[["Program", Target], str]
"""Says which known fault makes a target wrong about a program, empty if none does."""

Shadower = Callable[["Program", Mapping[str, Value]], "ShadowRun"]
"""Runs a program's shadow on some inputs (``Runner.shadow``)."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor on which targets may disagree.

    Attributes:
        output: name of the graph output.
        label: the same, with indices if the tensor stands in sequences (``"out[2]"``).
        value: the graph output's value in the program.
        values: the tensor of every target that gave one of the accepted kind, all of one dtype and shape, by target
            name in canonical order.
    """

    output: str
    label: str
    value: ir.Value
    values: Mapping[str, np.ndarray]


class Case:
    """What every oracle is given.

    Attributes:
        program: the program that was run.
        inputs: its inputs by name.
        results: what each target did, in canonical order (so no oracle depends on the caller's order).
        ran: those of ``results`` that went through.
        specs: operator specs, for undefined behaviour; the shipped ones if ``None``.
        expected_invalid: the program deliberately breaks a rule of ONNX.
    """

    __slots__ = (
        "_decided", "_distrust", "_distrusted", "_first", "_integers", "_leaves", "_nudges", "_paths", "_quick",
        "_rerun", "_shade", "_shadow", "_sized", "doubtful", "expected_invalid", "inputs", "program", "ran",
        "results", "specs",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        results: Sequence[RunResult],
        *,
        specs: Specs | None = None,
        rerun: Rerun | None = None,
        shadow: Shadower | None = None,
        quick: Shadower | None = None,
        expected_invalid: bool = False,
        distrust: Distrust = trusts_all,
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.results = sorted(results, key=lambda r: rank(r.target))
        # A result that is "ok" before the run stage says only that its process died of another target.
        self.ran = [r for r in self.results if r.exit is Exit.OK and r.stage is Stage.RUN]
        self.specs = specs
        self.expected_invalid = expected_invalid
        self._distrust = distrust
        self._distrusted: frozenset[str] | None = None
        self._rerun = rerun
        self._shadow = shadow
        self._quick = quick
        self._first: ShadowRun | None = None
        self._shade: ShadowRun | None = None
        self._paths: dict[str, Dataflow] = {}
        self._sized: Program | None = None
        self._integers: ExactIntegers | None = None
        self._decided: DecidedValues | None = None
        self._nudges: Perturbations | None = None
        self._leaves: list[Leaf] | None = None
        self.doubtful = self._doubtful()

    def target(self, name: str) -> Target:
        """The target of that name, among those that have a result in this case.

        Raises:
            StopIteration: none has.
        """
        return next(r.target for r in self.results if r.target.name == name)

    def witnesses(self, targets: Sequence[Target]) -> set[str]:
        """The independent witnesses of values among some targets, without those that a known fault makes wrong.

        Args:
            targets: any; whom this case distrusts is found out once, of all that ran.

        Returns:
            Names as ``witnesses_of`` gives them; several targets may be one witness.
        """
        if self._distrusted is None:
            ran = (r.target for r in self.ran)
            self._distrusted = frozenset(t.name for t in ran if self._distrust(self.program, t))
        return witnesses_of([t for t in targets if t.name not in self._distrusted])

    def path(self, output: ir.Value) -> Dataflow:
        """What stands between the program's sources and a graph output.

        It is worked out once for each output, on ``sized``, and rests on the case's inputs, specs and exact integers.

        Args:
            output: of the graph of the program as it was run.
        """
        name = output.name or ""
        if name not in self._paths:
            end = self.sized.value(name) or output
            self._paths[name] = path_to(self.sized, end, self.inputs, self.specs or load_specs(), self.integers)
        return self._paths[name]

    @property
    def integers(self) -> ExactIntegers:
        """The whole numbers of this run, as far as they can be computed exactly."""
        if self._integers is None:
            self._integers = ExactIntegers(self.sized, self.inputs)
        return self._integers

    @property
    def decided(self) -> DecidedValues:
        """The elements of this run that ONNX's rules decide."""
        if self._decided is None:
            self._decided = DecidedValues(self.sized, self.inputs, self.integers)
        return self._decided

    @property
    def sized(self) -> Program:
        """The program with the sizes of what is fed, and calls of its functions written out."""
        if self._sized is None:
            self._sized = self._with_sizes()
        return self._sized

    def _with_sizes(self) -> Program:
        """The program with the sizes of its inputs, and calls written out; as it is if what is fed breaks a rule."""
        try:
            return without_functions(sized(self.program, self.inputs))
        except InvalidProgram:
            return self.program

    def fact(self, output: ir.Value) -> Fact | None:
        """What is known of a graph output before the run, with the sizes of what is fed.

        Returns:
            The fact of the sized program if it has that output, else of the program itself; ``None`` if there is none.
        """
        end = self.sized.value(output.name or "")
        return self.program.fact(output) if end is None else self.sized.fact(end)

    def steady_shape(self, output: ir.Value, shape: tuple[int, ...] | None) -> bool:
        """Whether rounding errors leave the shape of a graph output as it is.

        They do if nothing rounds. Tried by the shadow, which has to give this shape, or on moved inputs by all targets;
        false if nobody could.
        """
        name = output.name or ""
        if self.path(output).exact:
            return True
        run = self.whole_shadow()
        reference = None if run is None else run.reference.get(name)
        if run is not None and reference is not None and reference.shape == shape:
            return name not in run.reshaped
        return self.nudges().steady(name)

    def nudges(self) -> Perturbations:
        """How every output moves when the inputs do by a few units in the last place (empty without a ``rerun``)."""
        if self._nudges is None:
            self._nudges = measure(self.program, self.inputs, self._rerun)
        return self._nudges

    @property
    def has_shadow(self) -> bool:
        """Whether a shadow can be asked; it may still refuse."""
        return self._shadow is not None

    def quick_shadow(self) -> ShadowRun | None:
        """The shadow with bounds that are never larger, at a lower price; ``None`` if there is none, or a whole one."""
        if self._quick is None or self._shade is not None:
            return None
        if self._first is None:
            self._first = self._quick(self.program, self.inputs)
        return self._first

    def shadow(self) -> ShadowRun:
        """What the program computes in float64, and how far its own roundings may move that; run once."""
        if self._shade is None:
            assert self._shadow is not None
            self._shade = self._shadow(self.program, self.inputs)
        return self._shade

    def whole_shadow(self) -> ShadowRun | None:
        """The same; ``None`` if there is none, or it refuses the program."""
        run = self.shadow() if self.has_shadow else None
        return None if run is None or run.refused else run

    def again(self, inputs: Mapping[str, Value], program: Program) -> Sequence[RunResult]:
        """What the targets do with other inputs and another program; nothing if they cannot run again.

        Args:
            inputs: values by graph input name.
            program: most often the case's own, or one of which more values are outputs.

        Returns:
            One result for each target, or an empty sequence.
        """
        return () if self._rerun is None else self._rerun(inputs, program)

    def leaves(self) -> list[Leaf]:
        """The tensors of the doubtful outputs, without the targets whose dtype, shape or structure is not accepted.

        They are collected once. A sequence gives one leaf for each of its tensors, and outputs that fewer than two
        targets computed give none, for nothing could be compared.
        """
        if self._leaves is None:
            self._leaves = []
            for output in self.doubtful:
                name = output.name or ""
                rows = {
                    r.target.name: dict(leaves_of(name, r.outputs[name]))
                    for r in accepted(self.ran, name, self.program.fact(output))
                }
                if len(rows) < 2:
                    continue
                for label in next(iter(rows.values())):
                    self._leaves.append(Leaf(name, label, output, {t: row[label] for t, row in rows.items()}))
        return self._leaves

    def magnitude(self, leaf: Leaf) -> float:
        """Largest finite magnitude of a tensor, as the median component sees it.

        Each component counts once, with the median of its targets; of an even number the lower one is taken.
        """
        by_component: dict[str, list[float]] = {}
        for name, array in leaf.values.items():
            by_component.setdefault(self.target(name).component, []).append(difference(array, array).max_a)
        return median_low([median_low(v) for v in by_component.values()])

    def _doubtful(self) -> list[ir.Value]:
        """The graph outputs on which the runs may disagree: the only ones that cost more than a few microseconds."""
        found: list[ir.Value] = []
        seen: set[str] = set()
        for output in self.program.graph.outputs:
            name = output.name or ""
            if name in seen:
                continue
            seen.add(name)
            if not self._agreed(name, self.program.fact(output)):
                found.append(output)
        return found

    def _agreed(self, name: str, fact: Fact) -> bool:
        """True if all runs gave the declared kind, and values whose distance no rule could call a difference."""
        if not isinstance(fact, TensorFact):
            return self._agreed_nested(name, fact)
        dtype = numpy_dtype(fact.dtype)
        shape = fact.static_shape
        first: np.ndarray | None = None
        eps = resolution(dtype) if is_float(dtype) else 0.0
        for result in self.ran:
            value = result.outputs.get(name)
            if not isinstance(value, np.ndarray) or value.dtype != dtype:
                return False
            if first is None:
                first = value
                if shape is None:
                    shape = value.shape
                    if contradictions(value, fact)[1]:
                        return False
            if value.shape != shape:
                return False
            if value is not first and not self._alike(first, value, eps):
                return False
        return True

    def _alike(self, one: np.ndarray, other: np.ndarray, eps: float) -> bool:
        """Whether two tensors differ by less than the smallest bound that the numeric oracle can come to."""
        if self._shadow is None or not eps:
            return _close(one, other, FACTOR * eps)
        d = difference(one, other)
        if d.mismatched or d.max_abs > SCREEN * eps * min(d.max_a, d.max_b):
            return False
        return not d.max_abs or not worth_a_look(other, one, eps * min(d.max_a, d.max_b), eps)

    def _agreed_nested(self, name: str, fact: Fact) -> bool:
        """The same for sequences, optionals and whatever irfuzz has no fact for; exact."""
        if any(name not in r.outputs for r in self.ran):
            return False
        values = [r.outputs[name] for r in self.ran]
        if not values or any(contradictions(values[0], fact)) or len({describe(v) for v in values}) > 1:
            return not values
        first = dict(leaves_of(name, values[0]))
        return all(_close(first[label], leaf, 0.0) for v in values[1:] for label, leaf in leaves_of(name, v))


def _close(a: np.ndarray, b: np.ndarray, limit: float) -> bool:
    if a.dtype.kind in "OUSc":
        return np.array_equal(a, b)
    d = difference(a, b)
    return d.mismatched == 0 and d.max_abs <= limit * min(d.max_a, d.max_b)
