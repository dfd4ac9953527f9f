"""Calls that keep ONNX's rules and are not made."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest

from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.runtime_refusals import refusal


def data(*shape: int | str) -> TensorFact:
    return TensorFact(ir.DataType.FLOAT, shape)


def ints(*values: int) -> TensorFact:
    return TensorFact(ir.DataType.INT64, (len(values),), value=values)


@pytest.mark.parametrize(
    ("op", "inputs", "bad", "good"),
    [
        ("MaxPool", [data(1, 1, 5)], {"kernel_shape": [1], "pads": [1, 0]}, {"kernel_shape": [2], "pads": [1, 0]}),
        (
            "MaxPool",
            [data(1, 1, 28)],
            {"kernel_shape": [1], "strides": [2], "ceil_mode": 1},
            {"kernel_shape": [1], "strides": [3], "ceil_mode": 1},
        ),
        (
            "AveragePool",
            [data(1, 1, 10)],
            {"kernel_shape": [1], "strides": [2], "ceil_mode": 1, "auto_pad": "VALID"},
            {"kernel_shape": [1], "strides": [2], "ceil_mode": 1, "auto_pad": "SAME_UPPER"},
        ),
        ("MaxPool", [data(1, 1, 2)], {"kernel_shape": [3]}, {"kernel_shape": [3], "pads": [1, 0]}),
        ("Conv", [data(1, 1, 2), data(1, 1, 2)], {"dilations": [2]}, {"dilations": [2], "pads": [0, 1]}),
        ("QuantizeLinear", [data(4), data(1), data(1)], {"block_size": 2}, {"block_size": 0}),
        ("Pad", [data(3, 4), ints(0, 4, 0, 0)], {"mode": "reflect"}, {"mode": "constant"}),
        ("Pad", [data(3, 4), ints(4, 0), None, ints(1)], {"mode": "edge"}, {}),
        ("Pad", [data(3, "N"), ints(0, 4, 3, 0)], {"mode": "wrap"}, {}),
        ("LRN", [data(1, 2, 3)], {"size": 1}, None),
        ("InstanceNormalization", [data(2, 3), data(3), data(3)], {}, None),
        ("Softmax", [data(4)], {"axis": 1}, {"axis": 0}),
        ("Slice", [data(4, 4)], {"axes": [2]}, {"axes": [1]}),
        ("LSTM", [data(5, 1, 3), None, None, None, None, data(2, 1, 4)], {}, {"direction": "bidirectional"}),
        ("ScatterElements", [data(4, 3), data(3, 4)], {"axis": 0}, {"axis": 1}),
        ("Cast", [data(3)], {"to": 6, "saturate": 0}, {"to": 17, "saturate": 0}),
        ("CastLike", [data(3), ints(1)], {"saturate": 0}, {"saturate": 1}),
    ],
)
def test_refused_and_allowed(
    op: str, inputs: list[TensorFact | None], bad: dict[str, Any], good: dict[str, Any] | None
) -> None:
    assert refusal(op, inputs, bad)
    if good is not None:
        assert refusal(op, inputs, good) is None


def test_normalising_needs_one_spatial_axis() -> None:
    assert refusal("InstanceNormalization", [data(2, 3, 1), data(3), data(3)], {}) is None


def test_what_is_not_known_is_refused_where_it_decides() -> None:
    assert refusal("Pad", [data(3, 4), TensorFact(ir.DataType.INT64, (4,))], {"mode": "reflect"})
    assert refusal("Pad", [data(3, 4), ints(1, 1), None, TensorFact(ir.DataType.INT64, (1,))], {"mode": "reflect"})
    assert refusal("Relu", [data(3)], {}) is None
