"""``irfuzz.equiv``: what the command does not reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irfuzz
from irfuzz.errors import UsageError

TARGET = f"{Path(__file__).resolve().parents[1] / 'planted_targets' / 'rewritten.py'}:RepeatsTheFirstRow"
RIGHT = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[3, 4] x) => (float[3, 4] y) { a = Tanh(x) y = Neg(a) }'
)
PRODUCT = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 2] y)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { a = Tanh(x) y = MatMul(a, w) }""")


@pytest.mark.planted
def test_models_of_one_name_are_told_apart_and_a_contradiction_is_kept(tmp_path: Path) -> None:
    updates: list[irfuzz.Update] = []
    report = irfuzz.equiv(
        [RIGHT, PRODUCT], targets=[TARGET], rewrites=["split-rows"], forms=4, out=tmp_path, progress=updates.append
    )
    found = report.contradictions
    assert {(item.step.rewrite, item.step.operator) for item in found} == {("split-rows", "MatMul")}
    assert str(report).startswith(f"g on {TARGET}: difference after split-rows of MatMul")
    assert report.to_json()["contradictions"][0]["operator"] == "MatMul"
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{number:04d}-split-rows.{end}"
        for number in range(1, len(found) + 1)
        for end in ("original.onnx", "rewritten.onnx", "inputs.npz")
    }
    known = [update.so_far() for update in updates if update.so_far is not None]
    assert {one.stopped for one in known if one is not None and one.contradictions} == {"stopped"}


@pytest.mark.backend
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": []}, "models: expected at least one, got none"),
        ({"models": [RIGHT, PRODUCT], "inputs": irfuzz.InputSpec()}, "inputs: they are of one model, got 2 models"),
        ({"rewrites": ["no-such"]}, "rewrites: unknown rewrite 'no-such'"),
        ({"ways": ["no-such"]}, "ways: unknown way 'no-such'"),
        ({"forms": -1}, "forms: expected at least 0, got -1"),
        ({"chain": 0}, "chain: expected at least 1, got 0"),
        ({"forms": 0, "rewrites": ["conv-per-group"]}, "forms: expected at least 1, got 0: without ways"),
        ({"rewrites": ["conv-per-group"], "targets": ["reference"]}, "no form was compared"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        irfuzz.equiv(**{"models": RIGHT, **arguments})  # pyright: ignore[reportArgumentType]


@pytest.mark.backend
def test_ways_may_be_tested_alone() -> None:
    report = irfuzz.equiv(RIGHT, targets=["onnxruntime:disabled"], ways=["reload"], forms=0)
    assert {*report.to_json()["forms"]} == {"reload"}


@pytest.mark.backend
def test_every_sample_is_run() -> None:
    samples = [{"x": np.full((3, 4), value, np.float32)} for value in (0.5, 2)]
    one = irfuzz.equiv(PRODUCT, targets=["reference"], rewrites=["split-rows"], forms=1, inputs=samples[:1])
    two = irfuzz.equiv(PRODUCT, targets=["reference"], rewrites=["split-rows"], forms=1, inputs=samples)
    assert two.counts.forms.total() == 2 * one.counts.forms.total() > 0
