"""Commands of an ordinary user whose limits (``ulimit``) are low: they work, or say which limit it was."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest
from onnx import parser

from irfuzz.process_limits import DATA, FILES, MIB, on_files, on_memory, too_low

PR_CAPBSET_DROP = 24
CAP_SYS_RESOURCE = 24

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (float[1, 4] y) <float[4] w = {1, 2, 3, 4}>
{ a = Add(x, w) b = Relu(a) y = Softmax(b) }"""

COMMANDS = {
    "check": ["check", "MODEL", "--targets", "onnxruntime:all,onnxruntime:disabled", "--seeds", "2"],
    "mutate": ["mutate", "MODEL", "-o", "OUT", "-n", "2"],
    "fuzz": ["fuzz", "MODEL", "-o", "OUT", "--targets", "onnxruntime:all", "--programs", "4", "--jobs", "1"],
    "equiv": ["equiv", "MODEL", "--targets", "onnxruntime:all", "--forms", "1", "--ways", "reload"],
}

ENOUGH: dict[str, Mapping[int, int]] = {
    "high": {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 64 * MIB, resource.RLIMIT_DATA: 2048 * MIB},
    "low": {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: MIB, resource.RLIMIT_DATA: 400 * MIB},
}


def ordinary(limits: Mapping[int, int]) -> None:
    """Give this process hard limits, and take the right from it to raise them: it is about to become a command."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)
    for number, limit in limits.items():
        resource.setrlimit(number, (limit, limit))


def run(words: list[str], limits: Mapping[int, int]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=240,
        preexec_fn=lambda: ordinary(limits),
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _ordinary_user() -> None:
    code = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (1, 1))"
    if run(["-c", code], {resource.RLIMIT_CORE: 0}).returncode == 0:
        pytest.skip("this process may raise its limits whatever it gives up")


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    path = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return [str(path), str(tmp_path / "out")]


def command(name: str, words: list[str], limits: Mapping[int, int]) -> subprocess.CompletedProcess[str]:
    model, out = words
    return run(["-P", "-m", "irfuzz", *(w.replace("MODEL", model).replace("OUT", out) for w in COMMANDS[name])], limits)


@pytest.mark.parametrize("limits", ENOUGH.values(), ids=ENOUGH)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_works(name: str, limits: Mapping[int, int], words: list[str]) -> None:
    ended = command(name, words, limits)
    assert ended.returncode == 0, ended.stderr
    assert "ulimit" not in ended.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_too_little_data_is_told_before_anything_is_loaded(name: str, words: list[str]) -> None:
    ended = command(name, words, {resource.RLIMIT_DATA: 100 * MIB})
    assert ended.returncode == 2
    assert ended.stderr == (
        "irfuzz: error: the limit on memory for data (ulimit -d) is 100 MiB; at least 192 MiB are needed\n"
    )


def test_too_small_files_are_told(words: list[str]) -> None:
    ended = command("mutate", words, {resource.RLIMIT_FSIZE: 200})
    assert ended.returncode == 2
    (line,) = ended.stderr.strip().splitlines()
    assert "File too large" in line
    assert line.endswith("; the limit on the size of a file (ulimit -f) is 200 bytes")


def test_help_needs_nothing() -> None:
    assert run(["-P", "-m", "irfuzz", "check", "--help"], {resource.RLIMIT_DATA: 60 * MIB}).returncode == 0


@pytest.mark.parametrize(("allowed", "short"), [(DATA.least, False), (DATA.least - 1, True), (None, False)])
def test_the_least_memory(allowed: int | None, short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    soft = resource.RLIM_INFINITY if allowed is None else allowed
    monkeypatch.setattr(
        resource, "getrlimit", lambda number: (soft if number == DATA.number else resource.RLIM_INFINITY,) * 2
    )
    assert bool(too_low()) is short
    assert bool(on_memory()) is (allowed is not None)


@pytest.mark.parametrize(("allowed", "text"), [(MIB, "1 MiB"), (MIB - 1, f"{MIB - 1} bytes")])
def test_how_a_limit_is_told(allowed: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed, allowed))
    assert str(FILES) == f"the limit on the size of a file (ulimit -f) is {text}"
    assert on_files(f"x: {os.strerror(27)}") == f"; {FILES}"
    assert on_files("campaign.sqlite: cannot be read or written: disk I/O error") == f"; {FILES}"
    assert on_files("x: no such file") == ""
