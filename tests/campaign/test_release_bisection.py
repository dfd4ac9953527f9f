"""Findings are bisected one by one: what is told, what is saved where, and which of them is left as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irfuzz.campaign.stored_findings import release_bisection
from irfuzz.campaign.stored_findings.release_bisection import bisect_all, save
from irfuzz.errors import UsageError

pytestmark = pytest.mark.unit


def test_each_folder_in_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    timeouts: list[float] = []

    def bisected(folder: Path, say: Any, *, timeout: float) -> str:
        timeouts.append(timeout)
        if folder.name == "b":
            raise UsageError("no release is asked")
        return folder.name

    monkeypatch.setattr(release_bisection, "bisected", bisected)
    monkeypatch.setattr(release_bisection, "save", lambda folder, finding: ord(finding))
    monkeypatch.setattr(release_bisection, "introduced", lambda finding: "since 1" if finding == "a" else "")
    monkeypatch.setattr(release_bisection, "fixed", lambda finding: "fixed in 2" if finding == "a" else "")
    said: list[str] = []
    done: list[int] = []
    folders = [tmp_path / name for name in "abc"]
    found: list[Any] = list(bisect_all(folders, said.append, done=done.append))
    assert (found, done, timeouts) == (["a", "c"], [ord("a"), ord("c")], [10.0] * 3)
    assert said == [
        "finding 1 of 3: a",
        "since 1; fixed in 2",
        "finding 2 of 3: b",
        "not bisected: no release is asked",
        "finding 3 of 3: c",
        "no change was found",
    ]
    list(bisect_all(folders[:1], said.append, timeout=3.0))
    assert timeouts[-1] == 3.0


@pytest.mark.parametrize("name", ["0001-difference", "finding"])
def test_a_folder_outside_of_a_campaign_is_written_and_has_no_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr(release_bisection, "about_with_versions", lambda text, finding: f"{text} {finding}")
    monkeypatch.setattr(release_bisection, "report_with_versions", lambda text, finding: f"{text} {finding}")
    folder = tmp_path / "findings" / name
    folder.mkdir(parents=True)
    (folder / release_bisection.ABOUT).write_text("about")
    (folder / "report.md").write_text("report")
    finding: Any = "new"
    assert save(folder, finding) == 0
    assert (folder / release_bisection.ABOUT).read_text() == "about new"
    assert (folder / "report.md").read_text() == "report new"
    assert len(list(folder.iterdir())) == 2


def test_a_folder_without_a_report_cannot_be_written(tmp_path: Path) -> None:
    finding: Any = "new"
    with pytest.raises(UsageError, match="cannot be written"):
        save(tmp_path, finding)
