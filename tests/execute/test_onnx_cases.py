"""A sample of ONNX's own node cases through the workers: the reference evaluator gives back what ONNX publishes, and
generated inputs run wherever the published ones do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

pytestmark = pytest.mark.conformance

STEP = 16
NOT_RUNNABLE = {"test_scan_sum"}
"""The reference evaluator itself fails on it (an omitted optional input of Scan at opset 8)."""
OTHER_OUTPUTS = ("bernoulli", "training_dropout", "test_range_bfloat16_type_positive_delta_expanded")
"""Random numbers; and a Loop in a function whose scan outputs the evaluator gives one dimension too many."""
NO_INPUTS = ("test_affine_grid_", "test_col2im", "test_maxunpool_export_with_output_shape", "test_stft")
"""Their inputs depend on each other in ways that are not modelled."""


def cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sorted(collect_testcases(None), key=lambda case: case.name)[::STEP]


def array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return [array(v) for v in value] if isinstance(value, list) else value


def same(got: Any, expected: Any, case: Any) -> None:
    if expected is None or isinstance(expected, list):
        assert (got is None) == (expected is None)
        assert len(got or ()) == len(expected or ())
        for one, other in zip(got or (), expected or (), strict=True):
            same(one, other, case)
        return
    expected = np.asarray(expected)
    assert (got.shape, got.dtype.kind) == (expected.shape, "O" if expected.dtype.kind in "UO" else expected.dtype.kind)
    if got.dtype.kind == "O":
        assert got.tolist() == expected.tolist()
        return
    assert got.dtype == expected.dtype
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        got.astype(wide), expected.astype(wide), rtol=max(case.rtol, 1e-3), atol=max(case.atol, 1e-4)
    )


def test_sample() -> None:
    sample = cases()
    assert len(sample) > 100
    fitted = 0
    with Runner(resolve(["reference", "onnxruntime:disabled"])) as runner:
        for case in sample:
            model = case.model.SerializeToString()
            given, expected = case.data_sets[0]
            names = [value.name for value in case.model.graph.input]
            inputs = dict(zip(names, map(array, given), strict=False))
            reference, runtime = runner.run(model, inputs)
            for result in (reference, runtime):
                assert result.exit in (Exit.OK, Exit.UNSUPPORTED, Exit.REJECTED), (case.name, result)
            assert (reference.exit is Exit.OK) == (case.name not in NOT_RUNNABLE), (case.name, reference)
            if reference.exit is Exit.OK and not any(part in case.name for part in OTHER_OUTPUTS):
                for got, wanted in zip(reference.outputs.values(), map(array, expected), strict=True):
                    same(got, wanted, case)
            if runtime.exit is Exit.OK and not case.name.startswith(NO_INPUTS):
                program = Program.from_bytes(model)
                (own,) = runner.run(program, make_inputs(program, 1), runner.targets[1:])
                assert own.exit is Exit.OK, (case.name, own)
                fitted += 1
    assert fitted > 80
