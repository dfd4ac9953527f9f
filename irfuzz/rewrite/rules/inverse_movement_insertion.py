"""Movements and their inverses: a value is transposed, reshaped, cut or padded, and put together again."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_values

_KINDS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.INT32, ir.DataType.INT64)


def _ranked(least: int):
    def fits(fact: TensorFact) -> bool:
        return fact.dtype in _KINDS and (fact.rank or 0) >= least

    return fits


def _cuttable(fact: TensorFact) -> bool:
    return _ranked(1)(fact) and max(fact.static_shape or (0,)) >= 2


def _shape(inserter: Inserter, value: ir.Value) -> tuple[int, ...]:
    return inserter.fact(value).static_shape or ()


def _cut(inserter: Inserter, value: ir.Value, choices: Choices) -> tuple[int, int, int]:
    """An axis, its size, and where to cut it so that no part is empty."""
    shape = _shape(inserter, value)
    axis = choices.pick([i for i, size in enumerate(shape) if size >= 2])
    return axis, shape[axis], choices.integer(1, shape[axis] - 1)


def _transposes(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    rank = len(_shape(inserter, value))
    perm = choices.sample(range(rank), rank)
    there = inserter.value("Transpose", value, perm=perm)
    return inserter.value("Transpose", there, perm=[perm.index(i) for i in range(rank)])


def _reshapes(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    shape = _shape(inserter, value)
    place = choices.integer(0, len(shape) - 1)
    merged = [*shape[:place], -1] if choices.boolean() else [-1]
    return inserter.reshape(inserter.reshape(value, merged), shape)


def _unsqueezed(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    axis = choices.integer(0, len(_shape(inserter, value)))
    return inserter.squeeze(inserter.unsqueeze(value, [axis]), [axis])


def _unpad(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    shape = _shape(inserter, value)
    before = [choices.integer(0, 2) for _ in shape]
    after = [choices.integer(0, 2) for _ in shape]
    modes = ["constant", "edge"] + (["reflect"] if min(shape) > 2 else [])
    padded = inserter.pad(value, before, after, choices.pick(modes))
    ends = [b + n for b, n in zip(before, shape, strict=True)]
    return inserter.slice(padded, range(len(shape)), before, ends)


def _sliced(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    axis, size, cut = _cut(inserter, value, choices)
    parts = [inserter.slice(value, [axis], [0], [cut]), inserter.slice(value, [axis], [cut], [size])]
    return inserter.value("Concat", *parts, axis=axis)


def _split(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    axis, size, cut = _cut(inserter, value, choices)
    sizes = [cut, size - cut]
    if inserter.opset < 13:
        node = inserter.node("Split", [value], {"axis": axis, "split": sizes}, outputs=2)
    else:
        node = inserter.node("Split", [value, inserter.ints(sizes)], {"axis": axis}, outputs=2)
    return inserter.value("Concat", *node.outputs, axis=axis)


def _gathered(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    shape = _shape(inserter, value)
    axis = choices.index(len(shape))
    return inserter.value("Gather", value, inserter.ints(range(shape[axis])), axis=axis)


def _reversed(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    axis = choices.index(len(_shape(inserter, value)))

    def turn(given: ir.Value) -> ir.Value:
        return inserter.slice(given, [axis], [-1], [int(np.iinfo(np.int64).min)], [-1])

    return turn(turn(value))


def _tiled(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    shape = _shape(inserter, value)
    axis = choices.index(len(shape))
    repeats = [2 if i == axis else 1 for i in range(len(shape))]
    start = choices.pick((0, shape[axis]))
    return inserter.slice(inserter.tile(value, repeats), [axis], [start], [start + shape[axis]])


B = Exactness.BITWISE
REWRITES: tuple[Rewrite, ...] = (
    rewrite_values(
        "transpose-and-back", B, "x -> Transpose(Transpose(x))", _transposes, _ranked(2), needs=("Transpose",)
    ),
    rewrite_values("reshape-and-back", B, "x -> Reshape(Reshape(x))", _reshapes, _ranked(1), needs=("Reshape",)),
    rewrite_values("unsqueeze-squeeze", B, "x -> Squeeze(Unsqueeze(x))", _unsqueezed, _ranked(0), needs=("Squeeze",)),
    rewrite_values("pad-and-slice", B, "x -> Slice(Pad(x))", _unpad, _ranked(1), needs=("Pad", "Slice"), eagle=14),
    rewrite_values("slice-and-concat", B, "x -> Concat(x[:k], x[k:])", _sliced, _cuttable, needs=("Slice", "Concat")),
    rewrite_values("split-and-concat", B, "x -> Concat(Split(x))", _split, _cuttable, needs=("Split", "Concat")),
    rewrite_values("gather-all", B, "x -> Gather(x, 0..n-1)", _gathered, _ranked(1), needs=("Gather",)),
    rewrite_values("reverse-twice", B, "x -> x[::-1][::-1]", _reversed, _ranked(1), needs=("Slice",), since=10),
    rewrite_values("tile-and-slice", B, "x -> Slice(Tile(x))", _tiled, _ranked(1), needs=("Tile", "Slice")),
)
