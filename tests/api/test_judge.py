"""``irfuzz.judge`` and ``irfuzz.Runner``, as people use them without a campaign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }'
)
INPUTS = {"x": np.array([0.5, -2], np.float32)}

pytestmark = pytest.mark.backend


def test_who_is_wrong_is_named_with_a_runner_and_without() -> None:
    program = irfuzz.load(MODEL)
    with irfuzz.Runner(["onnxruntime:all", "reference"]) as runner:
        assert [target.name for target in runner.targets] == ["onnxruntime:all", "reference"]
        results = runner.run(program, INPUTS)
        assert irfuzz.judge(program, INPUTS, results, runner=runner) == []
        wrong = [replace(results[0], outputs={"y": np.array([0.0, 0.0], np.float32)}), results[1]]
        (verdict,) = irfuzz.judge(MODEL, INPUTS, wrong, runner=runner)
        assert (verdict.target, verdict.symptom, verdict.output) == ("onnxruntime:all", "difference", "y")
        assert not verdict.suspect
        (thin,) = irfuzz.judge(MODEL, INPUTS, wrong)
        assert thin.suspect, "nobody says which of two is right"


def test_targets_are_names_or_objects_and_unknown_names_are_refused() -> None:
    (target,) = irfuzz.Runner(["reference"]).targets
    assert isinstance(target, Target)
    assert irfuzz.Runner([target]).targets == (target,)
    with pytest.raises(UsageError, match="nonsense"):
        irfuzz.Runner(["nonsense"])


def test_no_results_are_no_agreement() -> None:
    with pytest.raises(UsageError, match="results: expected those of at least one target, got none"):
        irfuzz.judge(MODEL, INPUTS, [])
