"""A Vulkan driver that needs no GPU, out of a package of npm, and when a worker uses it."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.adapters.adapter import WORKERS
from irfuzz.execute.versions.software_vulkan import DESCRIPTION, DRIVER, LOADER, unpack

pytestmark = pytest.mark.unit

NODE = shutil.which("node")
NEEDS_NODE = pytest.mark.skipif(NODE is None, reason="needs node, which compresses by brotli")
COMPRESS = (
    "const fs = require('fs'); const [, a, b] = process.argv;"
    "fs.writeFileSync(b, require('zlib').brotliCompressSync(fs.readFileSync(a)))"
)


def run(command: Sequence[str], what: str) -> str | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def package(folder: Path, names: Sequence[str], inner: str = "package/bin/swiftshader.tar.br") -> Path:
    """A package as npm packs it, whose driver is text."""
    with tarfile.open(folder / "plain.tar", "w") as archive:
        for name in names:
            (folder / name).write_text(f"of {name}")
            archive.add(folder / name, f"./{name}")
    assert run([NODE or "", "-e", COMPRESS, str(folder / "plain.tar"), str(folder / "packed")], "node") is None
    with tarfile.open(folder / "package.tgz", "w:gz") as archive:
        archive.add(folder / "packed", inner)
    return folder / "package.tgz"


@NEEDS_NODE
def test_driver_and_loader_are_taken_out_and_nothing_else(tmp_path: Path) -> None:
    archive = package(tmp_path, [LOADER, DRIVER, "libEGL.so"])
    place = tmp_path / "env" / "share" / "vulkan"
    unpack(archive, place, NODE or "", run)
    assert {file.name for file in place.iterdir()} == {LOADER, DRIVER, DESCRIPTION}
    assert (place / DRIVER).read_text() == f"of {DRIVER}"
    assert json.loads((place / DESCRIPTION).read_text())["ICD"]["library_path"] == f"./{DRIVER}"


@NEEDS_NODE
@pytest.mark.parametrize(
    ("names", "inner"), [([LOADER], "package/bin/swiftshader.tar.br"), ([LOADER, DRIVER], "other")]
)
def test_a_package_without_them_is_one_line(tmp_path: Path, names: list[str], inner: str) -> None:
    with pytest.raises(UsageError, match=r"package\.tgz: expected package/bin/swiftshader\.tar\.br with"):
        unpack(package(tmp_path, names, inner), tmp_path / "made", NODE or "", run)


def own_driver_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """What the worker's file decides; its imports of onnxruntime and the loader itself are not needed for that."""
    spec = importlib.util.spec_from_file_location("webgpu_worker", WORKERS / "tools" / "webgpu.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.ctypes, "CDLL", lambda path, mode: None)
    return bool(module.use_own_driver(folder))


def test_a_worker_uses_the_driver_of_its_environment_unless_the_user_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    for name in ("VK_ICD_FILENAMES", "VK_DRIVER_FILES"):
        monkeypatch.setenv(name, "")  # so that what the worker sets is taken back, too
        monkeypatch.delenv(name)
    assert not own_driver_is_used(tmp_path, monkeypatch)
    (tmp_path / DESCRIPTION).write_text("{}")
    assert own_driver_is_used(tmp_path, monkeypatch)
    monkeypatch.setenv("VK_ICD_FILENAMES", "/elsewhere.json")
    assert not own_driver_is_used(tmp_path, monkeypatch)
    monkeypatch.delenv("VK_ICD_FILENAMES")
    monkeypatch.setenv("VK_DRIVER_FILES", "/elsewhere.json")
    assert not own_driver_is_used(tmp_path, monkeypatch)
