"""Finds the elements whose reductions a warning's operand is made of, as a variance is of the two moments of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from irfuzz.analyze.failing_inputs.warning_subprogram import WarningProbe
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.spec import has_trait, trait_values

ELEMENTS = "elements_that_are_reduced"
"""Output of ``ReducedElements.program``."""

_Origin = tuple[ir.Value, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ReducedElements:
    """The elements that make one element of an operand, before elementwise calls that take equal ones to equal ones.

    Attributes:
        program: with the inputs of the probe and one output, ``ELEMENTS``, of rank 1: those of the first row.
        value: name of the value in the probe that holds them.
        axes: along which they lie.
    """

    program: Program
    value: str
    axes: tuple[int, ...]


def reduced_elements(probe: WarningProbe) -> ReducedElements | None:
    """The elements on which every way from the operand back through reductions ends; ``None`` if there are none such.

    There must be two reductions at least: with one there are no differences to cancel.

    Behind a matrix product and Relu, ``mean(x * x) - mean(x) * mean(x)`` ends on the product: where its elements are
    equal, those of ``x`` are.

    Args:
        probe: of the warning; it stays as it is.
    """
    start = probe.program.value(probe.operand)
    found, reductions = (set(), 0) if start is None else _origins(probe.program, start)
    if len(found) != 1 or reductions < 2:
        return None
    value, axes = found.pop()
    fact = probe.program.fact(value)
    if not axes or not isinstance(fact, TensorFact) or fact.shape is None or not fact.dtype.is_floating_point():
        return None
    program = _first_row(probe.program.to_proto(), value.name or "", axes, len(fact.shape), int(fact.dtype))
    return None if program is None else ReducedElements(program, value.name or "", axes)


def _origins(program: Program, start: ir.Value) -> tuple[set[_Origin], int]:
    """Where ways end that lead back from a value through reductions and elementwise calls, with the axes of the last
    reduction on each; and how many reductions they pass. Constants of one element are no end.
    """
    found: set[_Origin] = set()
    reductions: set[ir.Node] = set()
    pending: list[_Origin] = [(start, ())]
    seen: set[_Origin] = set()
    while pending:
        value, axes = pending.pop()
        if (value, axes) in seen:
            continue
        seen.add((value, axes))
        node = value.producer()
        if program.const_array(value) is not None:
            continue
        if node is None or not _keeps_equal(program, node):
            found.add((value, axes))
        elif has_trait(node, "reduces"):
            reductions.add(node)
            reduced = axes_of(program, node)
            pending.append((node.inputs[0], axes if reduced is None else reduced))  # type: ignore[arg-type]
        else:
            pending += [(v, axes) for v in node.inputs if v is not None]
    return found, len(reductions)


def _keeps_equal(program: Program, node: ir.Node) -> bool:
    """Whether a call is a reduction, or takes equal elements to equal ones: elementwise, with no constant but
    numbers.
    """
    if has_trait(node, "reduces"):
        return True
    constants = [c for v in node.inputs if (c := program.const_array(v)) is not None]
    return has_trait(node, "elementwise") and all(c.size == 1 for c in constants)


def axes_of(program: Program, node: ir.Node) -> tuple[int, ...] | None:
    """Non-negative axes of a reduction, sorted; ``None`` if they or the rank are unknown, or if it reduces nothing.

    Args:
        program: that it stands in.
        node: the reduction.
    """
    data = program.fact(node.inputs[0]) if node.inputs[0] is not None else None
    if not isinstance(data, TensorFact) or data.shape is None:
        return None
    place = trait_values("axes_input", node.domain).get(node.op_type)
    given = node.inputs[place] if place is not None and place < len(node.inputs) else None
    axes: list[int] = []
    if given is not None:
        constant = program.const_array(given)
        if constant is None:
            return None
        axes = [int(a) for a in constant.reshape(-1)]
    elif "axes" in node.attributes:
        axes = list(node.attributes["axes"].as_ints())
    if not axes:
        idle = node.attributes.get("noop_with_empty_axes")
        return None if idle is not None and idle.as_int() else tuple(range(len(data.shape)))
    return tuple(sorted(a % len(data.shape) for a in axes))


def _first_row(model: onnx.ModelProto, name: str, axes: tuple[int, ...], rank: int, dtype: int) -> Program | None:
    """The model with the elements along ``axes``, at index 0 of every other axis, as its only output."""
    graph = model.graph
    zero, flat = (f"{ELEMENTS}_{word}" for word in ("first", "flat"))
    graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), zero))
    graph.initializer.append(numpy_helper.from_array(np.array([-1], np.int64), flat))
    current = name
    for axis in (a for a in reversed(range(rank)) if a not in axes):
        graph.node.append(helper.make_node("Gather", [current, zero], [f"{ELEMENTS}_{axis}"], axis=axis))
        current = f"{ELEMENTS}_{axis}"
    graph.node.append(helper.make_node("Reshape", [current, flat], [ELEMENTS]))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info(ELEMENTS, dtype, None))
    try:
        program = Program.from_proto(model)
    except InvalidProgram:
        return None
    program.prune()
    return program
