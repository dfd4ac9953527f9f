"""A campaign removes what killed ones left in the temporary folder, and targets reach nothing of the user's."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from irfuzz.isolate.scratch_folder import LOCK
from tests.campaign.running import ENV, Running, Seen, alive, planted, wait_until

pytestmark = [pytest.mark.planted, pytest.mark.backend, pytest.mark.slow, pytest.mark.timeout(240)]


def words(seed: Path, out: Path, *more: object) -> list[object]:
    return [
        seed, "--out", out, "--time", "90s", "--jobs", 1, "--reduce", 1, "--quiet",
        "--targets", "reference,onnxruntime:disabled", *more,
    ]  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of campaigns."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setitem(ENV, "TMPDIR", str(folder))
    return folder


def test_folders_of_a_killed_campaign_go_with_the_next_and_those_of_a_living_one_stay(
    tmp_path: Path, tiny: Path, scratch: Path
) -> None:
    def works(out: Path) -> bool:
        return Seen.of(out).tallies.get(0, (0, 0))[1] > 0

    with Running(*words(tiny, tmp_path / "killed"), cwd=tmp_path) as killed:
        assert wait_until(partial(works, tmp_path / "killed")), "nothing runs"
        doomed = [killed.process.pid, *killed.below()]
        for pid in doomed:
            os.kill(pid, signal.SIGSTOP)  # nobody is to notice that another one is gone
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not any(map(alive, doomed)), 20)
    left = {path.name for path in scratch.iterdir()}
    assert left, "it has left nothing, so this test shows nothing"
    (scratch / "irfuzz-of-somebody").mkdir()
    with Running(*words(tiny, tmp_path / "living"), cwd=tmp_path) as living:
        assert wait_until(partial(works, tmp_path / "living")), "nothing runs"
        held = {path.parent.name for path in scratch.glob(f"*/{LOCK}")}
        assert held
        assert not left & held, "a new campaign left what the killed one had"
        # It is continued beside the living one, and leaves that its folders.
        with Running(*words(tiny, tmp_path / "killed", "--programs", 1), cwd=tmp_path) as again:
            _, errors = again.process.communicate(timeout=120)
        assert again.process.returncode in (0, 1), errors
        assert held <= {path.name for path in scratch.iterdir()}
        living.process.terminate()
        _, errors = living.process.communicate(timeout=60)
    assert living.process.returncode in (0, 1), errors
    assert [path.name for path in scratch.iterdir()] == ["irfuzz-of-somebody"]


def test_a_target_that_removes_its_working_folder_takes_nothing_of_the_user_s(
    tmp_path: Path, tiny: Path, scratch: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").touch()
    target = planted("RemovesFolder")
    with Running(*words(tiny, "out", "--target", target, "--programs", 2), cwd=home) as running:
        told, errors = running.process.communicate(timeout=200)
    assert running.process.returncode == 1, errors
    assert "no working folder is left" in told
    assert (home / "thesis.tex").exists()
    assert list(scratch.iterdir()) == []
