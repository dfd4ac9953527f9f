"""Models that were made to do harm are mutated or refused in one line (benchmarks/damaged_models.py runs thousands)."""

from __future__ import annotations

import pytest

from benchmarks.damaged_models import as_bytes, hostile
from irfuzz.errors import InvalidProgram

MODELS = hostile()

REFUSED = {
    "a function that calls itself": "calls itself",
    "two functions that call each other": "calls itself",
    "forty doublings": "stands for about 10^12 nodes",
    "Tile beyond int64": "the largest int64",
    "an opset of 2^62": "expected at most 2147483647",
    "nothing": "empty",
    "rubbish": "not an ONNX model",
    "three thousand graphs in one another": "protobuf cannot read it",
}
"""What is said of those that no mutant can be made of; the others are valid, however large what they compute."""


@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_is_mutated_or_refused_in_one_line(name: str) -> None:
    told = ""
    try:
        as_bytes(MODELS[name])
    except InvalidProgram as error:
        told = str(error)
    assert "\n" not in told
    if name in REFUSED:
        assert REFUSED[name] in told
