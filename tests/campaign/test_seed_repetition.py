"""A model that a seed folder has already is refused, by its bytes or by what it computes; lost files refuse nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx.parser
import pytest

from irfuzz.campaign.corpus.seed_folder_maintenance import _refuse_double
from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def model(nodes: str, name: str = "g") -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 17]> {name} (float[2] x) => (float[2] y) {{ {nodes} }}'
    data: bytes = onnx.parser.parse_model(text).SerializeToString()
    return data


NEG, ABS = model("y = Neg(x)"), model("y = Abs(x)")


@pytest.mark.parametrize(
    ("stored", "sha256", "operators", "refused"),
    [
        (NEG, "", ["Neg"], True),
        (NEG, "", ["Abs"], False),  # not even looked at
        (ABS, "", ["Neg"], False),
        (None, "", ["Neg"], False),
        (None, hashlib.sha256(NEG).hexdigest(), ["Neg"], True),
    ],
)
def test_what_is_there_already(
    tmp_path: Path, stored: bytes | None, sha256: str, operators: list[str], refused: bool
) -> None:
    if stored is not None:
        (tmp_path / "old.onnx").write_bytes(stored)
    entry = {"name": "old", "file": "old.onnx", "sha256": sha256, "nodes": 1, "operators": operators}
    candidate: Any = SimpleNamespace(model=NEG, nodes=1, operators=("Neg",), digest=Program.from_bytes(NEG).digest)
    if refused:
        with pytest.raises(InvalidProgram, match="has this model already, as old"):
            _refuse_double(tmp_path, [entry], candidate)
    else:
        _refuse_double(tmp_path, [entry], candidate)
