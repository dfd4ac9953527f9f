"""A program with known faults, its mended twin, and how both are written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx
from onnx import parser

Ends = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A program, or its mended twin.

    Attributes:
        name: of the program; the twin's ends with ``-mended``.
        inputs: as ONNX's text format has them.
        body: likewise; the last value is the output.
        ranges: of the inputs.
        faults: names of the values whose computation may go wrong; none in a twin.
        constants: initialisers, in the text format.
        output: type and name.
        opset: of the default domain.
    """

    name: str
    inputs: str
    body: str
    output: str
    ranges: Mapping[str, Ends]
    faults: frozenset[str] = frozenset()
    constants: str = ""
    opset: int = 17

    def model(self) -> onnx.ModelProto:
        """As a model."""
        constants = f"<{self.constants}>" if self.constants else ""
        name = self.name.replace("-", "_").replace(" ", "_")
        head = f'<ir_version: 8, opset_import: ["" : {self.opset}]> {name} ({self.inputs}) => ({self.output})'
        return parser.parse_model(f"{head} {constants} {{ {self.body} }}")


@dataclass(frozen=True)
class Pair:
    """A faulty program and its twin."""

    faulty: Case
    mended: Case


def pair(
    name: str,
    inputs: str,
    output: str,
    faulty: str,
    mended: str,
    ranges: Mapping[str, Ends],
    faults: str,
    constants: str = "",
    mended_ranges: Mapping[str, Ends] | None = None,
    opset: int = 17,
) -> Pair:
    """Both programs; ``faults`` are names separated by spaces."""
    wrong = Case(name, inputs, faulty, output, ranges, frozenset(faults.split()), constants, opset)
    right = Case(f"{name}-mended", inputs, mended, output, mended_ranges or ranges, frozenset(), constants, opset)
    return Pair(wrong, right)
