"""An agent takes the work that its user allows and its machine can do."""

from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime
import pytest

from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.execute.versions import environments
from irfuzz.fleet.upkeep.agent_abilities import (
    WORK,
    abilities,
    bisects,
    compares,
    follows,
    has_release,
    read_work,
    shows,
)
from irfuzz.fleet.upkeep.release_following import distribution_to_follow
from tests.execute.other_python import put

pytestmark = pytest.mark.unit

OWN = onnxruntime.__version__


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))


def test_work_is_taken_in_the_order_of_the_table() -> None:
    assert read_work(None) == WORK
    assert read_work(["reduce", "confirm"]) == ("confirm", "reduce")
    with pytest.raises(UsageError, match=r"--work: expected some of fuzz, confirm, sweep, .*, got 'follow'"):
        read_work(["follow"])


def test_one_release_is_enough_to_confirm_and_two_to_bisect() -> None:
    only = abilities(["onnxruntime:all", "gone:x"])
    assert {"onnxruntime:all", shows("onnxruntime:all", "onnxruntime", OWN)} <= {*only}
    assert bisects("onnxruntime:all") not in only
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable)
    both = abilities(["onnxruntime:all"], ["onnxruntime"])
    assert {
        "onnxruntime@1.20.1:all", bisects("onnxruntime:all"), shows("onnxruntime:all", "onnxruntime", "1.20.1"),
        compares("onnxruntime", OWN, "1.20.1"), follows("onnxruntime"),
    } <= {*both}  # fmt: skip
    assert "onnxruntime:basic" not in both
    assert has_release("onnxruntime", "1.20.1")
    assert not has_release("onnxruntime", "1.20.2")


def test_what_is_followed_is_a_package_that_targets_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distribution_to_follow("onnxruntime") == "onnxruntime"
    assert distribution_to_follow("reference") == distribution_to_follow("onnx") == "onnx"
    words = ["agent", "--store", f"sqlite:///{tmp_path}/f.sqlite", "--out", str(tmp_path / "out")]
    assert main([*words, "--follow", "flask"]) == 2
    assert "--follow: expected a package that targets run, got 'flask'; there are: onnx" in capsys.readouterr().err
    assert main([*words, "--work", "sleep"]) == 2
    assert "--work: expected some of fuzz" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
