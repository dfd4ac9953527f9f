"""Finds a range for every value of a program, and every call that may go wrong."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from irfuzz.analyze import unsafe_conditions
from irfuzz.analyze.abstract_domain.affine_relations import Symbols
from irfuzz.analyze.abstract_domain.interval import INF, TOP, Range, finite_part, hull, meet
from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.abstract_domain.partitioned_tensor import MOST_PARTS, ConditionTest, Grid, Tensor
from irfuzz.analyze.initial_ranges import Ranges, start_initializer, start_input
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, operand, whole
from irfuzz.analyze.transfer_functions.conditions_and_casts import taken, tested
from irfuzz.analyze.transfer_functions.matmul_and_convolution import PRODUCTS
from irfuzz.analyze.transfer_functions.reductions_and_pooling import REDUCTIONS
from irfuzz.analyze.transfer_functions.transfer_table import TRANSFER
from irfuzz.analyze.unsafe_conditions import Fault
from irfuzz.errors import UsageError
from irfuzz.facts import tensors_in
from irfuzz.ir.inlining import without_functions
from irfuzz.ir.input_defaults import at_defaults
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import captures_of, reads_of

DOMAINS = ("irfuzz", "debar", "intervals", "smashing", "expansion")
"""``--domain``: ours; partitions with affine relations as DEBAR has them; partitions with intervals; affine relations
over whole tensors (array smashing); and with a partition for each element (array expansion)."""

EXPANDED = 4096
"""Most partitions of a tensor in array expansion."""

SHALLOW = 3
"""Bounds that more operations than this have put together are seldom attained: an overflow that rests on them alone is
listed as unproved, not warned of."""

BOUNDED = frozenset(
    {
        *("Clip", "Cos", "Erf", "GroupNormalization", "HardSigmoid", "Hardmax", "InstanceNormalization"),
        *("LayerNormalization", "LpNormalization", "QuantizeLinear", "RMSNormalization", "Sigmoid", "Sin", "Softmax"),
        *("Softsign", "Tanh"),
    }
)
"""Operators whose results are bounded whatever their inputs are."""

TURNS = 16
"""A loop of at most this many turns is followed turn by turn; another until its ranges are stable."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A call that may go wrong.

    Attributes:
        node: its name, or that of its first output.
        op: operator.
        output: name of the value that it computes.
        operand: name of the input that decides, or of the output.
        fault: what may happen.
        inputs: names of the program's inputs and trainable parameters that it depends on.
    """

    node: str
    op: str
    output: str
    operand: str
    fault: Fault
    inputs: tuple[str, ...]


@dataclass(slots=True)
class Analysis:
    """What was found.

    Attributes:
        ranges: by value name.
        warnings: calls that may go wrong for inputs within what was said of them.
        unjudged: overflows that only an unlimited input, or bounds that are seldom attained, could cause.
        safe: checked calls that cannot go wrong, by operator.
        unknown: calls whose results were taken as anything, by operator.
    """

    ranges: dict[str, Range] = field(default_factory=dict)
    warnings: list[Alarm] = field(default_factory=list)
    unjudged: list[Alarm] = field(default_factory=list)
    safe: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)


def analyze(
    program: Program,
    ranges: Ranges | None = None,
    *,
    domain: str = "irfuzz",
    outputs: Sequence[str] | None = None,
) -> Analysis:
    """Find the calls of a program that may compute NaN, an infinity or crash, on inputs that do not hold them.

    Args:
        program: it stays as it is.
        ranges: of inputs and parameters.
        domain: one of ``DOMAINS``.
        outputs: only what these values of the main graph need.

    Raises:
        UsageError: a range is that of nothing in the program, or the domain is not known.
    """
    if domain not in DOMAINS:
        raise UsageError(f"unknown domain {domain!r}: expected {', '.join(DOMAINS)}")
    known = ranges or Ranges()
    if program.model.functions:
        program = without_functions(program)
    program = at_defaults(program)
    names = {v.name for v in (*program.graph.inputs, *program.graph.initializers.values())}
    for name in known.given:
        if name not in names:
            known_names = ", ".join(sorted(n or "" for n in names)[:20])
            raise UsageError(f"range of {name!r}: the model has no such input or initializer; it has {known_names}")
    symbols = Symbols(affine=domain != "intervals", relations=domain == "irfuzz")
    most = {"smashing": 1, "expansion": EXPANDED}.get(domain, MOST_PARTS)
    return _Walk(program, known, Grid(symbols, most), split=domain == "expansion").run(outputs)


class _Walk:
    """One pass over a program."""

    def __init__(self, program: Program, ranges: Ranges, grid: Grid, *, split: bool) -> None:
        self.program = program
        self.ranges = ranges
        self.context = AnalysisContext(program, grid)
        self.split = split
        self.values: dict[ir.Value, Tensor] = {}
        self.found = Analysis()
        self.quiet = 0
        self.loops = 0
        self.inner = 0
        self._sources: dict[ir.Value, frozenset[str]] = {}
        self._growth: dict[ir.Value, int] = {}

    def run(self, outputs: Sequence[str] | None) -> Analysis:
        graph = self.program.graph
        nodes: Iterable[ir.Node] = graph
        if outputs is not None:
            nodes = self._needed(outputs)
        for value in graph.inputs:
            if value.name in graph.initializers:
                continue
            self._start(value, start_input(self.context, value, self.ranges))
            self._sources[value] = frozenset({value.name or ""})
        self._initializers(graph)
        for node in nodes:
            self._node(node)
        return self.found

    def _needed(self, outputs: Sequence[str]) -> Iterable[ir.Node]:
        """The nodes of the main graph that some values need; all of them for a value of a body."""
        graph = self.program.graph
        own = {o.name: o for node in graph for o in node.outputs}
        if not own.keys() >= set(outputs):
            return graph
        needed = set[ir.Node]().union(*(self.program.ancestors(own[name]) for name in outputs))
        return [node for node in graph if node in needed]

    def _initializers(self, graph: ir.Graph) -> None:
        for value in graph.initializers.values():
            tensor = value.const_value
            array = None if tensor is None or tensor.dtype == ir.DataType.STRING else tensor.numpy()
            made = start_initializer(self.context, value, array, self.ranges)
            self._start(value, made)
            self._sources[value] = frozenset() if made.array is not None else frozenset({value.name or ""})

    def _start(self, value: ir.Value, tensor: Tensor) -> None:
        static = tensor.static
        if self.split and static is not None and 1 < math.prod(static) <= EXPANDED:
            tensor = self.context.grid.refined(tensor, [tuple(range(1, size)) for size in static])
        self._set(value, tensor)

    def _set(self, value: ir.Value, tensor: Tensor) -> None:
        self.values[value] = tensor
        if value.name and not self.quiet:
            known = self.found.ranges.get(value.name) if self.inner else None
            self.found.ranges[value.name] = tensor.range if known is None else hull([known, tensor.range])

    def _node(self, node: ir.Node) -> None:
        inputs = [None if v is None else self.values.get(v) for v in node.inputs]
        inputs = [
            None if v is None else (t or self.context.grid.plain(None, None, TOP))
            for v, t in zip(node.inputs, inputs, strict=True)
        ]
        sources = self._sources_of(node)
        if node.op_type in _CONTROL and node.domain in ("", "ai.onnx"):
            outputs = _CONTROL[node.op_type](self, node, inputs)
        else:
            outputs = self._call(node, inputs, sources)
        growth = self._grown(node)
        for value, tensor in zip(node.outputs, outputs, strict=True):
            self._sources[value] = sources
            self._growth[value] = growth
            self._set(value, tensor)

    def _sources_of(self, node: ir.Node) -> frozenset[str]:
        """Names of the program's inputs that a call, or the bodies that it runs, depend on."""
        return frozenset[str]().union(*(self._sources.get(v, frozenset()) for v in reads_of(node)))

    def _grown(self, node: ir.Node) -> int:
        """How many operations have put bounds together since there was one that is surely attained."""
        if node.op_type in BOUNDED:
            return 0
        before = max((self._growth.get(v, 0) for v in node.inputs if v is not None), default=0)
        joins = sum(bool(self._sources.get(v)) for v in node.inputs if v is not None) > 1
        if node.op_type in _CONTROL:
            return before + SHALLOW + 1
        return before + (joins or node.op_type in PRODUCTS or node.op_type in REDUCTIONS)

    def _call(self, node: ir.Node, inputs: list[Tensor | None], sources: frozenset[str]) -> list[Tensor]:
        transfer = TRANSFER.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if transfer is None:
            if not self.quiet:
                self.found.unknown[node.op_type] += 1
            return [self.context.top(node, i) for i in range(len(node.outputs))]
        outputs = transfer(self.context, node, inputs)[: len(node.outputs)]
        outputs += [self.context.top(node, i) for i in range(len(outputs), len(node.outputs))]
        form = format_of(outputs[0].dtype)
        check = unsafe_conditions.CHECKS.get(node.op_type)
        seen = list(check(self.context, node, inputs, form)) if check is not None else []
        if not seen:
            over = unsafe_conditions.overflow(node, inputs, outputs[0], form)
            if over is not None:
                seen.append(over)
        if not seen:
            if check is not None and not self.quiet:
                self.found.safe[node.op_type] += 1
            return outputs
        if not self.quiet:
            for fault in seen:
                self._report(node, fault, sources)
        if not seen[0].avoidable:
            return outputs
        # What follows from a fault is not another one: on with what the call gives where the fault does not occur.
        inside = [unsafe_conditions.mended(self.context, t, index, seen) for index, t in enumerate(inputs)]
        again = transfer(self.context, node, inside)[0]
        # An infinity that an operand had is meant; only NaN is at fault there.
        meant = seen[0].operand is None and seen[0].kind == "domain"
        bounds = replace(again.range, nan=False) if meant else finite_part(again.range, form)
        # What is known of all results, as by relations that the operands lost, holds for these.
        bounds = replace(meet(bounds, outputs[0].range), nan=bounds.nan, loose=True)
        return [self.context.plain(node, bounds), *outputs[1:]]

    def _report(self, node: ir.Node, fault: Fault, sources: frozenset[str]) -> None:
        output = next((o.name for o in node.outputs if o.name), "") or ""
        decides = node.inputs[fault.operand] if fault.operand is not None else node.outputs[0]
        name = "" if decides is None else decides.name or ""
        warning = Alarm(node.name or output, node.op_type, output, name, fault, tuple(sorted(sources)))
        grown = self._grown(node) > SHALLOW or bool(self.loops)
        if fault.operand is None and (fault.loose or (grown and fault.kind == "overflow")):
            self.found.unjudged.append(warning)
        elif warning not in self.found.warnings:
            self.found.warnings.append(warning)

    # control flow

    def _body(self, node: ir.Node, graph: ir.Graph, given: Sequence[Tensor]) -> list[Tensor]:
        """What a body's outputs are for given inputs; it may run again, and others may use the same names."""
        self.inner += 1
        self._initializers(graph)
        outer = self._sources_of(node)  # after a turn or two a state may depend on all others
        for value, tensor in zip(graph.inputs, given, strict=False):
            self._set(value, tensor)
            self._sources[value] = outer
        for node in graph:
            self._node(node)
        self.inner -= 1
        return [self.values.get(v) or self.context.grid.plain(None, None, TOP) for v in graph.outputs]

    def if_(self, node: ir.Node, inputs: list[Tensor | None]) -> list[Tensor]:
        """If: what either branch gives under the condition, or the one that is taken."""
        condition = operand(inputs)
        results = [self._branch(node, name, tests) for name, tests in taken(condition)]
        return [self._joined(node, i, [r[i] for r in results]) for i in range(len(node.outputs))]

    def _branch(self, node: ir.Node, name: str, tests: Sequence[ConditionTest]) -> list[Tensor]:
        """What a branch gives if tests of the condition's one element hold for what it reads."""
        graph = node.attributes[name].as_graph()
        before = {v: self.values[v] for v in captures_of(graph) if v in self.values} if tests else {}
        for value, tensor in before.items():
            self.values[value] = tested(self.context, tensor, tests)
        try:
            return self._body(node, graph, ())
        finally:
            self.values.update(before)

    def _joined(self, node: ir.Node, index: int, tensors: Sequence[Tensor]) -> Tensor:
        if len(tensors) == 1 and tensors[0].shape == self.context.shape(node, index):
            return tensors[0]
        return self.context.plain(node, hull(t.range for t in tensors), index)

    def loop(self, node: ir.Node, inputs: list[Tensor | None]) -> list[Tensor]:
        """Loop: turn by turn if there are few, else until the ranges of its states are stable."""
        body = node.attributes["body"].as_graph()
        states = [t for t in inputs[2:] if t is not None]
        trips = inputs[0].range if len(inputs) > 0 and inputs[0] is not None else Range(0.0, 2.0**62)
        most = min(2.0**62, trips.high)

        def turn(number: Range, now: Sequence[Tensor]) -> tuple[Range, list[Tensor]]:
            counter = self.context.grid.plain(ir.DataType.INT64, (), number)
            condition = self.context.grid.plain(ir.DataType.BOOL, (), Range(1.0, 1.0))
            goes_on, *results = self._body(node, body, [counter, condition, *now])
            return goes_on.range, results

        return self._repeat(
            node,
            states,
            body.inputs[2:],
            turn,
            most,
            exact=trips.point and (len(inputs) < 2 or inputs[1] is None or inputs[1].range.low == 1),
        )

    def scan(self, node: ir.Node, inputs: list[Tensor | None]) -> list[Tensor]:
        """Scan: its sequences are taken apart; each turn gets any of their slices."""
        body = node.attributes["body"].as_graph()
        count = int(self.context.attr(node, "num_scan_inputs"))
        given = [t for t in inputs if t is not None]
        states, sequences = given[: len(given) - count], given[len(given) - count :]
        slices = [
            self.context.grid.plain(v.dtype, None, t.range)
            for v, t in zip(body.inputs[len(states) :], sequences, strict=True)
        ]
        axes = self.context.attr(node, "scan_input_axes") or (0,) * count
        size = sequences[0].shape[axes[0]] if sequences and sequences[0].shape is not None else None
        most = float(size) if isinstance(size, int) else 2.0**62

        def turn(number: Range, now: Sequence[Tensor]) -> tuple[Range, list[Tensor]]:
            del number
            fresh = [self.context.grid.plain(t.dtype, t.shape, t.range) for t in slices]
            return Range(1.0, 1.0), self._body(node, body, [*now, *fresh])

        return self._repeat(node, states, body.inputs, turn, most, exact=isinstance(size, int))

    def _repeat(
        self,
        node: ir.Node,
        states: list[Tensor],
        received: Sequence[ir.Value],
        turn: Callable[[Range, Sequence[Tensor]], tuple[Range, list[Tensor]]],
        most: float,
        *,
        exact: bool,
    ) -> list[Tensor]:
        """States after any number of turns (after exactly ``most`` if ``exact``), and what the turns put out."""
        count = len(states)
        extras: list[list[Range]] = [[] for _ in range(len(node.outputs) - count)]
        if most <= TURNS:
            ends = [[t.range] for t in states]
            now = states
            for number in range(int(most)):
                goes_on, results = turn(Range(float(number), float(number)), now)
                now = results[:count]
                for index, t in enumerate(now):
                    ends[index].append(t.range)
                for index, t in enumerate(results[count:]):
                    extras[index].append(t.range)
                if goes_on.high == 0:
                    break
                exact = exact and goes_on.low == 1
            last = [hull(e[-1:] if exact and e else e) for e in ends]
            return self._after(node, last, extras)
        now = [t.range for t in states]
        counter = Range(0.0, max(most - 1, 0.0))
        self.quiet += 1
        try:
            for step in itertools.count():
                _, results = turn(counter, self._any_of(states, received, now))
                grown = [hull([r, t.range]) for r, t in zip(now, results, strict=False)]
                if grown == now:
                    break
                now = [
                    _widened(old, new, t.dtype, at_once=step > 8) if step > 1 else new
                    for old, new, t in zip(now, grown, states, strict=True)
                ]
        finally:
            self.quiet -= 1
        # Narrowing: once more from the stable ranges, which also reports.
        self.loops += 1
        _, results = turn(counter, self._any_of(states, received, now))
        self.loops -= 1
        last = [hull([t.range, r.range]) for t, r in zip(states, results, strict=False)]
        for index, t in enumerate(results[count:]):
            extras[index].append(t.range)
        return self._after(node, last, extras)

    def _any_of(self, states: list[Tensor], received: Sequence[ir.Value], now: list[Range]) -> list[Tensor]:
        """States of any turn: their sizes may change from turn to turn, as far as the body's inputs allow it."""
        made: list[Tensor] = []
        for tensor, value, bounds in zip(states, received, now, strict=False):
            fact = tensors_in(self.context.view.fact(value))
            shape = None if fact is None or fact.shape is None else fact.shape
            sizes = None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)
            made.append(self.context.grid.plain(tensor.dtype, sizes, bounds))
        return made

    def _after(self, node: ir.Node, last: list[Range], extras: list[list[Range]]) -> list[Tensor]:
        bounds = [*last, *(hull(e) if e else Range(0.0, 0.0) for e in extras)]
        return [self.context.plain(node, r, i) for i, r in enumerate(bounds)]


def _widened(old: Range, new: Range, dtype: ir.DataType | None, *, at_once: bool) -> Range:
    """A range that grew goes on to the next of a few thresholds, and rests on nothing from there on.

    With ``at_once`` it becomes all that its type holds, so that any number of states comes to an end.
    """
    if new == old:
        return old
    form = format_of(dtype)
    if at_once:
        return hull([new, whole(form)])
    steps = (0.0, 1.0, 1024.0, form.biggest, INF)
    low, high = new.low, new.high
    grown = low < old.low or high > old.high
    if low < old.low:
        low = max((-s for s in steps if -s <= low), default=-INF)
    if high > old.high:
        high = min((s for s in steps if s >= high), default=INF)
    low = low if form.floating else max(low, form.lowest)
    high = high if form.floating else min(high, form.biggest)
    return replace(new, low=low, high=high, loose=new.loose or grown)


_CONTROL: Mapping[str, Callable[[_Walk, ir.Node, list[Tensor | None]], list[Tensor]]] = {
    "If": _Walk.if_,
    "Loop": _Walk.loop,
    "Scan": _Walk.scan,
}
