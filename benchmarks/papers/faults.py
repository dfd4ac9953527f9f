"""Faults that the papers describe and ``tests/planted_targets/wrong.py`` has not.

A target is ``benchmarks/papers/faults.py:NAME``. Each computes everything else as ONNX's reference evaluator does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
from onnx.reference import ReferenceEvaluator

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(f) for f in (HERE, HERE.parents[1] / "tests" / "planted_targets") if str(f) not in sys.path]

import paper_kernels as kernels  # noqa: E402 - the planted targets are files that workers load by path
import wrong  # noqa: E402

FAULTS: dict[str, tuple[Callable[..., tuple[Any, ...]], str]] = {
    wrong_kernel.__name__: (wrong_kernel, operator)
    for wrong_kernel, operator in (
        (kernels.cells_beyond, "AveragePool"),
        (kernels.variance_by_moments, "InstanceNormalization"),
        (kernels.refuses_gru, "GRU"),
        (kernels.takes_empty_kernel, "Conv"),
        (kernels.takes_zero_dilation, "Conv"),
        (kernels.integers_in_double, "Mod"),
        (kernels.floor_division, "Div"),
        (kernels.backward_over_batch, "LSTM"),
        (kernels.axis_before_last, "Softmax"),
        (kernels.refuses_strides_with_dilations, "Conv"),
        (kernels.dies_of_nothing, "ConvTranspose"),
        (kernels.dies_of_no_units, "MatMul"),
    )
}
"""By name: the kernel, and whose it is."""


class _Runtime:
    """A plug-in of ``irfuzz.execute.adapters.plugin``."""

    fault: wrong.Fault

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return wrong.outputs_of(onnx.load_model_from_string(model), inputs, self.fault)


class TwiceInARow:
    """Refuses two ThresholdedRelu in a row (COMET: TF2ONNX)."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        proto = onnx.load_model_from_string(model)
        made = {name for node in proto.graph.node if node.op_type == "ThresholdedRelu" for name in node.output}
        if any(node.op_type == "ThresholdedRelu" and made & {*node.input} for node in proto.graph.node):
            raise RuntimeError("KeyError: 'ThresholdedRelu:0'")
        evaluator = ReferenceEvaluator(proto)
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


twice_in_a_row = TwiceInARow


def __getattr__(name: str) -> type[_Runtime]:
    """A target by the name of its fault."""
    if name not in FAULTS:
        raise AttributeError(name)
    kernel, operator = FAULTS[name]
    return type(name, (_Runtime,), {"fault": wrong.Fault(kernel, (operator,), "")})
