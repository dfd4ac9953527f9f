"""A model of two nodes, so that a campaign starts at once."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

TINY = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }'


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two nodes."""
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    onnx.save(onnx.parser.parse_model(TINY), path)
    return path
