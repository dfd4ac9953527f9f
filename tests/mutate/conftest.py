"""Seeds and specs that the tests of mutation share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import parser

from irfuzz.ir.program import Program
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import Specs, load_specs

TRAINED = ("lenet5", "lstm", "qcnn", "resnet", "transformer")


@pytest.fixture(scope="session")
def specs() -> Specs:
    """The shipped specs."""
    return load_specs()


@pytest.fixture(scope="session")
def seeds() -> dict[str, Program]:
    """Five shipped seeds by name; tests/seeds mutates each of the others."""
    return {name: Program.from_bytes((seeds_dir() / f"{name}.onnx").read_bytes()) for name in TRAINED}


@pytest.fixture(scope="session")
def parse() -> Callable[..., Program]:
    """A program from ONNX's text syntax."""

    def parsed(graph: str, opset: int = 17, ir_version: int = 8) -> Program:
        return Program.from_proto(
            parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{graph}')
        )

    return parsed
