"""What becomes of a converter's fault: it goes through the pipeline of findings, or is kept as it was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from irfuzz.embed.converter_campaign import ConverterFault, ConverterOptions, look_for_fault

pytestmark = pytest.mark.backend

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) b = Abs(a) y = Neg(b) }'
)
Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


def converter(wrong: Callable[[int, onnx.ModelProto], bool]) -> Callable[[onnx.ModelProto], Run]:
    """Adds one to what is right, in those of its runs that are to be wrong."""
    runs = 0

    def convert(model: onnx.ModelProto) -> Run:
        evaluator = ReferenceEvaluator(model)

        def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            nonlocal runs
            runs += 1
            off = float(wrong(runs, model))
            return {n: v + off for n, v in zip(evaluator.output_names, evaluator.run(None, dict(inputs)), strict=True)}

        return run

    return convert


@pytest.mark.parametrize(
    ("wrong", "nodes", "said"),
    [
        (lambda run, model: any(n.op_type == "Abs" for n in model.graph.node), 1, "made small from 3 nodes"),
        (lambda run, model: run == 1, 3, "as found: it does not show every time"),
    ],
)
def test_a_fault_is_stored_as_it_shows_again(
    tmp_path: Path, wrong: Callable[[int, onnx.ModelProto], bool], nodes: int, said: str
) -> None:
    found = look_for_fault(converter(wrong), tmp_path, ConverterOptions(seeds=[MODEL], programs=1, reduce=10.0))
    assert isinstance(found, ConverterFault)
    assert len(onnx.load(found.folder / "model.onnx").graph.node) == nodes
    assert said in json.loads((found.folder / "finding.json").read_text())["origin"]
