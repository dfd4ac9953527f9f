"""Writes out what one run computes inside If, Loop, Scan and functions, so that their nodes can be looked at.

A model that is one large ``If`` has a single node in its main graph, and a map or a replay of that graph says nothing.
For given inputs it is known which branch runs and how often a loop turns: an equal program without them is made, and
each of its nodes says in its metadata (``PLACE``) where in the model it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from irfuzz._native import difference
from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.ir.inlining import function_of, inline_call, turns_of, why_not_inlined, write_out
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.weightless_message import attach, detach
from irfuzz.ir.subgraphs import bodies_of, control_flow_of, nodes_within

PLACE = "irfuzz.place"
"""Metadata of a node that was written out: ``If_0.then_branch/Conv_3``, ``loop.body[2]/Add_1``, ``call/Relu``."""

DEPTH = 12
"""Most levels of bodies inside bodies that are written out."""

MOST_NODES = 4096
"""No program becomes larger than this; what would make it so stays as it is."""

KEPT_SHARE = 0.1
"""Share of the difference that has to be left when everything is written out."""

MOST_TURNS = 64
"""Loops that turn more often stay as they are."""


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A program without bodies and calls that computes the same on the inputs it was made for.

    Attributes:
        program: the same inputs and outputs by name.
        left: reasons by name of the control flow nodes and calls that stayed.
    """

    program: Program
    left: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Turns:
    """What a run did with a node: the name of the attribute that holds the body, and how often that ran."""

    body: str
    count: int


def has_bodies(program: Program) -> bool:
    """Whether a node of the main graph holds bodies or calls a local function, so that ``unfold`` has
    something to do.
    """
    return any(_folded(program, node) for node in program.nodes())


def unfold(runner: Runner, program: Program, inputs: Mapping[str, Value], target: Target) -> Unfolded | None:
    """The program with every body that ran written out, as often as it ran.

    Args:
        runner: has the target.
        program: stays as it is.
        inputs: values by graph input name; another run may take other branches.
        target: it decides which branch is taken and how often a loop turns.

    Returns:
        ``None`` if there are no bodies and calls, none can be written out, or the target does not run the program.
    """
    if not has_bodies(program):
        return None
    now, left = program, dict[str, str]()
    for _ in range(DEPTH):
        sites = [name for node in now.nodes() if _folded(now, node) and (name := _site(node)) not in left]
        if not sites:
            break
        seen = _observe(runner, now, inputs, target, sites)
        if seen is None:
            return None
        for site in sites:
            made = _written(now, site, seen.get(site))
            if isinstance(made, Program):
                now = made
            else:
                left[site] = made
    return None if now is program else Unfolded(now, left)


def unfold_faithfully(
    runner: Runner, program: Program, inputs: Mapping[str, Value], base: Target, other: Target
) -> Unfolded | None:
    """As ``unfold``, if the two targets part on the result as they do on the program itself.

    Without bodies an optimiser has more to fuse, and the fault may be in the control flow: then the result is of
    another computation than the one that disagreed, and ``None`` is returned.
    """
    made = unfold(runner, program, inputs, base)
    if made is None:
        return None
    before = runner.run(program, inputs, [base, other])
    after = runner.run(made.program, inputs, [base, other])
    if any(a.exit is not b.exit for a, b in zip(before, after, strict=True)):
        return None
    was, now = _apart(*before), _apart(*after)
    return made if now >= was * KEPT_SHARE else None


def _apart(one: RunResult, two: RunResult) -> float:
    """The largest difference of any output; infinite if one of kind, 0 if one of them did not run through."""
    far = 0.0
    for name, a in one.outputs.items():
        b = two.outputs.get(name)
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype.kind in "OUSc":
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        apart = difference(a, b)
        far = max(far, math.inf if apart.mismatched else apart.max_abs)
    return far


def place_of(node: ir.Node) -> str:
    """Where a node comes from in the model, as ``unfold`` noted it in its metadata; empty if it stands in the main
    graph.
    """
    return node.metadata_props.get(PLACE, "")


def _folded(program: Program, node: ir.Node) -> bool:
    return next(bodies_of(node), None) is not None or function_of(program, node) is not None


def _site(node: ir.Node) -> str:
    """A name that finds the node again in a copy of the program."""
    return next((o.name for o in node.outputs if o.name), "")


def _written(program: Program, site: str, seen: _Turns | None) -> Program | str:
    """A copy with one node written out, or the reason why there is none."""
    work = program.clone()
    node = next((n for n in work.nodes() if _site(n) == site), None)
    if node is None:
        return "nothing reads it"
    try:
        if function_of(work, node) is not None:
            return _without_call(work, node)
        if seen is None:
            return "how often it runs was not seen"
        body = node.attributes[seen.body].as_graph()
        if seen.count > MOST_TURNS or len(work.nodes()) + seen.count * len(body) > MOST_NODES:
            return f"{seen.count} turns of {len(body)} nodes are too many to write out"
        write_out(work, node, body, seen.count, before_turn=_marker(node, seen, body))
    except InvalidProgram as error:
        return str(error)
    return work


def _without_call(work: Program, node: ir.Node) -> Program | str:
    if (reason := why_not_inlined(work, node)) is not None:
        return reason
    function = function_of(work, node)
    assert function is not None
    if len(work.nodes()) + len(function) > MOST_NODES:
        return f"{len(function)} nodes are too many to write out"
    path = place_of(node) or _name(node)
    own = {inner: _name(inner) for inner in function}
    _keep_names(function)
    for inner, name in own.items():
        inner.metadata_props[PLACE] = f"{path}/{name}"
    inline_call(work, node)
    return work


def _marker(node: ir.Node, seen: _Turns, body: ir.Graph) -> Callable[[int], None]:
    """Notes in the nodes of a body where they come from; what is copied of them says the same."""
    path = f"{place_of(node) or _name(node)}.{seen.body}"
    own = {inner: place_of(inner) or _name(inner) for inner in body}
    _keep_names(body)

    def mark(turn: int) -> None:
        at = f"[{turn}]" if control_flow_of(node) != "branch" else ""
        for inner, name in own.items():
            inner.metadata_props[PLACE] = f"{path}{at}/{name}"

    return mark


def _keep_names(nodes: Iterable[ir.Node]) -> None:
    """Note the names of nodes in bodies further inside: copies get new ones."""
    for node in nodes:
        for inner in nodes_within(node):
            inner.metadata_props.setdefault(PLACE, _name(inner))


def _name(node: ir.Node) -> str:
    return node.name or _site(node) or node.op_type


def _observe(
    runner: Runner, program: Program, inputs: Mapping[str, Value], target: Target, sites: list[str]
) -> dict[str, _Turns] | None:
    """Which bodies ran and how often, by site; ``None`` if the target does not run the program."""
    wanted = {_site(node): node for node in program.nodes() if _site(node) in set(sites)}
    found: dict[str, _Turns] = {}
    probe, weights = detach(program)
    asked: dict[str, str] = {}
    for site, node in wanted.items():
        if function_of(program, node) is not None:
            continue
        known = _known_turns(program, node, inputs)
        if known is not None:
            found[site] = known
        elif (name := _ask(probe, site, node)) is not None:
            asked[site] = name
    if not asked:
        return found
    (result,) = runner.run(attach(probe, weights) if weights else probe.SerializeToString(), inputs, [target])
    if result.exit is not Exit.OK:
        return None
    for site, name in asked.items():
        value = result.outputs.get(name)
        if isinstance(value, np.ndarray) and (seen := _seen(wanted[site], value)) is not None:
            found[site] = seen
    return found


def _known_turns(program: Program, node: ir.Node, inputs: Mapping[str, Value]) -> _Turns | None:
    """What needs no run: the facts tell it, or the condition is an input."""
    turns = turns_of(program, node)
    condition = node.inputs[0] if control_flow_of(node) == "branch" else None
    fed = None if condition is None else inputs.get(condition.name or "")
    if isinstance(fed, np.ndarray) and fed.size == 1:
        return _seen(node, fed)
    if turns is None:
        return None
    if condition is None:
        return _Turns("body", turns)
    fact = program.tensor(condition)
    return _Turns(_branch(fact is not None and fact.value == (True,)), 1)


def _branch(condition: bool) -> str:
    return "then_branch" if condition else "else_branch"


def _seen(node: ir.Node, value: np.ndarray) -> _Turns | None:
    """What an answer to ``_ask`` says."""
    if control_flow_of(node) == "branch":
        return _Turns(_branch(bool(value.reshape(-1)[0])), 1) if value.size else None
    if control_flow_of(node) == "loop":
        return _Turns("body", len(value))
    axes = node.attributes.get("scan_input_axes")
    axis = axes.as_ints()[0] if axes is not None and axes.as_ints() else 0
    return _Turns("body", int(value[axis])) if -len(value) <= axis < len(value) else None


def _ask(probe: onnx.ModelProto, site: str, node: ir.Node) -> str | None:
    """Let a model tell what becomes of a node, and return the name of the output that says it.

    Of an If that is its condition, of a Loop the numbers of its turns, which its body then stacks, of a Scan the shape
    of the first value that it walks along.
    """
    graph = probe.graph
    twin = next((n for n in graph.node if site in n.output), None)
    kind = control_flow_of(node)
    if twin is None or not kind:
        return None
    if kind == "branch":
        name = twin.input[0]
        if name not in {o.name for o in graph.output}:
            graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.BOOL, None))
        return name
    name = f"{site}.turns.of.it"
    if kind == "loop":
        body = next(a.g for a in twin.attribute if a.name == "body")
        body.node.append(helper.make_node("Identity", [body.input[0].name], [f"{name}.inner"]))
        body.output.append(helper.make_tensor_value_info(f"{name}.inner", onnx.TensorProto.INT64, ()))
        twin.output.append(name)
    elif kind == "scan" and "num_scan_inputs" in node.attributes:
        first = len(twin.input) - node.attributes["num_scan_inputs"].as_int()
        graph.node.append(helper.make_node("Shape", [twin.input[first]], [name]))
    else:
        return None
    graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, (None,)))
    return name
