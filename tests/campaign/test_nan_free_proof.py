"""What is proved to be finite everywhere; a warning, an unjudged overflow or an unknown call is enough of a doubt."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.analyze.numeric_range_analysis import Analysis
from irfuzz.campaign.self_testing import nan_free_proof
from irfuzz.campaign.self_testing.nan_free_proof import nan_free
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def parse(nodes: str) -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {nodes} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


@pytest.mark.parametrize(
    ("nodes", "fed", "proved"),
    [
        ("y = Neg(x)", [1, 4], True),
        ("y = Log(x)", [1, 4], True),
        ("y = Log(x)", [-1, 4], False),
        ("y = Neg(x)", [1, np.nan], False),
        ("y = Neg(x)", [1, np.inf], False),
    ],
)
def test_small_programs(nodes: str, fed: list[float], proved: bool) -> None:
    assert nan_free(parse(nodes), {"x": np.array(fed, np.float32)}) is proved


@pytest.mark.parametrize(
    ("found", "proved"),
    [
        ({}, True),
        ({"warnings": ["w"]}, False),
        ({"unjudged": ["u"]}, False),
        ({"unknown": Counter({"Mystery": 1})}, False),
        ({"ranges": {"y": SimpleNamespace(finite=True)}}, True),
        ({"ranges": {"x": SimpleNamespace(finite=True), "y": SimpleNamespace(finite=False)}}, False),
    ],
)
def test_each_doubt_of_the_analysis_counts(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], proved: bool
) -> None:
    monkeypatch.setattr(nan_free_proof, "analyze", lambda program, ranges: Analysis(**found))
    assert nan_free(parse("y = Neg(x)"), {"x": np.ones(2, np.float32)}) is proved
