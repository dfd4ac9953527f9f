"""Folders of irfuzz's own faults: three of a kind are kept, and sixty in all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.monitoring.internal_error_folders import InternalErrorStore
from irfuzz.store.blob_store import FolderBlobs

pytestmark = pytest.mark.unit


def keep(store: InternalErrorStore, kind: str, iteration: int) -> Path | None:
    return store.keep(
        f"first\nKeyError: {kind}\n\n", kind, about={"job": 1, "iteration": iteration}, models={"m": None}
    )


@pytest.mark.parametrize(("there", "kept"), [(0, True), (59, True), (60, False), (61, False)])
def test_sixty_in_all(tmp_path: Path, there: int, kept: bool) -> None:
    folder = tmp_path / "internal"
    for number in range(there):
        (folder / f"other{number}").mkdir(parents=True)
    place = keep(InternalErrorStore(folder, FolderBlobs(tmp_path / "blobs")), "a.py:1", 7)
    assert (place is not None) == kept


def test_three_of_a_kind_and_what_is_told_of_them(tmp_path: Path) -> None:
    store = InternalErrorStore(tmp_path / "internal", FolderBlobs(tmp_path / "blobs"))
    places = [keep(store, "a.py:1", number) for number in range(4)]
    assert [p is not None for p in places] == [True, True, True, False]
    other = keep(store, "b.py:2", 9)
    assert other is not None
    assert sorted(p.name for p in other.iterdir()) == ["about.json", "traceback.txt"]
    about = json.loads((other / "about.json").read_text())
    assert (about["kind"], about["job"], about["iteration"]) == ("b.py:2", 1, 9)
    told = store.told()
    assert len(told) == 4
    assert f"{other.name}: KeyError: b.py:2 (b.py:2)" in told
