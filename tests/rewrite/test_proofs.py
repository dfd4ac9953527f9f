"""Rewrites of integers and booleans on small shapes: z3 proves that no element of any input tells the forms apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
import z3
from onnx import parser

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_chain import rewrite_once
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs

pytestmark = pytest.mark.property

D = ir.DataType
SIGNED = {D.INT8: 8, D.INT16: 16, D.INT32: 32, D.INT64: 64}
UNSIGNED = {D.UINT8: 8, D.UINT16: 16, D.UINT32: 32, D.UINT64: 64}
WIDTHS = {**SIGNED, **UNSIGNED}
NARROW = {**dict.fromkeys(WIDTHS, 8), D.INT8: 8, D.UINT8: 8}
"""Bits of an integer where division makes whole words too hard; the algebra does not hang on how many there are."""

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
GRAPHS = {
    "whole": """g (int64[2, 3] x, int64[2, 3] z) => (int64[A, B] y, bool[C, D] u) <int64 three = {3}> {
        a = Add(x, z) b = Sub(a, three) c = Mul(b, x) d = Transpose <perm = [1, 0]> (c) y = Neg(d)
        u = Equal(a, b) }""",
    "words": """g (int32[2, 3] x, int32[1, 3] z, bool[2, 1] p) => (int32[A, B] y, bool[C, D] u) {
        a = Mul(x, z) y = Where(p, a, x) u = Less(a, z) }""",
    "bytes": """g (uint8[2, 2] x, int8[2, 2] z) => (uint8[A, B] y, int8[C, D] w) {
        y = Transpose <perm = [1, 0]> (x) w = Identity(z) }""",
    "truth": """g (bool[2, 2] p, bool[2, 2] q, bool[1, 2] r) => (bool[A, B] y) {
        a = And(p, q) b = Or(a, r) c = Xor(b, p) d = Not(c) y = Or(d, q) }""",
    "rest": """g (int32[3] x, int64[2] z, uint32[2] w) => (int32[A] y, int64[B] u, uint32[C] v)
        <int32 seven = {7}, int64 five = {5}, uint32 six = {6}> {
        y = Mod(x, seven) u = Mod <fmod = 1> (z, five) v = Mod(w, six) }""",
}
PROVEN = {
    *("add-zero", "cast-and-back", "commute", "compare-wider", "concat-alone", "de-morgan", "distribute-integers"),
    *("divide-by-one", "gather-all", "identity", "mirror-comparison", "mod-as-division", "multiply-by-one"),
    *("not-twice", "pad-and-slice", "reshape-and-back", "reverse-twice", "slice-and-concat", "split-and-concat"),
    *("subtract-zero", "swap-branches", "tile-and-slice", "transpose-and-back", "unsqueeze-squeeze"),
}
"""What has a site below; floating point is not among what is proven."""


class Unproven(Exception):
    """Something that is not of integers and booleans."""


class Solver:
    """Evaluates programs on symbols."""

    def __init__(self, program: Program, widths: dict[D, int]) -> None:
        self._widths = widths
        self._given: dict[str, np.ndarray] = {}
        for value in program.graph.inputs:
            fact = program.tensor(value)
            assert fact is not None
            shape = fact.static_shape or ()
            array = np.empty(shape, object)
            for place in np.ndindex(shape):
                name = f"{value.name}{list(place)}"
                array[place] = z3.Bool(name) if fact.dtype is D.BOOL else z3.BitVec(name, widths[fact.dtype])
            self._given[value.name or ""] = array

    def outputs(self, program: Program) -> list[np.ndarray]:
        """What the program computes of the symbols."""
        known = dict(self._given)
        for node in program.nodes():
            given = [None if v is None else self._value(program, v, known) for v in node.inputs]
            results = self._node(program, node, given)
            for output, result in zip(node.outputs, results, strict=True):
                known[output.name or ""] = result
        return [known[o.name or ""] for o in program.graph.outputs]

    def _value(self, program: Program, value: ir.Value, known: dict[str, np.ndarray]) -> np.ndarray:
        if value.name in known:
            return known[value.name]
        array, fact = program.const_array(value), program.tensor(value)
        assert array is not None
        assert fact is not None
        return self._symbols(array, fact.dtype)

    def _symbols(self, array: np.ndarray, dtype: D) -> np.ndarray:
        made = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            item = array[place]
            if dtype is D.BOOL:
                made[place] = z3.BoolVal(bool(item))
            elif dtype in WIDTHS:
                made[place] = z3.BitVecVal(int(item), self._widths[dtype])
            else:
                raise Unproven(dtype)
        return made

    def _node(self, program: Program, node: ir.Node, given: list[Any]) -> list[np.ndarray]:
        attrs = program.attrs(node)
        fact = program.tensor(node.inputs[0] if node.inputs else node.outputs[0])
        assert fact is not None
        kind, op = fact.dtype, node.op_type
        if kind is not D.BOOL and kind not in WIDTHS:
            raise Unproven(kind)
        whole = [program.const_array(v) if v is not None else None for v in node.inputs]
        if op in MOVING:
            return MOVING[op](given, whole, attrs, len(node.outputs))
        if op == "Cast":
            return [np.vectorize(lambda e: self._cast(e, kind, D(attrs["to"])), otypes=[object])(given[0])]
        if op == "Pad" and (len(given) < 3 or given[2] is None):
            ends = whole[1]
            assert ends is not None
            around = list(zip(ends[: len(ends) // 2], ends[len(ends) // 2 :], strict=True))
            zero = self._symbols(np.zeros(()), kind).item()
            return [np.pad(given[0], around, constant_values=zero)]
        table = {**(BOOLS if kind is D.BOOL else WORDS), **(SIGNED_ONLY if kind in SIGNED else UNSIGNED_ONLY)}
        name = f"{op}/{attrs.get('fmod', 0)}" if op == "Mod" else op
        if name not in table:
            raise Unproven(op)
        return [np.vectorize(table[name], otypes=[object])(*np.broadcast_arrays(*given))]

    def _cast(self, element: Any, kind: D, to: D) -> Any:
        if to is D.BOOL:
            return element if kind is D.BOOL else element != 0
        if to not in WIDTHS:
            raise Unproven(to)
        width = self._widths[to]
        if kind is D.BOOL:
            return z3.If(element, z3.BitVecVal(1, width), z3.BitVecVal(0, width))
        own = self._widths[kind]
        if width <= own:
            return z3.Extract(width - 1, 0, element)
        return (z3.SignExt if kind in SIGNED else z3.ZeroExt)(width - own, element)


def _slice(given: list[Any], whole: list[Any], attrs: Any, outputs: int) -> list[np.ndarray]:
    starts, ends, axes, steps = (*whole[1:], *[None] * 4)[:4]
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * given[0].ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        low = None if step < 0 and start == -1 else int(start)
        high = None if step < 0 and end < -given[0].ndim - given[0].shape[axis] else int(end)
        index[axis] = slice(low, high, int(step))
    return [given[0][tuple(index)]]


def _reshape(given: list[Any], whole: list[Any], attrs: Any, outputs: int) -> list[np.ndarray]:
    sizes = [given[0].shape[i] if n == 0 else int(n) for i, n in enumerate(whole[1])]
    return [given[0].reshape(sizes)]


def _split(given: list[Any], whole: list[Any], attrs: Any, outputs: int) -> list[np.ndarray]:
    axis = attrs.get("axis", 0)
    cuts = np.cumsum(whole[1])[:-1] if len(whole) > 1 else outputs
    return list(np.split(given[0], cuts, axis))


MOVING = {
    "Identity": lambda given, whole, attrs, outputs: [given[0]],
    "Transpose": lambda given, whole, attrs, outputs: [np.transpose(given[0], attrs.get("perm"))],
    "Concat": lambda given, whole, attrs, outputs: [np.concatenate(given, attrs["axis"])],
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Gather": lambda given, whole, attrs, outputs: [np.take(given[0], whole[1], attrs.get("axis", 0))],
    "Tile": lambda given, whole, attrs, outputs: [np.tile(given[0], whole[1])],
    "Unsqueeze": lambda given, whole, attrs, outputs: [np.expand_dims(given[0], tuple(int(a) for a in whole[1]))],
    "Squeeze": lambda given, whole, attrs, outputs: [np.squeeze(given[0], tuple(int(a) for a in whole[1]))],
}
COMMON = {"Equal": lambda a, b: a == b, "Where": z3.If}
BOOLS = {**COMMON, "And": z3.And, "Or": z3.Or, "Xor": z3.Xor, "Not": z3.Not}
WORDS = {**COMMON, "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Neg": lambda a: -a}
SIGNED_ONLY = {
    "Less": lambda a, b: a < b,
    "Greater": lambda a, b: a > b,
    "LessOrEqual": lambda a, b: a <= b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "Div": lambda a, b: a / b,
    "Mod/0": lambda a, b: a % b,
    "Mod/1": z3.SRem,
}
UNSIGNED_ONLY = {
    "Less": z3.ULT,
    "Greater": z3.UGT,
    "LessOrEqual": z3.ULE,
    "GreaterOrEqual": z3.UGE,
    "Div": z3.UDiv,
    "Mod/0": z3.URem,
    "Mod/1": z3.URem,
}
"""z3 divides signed words towards zero, and its remainder has the divisor's sign: as ONNX's Div and Mod."""


def programs() -> dict[str, Program]:
    return {name: Program.from_proto(parser.parse_model(f"{HEAD} {text}")) for name, text in GRAPHS.items()}


@pytest.mark.parametrize("name", sorted(PROVEN))
def test_no_input_tells_the_forms_apart(name: str) -> None:
    specs, rewrite = load_specs(), build_rewrites([name])[name]
    proven = 0
    for graph, program in programs().items():
        widths = NARROW if graph == "rest" else WIDTHS
        for site in rewrite.sites(program, specs):
            for draw in range(3):
                made = rewrite_once(program, specs, rewrite, site, Choices.from_seed(f"{graph}/{draw}"))
                if isinstance(made, Skipped):
                    continue
                solver = Solver(program, widths)
                try:
                    pairs = zip(solver.outputs(program), solver.outputs(made[1]), strict=True)
                    differ = [
                        a != b
                        for one, other in pairs
                        for a, b in zip(one.ravel(), other.reshape(one.shape).ravel(), strict=True)
                    ]
                except Unproven:
                    continue  # by way of floating point
                proof = z3.Solver()
                proof.set("timeout", 60_000)
                proof.add(z3.Or(differ))
                assert proof.check() == z3.unsat, f"{made[0].detail}: {proof}"
                proven += 1
    assert proven


def test_a_wrong_rewrite_is_refuted() -> None:
    wrong = Program.from_proto(parser.parse_model(f"{HEAD} {GRAPHS['truth'].replace('a = And', 'a = Or')}"))
    right = programs()["truth"]
    solver = Solver(right, WIDTHS)
    proof = z3.Solver()
    proof.add(
        z3.Or([a != b for a, b in zip(solver.outputs(right)[0].ravel(), solver.outputs(wrong)[0].ravel(), strict=True)])
    )
    assert proof.check() == z3.sat
