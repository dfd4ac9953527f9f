"""Whether another program shows the same fault: asked of no more targets than that takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.npz_tensors import unpack

REFUSED = Path(__file__).resolve().parents[2] / "docs" / "bugs" / "003-onnxruntime-pad-conv-weights"
BLAMED = "onnxruntime:basic"
NAMES = ("onnxruntime:disabled", BLAMED, "reference", "torch:eager")
OTHER = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Exp (x) }'


def test_the_others_are_asked_only_where_the_blamed_one_refuses() -> None:
    program = Program.from_bytes((REFUSED / "model.onnx").read_bytes())
    inputs = unpack((REFUSED / "inputs.npz").read_bytes())
    well, x = Program.from_proto(onnx.parser.parse_model(OTHER)), {"x": np.ones(2, np.float32)}
    with Runner(resolve(NAMES)) as runner:
        first = FaultPredicate([runner], Verdict("", Symptom.REJECTION, BLAMED), program)
        verdicts, results = first.judged(program, inputs)
        assert [r.target.name for r in results] == list(NAMES)
        (verdict,) = (v for v in verdicts if v.target == BLAMED)
        watch = FaultPredicate([runner], verdict, program)
        assert watch.still(program, inputs)
        assert not watch.still(well, x)
        assert [r.target.name for r in watch.judged(well, x)[1]] == [BLAMED]
        numeric = FaultPredicate([runner], Verdict("", Symptom.DIFFERENCE, BLAMED), program)
        assert len(numeric.judged(well, x)[1]) == len(NAMES)
