"""Lines of progress: none at first, then sparse ones, one line in a terminal, and none at all with --quiet."""

from __future__ import annotations

import io
import threading
import time

import pytest

from irfuzz import stop_request
from irfuzz.cli import progress_display as module
from irfuzz.cli.progress_display import ProgressLine, quiet


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST", 0.05)
    monkeypatch.setattr(module, "EVERY", 0.1)
    monkeypatch.setattr(module, "REFRESH", 0.05)


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, seconds: float, *, silent: bool = False) -> str:
    monkeypatch.setattr("sys.stderr", screen)
    with ProgressLine("comparing", 8, "inputs", silent=silent) as progress:
        progress(3)
        time.sleep(seconds)
    return screen.getvalue()


def test_nothing_is_said_of_what_is_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.FIRST == 2.0
    assert shown(monkeypatch, io.StringIO(), 0.1) == ""


@pytest.mark.usefixtures("quick")
def test_lines_where_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, io.StringIO(), 0.5).splitlines()
    assert 2 <= len(lines) <= 6
    assert set(lines) == {"irfuzz: comparing: 3 of 8 inputs, 0 s"}


@pytest.mark.usefixtures("quick")
def test_one_line_in_a_terminal_which_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Screen(), 0.3)
    assert text.startswith("\r\x1b[Kirfuzz: comparing: 3 of 8 inputs, 0 s\r")
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text


@pytest.mark.usefixtures("quick")
def test_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), 0.2, silent=True) == ""
    with quiet(silent=True):
        assert shown(monkeypatch, io.StringIO(), 0.2) == ""
    with quiet(silent=False):
        assert shown(monkeypatch, io.StringIO(), 0.2) != ""


def test_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = ProgressLine("comparing", 8, "inputs")
    with stop_request.waiting("torch"):
        assert "waiting" not in progress.line()  # not yet for a second
        began = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: began + 4.2)
        assert progress.line().endswith("; waiting for torch for 4 s")
    assert "waiting" not in progress.line()


def test_the_longest_request_is_named() -> None:
    inside = threading.Event()
    over = threading.Event()

    def other() -> None:
        with stop_request.waiting("onnx"):
            inside.set()
            over.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with stop_request.waiting("torch"):
        assert [call.worker for call in stop_request.under_way()] == ["onnx", "torch"]
    over.set()
    thread.join()
    assert stop_request.under_way() == []


def test_what_is_known_is_in_the_line() -> None:
    progress = ProgressLine("searching", unit="generations")
    assert progress.line() == "irfuzz: searching, 0 s"
    progress(3, note="best 0.5")
    assert progress.line() == "irfuzz: searching: 3 generations, best 0.5, 0 s"
    progress(4, 9)
    assert progress.line() == "irfuzz: searching: 4 of 9 generations, 0 s"


def test_items_are_counted() -> None:
    progress = ProgressLine("reading models", 3)
    lines = [progress.line() for _ in progress.over("abc")]
    assert lines == [f"irfuzz: reading models: {n} of 3, 0 s" for n in range(3)]
