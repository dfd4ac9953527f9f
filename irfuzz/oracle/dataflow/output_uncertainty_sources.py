"""Properties of all that a graph output is computed from, as far as they blur a judgement."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Target, Value
from irfuzz.facts import TensorFact, tensors_in
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.evaluation.intermediate_precision import stages_of
from irfuzz.ir.inference.opaque_nodes import is_foreign
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.oracle.dataflow.ambiguous_resize_coordinates import rounds_sums
from irfuzz.oracle.dataflow.masked_nan import hidden_nan, overflowing_sum
from irfuzz.oracle.dataflow.rounding_free_nodes import rounds_nothing
from irfuzz.oracle.dataflow.source_value_magnitudes import magnitude, sources_of
from irfuzz.oracle.dataflow.subgraph_nodes import has_open_sizes, is_shell, nodes_inside, values_inside
from irfuzz.oracle.dataflow.undefined_behaviour import FedCall, can_be_met
from irfuzz.oracle.dataflow.unknown_operator_rounding import UNKNOWN_TERMS, quantises, terms_of_opaque
from irfuzz.oracle.dataflow.unspecified_nan_inf import OpenSpecials, open_specials
from irfuzz.oracle.numeric.dtype_thresholds import is_float, largest
from irfuzz.oracle.value_structure import numpy_dtype
from irfuzz.oracle.witnesses_and_blame import flushes
from irfuzz.spec import has_trait, trait_values, with_trait
from irfuzz.spec.constraints.call_check import bindings
from irfuzz.spec.constraints.expression_functions import Undefined

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs
    from irfuzz.spec.operator_spec import OpSpec

_MASK = 1e30
"""Constants of this magnitude are masks or sentinels, not terms."""

_DRAWN = "random"
"""How ``ops/`` calls it that elements are drawn."""


_SPECIALS = "infinity"
"""How names of what only infinities meet begin in ``ops/``."""


@dataclass(frozen=True, slots=True)
class OpenBehaviour:
    """Behaviour that ONNX leaves open, declared in ``ops/``: ``Op: name``, and whether only NaN or Inf meet it."""

    what: str
    specials_only: bool


@dataclass(frozen=True, slots=True)
class Dataflow:
    """What a graph output is computed from.

    Attributes:
        ops: operator types, those in subgraphs and functions too.
        dtypes: floating-point dtypes of all values on the way, the output's own included.
        roundings: number of rounding steps behind one element, sums counted by their terms.
        jumps: discontinuous operators with floating-point inputs.
        rounds: whether some of them round to whole numbers.
        quantised: how many operators quantise.
        random: operators that draw.
        data_shaped: operators whose output shape depends on floating-point values.
        absorbed: largest constant that is added to something on the way, and not saturated away afterwards.
        step: largest scale with which an operator quantises: one step to either side is nobody's fault.
        fed: largest finite magnitude among floating-point inputs.
        largest: the same, with constants.
        specials: NaN or Inf stands in an input or constant that something else than comparisons reads.
        nan: NaN does.
        unsaid: operators of which ONNX does not say what they do with them.
        subnormal: numbers do that are, or whose products are, below the smallest normal one: some flush these to zero.
        open: declared undefined behaviour that is not known to be avoided.
        hidden: an operator that may make NaN of ordinary numbers, and one behind it that may hide it.
        exact: nothing on the way rounds, so that what is fed decides every tie and step.
        interpolates: a Resize on the way makes whole numbers of weighted sums.
        overflowing: an operator whose sums of products may overflow on the way to finite ones.
    """

    ops: frozenset[str]
    dtypes: frozenset[np.dtype]
    roundings: float
    jumps: tuple[str, ...]
    rounds: bool
    quantised: int
    random: tuple[str, ...]
    data_shaped: tuple[str, ...]
    absorbed: float
    step: float
    fed: float
    largest: float
    specials: bool
    nan: bool
    unsaid: OpenSpecials
    subnormal: bool
    open: tuple[OpenBehaviour, ...]
    hidden: str
    exact: bool = False
    interpolates: bool = False
    overflowing: str = ""

    @property
    def narrow(self) -> bool:
        """True if floats of fewer bits than bfloat16's exponent range are on the way (half, float8)."""
        return any(largest(d) < _MASK for d in self.dtypes)

    def flushed(self, target: Target) -> str:
        """Why a target that gives zero for subnormal numbers may part from others; empty if it has no reason to."""
        if not flushes(target) or not (self.subnormal or self.ops & with_trait("underflows")):
            return ""
        found = [*self.jumps, *sorted(self.ops & (with_trait("domain_edge") | with_trait("discontinuous")))]
        return f"{target.name} flushes subnormal numbers, which may reach {', '.join(found[:4])}" if found else ""

    def blur(self, *, clean: bool = False) -> str:
        """Why correct components may differ by any amount on these inputs; empty if no reason is known.

        Args:
            clean: it was seen that neither NaN nor infinity arises inside.
        """
        if self.overflowing:
            return f"sums of products of {self.overflowing} may overflow inside, and end finite or not by their order"
        limit = min((math.sqrt(largest(d)) for d in self.dtypes), default=math.inf)
        if self.largest >= limit and not clean:
            # A product of two such numbers overflows, or not, in the order in which a component multiplies; behind a
            # Tanh, Clip or division nothing of it is to be seen.
            return f"{self.largest:.3g} among the inputs or constants may overflow inside"
        if self.subnormal and (found := [*self.jumps, *sorted(self.ops & with_trait("domain_edge"))]):
            return f"subnormal numbers, which may be flushed to zero, reach {', '.join(found[:4])}"
        if self.narrow and self.jumps and not clean:
            return "half precision may overflow inside, where a component does not compute in single"
        if self.hidden and not clean:
            return f"NaN may arise inside and be hidden ({self.hidden}), as ONNX leaves open"
        return ""


def path_to(
    program: Program,
    output: ir.Value,
    inputs: Mapping[str, Value],
    specs: Specs,
    integers: ExactIntegers | None = None,
) -> Dataflow:
    """Collect what the value of a graph output is computed from.

    Args:
        program: the program.
        output: one of its graph outputs.
        inputs: the values that were fed.
        specs: they declare undefined behaviour and numbers of terms.
        integers: whole numbers of the run, if they are computed already.
    """
    values = _elements_and_shapes_behind(program, output)
    nodes = sorted({p for v in values if (p := v.producer()) is not None}, key=program.positions().__getitem__)
    sizes_only = with_trait("shape_only")
    everything = [(n, [i for i, _ in nodes_inside(program, n)]) for n in nodes]
    floats = {d for v in values if (d := _float(program, v)) is not None}
    inside = [n for _, inner in everything for n in inner if n.op_type not in sizes_only]
    floats |= {
        d for n in inside for v in (*n.inputs, *n.outputs) if v is not None and (d := _float(program, v)) is not None
    }
    jumps, shaped = set[str](), set[str]()
    roundings, quantised, exact = 1.0, 0, True
    opens: dict[str, OpenBehaviour] = {}
    integers = integers or ExactIntegers(program, inputs)
    calls: list[FedCall] = []
    used = values | values_inside([n for node, inner in everything if len(inner) > 1 for n in inner if n is not node])
    for node, _ in everything:
        first, repeated = len(calls), False
        for n, times in nodes_inside(program, node):
            spec = specs.get(n.op_type, program.inference.opset(n.domain), n.domain)
            facts = [None if v is None else program.tensor(v) for v in n.inputs]
            env = _bindings(spec, n, facts, program)
            repeated = repeated or times > 1
            floats |= {numpy_dtype(kind) for kind in stages_of(program, n)}
            if not is_shell(program, n):
                exact = exact and rounds_nothing(program, n)
                roundings += times * _terms(n, facts, spec, env, program)
            quantised += quantises(program, n)
            if _is_data_shaped(program, n):
                shaped.add(n.op_type)
            if _jumps(program, n, used):
                jumps.add(n.op_type)
            if spec is not None:
                calls.append(call := FedCall(program, n, spec, inputs, used, integers))
                for name in can_be_met(call, env):
                    if name == _DRAWN:
                        continue  # ``random`` says whether the numbers reach the output; shapes do not hang on them
                    of_specials = name.startswith(_SPECIALS) or "nan" in name.lower()
                    opens[f"{n.op_type}: {name}"] = OpenBehaviour(f"{n.op_type}: {name}", of_specials)
        if repeated:
            calls += calls[first:]  # what a later turn does stands behind what an earlier one did
    ops = frozenset(n.op_type for _, inner in everything for n in inner)
    sources = sources_of(program, used, inputs)
    return Dataflow(
        ops=ops,
        dtypes=frozenset(floats),
        roundings=roundings,
        jumps=tuple(sorted(jumps)),
        rounds=bool(quantised or ops & with_trait("rounds_to_integers") or jumps & with_trait("casts")),
        quantised=quantised,
        random=tuple(sorted(_random(program, output, everything))),
        data_shaped=tuple(sorted(shaped if jumps else shaped & with_trait("data_dependent_shape"))) if floats else (),
        absorbed=_absorbed(program, output),
        step=_step(program, [n for _, inner in everything for n in inner], inputs),
        fed=sources.fed,
        largest=sources.largest,
        specials=sources.specials,
        nan=sources.nan,
        unsaid=open_specials(program, (n for _, inner in everything for n in inner)),
        subnormal=sources.subnormal,
        open=tuple(opens[k] for k in sorted(opens)),
        hidden=hidden_nan(calls),
        exact=exact,
        interpolates=any(map(rounds_sums, calls)),
        overflowing=overflowing_sum(calls),
    )


def _values_behind(
    output: ir.Value, stop: frozenset[str] = frozenset(), ends: Callable[[ir.Value], bool] | None = None
) -> set[ir.Value]:
    """Main-graph values on which ``output``'s elements depend, itself included, but not what stands before ``stop``.

    Nor is anything looked at that stands before a value for which ``ends`` is true.
    """
    graph, stop = output.graph, stop | with_trait("shape_only")
    found: set[ir.Value] = set()
    todo = [output]
    while todo:
        value = todo.pop()
        if value in found:
            continue
        found.add(value)
        node = value.producer()
        if node is None or node.op_type in stop or (ends and ends(value)):
            continue
        todo.extend(v for v in node.inputs if v is not None)
        for inner in nodes_within(node):
            todo.extend(v for v in inner.inputs if v is not None and v.graph is graph)
    return found


def _elements_and_shapes_behind(program: Program, output: ir.Value) -> set[ir.Value]:
    """The same, and if a shape is read that elements decide (``Shape`` of ``Unique``), what those depend on."""
    found, sizes_only = set[ir.Value](), with_trait("shape_only")
    todo = [output]
    while todo:
        behind = _values_behind(todo.pop())
        for node in [p for v in behind - found if (p := v.producer()) is not None and p.op_type in sizes_only]:
            for value in (v for v in node.inputs if v is not None):
                above = _values_behind(value)
                if any(_is_data_shaped(program, p) for v in above if (p := v.producer()) is not None):
                    todo.append(value)
        found |= behind
    return found


def _float(program: Program, value: ir.Value) -> np.dtype | None:
    fact = tensors_in(program.fact(value))
    kind = fact.dtype if fact is not None else value.dtype
    if kind is None:
        return None
    dtype = numpy_dtype(kind)
    return dtype if is_float(dtype) else None


def _float_inputs(program: Program, node: ir.Node) -> bool:
    """True if an input is floating-point, or of a type that is not known."""
    for value in node.inputs:
        if value is None:
            continue
        fact = tensors_in(program.fact(value))
        kind = fact.dtype if fact is not None else value.dtype
        if kind is None or is_float(numpy_dtype(kind)):
            return True
    return False


def _jumps(program: Program, node: ir.Node, used: set[ir.Value]) -> bool:
    """True if a node makes distant results of neighbouring floating-point inputs."""
    first = trait_values("discontinuous_from").get(node.op_type)
    if first is not None:
        read = any(o in used or o.is_graph_output() for o in node.outputs[first:])
        return read and _float_inputs(program, node)
    if has_trait(node, "casts"):
        return _float_inputs(program, node) and _float(program, node.outputs[0]) is None
    if quantises(program, node):
        return True
    if has_trait(node, "discontinuous"):
        # Loop and Where get their condition as a boolean, which may itself come from a comparison further up.
        if all(_is_certain(program, v) for v in node.outputs):
            return False
        return _float_inputs(program, node) and not has_trait(node, "selects")
    return False


def _bindings(
    spec: OpSpec | None, node: ir.Node, facts: list[TensorFact | None], program: Program
) -> dict[str, Any] | None:
    if spec is None or not spec.has_overlay:
        return None
    if not spec.undefined and (spec.numerics is None or spec.numerics.terms is None):
        return None  # nothing will be evaluated
    return bindings(spec, facts, program.attrs(node))[0]


def _is_data_shaped(program: Program, node: ir.Node) -> bool:
    if has_trait(node, "shape_from_last_input"):
        return _computed_shape(program, node)
    if not has_trait(node, "data_dependent_shape"):
        return False
    return not has_trait(node, "control_flow") or has_open_sizes(program, node)


def _computed_shape(program: Program, node: ir.Node) -> bool:
    """True if the input that says the output's shape is not known before the run."""
    value = next((v for v in reversed(node.inputs) if v is not None), None)
    fact = program.tensor(value)
    return program.const_array(value) is None and (fact is None or not fact.known)


def _terms(
    node: ir.Node, facts: list[TensorFact | None], spec: OpSpec | None, env: dict[str, Any] | None, program: Program
) -> float:
    """How many roundings stand behind one element of a node's output."""
    numerics = None if spec is None else spec.numerics
    if numerics is not None:
        if numerics.kind == "exact":
            return 0.0
        if numerics.terms is not None and env is not None:
            try:
                terms = numerics.terms.evaluate(env)
            except Undefined:
                terms = None
            if isinstance(terms, int | float) and math.isfinite(terms):
                return max(1.0, float(terms))
    if spec is None and is_foreign(node):
        return terms_of_opaque(facts)
    sizes = [f.size() for f in facts if f is not None]
    if has_trait(node, "contracts") and len(facts) > 1 and facts[1] is not None and facts[1].static_shape:
        # The weights hold at least one output's products on every axis but one.
        shape = facts[1].static_shape
        terms = math.prod(shape) / max(1, min(shape))
    else:
        made = program.tensor(node.outputs[0])
        size = made.size() if made is not None else None
        if not sizes or sizes[0] is None or size is None:
            return float(UNKNOWN_TERMS) if has_trait(node, "reduces") else 1.0
        terms = sizes[0] / size if size else 1.0
    steps = facts[0].shape[0] if has_trait(node, "recurrent") and facts and facts[0] and facts[0].shape else 1
    return max(1.0, terms) * (steps if isinstance(steps, int) else 16)


def _is_certain(program: Program, value: ir.Value) -> bool:
    """True if all elements are known to be the same in every run, whatever the inputs of its node are."""
    fact = program.tensor(value)
    if fact is None or fact.known:
        return fact is not None
    return fact.low is not None and fact.low == fact.high and not is_float(numpy_dtype(fact.dtype))


def _random(program: Program, output: ir.Value, everything: Sequence[tuple[ir.Node, list[ir.Node]]]) -> set[str]:
    """Operators whose draws reach an output; those that only decide what is certain in any case do not count."""
    drawing = with_trait("random") | with_trait("random_in_training")
    if not any(n.op_type in drawing for _, inner in everything for n in inner):
        return set()
    certain = functools.partial(_is_certain, program)
    reached = {p for v in _values_behind(output, ends=certain) if (p := v.producer()) is not None}
    drawn = [(node, inner) for node, inner in everything if node in reached]
    ops = {n.op_type for _, inner in drawn for n in inner}
    return ops & with_trait("random") | _training_dropout(program, drawn)


def _training_dropout(program: Program, everything: Iterable[tuple[ir.Node, list[ir.Node]]]) -> set[str]:
    for _, inner in everything:
        for node in inner:
            if has_trait(node, "random_in_training") and len(node.inputs) > 2 and node.inputs[2] is not None:
                mode = program.const_array(node.inputs[2])
                ratio = program.const_array(node.inputs[1]) if node.inputs[1] is not None else None
                drops = ratio is None or bool(np.any(ratio))
                if drops and (mode is None or bool(np.any(mode))):
                    return {node.op_type}
    return set()


def _absorbed(program: Program, output: ir.Value) -> float:
    """Largest constant added on the way: ``(x + 1e6) - 1e6`` has an error of 1e6 roundings, whatever x is."""
    top = 0.0
    for value in _values_behind(output, with_trait("saturates")):
        maker = value.producer()
        for node, _ in nodes_inside(program, maker) if maker is not None else ():
            first = trait_values("adds").get(node.op_type)
            # Those before the first are the signal, and factors, which are relative.
            for term in () if first is None else node.inputs[first:]:
                array = program.const_array(term)
                if array is not None and is_float(array.dtype):
                    top = max(top, magnitude(array, _MASK))
    return top


def _step(program: Program, nodes: Iterable[ir.Node], inputs: Mapping[str, Value]) -> float:
    """Largest scale of a quantising operator; behind its first input only scales are floats."""
    top = 0.0
    for node in nodes:
        if not quantises(program, node):
            continue
        opaque = not has_trait(node, "quantises")  # and then only a scalar is surely a scale
        for value in node.inputs[1:]:
            array = inputs.get(value.name or "") if value is not None and value.is_graph_input() else None
            array = program.const_array(value) if array is None else array
            if isinstance(array, np.ndarray) and is_float(array.dtype) and not (opaque and array.size != 1):
                top = max(top, magnitude(array, _MASK))
    return top
