"""What becomes of ONNX's own cases in an exported module: each passes, is refused, or is wrong."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from irfuzz.errors import Unsupported
from irfuzz.ir.program import Program
from tests.export import frameworks

KINDS = ("node", "simple", "pytorch-converted")
"""Folders of onnx.backend.test whose data ship with onnx."""
COUNTED = frozenset(
    getattr(onnx.TensorProto, name)
    for name in ("FLOAT16", "FLOAT", "DOUBLE", "BFLOAT16", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16",
                 "UINT32", "UINT64", "BOOL")
)  # fmt: skip
"""Element types of the cases that the shares are taken of."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case.

    Attributes:
        name: the case's.
        counted: all of its tensors are of ``COUNTED`` types.
        refused: operator and reason, where an exporter says that it has no exact form.
        wrong: what differs; empty where nothing does, or nothing was run.
    """

    name: str
    counted: bool
    refused: tuple[str, str] | None = None
    wrong: str = ""

    @property
    def passed(self) -> bool:
        """Whether the outputs are as expected."""
        return self.refused is None and not self.wrong


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
    expected = expected.astype(object) if expected.dtype.kind == "U" else expected
    if not isinstance(actual, np.ndarray) or (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        got = (actual.dtype, actual.shape) if isinstance(actual, np.ndarray) else actual
        return f"expected {expected.dtype} {expected.shape}, got {got}"
    if expected.dtype.kind == "O":
        return "" if actual.tolist() == expected.tolist() else f"expected {_head(expected)}, got {_head(actual)}"
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


def types_of(message: Any) -> Iterator[int]:
    """Element types of all tensors in a message: declared, stored, or asked for by a cast."""
    for field, value in message.ListFields():
        if field.message_type is None:
            if (message.DESCRIPTOR.name, field.name) in (("Tensor", "elem_type"), ("TensorProto", "data_type")):
                yield value
            continue
        for each in value if field.is_repeated else [value]:
            if isinstance(each, onnx.NodeProto) and each.op_type in ("Cast", "BitCast"):
                yield from (a.i for a in each.attribute if a.name == "to")
            yield from types_of(each)


def is_counted(model: onnx.ModelProto) -> bool:
    """Whether all tensors of a case are of ``COUNTED`` types."""
    return set(types_of(model)) <= COUNTED


def outcome(case: Any, *, run: bool = True) -> Outcome:
    """What becomes of a case; without ``run`` only whether it is refused."""
    model = model_of(case)
    counted = is_counted(model)
    try:
        lowered = frameworks.lower(Program.from_proto(model))
    except Unsupported as error:
        return Outcome(case.name, counted, (error.op, error.why))
    if not run:
        return Outcome(case.name, counted)
    module: dict[str, Any] = {}
    for text in lowered.source.split("\n\n\n"):
        exec(_compiled(text), module)
    for inputs, expected in data_of(case, model):
        feeds = dict(zip((i.name for i in model.graph.input), inputs, strict=False))
        try:
            outputs = module["run"](lowered.arrays, feeds)
        except NotImplementedError as error:
            return Outcome(case.name, counted, (model.graph.node[0].op_type, str(error)))
        rtol = max(case.rtol, 3 * ROUNDED_IN_STEPS.get(case.name, 0.0))
        for name, value in zip(lowered.outputs, expected, strict=True):
            wanted = undrawn(outputs[name], value) if draws(model) else value
            text = difference(outputs[name], wanted, rtol, NOT_QUITE_ZERO.get(case.name, case.atol))
            if text:
                return Outcome(case.name, counted, wrong=text)
    return Outcome(case.name, counted)


@functools.cache
def _compiled(text: str) -> Any:
    """A top-level definition of a module; most are shared by many modules."""
    return compile(text, "module", "exec")


def outcomes_of(framework: str, *, run: bool = True) -> dict[str, list[Outcome]]:
    """What becomes of every case in a framework."""
    frameworks.chosen[0] = framework
    return {kind: [outcome(case, run=run) for case in cases(kind)] for kind in KINDS}
