"""A class of the user's that trespasses is refused, and one that says what it needs has it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from irfuzz import Runner
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.plugin import PluginAdapter
from irfuzz.execute.target_table import resolve
from irfuzz.isolate.sandbox_report import what_holds
from tests.report.conftest import parse

TRESPASSER = """
import os
import shutil
import socket
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def tried(act):
    try:
        act()
    except OSError as error:
        return f"{type(error).__name__}"
    return "done"


class Trespasser:
    %s

    def run(self, model, inputs):
        port, home = (HERE / "about").read_text().split()
        acts = (
            lambda: socket.create_connection(("127.0.0.1", int(port)), 5).close(),
            lambda: Path(home, "profile").write_text("mine"),
            lambda: (HERE / "campaign" / "beside").write_text("mine"),
            lambda: os.remove(HERE / "campaign" / "finding.json"),
            lambda: shutil.rmtree(HERE / "campaign"),
        )
        return {"y": np.array([tried(act) for act in acts], object)}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a campaign, with the class beside it."""
    for name in ("home", "campaign"):
        (tmp_path / name).mkdir()
    (tmp_path / "campaign" / "finding.json").write_text("{}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcomes(home: Path, says: str) -> list[str]:
    """What became of its acts: a connection, three files, a folder."""
    (home / "it.py").write_text(TRESPASSER % says)
    program = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    with socket.create_server(("127.0.0.1", 0)) as server:
        (home / "about").write_text(f"{server.getsockname()[1]} {home}/home")
        with Runner(resolve(["it.py:Trespasser"])) as runner:
            (result,) = runner.run(program, {"x": np.ones(2, np.float32)})
    return [str(text) for text in np.asarray(result.outputs["y"])]


@pytest.mark.skipif(not {"files", "network"} <= set(what_holds()), reason="the kernel has no means for a whole sandbox")
def test_a_trespasser_is_refused(home: Path) -> None:
    connected, *changed = outcomes(home, "version = '1'")
    assert connected != "done"
    assert changed == ["PermissionError"] * 4
    assert (home / "campaign" / "finding.json").exists()
    assert not list((home / "home").iterdir())


def test_who_says_that_it_needs_it_may(home: Path) -> None:
    assert outcomes(home, "irfuzz_allow = ('files', 'network')") == ["done"] * 5


@pytest.mark.unit
@pytest.mark.parametrize(
    ("says", "allowed"),
    [
        ("pass", ()),
        ("irfuzz_allow = ('network',)", ("network",)),
        ("irfuzz_allow: tuple = ['~/.cache/x', 'all']", ("~/.cache/x", "network", "files", "home")),
        ("irfuzz_allow: tuple", ()),
    ],
)
def test_what_a_class_says_is_read_and_not_run(tmp_path: Path, says: str, allowed: tuple[str, ...]) -> None:
    (tmp_path / "it.py").write_text(
        f"import no_such_module\n\nclass Other:\n    irfuzz_allow = 3\n\nclass It:\n    {says}\n"
    )
    assert PluginAdapter("it", "it.py:It", str(tmp_path)).allowed == allowed
    assert PluginAdapter("it", "it:It", str(tmp_path)).allowed == allowed


@pytest.mark.unit
def test_it_is_found_in_a_package_which_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "own" / "deep").mkdir(parents=True)
    for place in ("own", "own/deep"):
        (tmp_path / place / "__init__.py").write_text("1 / 0\n")
    (tmp_path / "own" / "deep" / "it.py").write_text("class It:\n    irfuzz_allow = ('home',)\n")
    assert PluginAdapter("it", "own.deep.it:It", str(tmp_path)).allowed == ("home",)
    assert PluginAdapter("it", "own.nothing:It", str(tmp_path)).allowed == ()
    assert PluginAdapter("it", "sys:It", str(tmp_path)).allowed == ()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("irfuzz_allow = 'network'", "expected a tuple of texts"),
        ("irfuzz_allow = (1,)", "expected a tuple of texts"),
        ("irfuzz_allow = NEEDS", "expected a tuple of texts, as it stands there, got 'irfuzz_allow = NEEDS'"),
        ("irfuzz_allow = {[]: 1}", "expected a tuple of texts, as it stands there, got 'irfuzz_allow = {[]: 1}'"),
        ("irfuzz_allow = ('net',)", "expected network, files, home, all or an absolute path, got 'net'"),
    ],
)
def test_what_it_cannot_say_is_told(tmp_path: Path, says: str, why: str) -> None:
    (tmp_path / "it.py").write_text(f"class It:\n    {says}\n")
    with pytest.raises(UsageError, match="target it: irfuzz_allow of class It: ") as told:
        _ = PluginAdapter("it", "it.py:It", str(tmp_path)).allowed
    assert why in str(told.value)


@pytest.mark.unit
def test_a_file_that_cannot_be_read_is_left_to_the_worker(tmp_path: Path) -> None:
    assert PluginAdapter("it", "it.py:It", str(tmp_path)).allowed == ()
    for text in ("class It(:\n", "x = " + "(" * 100_000, "x = " + "-" * 100_000 + "1", "\0", "# coding: none\n"):
        (tmp_path / "it.py").write_text(text)
        assert PluginAdapter("it", "it.py:It", str(tmp_path)).allowed == ()
    (tmp_path / "it.py").unlink()
    os.mkfifo(tmp_path / "it.py")
    assert PluginAdapter("it", "it.py:It", str(tmp_path)).allowed == ()
