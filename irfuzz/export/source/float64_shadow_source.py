"""Writes the shadow of a program: a framework's module of it with all floating-point values in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.export.source.program_to_module_source import lower
from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.intermediate_precision import stages_of
from irfuzz.ir.inlining import without_functions
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.spec.constraints.call_check import bindings
from irfuzz.spec.constraints.expression_functions import Undefined

if TYPE_CHECKING:
    from irfuzz.export.source.emitter_context import EmitterContext
    from irfuzz.export.source.framework_description import FrameworkDescription
    from irfuzz.export.source.module_source import ModuleSource
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

WIDENED = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
"""Types whose values the shadow holds in float64."""

ULPS = {"exact": 0, "elementwise": 1, "reduction": 1, "transcendental": 4, "quantised": 1}
"""Half units in the last place by which correct components may miss one step of an operator, by its ``numerics``."""

_FINENESS = (ir.DataType.BFLOAT16, ir.DataType.FLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE)

_CASTS = ("Cast", "CastLike")

_RESIZING = ("Resize", "Upsample")

_FOLDED = ("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization")
"""Kernels fold the mean into the bias, ``x * s + (b - m * s)``: what stands in the formula is exact nowhere."""


def shadow(framework: FrameworkDescription, program: Program, specs: Specs) -> ModuleSource:
    """Lower a program to a module that computes in float64 what the program computes in narrower floats.

    Integers and booleans stay as they are. Rounding that the program asks for stays: a Cast to a narrower type rounds
    to it, and results beyond the range of their type become infinite. Before each operator the module says by
    ``rounding(dtype, ulps, terms)`` what its results would be rounded to, from its ``numerics`` under ``ops/``; fewer
    than none say that not even whole numbers are exact.

    Raises:
        Unsupported: an operator, attribute or element type has no exact form in the framework.
    """
    program = without_functions(program)
    names = {kind: framework.dtypes[kind] for kind in _FINENESS}

    def kind_of(value: ir.Value | None) -> ir.DataType | None:
        fact = None if value is None else program.fact(value)
        return fact.dtype if isinstance(fact, TensorFact) else None

    def before(context: EmitterContext, node: ir.Node) -> list[str]:
        kinds = {kind_of(v) for v in (*node.inputs, *node.outputs)}
        kinds |= stages_of(program, node) if kinds & frozenset(_FINENESS) else frozenset()
        narrowest = next((k for k in _FINENESS if k in kinds), None)
        if narrowest is None or next(bodies_of(node), None) is not None:
            return []
        ulps, terms = _numerics(program, node, specs)
        if node.op_type in _CASTS:
            ulps = 0
        terms = -1 if node.op_type in _FOLDED else terms
        context.used.add("rounding")
        return [f"rounding({names[narrowest]}, {ulps}, {terms})"]

    def after(context: EmitterContext, node: ir.Node) -> list[str]:
        lines = []
        for value in node.outputs:
            kind = kind_of(value)
            if kind is None or not value.name or kind not in WIDENED or next(bodies_of(node), None) is not None:
                continue
            if node.op_type in _CASTS and not _fits(kind_of(node.inputs[0]), kind):
                function = "narrowed"
            elif _numerics(program, node, specs)[0]:
                function = "ranged"
            else:
                continue
            context.used.add(function)
            lines.append(f"{context.name(value)} = {function}({context.name(value)}, {names[kind]})")
        return lines

    wide = {**framework.dtypes, **dict.fromkeys(WIDENED, framework.dtypes[ir.DataType.DOUBLE])}
    widened = replace(framework, title=f"{framework.title} shadow", dtypes=wide, before=before, after=after)
    return lower(widened, program)


def _fits(given: ir.DataType | None, kind: ir.DataType) -> bool:
    """Whether every value of a type is one of a floating-point type, too."""
    if given == kind or given in (ir.DataType.BOOL, ir.DataType.INT8, ir.DataType.UINT8):
        return True
    return kind == ir.DataType.FLOAT and given in (*WIDENED, ir.DataType.INT16, ir.DataType.UINT16)


def _numerics(program: Program, node: ir.Node, specs: Specs) -> tuple[int, int]:
    """Half units in the last place of one step of a node, and how many terms its sums have; 0 if nobody says."""
    spec = specs.get(node.op_type, program.inference.opset(node.domain), node.domain)
    numerics = None if spec is None else spec.numerics
    if spec is None or numerics is None:
        return 1, 0
    mode = node.attributes.get("mode")
    if node.op_type in _RESIZING and (mode is None or mode.as_string() == "nearest"):
        return 0, 0  # it copies, from places that are small whole numbers and exact
    terms = None
    if numerics.terms is not None and numerics.kind == "reduction":
        facts = [None if v is None else program.tensor(v) for v in node.inputs]
        env, _ = bindings(spec, facts, program.attrs(node))
        try:
            terms = numerics.terms.evaluate(env)
        except Undefined:
            terms = None
    known = isinstance(terms, int | float) and 0 < terms < 1 << 40
    return ULPS.get(numerics.kind, 1), int(terms) if known else 0  # pyright: ignore[reportArgumentType]
