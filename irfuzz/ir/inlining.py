"""Replaces a call of a local function, or control flow that runs a known number of times, by plain nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.clone import clone
from irfuzz.ir.inference.graph_facts import instantiate
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.preserved_unsupported_fields import FREE_INITIALIZERS
from irfuzz.ir.subgraphs import Mapping, bodies_of, control_flow_of, copy_nodes
from irfuzz.spec import trait_values

MAX_TURNS = 4
"""Most turns of a loop that are written out."""

_AXES_AS_INPUT = 13
"""First opset in which the axes of Squeeze and Unsqueeze are an input."""


def function_of(program: Program, node: ir.Node) -> ir.Function | None:
    """The local function of the model that a node calls; ``None`` if it is a call of an operator."""
    return program.model.functions.get(node.op_identifier())


def why_not_inlined(program: Program, node: ir.Node) -> str | None:
    """Say why a call cannot be replaced by the function's body, ``None`` if it can.

    Reasons are other versions of domains than the program imports, and outputs that are an input or given twice.
    """
    function = function_of(program, node)
    if function is None:
        return "no local function"
    own = {_plain(domain): version for domain, version in program.model.opset_imports.items()}
    for domain, version in function.opset_imports.items():
        if own.get(_plain(domain), version) != version:
            return f"the function imports version {version} of {domain or 'ai.onnx'}"
    formal = set(function.inputs)
    if len(set(function.outputs)) < len(function.outputs) or formal & set(function.outputs):
        return "an output of the function is an input or given twice"
    return None


def inline_call(program: Program, node: ir.Node) -> None:
    """Replace a call in the main graph by the body of its local function; uncalled functions are dropped.

    Args:
        program: is edited; domains that the function imports are imported.
        node: the call; it is gone afterwards.

    Raises:
        InvalidProgram: ``why_not_inlined`` has a reason.
    """
    reason = why_not_inlined(program, node)
    function = function_of(program, node)
    if reason is not None or function is None:
        raise InvalidProgram(f"call of {node.op_type}: {reason}")
    body = instantiate(function, node)
    given: list[ir.Value | None] = [*node.inputs, *[None] * (len(body.inputs) - len(node.inputs))]
    mapping: Mapping = dict(zip(body.inputs, given, strict=False))
    for domain, version in function.opset_imports.items():
        if not {domain, _plain(domain)} & set(program.model.opset_imports):
            program.model.opset_imports[domain] = version
    program.put_in(copy_nodes(body, mapping, program.fresh), before=node)
    _put_results(program, node, [mapping[v] for v in body.outputs])
    drop_uncalled(program)


def without_functions(program: Program, keep: Callable[[ir.Function], bool] = lambda _function: False) -> Program:
    """A copy in which every call is replaced by its function's body, in bodies too; the program if there is none.

    Args:
        program: stays as it is.
        keep: of a local function, whether its calls stay.

    Raises:
        InvalidProgram: a body is ill-typed.
    """
    if all(keep(function) for function in program.model.functions.values()):
        return program
    model = clone(program.model)
    InlinePass(lambda function: not keep(function))(model)
    copy = Program(model, program.residue, program.parents)
    copy.infer()
    return copy


def drop_uncalled(program: Program) -> int:
    """Remove local functions that nothing calls, and imports of domains of which then nothing is left.

    A function that only another uncalled one calls goes too.

    Returns:
        How many functions were removed.
    """
    functions = program.model.functions
    called: set[ir.OperatorIdentifier] = set()
    todo = [n for g in (program.graph, *program.graph.subgraphs()) for n in g]
    while todo:
        name = todo.pop().op_identifier()
        if name in functions and name not in called:
            called.add(name)
            todo.extend(functions[name].all_nodes())
    unused = [name for name in functions if name not in called]
    for name in unused:
        del functions[name]
        domain = name[0]
        used = {n.domain for n in program.graph.all_nodes()} | {f.domain for f in functions.values()}
        if domain and domain not in used:
            program.model.opset_imports.pop(domain, None)
    if unused:
        program.names_freed()
    return len(unused)


def turns_of(program: Program, node: ir.Node) -> int | None:
    """How often the body of an If, Loop or Scan surely runs; ``None`` if only a run tells, or it is no such node.

    An If of known condition has 1, of whichever branch. A Loop has as many as its trip count says, if it and the
    conditions are known; a Scan as many as the axis that it scans is long.
    """
    kind = control_flow_of(node)
    if kind == "branch":
        return 1 if _known(program, node, 0) is not None else None
    if kind == "loop":
        return _loop_turns(program, node)
    if kind == "scan" and "num_scan_inputs" in node.attributes and program.opset > 8:
        first = len(node.inputs) - node.attributes["num_scan_inputs"].as_int()
        fact = program.tensor(node.inputs[first])
        axis = _numbers(node, "scan_input_axes", 1)[0]
        size = None if fact is None or not fact.shape else fact.shape[axis % len(fact.shape)]
        return size if type(size) is int else None
    return None


def why_not_unrolled(program: Program, node: ir.Node) -> str | None:
    """Say why a control flow node cannot be replaced by its bodies' nodes, ``None`` if it can.

    Reasons are turns that are unknown or more than ``MAX_TURNS``, outputs to stack of no turns, an omitted input, and
    an output that is no dense tensor.
    """
    turns = turns_of(program, node)
    if turns is None:
        return "how often it runs is not known"
    if turns > MAX_TURNS:
        return f"more than {MAX_TURNS} turns"
    states = _states(node)
    if turns == 0 and any(o.name for o in node.outputs[states:]):
        return "nothing to stack"
    if any(v is None for v in node.inputs[_first_state(node) :]):
        return "an input that is omitted"
    body = _taken(program, node)
    if any(not isinstance(program.fact(v), TensorFact) for v in body.outputs):
        return "an output that is not a dense tensor"
    return None


def unroll(program: Program, node: ir.Node) -> None:
    """Replace an If of known condition, or a Loop or Scan of few turns, by what it computes.

    Args:
        program: is edited, as by ``write_out``.
        node: of its main graph; it is gone afterwards.

    Raises:
        InvalidProgram: ``why_not_unrolled`` has a reason.
    """
    reason = why_not_unrolled(program, node)
    turns = turns_of(program, node)
    if reason is not None or turns is None:
        raise InvalidProgram(f"{node.op_type} {node.name!r}: {reason}")
    write_out(program, node, _taken(program, node), turns)


def write_out(
    program: Program,
    node: ir.Node,
    body: ir.Graph,
    turns: int,
    *,
    before_turn: Callable[[int], None] = lambda turn: None,
) -> None:
    """Replace an If, Loop or Scan by so many turns of one of its bodies, whatever it does at run time.

    Args:
        program: is edited.
        node: of its main graph.
        body: one of the node's.
        turns: how often it is written, from 0 on.
        before_turn: called with the number of each turn before the body's nodes are copied.

    Raises:
        InvalidProgram: something inside is ill-typed then; the program is half changed.
    """
    program.model.ir_version = max(program.model.ir_version, FREE_INITIALIZERS)
    kind = control_flow_of(node)
    if kind == "branch":
        before_turn(0)
        _put_results(program, node, _turn(program, node, body, []))
        return
    count = _states(node)
    first = _first_state(node)
    state: list[ir.Value | None] = list(node.inputs[first : first + count])
    keep = [program.constant(np.ones((), np.bool_), "keep")] if kind == "loop" else []
    stacked: list[list[ir.Value]] = [[] for _ in body.outputs[len(keep) + count :]]
    for turn in range(turns):
        if kind == "loop":
            given = [program.constant(np.array(turn, np.int64), "turn"), *keep, *state]
        else:
            given = [*state, *_slices(program, node, turn, turns)]
        before_turn(turn)
        results = _turn(program, node, body, given)[len(keep) :]
        state = list(results[:count])
        for parts, result in zip(stacked, results[count:], strict=True):
            parts.append(result)
    axes = [0] * len(stacked) if keep else _numbers(node, "scan_output_axes", len(stacked))
    back = [0] * len(stacked) if keep else _numbers(node, "scan_output_directions", len(stacked))
    joined = [
        _stack(program, node, parts[::-1] if turned else parts, axis)
        for parts, axis, turned in zip(stacked, axes, back, strict=True)
    ]
    _put_results(program, node, [*state, *joined])


def _plain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _known(program: Program, node: ir.Node, index: int) -> bool | int | None:
    """The only element of an input, if it is known."""
    fact = program.tensor(node.inputs[index])
    if fact is None or fact.value is None or len(fact.value) != 1:
        return None
    element = fact.value[0]
    return element if isinstance(element, bool | int) else None


def _loop_turns(program: Program, node: ir.Node) -> int | None:
    if node.inputs[0] is None:
        return None
    trips = _known(program, node, 0)
    if trips is None:
        return None
    if node.inputs[1] is not None:
        start = _known(program, node, 1)
        if start is None:
            return None
        if not start:
            return 0
    if trips <= 0:
        return 0
    # Facts of the body hold for every turn, so a condition that is known there is known in all of them. Without an
    # initial condition ONNX ignores it (Loop-1, "trip count only"), but some runtimes do not.
    kept = program.tensor(_taken(program, node).outputs[0])
    return int(trips) if trips == 1 or (kept is not None and kept.value == (True,)) else None


def _taken(program: Program, node: ir.Node) -> ir.Graph:
    """The body that runs."""
    if control_flow_of(node) == "branch":
        return node.attributes["then_branch" if _known(program, node, 0) else "else_branch"].as_graph()
    return next(bodies_of(node))


def _states(node: ir.Node) -> int:
    kind = control_flow_of(node)
    if kind == "branch":
        return len(node.outputs)
    scanned = node.attributes["num_scan_inputs"].as_int() if kind == "scan" else 0
    return len(node.inputs) - _first_state(node) - scanned


def _first_state(node: ir.Node) -> int:
    """The input from which on a node's inputs are those of its body."""
    return trait_values("body_inputs_from").get(node.op_type, 0)


def _numbers(node: ir.Node, name: str, count: int) -> Sequence[int]:
    attr = node.attributes.get(name)
    return [0] * count if attr is None else list(attr.as_ints())


def _turn(program: Program, node: ir.Node, body: ir.Graph, given: Sequence[ir.Value | None]) -> list[ir.Value]:
    """The body once more, in front of the node."""
    mapping: Mapping = dict(zip(body.inputs, given, strict=True))
    for value in body.initializers.values():
        if not value.is_graph_input() and value.const_value is not None:
            mapping[value] = program.constant(value.const_value, "body")
    program.put_in(copy_nodes(body, mapping, program.fresh), before=node)
    results = [mapping.get(v, v) for v in body.outputs]
    return [v for v in results if v is not None]


def _slices(program: Program, node: ir.Node, turn: int, turns: int) -> list[ir.Value]:
    count = node.attributes["num_scan_inputs"].as_int()
    axes = _numbers(node, "scan_input_axes", count)
    back = _numbers(node, "scan_input_directions", count)
    found: list[ir.Value] = []
    for value, axis, turned in zip(node.inputs[-count:], axes, back, strict=True):
        fact = program.tensor(value)
        assert fact is not None
        place = program.constant(np.array(turns - 1 - turn if turned else turn, np.int64), "turn")
        at = axis % (fact.rank or 1)
        found.append(program.insert("Gather", [value, place], {"axis": at}, before=node).outputs[0])
    return found


def _stack(program: Program, node: ir.Node, parts: Sequence[ir.Value], axis: int) -> ir.Value:
    fact = program.tensor(parts[0]) if parts else None
    if fact is None:
        raise InvalidProgram(f"{node.op_type} {node.name!r}: nothing to stack")
    at = axis % ((fact.rank or 0) + 1)
    if program.opset < _AXES_AS_INPUT:
        wide = [program.insert("Unsqueeze", [v], {"axes": [at]}, before=node).outputs[0] for v in parts]
    else:
        axes = program.constant(np.array([at], np.int64), "axes")
        wide = [program.insert("Unsqueeze", [v, axes], before=node).outputs[0] for v in parts]
    if len(wide) == 1:
        return wide[0]
    return program.insert("Concat", wide, {"axis": at}, before=node).outputs[0]


def _put_results(program: Program, node: ir.Node, results: Sequence[ir.Value | None]) -> None:
    """Let the readers of a node's outputs read other values, and remove the node."""
    for old, new in zip(node.outputs, results, strict=False):
        if new is None or not (old.uses() or old.is_graph_output()):
            continue
        given = new
        if given.is_graph_input() or given.is_graph_output() or given.is_initializer():
            given = program.insert("Identity", [given], before=node).outputs[0]
        program.replace_uses(old, given, outputs=True)
    program.prune()
