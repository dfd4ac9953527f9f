"""A suspect that is excused by what stands elsewhere in its program is found out where its node does wrong alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.triage import Triage
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.findings.codec import finding_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle import judge
from irfuzz.oracle.types import Symptom
from irfuzz.store.database import Database

pytestmark = [pytest.mark.planted, pytest.mark.backend, pytest.mark.timeout(120)]

SOURCE = """
import onnx
from onnx.reference import ReferenceEvaluator

class Runtime:
    def run(self, model, inputs):
        proto = onnx.load_model_from_string(model)
        if any(node.op_type == "Neg" for node in proto.graph.node):
            raise TypeError("bad operand type")
        names = [output.name for output in proto.graph.output]
        return dict(zip(names, ReferenceEvaluator(proto).run(None, inputs)))
"""

# A float that no integer holds: a runtime may do what it likes with it, also refuse it.
TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (int32[2] y, float[2] z) {
  y = Cast <to = 6> (x)
  f = Cast <to = 1> (y)
  z = Neg (f)
}
"""


def test_a_node_that_does_wrong_alone_is_the_finding(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    program = Program.from_proto(onnx.parser.parse_model(TEXT))
    inputs = {"x": np.array([3e12, 1.0], np.float32)}
    layout = Layout(tmp_path / "out")
    layout.out.mkdir()
    for folder in layout.folders():
        folder.mkdir(parents=True, exist_ok=True)
    name = f"{tmp_path / 'mine.py'}:Runtime"
    targets = ("reference", "onnxruntime:disabled", name)
    with Runner(resolve(targets)) as runner:
        results = runner.run(program, inputs)
        verdicts = judge(program, inputs, results)
        doubted = [v for v in verdicts if v.target == results[2].target.name]
        assert [v.suspect for v in doubted] == [True], "what follows would show nothing"
        database = Database(layout.database)
        triage = Triage(layout, database, runner, Config(targets=targets))
        case = FailingCase(program, inputs)
        triage.look([Finding(v, case, case, results) for v in doubted], Counter())
    rows = [finding_of(database.finding(row.number)) for row in database.findings(bare=True)]
    (found,) = [row for row in rows if not row.verdict.suspect]
    assert (found.verdict.symptom, found.verdict.target) == (Symptom.REJECTION, results[2].target.name)
    assert [n.op_type for n in found.case.proto.graph.node] == ["Neg"]
    assert len(found.original.proto.graph.node) == 3
    assert found.verdict.cut_out
    assert [row.verdict.target for row in rows if row.verdict.suspect] == [found.verdict.target]
