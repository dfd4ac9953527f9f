"""Where the defect of a program of GRIST's data set is, by the operand that GRIST's own objective steers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

UNSAFE = frozenset({"Acos", "Asin", "Div", "Exp", "Log", "Pow", "Reciprocal", "ReduceLogSumExp", "Sqrt"})
PASSING = frozenset(
    {
        *("Abs", "Cast", "Clip", "Expand", "Identity", "Max", "Min", "Neg", "Reshape", "Squeeze", "Tile"),
        *("Transpose", "Unsqueeze"),
    }
)
"""What may stand between the operand that is steered and the call at fault."""

AIMS = (0.0, 1e4, -1e4)
"""Where objectives steer an operand: to 0, or far up or down."""


def located(model: onnx.ModelProto, steered: Sequence[str], warned: Collection[str]) -> tuple[str, list[str]]:
    """The operand that GRIST steers and the calls that read it; the nearest one, for its objective may hold others.

    If none reads it itself, but some do behind a limit or beside a number, as in ``log(p + 1e-10)`` and ``log(1 - p)``,
    one of them is at fault: those that are warned of, or the first one if none is.

    Args:
        model: of the program.
        steered: values of the objective, the operand last.
        warned: calls, as ``Op output``.
    """
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    own = {*constants, *(value.name for value in model.graph.input)}  # called by what makes them
    steered = [bare if (bare := name.removesuffix(":0")) in own else name for name in steered]
    for passing in (frozenset[str](), PASSING, PASSING | {"Add", "Sub"}):
        for name in steered[::-1]:
            if found := _readers(model, name, constants, passing):
                return name, found if not passing else [call for call in found if call in warned] or found[:1]
    return "", []


def fails(
    runner: Runner,
    model: onnx.ModelProto,
    operand: str,
    calls: Sequence[str],
    given: Mapping[str, tuple[float, float]],
) -> bool:
    """Whether one of the calls gives NaN or an infinity if every element of the operand is where GRIST may steer it to.

    If none does, the operand is at fault in the derivative at most, which is no part of the graph, or the data set's
    copy of the program has been mended.

    Args:
        runner: with one target.
        model: of the program.
        operand: a value of its main graph.
        calls: as ``Op output``.
        given: ranges of its inputs.
    """
    cut = Program.from_proto(_cut(model, operand, [call.partition(" ")[2] for call in calls]))
    inputs = make_inputs(cut, 0, ranges={n: ends for n, ends in given.items() if n != operand})
    for aim in AIMS:
        (result,) = runner.run(cut, inputs | {operand: np.full_like(np.asarray(inputs[operand]), aim)})
        if result.exit == Exit.OK and not all(np.isfinite(np.asarray(v)).all() for v in result.outputs.values()):
            return True
    return False


def _cut(model: onnx.ModelProto, operand: str, outputs: Sequence[str]) -> onnx.ModelProto:
    """What gives some values, with one as an input, and two examples of what it takes any number of."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    for value in cut.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = 2
    del cut.graph.value_info[:]
    cut = shape_inference.infer_shapes(cut, data_prop=True)
    for node in cut.graph.node:
        for index, name in enumerate(node.output):
            if name == operand:
                node.output[index] = f"{name}_before"
    del cut.graph.output[:]
    cut.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
    needed, nodes = {*outputs}, list[onnx.NodeProto]()
    for node in reversed(cut.graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.insert(0, node)
    del cut.graph.node[:]
    cut.graph.node.extend(nodes)
    kept = [t for t in cut.graph.initializer if t.name != operand]
    held = [t for t in cut.graph.initializer if t.name == operand]
    known = [v for v in cut.graph.value_info if v.name == operand]
    del cut.graph.initializer[:]
    cut.graph.initializer.extend(kept)
    cut.graph.input.extend(known or [helper.make_tensor_value_info(operand, t.data_type, t.dims) for t in held])
    return cut


def _readers(
    model: onnx.ModelProto, name: str, constants: Mapping[str, np.ndarray], passing: Collection[str]
) -> list[str]:
    """Unsafe calls that read a value, or what calls that change little of it make of it."""
    names, found = {name}, list[str]()
    for node in model.graph.node:  # in the order of their computation
        if not names.intersection(node.input):
            continue
        others = [n for n in node.input if n not in names]
        numbers = all(n in constants and constants[n].size == 1 for n in others)
        if node.op_type in passing and (numbers or node.op_type not in ("Add", "Sub")):
            names.update(node.output)
        if node.op_type in UNSAFE and not _whole_power(node, constants):
            found.append(f"{node.op_type} {node.output[0]}")
    return found


def _whole_power(node: onnx.NodeProto, constants: Mapping[str, np.ndarray]) -> bool:
    """Such as a square, which is defined for every number."""
    exponent = constants.get(node.input[1]) if node.op_type == "Pow" else None
    return exponent is not None and exponent.size == 1 and exponent.item() in (1, 2, 3, 4)
