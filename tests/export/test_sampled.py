"""Calls drawn from the specs, on generated modules, ONNX's reference evaluator and ONNXRuntime."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx.reference import ReferenceEvaluator

from irfuzz.choices import Choices
from irfuzz.spec import Specs, load_specs, sample_call
from tests.export.frameworks import lower_model
from tests.spec import onenode

pytestmark = [pytest.mark.backend, pytest.mark.usefixtures("framework")]

CALLS = 8
F, I64 = ir.DataType.FLOAT, ir.DataType.INT64


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def ours(model: onnx.ModelProto) -> list[Any]:
    """What the module gives for a model whose inputs all have defaults."""
    module: dict[str, Any] = {}
    lowered = lower_model(ir.from_proto(model))
    exec(lowered.source, module)
    found = module["run"](lowered.arrays, {})
    return [found[o.name] for o in model.graph.output]


def reference(model: onnx.ModelProto) -> list[Any]:
    """What ONNX's reference evaluator gives."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, {})


def onnxruntime(model: onnx.ModelProto) -> list[Any]:
    """What ONNXRuntime gives."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {})


# The reference evaluator of onnx 1.23 fails for scalar limits of NonMaxSuppression and for unsorted slices of Unique,
# and divides by sizes less one in DeformConv.
@pytest.mark.parametrize(
    ("op", "opset", "judge"),
    [
        *((op, 17, reference) for op in (
            "BlackmanWindow", "Compress", "Det", "EyeLike", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT",
        )),
        ("AffineGrid", 20, reference), ("Attention", 23, reference), ("CausalConvWithState", 27, reference),
        ("Col2Im", 18, reference), ("CumProd", 26, reference), ("DFT", 20, reference),
        ("LinearAttention", 27, reference), ("RMSNormalization", 23, reference), ("RotaryEmbedding", 23, reference),
        ("SwiGLU", 28, reference), ("Swish", 24, reference), ("TensorScatter", 24, reference),
        ("DeformConv", 22, onnxruntime), ("GridSample", 20, onnxruntime), ("MaxUnpool", 17, onnxruntime),
        ("NonMaxSuppression", 17, onnxruntime), ("RoiAlign", 17, onnxruntime), ("Unique", 17, onnxruntime),
    ],
)  # fmt: skip
def test_drawn_calls_agree(specs: Specs, op: str, opset: int, judge: Callable[[onnx.ModelProto], list[Any]]) -> None:
    spec = specs.get(op, opset)
    assert spec is not None
    plain = {v: (next(d for d in (F, I64, *t) if d in t),) for v, t in spec.type_vars.items()}
    single = dataclasses.replace(spec, portable=plain, portable_except=())
    compared = 0
    for seed in range(2 * CALLS):
        call = sample_call(single, {}, Choices.from_seed(f"{op} {seed}"), max_elements=512)
        if call is None or (op == "MaxUnpool" and len(call.inputs) > 2):  # where indices count is left open then
            continue
        model = onenode.model_of(spec, call, min(opset, 26), np.random.default_rng(seed))
        model.opset_import[0].version = opset
        for actual, expected in zip(ours(model), judge(model), strict=True):
            assert actual.shape == np.asarray(expected).shape, (call.attrs, actual.shape, np.asarray(expected).shape)
            np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5, err_msg=str(call.attrs))
        compared += 1
        if compared == CALLS:
            break
    assert compared >= CALLS // 2
