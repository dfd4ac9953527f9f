"""ONNX's own cases, run on the generated PyTorch modules: each passes or is refused for a listed reason."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from irfuzz.errors import Unsupported
from irfuzz.export.torch import lower
from irfuzz.ir.program import Program

pytestmark = [pytest.mark.conformance, pytest.mark.backend]
torch = pytest.importorskip("torch")

# The expected values of these were computed step by step in a 16-bit type, whose rounding unit (2**-11, 2**-8) is near
# or above the cases' rtol of 1e-3; ours round softmax once, from float32. They get three rounding units instead.
ROUNDED_IN_STEPS = {
    "test_attention_3d_causal_bf16": 2.0**-8,
    "test_attention_4d_attn_mask_causal_bf16": 2.0**-8,
    "test_attention_4d_causal_bf16": 2.0**-8,
    "test_attention_4d_causal_padded_kv_bf16": 2.0**-8,
    "test_attention_4d_padded_kv_bf16": 2.0**-8,
    "test_attention_3d_causal_bf16_expanded": 2.0**-8,
    "test_attention_4d_attn_mask_causal_bf16_expanded": 2.0**-8,
    "test_attention_4d_causal_bf16_expanded": 2.0**-8,
    "test_attention_4d_causal_fp16_expanded": 2.0**-11,
    "test_attention_4d_causal_padded_kv_bf16_expanded": 2.0**-8,
    "test_attention_4d_padded_kv_bf16_expanded": 2.0**-8,
}

# The expected zeros of these are what float32 leaves of a forward and an inverse transform.
NOT_QUITE_ZERO = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}

# Why a case may be refused, by how the reason begins.
TYPES = ("STRING", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")
REASONS = (
    *(f"no exact torch arithmetic for element type {t}" for t in TYPES),
    "the result is random",
    "opset 1 is older than 6",
    "the batches of opset 8",
    "softmax_precision DOUBLE",
    "ONNX does not say in which shape indices count",
)
# Operators without a lowering: rare in real models, or not of the default domain.
NOT_LOWERED = frozenset((
    "ImageDecoder", "TfIdfVectorizer",
    "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.TreeEnsemble", "ai.onnx.preview.FlexAttention", "ai.onnx.preview.training.Adagrad",
    "ai.onnx.preview.training.Adam", "ai.onnx.preview.training.Gradient", "ai.onnx.preview.training.Momentum",
))  # fmt: skip


@functools.cache
def cases(kind: str) -> tuple[Any, ...]:
    """The cases of one kind (``node``, ``simple``, ``pytorch-converted``) whose data ship with onnx."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the generators of the node cases divide by zero on purpose
        return tuple(load_model_tests(kind=kind))


def model_of(case: Any) -> onnx.ModelProto:
    """The model of a case."""
    return case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")


def data_of(case: Any, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
    """Inputs and expected outputs of a case, in the order of the graph."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [plain(v) for v in inputs], [plain(v) for v in outputs]
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield (
            [_read(folder / f"input_{i}.pb") for i in range(len(list(folder.glob("input_*.pb"))))],
            [_read(folder / f"output_{i}.pb") for i in range(len(model.graph.output))],
        )


def _read(path: Path) -> np.ndarray:
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def plain(value: Any) -> Any:
    """A case's value as an array, list or ``None``."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def difference(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """What is wrong with ``actual``; empty where dtype, shape and, within tolerance (integers exactly), value agree."""
    if expected is None or isinstance(expected, list):
        if expected is None or not isinstance(actual, list) or len(actual) != len(expected):
            return "" if actual is None and expected is None else f"expected {expected!r}, got {actual!r}"
        found = (difference(a, e, rtol, atol) for a, e in zip(actual, expected, strict=True))
        return next((text for text in found if text), "")
    expected = np.asarray(expected)
    if not isinstance(actual, np.ndarray) or (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        got = (actual.dtype, actual.shape) if isinstance(actual, np.ndarray) else actual
        return f"expected {expected.dtype} {expected.shape}, got {got}"
    if expected.dtype.kind in "iub":
        return "" if np.array_equal(actual, expected) else f"expected {_head(expected)}, got {_head(actual)}"
    wide_actual, wide_expected = actual.astype(np.float64), expected.astype(np.float64)
    close = np.isclose(wide_actual, wide_expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return ""
    wrong = int((~close).sum())
    return f"{wrong} of {close.size} differ: expected {_head(wide_expected[~close])}, got {_head(wide_actual[~close])}"


def _head(array: np.ndarray) -> str:
    return str(array.reshape(-1)[:5].tolist())


def draws(model: onnx.ModelProto) -> bool:
    """True where a node draws numbers, which ONNX leaves open."""
    ops = {node.op_type for node in model.graph.node}
    return bool(ops & {"Bernoulli", "RandomUniformLike"}) or ("Dropout" in ops and len(model.graph.node[0].input) > 2)


def undrawn(actual: Any, expected: Any) -> Any:
    """What came, where it has the type and shape that was expected."""
    alike = isinstance(actual, np.ndarray) and (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    return actual if alike else expected


@pytest.mark.parametrize(("kind", "least"), [("node", 1650), ("simple", 15), ("pytorch-converted", 82)])
def test_every_case_passes_or_is_refused_for_a_listed_reason(kind: str, least: int) -> None:
    torch.set_num_threads(1)
    passed, wrong = 0, []
    refused: Counter[str] = Counter()
    for case in cases(kind):
        model = model_of(case)
        try:
            lowered = lower(Program.from_proto(model))
        except Unsupported as error:
            refused[f"{error.op}: {error.why}"] += 1
            if error.op not in NOT_LOWERED and not error.why.startswith(REASONS):
                wrong.append(f"{case.name}: refused without need: {error}")
            continue
        module: dict[str, Any] = {}
        exec(compile(lowered.source, case.name, "exec"), module)
        text = ""
        for inputs, expected in data_of(case, model):
            feeds = dict(zip((i.name for i in model.graph.input), inputs, strict=False))
            outputs = module["run"](lowered.arrays, feeds)
            rtol = max(case.rtol, 3 * ROUNDED_IN_STEPS.get(case.name, 0.0))
            for name, value in zip(lowered.outputs, expected, strict=True):
                wanted = undrawn(outputs[name], value) if draws(model) else value
                text = text or difference(outputs[name], wanted, rtol, NOT_QUITE_ZERO.get(case.name, case.atol))
        if text:
            wrong.append(f"{case.name}: {text}")
        else:
            passed += 1
    total = len(cases(kind))
    print(f"{kind}: {passed} of {total} cases pass, {sum(refused.values())} are refused")
    for reason, count in refused.most_common():
        print(f"  {count:3} {reason}")
    assert wrong == []
    assert passed >= least
    assert passed + sum(refused.values()) == total
