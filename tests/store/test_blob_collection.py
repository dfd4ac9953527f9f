"""Large weights that nothing names any more are removed, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.ir.program import Program
from irfuzz.store.blob_collection import remove_unnamed_blobs
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.model_blob_packing import LARGE_PROGRAM, blobs_named, unpacked
from tests.large_weights import model
from tests.store.test_database import finding

pytestmark = pytest.mark.unit


def test_blobs_that_are_named_stay(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    program, other = (Program.from_proto(model(LARGE_PROGRAM + extra)) for extra in (0, 4096))
    data = database.programs.seed(program)
    database.add_program(ProgramRow("d", data, "s", "", "{}", 0, -1, 0))
    database.add_finding(replace(finding("f"), original_model=other.to_bytes()))
    unnamed = database.blobs.put(bytes(range(256)))
    before = set(database.blobs.digests())
    assert len(before) == 3
    assert remove_unnamed_blobs(database) == 1
    assert set(database.blobs.digests()) == before - {unnamed}
    assert {*blobs_named(unpacked(data))} < before
    assert remove_unnamed_blobs(database) == 0
    assert database.programs.read(data, lambda: program).digest == program.digest
