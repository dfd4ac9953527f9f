"""Pages and arrays that commands write: earlier ones are replaced, and no other file."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from tests.cli.conftest import Irfuzz


def _refused(irfuzz: Irfuzz, model: Path, page: Path) -> None:
    before = page.read_bytes()
    result = irfuzz("coverage", model, "--html", page)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"irfuzz: error: --html {page}: is there already and is not an HTML page; give another file\n"
    assert page.read_bytes() == before


@pytest.mark.parametrize("kind", ["itself", "symlink", "hard link", "weights"])
def test_the_page_does_not_take_the_place_of_a_model(kind: str, irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    model, other = tmp_path / "tiny.onnx", tmp_path / "other.html"
    shutil.copy(tiny, model)
    if kind == "symlink":
        other.symlink_to(model)
    elif kind == "hard link":
        os.link(model, other)
    elif kind == "weights":
        other.write_bytes(bytes(12))
    _refused(irfuzz, model, model if kind == "itself" else other)


def test_the_page_does_not_take_the_place_of_a_campaigns_files(irfuzz: Irfuzz, tmp_path: Path) -> None:
    database, lock = Layout(tmp_path).database, tmp_path / "campaign.lock"
    database.write_bytes(b"SQLite format 3\0")
    lock.touch()
    _refused(irfuzz, tmp_path, database)
    _refused(irfuzz, tmp_path, lock)


def test_an_earlier_page_is_replaced(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    page = tmp_path / "page.html"
    page.touch()
    for _ in range(2):
        assert irfuzz("coverage", tiny, "--html", page).code == 0
        assert page.read_text().startswith("<!doctype html>")
        page.write_text(page.read_text() + "<!-- old -->")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("analyze", "--html"), "an HTML page"),
        (("check", "--map"), "an HTML page"),
        (("check", "--save-inputs"), "an npz"),
        (("check", "--save-outputs"), "an npz"),
    ],
)
def test_no_command_writes_over_its_model(
    command: tuple[str, str], kind: str, irfuzz: Irfuzz, tmp_path: Path, tiny: Path
) -> None:
    model = tmp_path / "tiny.onnx"
    shutil.copy(tiny, model)
    result = irfuzz(command[0], model, command[1], model)
    expected = f"irfuzz: error: {command[1]} {model}: is there already and is not {kind}; give another file\n"
    assert (result.code, result.out, result.err) == (2, "", expected)
    assert model.read_bytes() == tiny.read_bytes()


@pytest.mark.parametrize("command", [("export", "--to", "onnx"), ("reduce", "--check", "true")])
def test_what_is_made_of_a_model_is_another_file(
    command: tuple[str, ...], irfuzz: Irfuzz, tmp_path: Path, tiny: Path
) -> None:
    model = tmp_path / "tiny.onnx"
    shutil.copy(tiny, model)
    result = irfuzz(*command, model, "-o", model)
    expected = f"irfuzz: error: --out {model}: is the model itself; give another file\n"
    assert (result.code, result.out, result.err) == (2, "", expected)
    assert model.read_bytes() == tiny.read_bytes()


def test_saved_inputs_are_saved_again_and_a_torch_archive_is_kept(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    saved = tmp_path / "x.npz"
    targets = ("--targets", "onnxruntime:disabled,onnxruntime:all")
    for _ in range(2):
        assert irfuzz("check", tiny, *targets, "--save-inputs", saved).code == 0
    archive = tmp_path / "module.pt"
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("module/data.pkl", b"")
    assert irfuzz("check", tiny, *targets, "--save-inputs", archive).code == 2
    assert zipfile.is_zipfile(archive)
