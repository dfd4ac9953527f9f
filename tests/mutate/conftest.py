"""Seeds and specs that the tests of mutation share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import parser

from irfuzz.ir.program import Program
from irfuzz.resources import seeds_dir
from irfuzz.spec import Specs, load_specs


@pytest.fixture(scope="session")
def specs() -> Specs:
    """The shipped specs."""
    return load_specs()


@pytest.fixture(scope="session")
def seeds() -> dict[str, Program]:
    """The shipped seeds by name."""
    return {path.stem: Program.from_bytes(path.read_bytes()) for path in sorted(seeds_dir().glob("*.onnx"))}


@pytest.fixture(scope="session")
def parse() -> Callable[..., Program]:
    """A program from ONNX's text syntax."""

    def parsed(graph: str, opset: int = 17, ir_version: int = 8) -> Program:
        return Program.from_proto(
            parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{graph}')
        )

    return parsed
