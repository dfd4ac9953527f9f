"""A disagreement that waits is read as it was seen, with its program, its inputs and what every target did."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.triage import waiting_case_codec
from irfuzz.campaign.triage.waiting_case_codec import (
    NO_CASE,
    answers_in,
    bare_finding_of,
    operators_in,
    waiting_row_of,
    whole_parts,
)
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.stored_program_encoding import StoredPrograms
from irfuzz.store.waiting_rows import WaitingRow

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
INPUTS = {"x": np.array([1, np.nan], np.float32), "s": np.array(["a", "é"], object)}
BAD, GOOD = Target("bad", "bad", version="1"), Target("good", "good")
VERDICT = Verdict(
    "o", Symptom.DIFFERENCE, "bad", ("good",), suspect=True, output="y", distance=2.0, bound=0.5, evidence={"a": 1},
    doubt="who knows", excuse="few-accept", also=("bad:all",), element="y[0]", got="1", expected="2", invalid=True,
)  # fmt: skip
ANSWERS = (
    RunResult(BAD, Stage.RUN, Exit.OK, {"y": np.array([1, 2], np.float32), "q": [np.zeros(2), None]}, seconds=0.5),
    RunResult(GOOD, Stage.COMPILE, Exit.REJECTED, error="no", log="x" * 5000),
)


@pytest.fixture
def programs(tmp_path: Path) -> StoredPrograms:
    return StoredPrograms(FolderBlobs(tmp_path / "blobs"))


def row(programs: StoredPrograms, **fields: Any) -> WaitingRow:
    case = FailingCase(PROGRAM, INPUTS)
    given: dict[str, Any] = {
        "results": ANSWERS, "trace": {"edits": [1]}, "hunt": "nan", "group": "g", "job": 3, "iteration": 8, "doubted": 4
    }  # fmt: skip
    seen = Finding(VERDICT, case, case, **given | fields)
    return waiting_row_of(seen, programs, number=5, words="w", operators={"B", "A"}, size=1, again=True)


def read_all(stored: WaitingRow, programs: StoredPrograms) -> None:
    operators_in(stored)
    bare_finding_of(stored)
    whole_parts(stored, programs, unmade)
    answers_in(stored, (BAD, GOOD))


def unmade(trace: Mapping[str, Any]) -> Program:
    raise InvalidProgram("not asked for")


def test_it_is_read_as_it_was_written(programs: StoredPrograms) -> None:
    stored = row(programs)
    assert (stored.number, stored.owner, stored.job, stored.iteration, stored.size) == (5, 3, 3, 8, 1)
    assert (stored.symptom, stored.target, stored.suspect, stored.again) == ("difference", "bad", True, True)
    assert (stored.words, operators_in(stored), stored.strikes) == ("w", {"A", "B"}, 0)
    bare = bare_finding_of(replace(stored, model=b"", inputs=b"", answers=b"", trace=b""))
    assert bare == Finding(VERDICT, NO_CASE, NO_CASE, hunt="nan", group="g", job=3, iteration=8, doubted=4)
    case, trace = whole_parts(stored, programs, unmade)
    assert (case.program.to_bytes(), trace) == (PROGRAM.to_bytes(), {"edits": [1]})
    np.testing.assert_array_equal(case.inputs["x"], INPUTS["x"])
    np.testing.assert_array_equal(case.inputs["s"], INPUTS["s"])
    one, two = answers_in(stored, (GOOD, BAD))
    assert (one.target, one.exit, one.stage, one.seconds) == (BAD, Exit.OK, Stage.RUN, 0.5)
    np.testing.assert_array_equal(one.outputs["y"], ANSWERS[0].outputs["y"])
    first, second = one.outputs["q"]  # type: ignore[misc]
    assert (np.asarray(first).tolist(), second) == ([0, 0], None)
    assert two == replace(ANSWERS[1], log="x" * waiting_case_codec.LOG)


def test_answers_of_targets_that_are_gone_are_left_out(programs: StoredPrograms) -> None:
    (one,) = answers_in(row(programs), (replace(BAD, version="2"),))
    assert (one.target.version, one.exit) == ("2", Exit.OK)


@pytest.mark.parametrize(("most", "kept"), [(8 + 16, 2), (8 + 15, 0)])
def test_answers_beyond_a_size_are_not_stored(
    programs: StoredPrograms, monkeypatch: pytest.MonkeyPatch, most: int, kept: int
) -> None:
    monkeypatch.setattr(waiting_case_codec, "MOST_BYTES", most)
    assert len(answers_in(row(programs), (BAD, GOOD))) == kept


def test_a_program_that_is_none_by_its_bytes_is_made_by_its_edits(programs: StoredPrograms) -> None:
    stored = replace(row(programs), model=b"no model")
    case, _ = whole_parts(stored, programs, lambda trace: PROGRAM if trace == {"edits": [1]} else unmade(trace))
    assert case.program is PROGRAM
    with pytest.raises(InvalidProgram, match="not asked for"):
        whole_parts(stored, programs, unmade)


BREAKABLE = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y, float[3, 2] z) {
    a = Softmax <axis = 1> (x)  t = Transpose <perm = [0, 1]> (a)  y = Neg (t)  z = Transpose <perm = [1, 0]> (y) }"""


def test_a_program_that_breaks_a_rule_is_read_with_the_facts_that_it_had(programs: StoredPrograms) -> None:
    program = Program.from_proto(onnx.parser.parse_model(BREAKABLE))
    softmax, transpose = program.nodes()[:2]
    program.set_attr(softmax, "axis", -3, infer=False)  # which inference refuses
    program.set_attr(transpose, "perm", [1, 0], infer=False)  # which is inferred to give another shape
    case = FailingCase(program, INPUTS)
    stored = waiting_row_of(
        Finding(VERDICT, case, case, results=ANSWERS), programs, number=5, words="w", operators=(), size=4, again=True
    )
    read, _ = whole_parts(stored, programs, unmade)
    assert read.program.to_bytes() == program.to_bytes()
    shapes = {str(v.name): getattr(read.program.fact(v), "shape", None) for v in read.program.values()}
    assert shapes == {"x": (2, 3), "a": (2, 3), "t": (2, 3), "y": (2, 3), "z": (3, 2)}
    plain = replace(stored, about=json.dumps({**json.loads(stored.about), "facts": {}}))
    with pytest.raises(InvalidProgram, match="not asked for"):  # as one of an older version, whose edits are asked
        whole_parts(plain, programs, unmade)


@pytest.mark.parametrize(
    "change",
    [
        {"about": json.dumps({"schema": 1, "facts": []})},
        {"about": json.dumps({"schema": 1, "facts": {"y": "ff"}})},
        {"about": "{"},
        {"about": "[]"},
        {"about": json.dumps({"schema": 9})},
        {"about": json.dumps({"schema": 1, "verdict": {}})},
        {"operators": "3"},
        {"trace": b"x"},
        {"inputs": zlib.compress(b"no npz")},
        {"answers": b"x"},
        {"answers": zlib.compress(b"\2" + b"\0" * 7 + b"{}")},
    ],
)
def test_a_damaged_row_is_told_in_one_line(programs: StoredPrograms, change: dict[str, Any]) -> None:
    stored = replace(row(programs), **change)
    with pytest.raises((UsageError, InvalidProgram), match="waiting case 5: ") as told:
        read_all(stored, programs)
    assert "\n" not in str(told.value)
