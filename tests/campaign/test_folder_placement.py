"""Where folders of findings lie, and which are withdrawn, moved or left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.stored_findings.folder_placement import (
    bundle_folder,
    folder_name,
    is_placed,
    move_bundle,
    place_bundle,
    withdraw_bundle,
)
from irfuzz.findings.codec import label_of
from irfuzz.findings.finding import Finding
from irfuzz.store.database import Status
from tests.campaign.test_archive import VERDICT, finding

pytestmark = pytest.mark.unit


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "out").mkdir()
    return Layout(tmp_path / "out")


def found(number: int = 1, *, suspect: bool = False, status: Status = Status.CONFIRMED) -> Finding:
    return replace(finding(replace(VERDICT, suspect=suspect)), number=number, status=status)


def label(folder: Path, text: str) -> None:
    (folder / "finding.json").write_text(json.dumps({"label": text}))


def folders(layout: Layout) -> list[str]:
    return sorted(f"{path.parent.name}/{path.name}" for path in layout.out.glob("*/0*"))


def empty(layout: Layout, *names: str) -> list[Path]:
    made = [layout.out / name for name in names]
    for path in made:
        path.mkdir(parents=True)
    return made


@pytest.mark.parametrize(
    ("number", "target", "name"),
    [
        (7, "onnxruntime:all", "0007-rejection-onnxruntime-all"),
        (12345, "a", "12345-rejection-a"),
        (1, "/some where/mine.py:Class", "0001-rejection-some-where-mine-py-class"),
        (1, "x" * 99, "0001-rejection-" + "x" * 50),
        (1, "::", "0001-rejection"),
    ],
)
def test_a_folder_is_called_so(number: int, target: str, name: str) -> None:
    one = replace(found(number), verdict=replace(VERDICT, target=target))
    assert folder_name(one) == name
    assert len(name.partition("-")[2]) <= 60


@pytest.mark.parametrize(
    ("suspect", "status", "kind"),
    [
        (False, Status.CONFIRMED, "findings"),
        (False, Status.UNREPLAYED, "unreplayed"),
        (False, Status.EXPLAINED, "findings"),
        (True, Status.CONFIRMED, "suspects"),
        (True, Status.UNREPLAYED, "suspects"),
        (True, Status.EXPLAINED, "suspects"),
    ],
)
def test_a_folder_lies_there(layout: Layout, suspect: bool, status: Status, kind: str) -> None:
    one = found(suspect=suspect, status=status)
    assert bundle_folder(layout, one) == layout.out / kind / "0001-rejection-reference"
    assert place_bundle(layout, one) == bundle_folder(layout, one)
    assert (bundle_folder(layout, one) / "model.onnx").is_file()
    assert folders(layout) == [f"{kind}/0001-rejection-reference"]


def test_a_folder_that_is_there_stays_as_it_is(layout: Layout) -> None:
    (folder,) = empty(layout, "findings/0001-rejection-reference")
    assert place_bundle(layout, found()) == folder
    assert list(folder.iterdir()) == []


def test_the_folder_of_a_campaign_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        place_bundle(Layout(tmp_path / "gone"), found())


@pytest.mark.parametrize("kind", ["findings", "suspects", "unreplayed"])
@pytest.mark.parametrize("said", ["", "reported"])
def test_a_folder_is_withdrawn_unless_it_has_a_label(layout: Layout, kind: str, said: str) -> None:
    first, other = empty(layout, f"{kind}/0001-a", f"{kind}/0002-a")
    label(first, said)
    assert withdraw_bundle(layout, 1) is (not said)
    assert (first.exists(), other.exists()) == (bool(said), True)


def test_nothing_is_withdrawn_if_one_of_several_has_a_label(layout: Layout) -> None:
    first, second = empty(layout, "findings/0001-a", "suspects/0001-b")
    label(second, "odd")
    assert withdraw_bundle(layout, 1) is False
    assert (first.exists(), second.exists()) == (True, True)


def test_what_cannot_be_removed_is_left_and_costs_nothing(layout: Layout) -> None:
    """A file of somebody's that is called like a folder."""
    gone, _ = empty(layout, "suspects/0001-a", "findings")
    note, other = layout.findings / "0001-my-notes", layout.suspects / "0001-notes"
    for path in (note, other):
        path.write_text("mine")
    assert withdraw_bundle(layout, 1) is True
    assert (gone.exists(), note.read_text()) == (False, "mine")
    move_bundle(layout, found())
    assert other.read_text() == "mine"
    assert "findings/0001-rejection-reference" in folders(layout)


@pytest.mark.parametrize(
    ("status", "suspect", "said", "after"),
    [
        (Status.CONFIRMED, False, "", ["findings/0001-rejection-reference"]),
        (Status.CONFIRMED, False, "odd", ["findings/0001-rejection-reference"]),
        (Status.UNREPLAYED, False, "odd", ["unreplayed/0001-rejection-reference"]),
        (Status.EXPLAINED, True, "", []),
        (Status.EXPLAINED, True, "odd", ["suspects/0001-a"]),
        (Status.UNREPLAYED, True, "", ["suspects/0001-a", "suspects/0001-rejection-reference"]),
    ],
)
def test_what_becomes_of_the_folder_of_a_suspect(
    layout: Layout, status: Status, suspect: bool, said: str, after: list[str]
) -> None:
    old, _ = empty(layout, "suspects/0001-a", "findings")
    label(old, said)
    one = replace(found(suspect=suspect, status=status), label="before")
    assert is_placed(layout, one) is (status is Status.EXPLAINED and bool(said))
    move_bundle(layout, one)
    assert folders(layout) == after
    assert is_placed(layout, one) is True
    if status is not Status.EXPLAINED:
        assert label_of(bundle_folder(layout, one)) == (said or "before")


@pytest.mark.parametrize(
    ("status", "said", "after"),
    [
        (Status.CONFIRMED, "", ["findings/0001-rejection-reference"]),
        (Status.CONFIRMED, "odd", ["findings/0001-rejection-reference"]),
        (Status.EXPLAINED, "", []),
        (Status.EXPLAINED, "odd", ["unreplayed/0001-a"]),
        (Status.UNREPLAYED, "", ["unreplayed/0001-a", "unreplayed/0001-rejection-reference"]),
    ],
)
def test_what_becomes_of_the_folder_of_what_was_not_shown_in_time(
    layout: Layout, status: Status, said: str, after: list[str]
) -> None:
    old, _ = empty(layout, "unreplayed/0001-a", "findings")
    label(old, said)
    one = found(status=status)
    assert is_placed(layout, one) is (status is Status.EXPLAINED and bool(said))
    move_bundle(layout, one)
    assert folders(layout) == after
    assert is_placed(layout, one) is True
    if said and status is Status.CONFIRMED:
        assert label_of(bundle_folder(layout, one)) == "odd"


@pytest.mark.parametrize(
    ("status", "suspect", "there", "placed"),
    [
        (Status.CONFIRMED, False, [], False),
        (Status.CONFIRMED, False, ["findings/0001-rejection-reference"], True),
        (Status.CONFIRMED, False, ["findings/0001-rejection-reference", "suspects/0001-a"], False),
        (Status.CONFIRMED, False, ["findings/0001-rejection-reference", "suspects/0002-a"], True),
        (Status.UNREPLAYED, False, ["findings/0001-rejection-reference"], False),
        (Status.UNREPLAYED, True, ["suspects/0001-rejection-reference"], True),
        (Status.EXPLAINED, True, [], True),
        (Status.EXPLAINED, True, ["suspects/0001-a"], False),
    ],
)
def test_whether_a_finding_has_its_folder(
    layout: Layout, status: Status, suspect: bool, there: list[str], placed: bool
) -> None:
    empty(layout, *there)
    assert is_placed(layout, found(suspect=suspect, status=status)) is placed
