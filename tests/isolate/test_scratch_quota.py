"""What may lie in a scratch folder, and what of it stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from irfuzz.isolate.folder_removal import contents, remove_folder
from irfuzz.isolate.scratch_quota import LEAST, ScratchQuota

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("made", "exceeded"), [(4, False), (5, True)])
@pytest.mark.parametrize("kind", ["files", "folders"])
def test_empty_files_and_folders_count(tmp_path: Path, kind: str, made: int, exceeded: bool) -> None:
    quota = ScratchQuota(tmp_path, 4 * LEAST)
    for number in range(made):
        place = tmp_path / str(number)
        place.mkdir() if kind == "folders" else place.touch()

    assert quota.is_exceeded() == exceeded


def test_what_an_import_made_stays_and_the_rest_goes(tmp_path: Path) -> None:
    (tmp_path / "cache" / "inner").mkdir(parents=True)
    (tmp_path / "cache" / "inner" / "kept").touch()
    quota = ScratchQuota(tmp_path, 0)
    quota.begin()
    (tmp_path / "cache" / "inner" / "new").touch()
    (tmp_path / "other" / "deep").mkdir(parents=True)

    quota.clear()

    assert contents(tmp_path) == {"cache": {"inner": {"kept": None}}}


def test_folders_in_one_another_beyond_recursion_are_looked_at_and_removed(tmp_path: Path) -> None:
    home, at = os.getcwd(), tmp_path / "scratch"  # noqa: PTH109 - a path so deep cannot be named
    at.mkdir()
    try:
        os.chdir(at)
        for _ in range(1500):
            os.mkdir("d")  # noqa: PTH102
            os.chdir("d")
    finally:
        os.chdir(home)
    quota = ScratchQuota(at, 1 << 30)

    quota.begin()
    quota.clear()

    assert contents(at)["d"]
    remove_folder(at)
    assert not at.exists()
