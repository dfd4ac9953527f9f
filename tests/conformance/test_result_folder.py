"""Results are kept by target and version, and count only for those who judge alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.conformance.result_folder import SUFFIX, ResultFolder, read_results
from irfuzz.conformance.target_results import CaseStatus
from irfuzz.errors import UsageError
from tests.conformance.test_target_results import outcome, results

pytestmark = pytest.mark.unit
ONE = results(outcome("a", CaseStatus.RIGHT), outcome("b", CaseStatus.WRONG))


def test_what_was_kept_is_there_for_the_same_version_and_judges(tmp_path: Path) -> None:
    ResultFolder(tmp_path, "me").keep(ONE)
    assert ResultFolder(tmp_path, "me").kept("t", "1") == {o.case: o for o in ONE.outcomes}
    assert ResultFolder(tmp_path, "me").kept("t", "2") == {}
    assert ResultFolder(tmp_path, "other").kept("t", "1") == {}
    assert read_results(tmp_path) == read_results(next(tmp_path.iterdir())) == [ONE]


def test_a_run_of_fewer_cases_does_not_make_a_part_the_whole(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "me")
    folder.keep(replace(ONE, of=9))
    folder.keep(replace(ONE, of=2))
    assert [one.coverage_note() for one in read_results(tmp_path)] == ["2 of 9 cases"]


def test_no_folder_keeps_nothing() -> None:
    ResultFolder(None).keep(ONE)
    assert ResultFolder(None).kept("t", "1") == {}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no file .*{SUFFIX}"):
        read_results(tmp_path)
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(UsageError, match=r"x.json: no results of `irfuzz conform`: expected an object, got list"):
        read_results(tmp_path / "x.json")
    with pytest.raises(UsageError, match=r"gone: no results"):
        read_results(tmp_path / "gone")
