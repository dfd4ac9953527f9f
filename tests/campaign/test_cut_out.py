"""A suspect that is excused by what stands elsewhere in its program is found out where its node does wrong alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.triage.disagreement_handling import Triage
from irfuzz.campaign.triage.stored_case_queue import StoredQueue
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.codec import finding_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Symptom
from irfuzz.store.database import Database, Status

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


def _looked_at(layout: Layout, targets: tuple[str, ...], times: int = 1) -> tuple[list[Finding], Counter[str]]:
    """What is stored once a suspect was looked into, seen so often, and what was counted."""
    program = Program.from_proto(onnx.parser.parse_model(TEXT))
    inputs = {"x": np.array([3e12, 1.0], np.float32)}
    counts = Counter[str]()
    with Runner(resolve(targets)) as runner:
        results = runner.run(program, inputs)
        verdicts = judge(program, inputs, results)
        doubted = [v for v in verdicts if v.target == results[-1].target.name]
        assert [v.suspect for v in doubted] == [True], "what follows would show nothing"
        database = Database(layout.database)
        triage = Triage(layout, StoredQueue(database), runner, Config(targets=targets, reduce=4.0))
        case = FailingCase(program, inputs)
        for _ in range(times):
            triage.look([Finding(v, case, case, results) for v in doubted], counts)
            triage.work(counts)
    return [finding_of(database.finding(row.number)) for row in database.findings(bare=True)], counts


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "out")
    for folder in (made.out, *made.folders()):
        folder.mkdir(parents=True, exist_ok=True)
    return made


def _runtime(tmp_path: Path, source: str = SOURCE) -> str:
    (tmp_path / "mine.py").write_text(source)
    return f"{tmp_path / 'mine.py'}:Runtime"


def test_a_node_that_does_wrong_alone_is_the_finding(tmp_path: Path, layout: Layout) -> None:
    rows, _ = _looked_at(layout, ("reference", "onnxruntime:disabled", _runtime(tmp_path)))
    (found,) = rows
    assert (found.number, found.verdict.suspect, found.verdict.symptom) == (1, False, Symptom.REJECTION)
    assert (found.status, found.group) == (Status.CONFIRMED, "")
    assert [n.op_type for n in found.case.proto.graph.node] == ["Neg"]
    assert len(found.original.proto.graph.node) == 3
    assert found.verdict.cut_out
    assert [f.parent.name for f in layout.out.glob("*/0001-*")] == ["findings"]


def test_a_witness_that_the_campaign_lacks_is_asked(tmp_path: Path, layout: Layout) -> None:
    rows, counts = _looked_at(layout, ("onnxruntime:disabled", _runtime(tmp_path)))
    (found,) = rows
    assert not found.verdict.suspect, counts
    assert "reference" in found.verdict.witnesses


# Refuses what a runtime may refuse, and nothing else.
LARGE = SOURCE.replace(
    'any(node.op_type == "Neg"',
    'max(abs(v).max() for v in inputs.values()) > 1e12 and any(node.op_type == "Cast" and node.attribute[0].i == 6',
)


def test_a_doubt_that_stays_takes_time_once(tmp_path: Path, layout: Layout) -> None:
    rows, counts = _looked_at(layout, ("reference", "onnxruntime:disabled", _runtime(tmp_path, LARGE)), times=7)
    (left,) = rows
    assert (left.verdict.suspect, left.status) == (True, Status.UNREPLAYED)
    assert (counts["suspect runs"], counts["suspects repeated"]) == (7, 3), "the 1st, 2nd and 4th later ones are not"
    assert [n.op_type for n in left.case.proto.graph.node] == ["Cast"], "it was made small"
    assert left.group.endswith("|rejection|Cast|TypeError: bad operand type")
    assert [f.parent.name for f in layout.out.glob("*/0001-*")] == ["suspects"]
    (folder,) = layout.suspects.iterdir()
    assert (folder / "model.onnx").read_bytes() == left.case.model
