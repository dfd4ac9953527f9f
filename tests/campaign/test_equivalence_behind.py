"""Faults of layers are found by EAGLE's rules behind activations and pooling too, and what is undecided says why."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import irfuzz
from irfuzz.api.equiv import EquivReport

FILE = Path(__file__).resolve().parents[1] / "planted_targets" / "layers_of_eagle.py"
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
LAYERS = {
    "EpsilonOutside": (
        "float[2,3,4,4] x",
        "float[3] s = {1, 2, 3}, float[3] b = {4, 5, 9}, float[3] m = {1, 2, 3}, float[3] v = {1, 2, 0.5}",
        "c = Tanh(x) a = BatchNormalization<epsilon = 0.1>(c, s, b, m, v)",
        "[2,3,4,4]",
    ),
    "CorrectedVariance": (
        "float[2,3,4,4] x",
        "float[4] s = {1, 2, 3, -1}",
        "c = Tanh(x) a = LayerNormalization(c, s)",
        "[2,3,4,4]",
    ),
    "CountsPadding": (
        "float[2,3,8,8] x",
        "",
        "a = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)",
        "[2,3,4,4]",
    ),
    "PadsWithZeros": (
        "float[2,3,8,8] x",
        "float five = {5.0}",
        "c = Sub(x, five) d = MaxPool<kernel_shape = [3,3], pads = [1,1,1,1], strides = [2,2]>(c) a = Add(d, five)",
        "[2,3,4,4]",
    ),
    "ResetsFirst": (
        "float[4,2,3] x, float[1,12,3] w, float[1,12,4] r, float[1,24] b",
        "",
        "h, last = GRU<hidden_size = 4, linear_before_reset = 1>(x, w, r, b) a = Transpose<perm = [2, 0, 1, 3]>(h)",
        "[2,4,1,4]",
    ),
}
BEHIND = {
    "Relu": "y = Relu(a)",
    "Softmax": "y = Softmax<axis = -1>(a)",
    "Sigmoid": "y = Sigmoid(a)",
    "MaxPool": "y = MaxPool<kernel_shape = [1, 2]>(a)",
}
RULES = {
    "EpsilonOutside": ("batch-normalization-formula", "BatchNormalization"),
    "CorrectedVariance": ("layer-normalization-formula", "LayerNormalization"),
    "CountsPadding": ("average-pool-explicit-pad", "AveragePool"),
    "PadsWithZeros": ("max-pool-least-pad", "MaxPool"),
    "ResetsFirst": ("recurrent-formula", "GRU"),
}


def looked_into(layer: str, behind: str, rewrite: str) -> EquivReport:
    inputs, constants, body, shape = LAYERS[layer]
    sizes = [int(n) for n in shape.strip("[]").split(",")]
    sizes[-1] -= behind == "MaxPool"
    text = f"{HEAD} g ({inputs}) => (float{sizes} y) <{constants}> {{ {body} {BEHIND[behind]} }}"
    model = onnx.parser.parse_model(text.replace("<>", ""))
    spec = irfuzz.InputSpec(ranges={value.name: (-2.0, 2.0) for value in model.graph.input})
    targets = [f"{FILE}:{layer}"]
    return irfuzz.equiv(model, targets=targets, rewrites=[rewrite], forms=2, chain=1, inputs=spec)


@pytest.mark.planted
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_faulty_layer_is_found_by_its_rule(layer: str, behind: str) -> None:
    rule, op = RULES[layer]
    report = looked_into(layer, behind, rule)
    assert report.contradictions, report.to_json()
    assert {(item.step.rewrite, item.step.operator) for item in report.contradictions} == {(rule, op)}
    assert {item.comparison.symptom for item in report.contradictions} == {"difference"}


@pytest.mark.unit
def test_what_is_undecided_says_why() -> None:
    inputs, constants, body, _ = LAYERS["EpsilonOutside"]
    text = f"{HEAD} g ({inputs}, float[2,3,4,4] z) => (float[2,3,4,4] y) <{constants}>"
    model = onnx.parser.parse_model(f"{text} {{ {body} l = Log(z) y = Add(a, l) }}")  # z is negative here and there
    report = irfuzz.equiv(
        model,
        targets=[f"{FILE}:EpsilonOutside"],
        rewrites=["batch-normalization-formula"],
        forms=2,
        inputs=irfuzz.InputSpec(ranges={"x": (-2.0, 2.0), "z": (-1.0, 1.0)}),
    )
    rows = report.to_json()["undecided"]
    json.dumps(rows)
    assert rows
    assert all(set(row) == {"target", "rewrite", "reason", "count"} and row["reason"] for row in rows)
    assert sum(row["count"] for row in rows) == sum(
        n for (_, answer), n in report.counts.answers.items() if answer == "undecided"
    )
    assert "undecided: " in str(report)
