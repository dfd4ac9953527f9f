"""A numeric analysis as text, JSON and a page, and its witnesses as folders that replay alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.analyze.abstract_domain.interval import Range
from irfuzz.analyze.failing_inputs.warning_subprogram import WarningProbe
from irfuzz.analyze.failing_inputs.witness_search import Witness
from irfuzz.analyze.numeric_range_analysis import Alarm, Analysis
from irfuzz.analyze.safe_input_ranges import Precondition
from irfuzz.analyze.unsafe_conditions import Fault
from irfuzz.analyze.warning_examination import ExaminedWarning, WarningReport
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.report.command_reports.numeric_analysis import as_html, as_json, as_text, write_witnesses

pytestmark = pytest.mark.unit

PROGRAM = Program.from_proto(
    onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Log (x) }',
    ),
)
PROBE = WarningProbe(PROGRAM, {}, "x", "y", ("x",))


def witness(shown: str = "x = -1", way: str = "corner") -> Witness:
    return Witness({"x": np.array([-1, 1], np.float32)}, PROBE, shown, 5, way)


def alarm(*inputs: str, low: float = -1.0, high: float = math.inf, **more: Any) -> Alarm:
    nan = more.pop("nan", False)
    fault = Fault(
        "domain", 0, Range(low, high, nan=nan), "positive operands", 0.0, math.inf, "add a small <number>", **more
    )
    return Alarm("n", "Log", "y", "x", fault, inputs)


def examined(*safe: Precondition, found: Witness | None = None, of: Alarm | None = None) -> ExaminedWarning:
    return ExaminedWarning(of or alarm("x"), safe, found)


def report(*judged: ExaminedWarning, unjudged: int = 0, **more: Any) -> WarningReport:
    analysis = Analysis(unjudged=[alarm("x", "w", loose=True)] * unjudged)
    analysis.safe.update({"Sqrt": 2, "Div": 1})
    return WarningReport(analysis, judged, **{"seconds": 0.12345678, "searched": "reference", **more})


LAST = "m: {} warnings ({} confirmed), 3 checked calls proved safe, {} overflows not proved, 0.12 s"


def test_text_of_warnings() -> None:
    made = report(
        examined(Precondition("x", 1.0, 1e15), Precondition("x", -0.5, 1 / 3), found=witness()),
        examined(of=alarm(low=0.5, high=2.0, nan=True)),
    )
    assert as_text(made, "m").splitlines() == [
        "confirmed: domain in Log 'n': needs positive operands",
        "    x is in [-1, inf]",
        "    witness (by a corner of the ranges): x = -1",
        "    depends on x",
        "    safe with x in [1, 1e+15]",
        f"    safe with x in [-0.5, {1 / 3!r}]",
        "    to mend it: add a small <number>",
        "possible: domain in Log 'n': needs positive operands",
        "    x is in [0.5, 2] or NaN",
        "    to mend it: add a small <number>",
        LAST.format(2, 1, 0),
    ]


@pytest.mark.parametrize(
    ("number", "told"),
    [(123456789.0, "123456789"), (999999999999999.0, "999999999999999"), (1e15, "1e+15"), (-1e15, "-1e+15"),
     (0.25, "0.25"),
     (1.2345678, "1.2345678"), (-math.inf, "-inf")],
)  # fmt: skip
def test_a_bound_is_told_so_that_it_stays_within(number: float, told: str) -> None:
    assert f"    safe with x in [0, {told}]" in as_text(report(examined(Precondition("x", 0.0, number))), "m")


def test_text_of_what_is_not_proved_or_unsupported() -> None:
    lines = as_text(report(unjudged=21), "m").splitlines()
    assert lines[0] == "unproved: domain in Log 'n': nothing is said of x, w; give --range"
    assert lines.count(lines[0]) == 20
    assert lines[20:] == ["unproved: 1 more", LAST.format(0, 0, 21)]
    assert len(as_text(report(unjudged=20), "m").splitlines()) == 21
    few = report()
    few.analysis.unjudged.extend([alarm(loose=True), alarm("x")])
    few.analysis.unknown.update({"Loop": 2, "If": 1})
    assert as_text(few, "m").splitlines()[:4] == [
        "unproved: domain in Log 'n': nothing is said of its inputs; give --range",
        "unproved: domain in Log 'n': its bounds come from many operations and are seldom attained",
        "unsupported: If (x1): its results were taken as anything",
        "unsupported: Loop (x2): its results were taken as anything",
    ]


def test_text_of_a_search_without_gradients_or_that_was_interrupted() -> None:
    told = "witnesses were looked for without gradients: no torch"
    assert told in as_text(report(examined(), unguided="no torch"), "m")
    assert told not in as_text(report(examined(found=witness()), unguided="no torch"), "m")
    assert "without gradients" not in as_text(report(examined()), "m")
    partial = as_text(report(examined(), searches=0), "m", partial=True)
    assert partial.startswith("partial: stopped after a search for witnesses of 0 of 1 warnings\n")
    assert "partial" not in as_text(report(examined()), "m")


def test_json_has_everything() -> None:
    apart = replace(examined(), undecided="far apart")
    made = report(examined(Precondition("x", 1.0, 2.0), found=witness()), apart, unjudged=1, unguided="no torch")
    assert "    undecided: far apart\n" in as_text(made, "m")
    made.analysis.unknown["Loop"] = 2
    told = as_json(made, "m")
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    plain = {
        "node": "n", "op": "Log", "output": "y", "kind": "domain", "operand": "x", "low": -1.0, "high": "inf",
        "needs": "positive operands", "advice": "add a small <number>", "depends_on": ["x"],
    }  # fmt: skip
    assert told == {
        "schema": 1, "partial": False, "model": "m", "seconds": 0.123457, "searched": "reference",
        "unguided": "no torch", "warnings": [
            {
                **plain, "status": "confirmed", "preconditions": [{"input": "x", "low": 1.0, "high": 2.0}],
                "witness": {"shown": "x = -1", "runs": 5, "way": "corner"}, "undecided": "",
            },
            {**plain, "status": "unconfirmed", "preconditions": [], "witness": None, "undecided": "far apart"},
        ],
        "unproved": [{**plain, "depends_on": ["x", "w"]}],
        "safe": {"Div": 1, "Sqrt": 2},
        "unsupported": {"Loop": 2},
    }  # fmt: skip
    assert as_json(made, "m", partial=True)["partial"] is True
    assert as_json(report(examined(of=alarm(low=-math.inf, high=1.0))), "m")["warnings"][0]["low"] == "-inf"


def test_the_page_has_a_row_for_each_warning() -> None:
    made = report(examined(Precondition("x", 1.0, 2.0), found=witness("x < 0")), examined(), unjudged=1)
    told = as_html(made, "<m>")
    assert "<title>Numeric analysis of &lt;m&gt;</title>" in told
    assert (
        "<p>2 warnings; 3 checked calls proved safe; 1 overflows not proved; unsupported operators: none.</p>" in told
    )
    row = "<tr><td>{}</td><td>Log n</td><td>domain</td><td>x in [-1, inf]</td><td>positive operands</td><td>{}</td>"
    end = "<td>{}</td><td>add a small &lt;number&gt;</td></tr>"
    assert (row + end).format("confirmed", "x in [1, 2]", "x &lt; 0") in told
    assert (row + end).format("possible", "", "") in told
    unproved = told.partition("<h2>Not proved</h2>")[2]
    assert "<tr><td>Log n</td><td>domain</td><td>x in [-1, inf]</td><td>positive operands</td><td>" in unproved
    assert "<h2>Where they are</h2>" not in told
    made.analysis.unknown.update({"Loop": 2, "If": 1})
    assert "unsupported operators: If (x1), Loop (x2).</p>" in as_html(made, "m")


def test_the_page_marks_nodes_in_the_program() -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Log(x) }'
    program = Program.from_proto(onnx.parser.parse_model(text))
    made = report(examined(), examined(found=witness("x < 0")), unjudged=1)
    told = as_html(made, "m", program)
    assert 'id="graph-data"' in told
    assert '["blamed","confirmed: domain"]' in told


def test_confirmed_warnings_become_folders(tmp_path: Path) -> None:
    made = report(examined(), examined(found=witness('a """ b\\c')), examined(found=witness()))
    folders = write_witnesses(made, tmp_path / "new" / "w")
    assert [f.relative_to(tmp_path / "new" / "w").as_posix() for f in folders] == ["000-log-domain", "001-log-domain"]
    assert sorted(p.name for p in folders[0].iterdir()) == ["inputs.npz", "model.onnx", "repro.py"]
    assert onnx.load(folders[0] / "model.onnx").graph.node[0].op_type == "Log"
    assert np.load(folders[0] / "inputs.npz")["x"].tolist() == [-1, 1]
    source = (folders[0] / "repro.py").read_text()
    compile(source, "repro.py", "exec")
    assert source.startswith("\"\"\"Log: domain; a ''' b/c\n\nPositive operands. Needs onnxruntime")
    assert "values['y']" in source
    assert write_witnesses(made, tmp_path / "new" / "w") == folders, "they may be there already"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        write_witnesses(made, tmp_path / "file")
