"""What a testcase tells of itself: whether it is declared invalid, its patterns, its name, and what travels of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.store.model_blob_packing import is_packed

pytestmark = pytest.mark.unit

TEXT = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }'
)
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
CASE = Testcase(3, 5, CorpusEntry("d", "s", 1, 1), PROGRAM, PROGRAM)


def edit(relation: Relation, pattern: str = "") -> Edit:
    return Edit("m", 1, "site", (), relation, "detail", pattern)


def test_one_edit_makes_it_invalid() -> None:
    valid = next(r for r in Relation if r is not Relation.INVALID)
    assert CASE.invalid is False
    assert replace(CASE, edits=(edit(valid),)).invalid is False
    assert replace(CASE, edits=(edit(valid), edit(Relation.INVALID))).invalid is True


def test_its_patterns_are_those_of_its_edits() -> None:
    valid = next(iter(Relation))
    assert CASE.patterns == ()
    assert replace(CASE, edits=(edit(valid, "a"), edit(valid), edit(valid, "b"))).patterns == ("a", "b")


def test_its_runs_are_called_by_job_and_iteration() -> None:
    assert CASE.tag == "3/5"
    assert (CASE.features, CASE.keep, CASE.asks, CASE.hunt, CASE.entry.picked) == (0, False, None, "", 0)


def test_bytes_of_its_model_and_tensors_travel() -> None:
    plain = replace(CASE, whole=b"12345", inputs={"x": np.zeros(3, np.float32), "s": "text"})
    assert not is_packed(plain.whole)
    assert (plain.size(), plain.model) == (5 + 12, b"12345")
