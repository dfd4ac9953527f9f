"""What a component says when it refuses a program, held against the program: whether that can be right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir

from irfuzz.execute.run_types import RunResult, Stage, Target
from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.inlining import function_of
from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.oracle.dataflow.undefined_behaviour import BROKEN_RULE
from irfuzz.oracle.witnesses_and_blame import VARIANTS
from irfuzz.spec import load_specs, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.runs_to_judge import Case

INDEX = re.compile(
    r"(?i)(?<!tuple index )(?<!list index )out of (?:data )?(?:bounds?|range)|index \S+ is out|indices element"
)
"""Messages that blame an index."""

EMPTINESS = re.compile(r"(?i)zero-size array|empty (?:tensor|sequence|set|reduction|input|list)")
"""Messages that blame a lack of elements."""

_LEVELS = VARIANTS[VARIANTS.index("disabled") : VARIANTS.index("all") + 1]

_OF_TYPES = re.compile(r"(?i)type error|type mismatch|bound to different types")
_NAMED = re.compile(r"(?:Optype|operator) \(?['\"]*(\w+)")


def indices_allowed(case: Case) -> bool:
    """Whether all indices, sizes and other exact inputs of a program are known, and none breaks a rule of ``ops/``."""
    broken = (o.what for v in case.program.graph.outputs for o in case.path(v).open)
    if any(what.partition(": ")[2].startswith(BROKEN_RULE) for what in broken):
        return False
    specs, program = case.specs or load_specs(), case.sized
    for node in program.graph.all_nodes():
        positions = trait_values("exact_inputs").get(node.op_type)
        spec = specs.get(node.op_type, program.inference.opset(node.domain), node.domain)
        if positions is None:
            continue
        if spec is None:
            return False
        call = FedCall(program, node, spec, case.inputs, set(), case.integers)
        places = positions or range(len(node.inputs))
        if any(call.input(i) is not None and call.array(i) is None for i in places):
            return False
    return True


def nothing_of_nothing(case: Case) -> bool:
    """Whether some tensor has no elements, and what is computed from such ones has none either, by their sizes alone.

    Then no element can be missed: Hardmax of ``[2,0]`` has nothing to find, where ReduceMax of it has no largest one.
    """
    found, program = False, case.sized
    for node in program.graph.all_nodes():
        read = [program.tensor(v) for v in node.inputs if v is not None]
        made = [program.tensor(v) for v in node.outputs if v.name]
        if any(fact is None or not fact.is_static for fact in (*read, *made)):
            return False
        if any(fact is not None and fact.size() == 0 for fact in read):
            found = True
            if any(fact is not None and fact.size() != 0 for fact in made):
                return False
    return found


def broken_by_optimiser(result: RunResult, accepting: Sequence[Target]) -> bool:
    """Whether a level of optimisation refuses, before it runs, what a plainer one of the same kernels runs.

    Args:
        result: a refusal; one in stage ``RUN``, or by a target without levels, gives false.
        accepting: targets that ran the same program.
    """
    target = result.target
    level = _level(target)
    if level is None or result.stage is Stage.RUN:
        return False
    return any(
        (other := _level(t)) is not None and other < level and _same_kernels(t, target) for t in accepting
    )  # fmt: skip


def _level(target: Target) -> int | None:
    variant = target.name.rpartition(":")[2]
    return _LEVELS.index(variant) if variant in _LEVELS and ":" in target.name else None


def _same_kernels(one: Target, two: Target) -> bool:
    def about(target: Target) -> tuple[object, ...]:
        options = {name: value for name, value in target.options.items() if name != "level"}
        return target.component, target.environment, target.version, target.device, target.kernels, options

    return about(one) == about(two)


def body_of_error(program: Program, message: str) -> str:
    """The operator whose function body a type error is about: one of its nodes is named, and the program has none.

    Empty if the message is no type error, or may be about a node of the program itself.
    """
    named = _NAMED.search(message) if _OF_TYPES.search(message) else None
    nodes = list(program.graph.all_nodes())
    if named is None or any(n.op_type == named[1] for n in nodes):
        return ""
    return next((n.op_type for n in nodes if named[1] in _operators_inside(program, n)), "")


def _operators_inside(program: Program, node: ir.Node) -> Iterator[str]:
    """Operators of the body of a function that a node calls, be it the program's own or one of ONNX's schemas."""
    local = function_of(program, node)
    if local is not None:
        yield from (inner.op_type for inner in local)
        return
    schema = schema_of(node.op_type, program.inference.opset(node.domain), node.domain)
    body: onnx.FunctionProto | None = None if schema is None else schema.function_body
    yield from (inner.op_type for inner in body.node) if body is not None else ()
