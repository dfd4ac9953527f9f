"""Features of programs and how often they were seen."""

from __future__ import annotations

import json

import pytest
from onnx import parser

from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts, features


def parse(graph: str) -> Program:
    return Program.from_proto(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{graph}'))


@pytest.fixture
def small() -> Program:
    return parse("g (float[2, N] x) => (float[2, N] y) { h = Relu(x) y = Softmax <axis = 1> (h) }")


def test_features_of_a_small_program(small: Program) -> None:
    found = set(features(small))
    assert {("edge", "<input>", "Relu"), ("edge", "Relu", "Softmax"), ("dtype", "Relu", 0, 1)} <= found
    assert {("rank", "Softmax", 0, 2), ("attr", "Softmax", "axis", 1), ("shape", "Relu", 0, (2, "?"))} <= found


def test_only_new_features_count(small: Program) -> None:
    seen = FeatureCounts()
    first = seen.add_program(small)
    assert first == len(set(features(small))) == len(seen)
    assert seen.add_program(small) == 0
    assert seen.count(("edge", "Relu", "Softmax")) == 2
    assert seen.count(("edge", "Softmax", "Relu")) == 0
    other = parse("g (double[2, 3] x) => (double[2, 3] y) { h = Relu(x) y = Softmax <axis = 0> (h) }")
    assert seen.add_program(other) == len(set(features(other)) - set(features(small))) > 0
    assert seen.programs == 3


def test_attributes_fall_into_buckets() -> None:
    near = parse("g (float[4] x) => (float[4] y) { y = LeakyRelu <alpha = 0.501> (x) }")
    far = parse("g (float[4] x) => (float[4] y) { y = LeakyRelu <alpha = 0.2> (x) }")
    seen = FeatureCounts()
    seen.add_program(parse("g (float[4] x) => (float[4] y) { y = LeakyRelu <alpha = 0.5> (x) }"))
    assert seen.add_program(near) == 0
    assert seen.add_program(far) == 1


def test_counts_are_taken_up_again() -> None:
    seen = FeatureCounts()
    found = [("attr", "Pad", "pads", (0, (1, "a"), None, 0.5)), ("edge", "Relu", "Neg"), ("edge", "Relu", "Neg")]
    assert seen.add_features(found) == 2
    again = FeatureCounts()
    again.recall(json.loads(json.dumps(seen.state())))
    assert again.state() == seen.state()
    assert [again.count(feature) for feature in found] == [1, 2, 2]
    assert again.add_features(found) == 0
    again.recall(seen.state())
    assert again.count(found[1]) == 6, "on top of what was counted"
