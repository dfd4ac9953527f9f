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
import paper_refusals as refusals  # noqa: E402
import wrong  # noqa: E402

FAULTS: dict[str, tuple[Callable[..., tuple[Any, ...]], str]] = {
    wrong_kernel.__name__: (wrong_kernel, operator)
    for wrong_kernel, operator in (
        (kernels.cells_beyond, "AveragePool"),
        (kernels.variance_by_moments, "InstanceNormalization"),
        (kernels.refuses_gru, "GRU"),
        (kernels.takes_empty_kernel, "Conv"),
        (kernels.takes_empty_window, "MaxPool"),
        (kernels.takes_zero_dilation, "Conv"),
        (kernels.integers_in_double, "Mod"),
        (kernels.floor_division, "Div"),
        (kernels.backward_over_batch, "LSTM"),
        (kernels.axis_before_last, "Softmax"),
        (kernels.refuses_strides_with_dilations, "Conv"),
        (kernels.dies_of_nothing, "ConvTranspose"),
        (kernels.dies_of_no_units, "MatMul"),
        (kernels.statistics_of_the_batch, "BatchNormalization"),
        (kernels.root_of_negative_is_zero, "BatchNormalization"),
        (kernels.states_stay_zero, "LSTM"),
        (kernels.log_of_epsilon_more, "Log"),
    )
}
"""By name: the kernel, and whose it is."""


REFUSALS: dict[str, Callable[[onnx.ModelProto], str]] = {
    refusal.__name__: refusal
    for refusal in (refusals.twice_in_a_row, refusals.rank_of_the_input_alone, refusals.open_batch)
}
"""By name: faults of whole models. Each gives the message with which a model is refused, empty if it is not."""


class _Runtime:
    """A plug-in of ``irfuzz.execute.adapters.plugin``."""

    fault: wrong.Fault

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return wrong.outputs_of(onnx.load_model_from_string(model), inputs, self.fault)


class _Refusing:
    """A plug-in that refuses models."""

    refusal: Callable[[onnx.ModelProto], str]

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        proto = onnx.load_model_from_string(model)
        if said := type(self).refusal(proto):
            raise RuntimeError(said)
        evaluator = ReferenceEvaluator(proto)
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def __getattr__(name: str) -> type[_Runtime | _Refusing]:
    """A target by the name of its fault."""
    if name in REFUSALS:
        return type(name, (_Refusing,), {"refusal": staticmethod(REFUSALS[name])})
    if name not in FAULTS:
        raise AttributeError(name)
    kernel, operator = FAULTS[name]
    return type(name, (_Runtime,), {"fault": wrong.Fault(kernel, (operator,), "")})
