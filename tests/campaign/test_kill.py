"""Twenty times kill -9 at random moments: nothing that was reported is lost, and nobody is left behind."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import onnx
import pytest

from irfuzz.isolate import linux
from tests.campaign.running import Running, Seen, alive, planted, wait_until

pytestmark = [pytest.mark.planted, pytest.mark.backend, pytest.mark.slow]

KILLS = 20
FILES = ("model.onnx", "inputs.npz", "repro.py", "report.md", "finding.json", "trace.json", "original/model.onnx")


def words(seed: Path, out: Path) -> list[object]:
    # Refuses nearly every program, with another message for each operator: findings come all the time.
    return [
        seed, "--out", out, "--time", "60s", "--seed", 5, "--jobs", 1, "--reduce", 0.5, "--every", 4,
        "--targets", "reference,onnxruntime:disabled", "--target", planted("Picky"),
    ]  # fmt: skip


@pytest.mark.timeout(400)
def test_nothing_reported_is_lost(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    dice = random.Random(20)
    seen, left, grown = Seen(), KILLS, 0
    while left:
        with Running(*words(tiny, out), cwd=tmp_path) as running:
            while running.process.poll() is None:
                if dice.random() < 0.4:
                    assert wait_until(partial(has_grown, out, seen)), "nothing runs"
                # From the first moments, when nothing is there yet, to the middle of a triage.
                time.sleep(dice.uniform(0.1, 2.5))
                whom = dice.choice(["campaign", "campaign", "all", "job"])
                below, jobs = running.below(), running.jobs()
                now = Seen.of(out)
                assert seen.lost_in(now) == []
                grown += has_grown(out, seen)
                seen = now
                left -= 1
                if whom == "job" and jobs and left:
                    victims, doomed = jobs, [pid for job in jobs for pid in (job, *linux.descendants(job))]
                else:
                    victims = [running.process.pid, *(jobs if whom == "all" else [])]
                    doomed = [running.process.pid, *below]
                for pid in victims:
                    os.kill(pid, signal.SIGKILL)
                if running.process.pid in victims:
                    running.process.wait()
                    # Mostly no waiting here: the next campaign must cope with what is still going.
                    if dice.random() < 0.3 or not left:
                        assert wait_until(partial(gone, doomed)), "somebody outlives the campaign"
                    break
                assert wait_until(partial(gone, doomed)), "workers outlive their job"
                assert wait_until(partial(works, running)), "the job was not started again"
    assert grown >= KILLS // 4, "most kills came before anything had run"
    # One more time in peace: it continues, puts right what the last kill left half-done, and ends when it is told to.
    before = Seen.of(out)
    with Running(*words(tiny, out), cwd=tmp_path) as running:
        assert wait_until(partial(has_grown, out, before)), "nothing runs"
        running.process.terminate()
        told, errors = running.process.communicate(timeout=90)
    assert running.process.returncode in (0, 1), errors
    assert told.startswith("stopped: ")
    after = Seen.of(out)
    assert before.lost_in(after) == []
    assert after.tallies[0][1] > before.tallies[0][1]
    assert len(after.findings) >= 3
    check_folders(out, after)


def has_grown(out: Path, seen: Seen) -> bool:
    return Seen.of(out).tallies.get(0, (0, 0)) > seen.tallies.get(0, (0, 0))


def gone(pids: list[int]) -> bool:
    return not any(map(alive, pids))


def works(running: Running) -> bool:
    return bool(running.jobs())


def check_folders(out: Path, seen: Seen) -> None:
    """Every row has one whole folder, but for suspects that a finding explains, and there is nothing else."""
    folders = {}
    for kind in ("findings", "suspects", "unreplayed"):
        for folder in (out / kind).glob("*") if (out / kind).is_dir() else ():
            assert not folder.name.startswith("."), f"{folder} is half-written"
            assert int(folder.name[:4]) not in folders, f"{folder}: two of one number"
            folders[int(folder.name[:4])] = folder
    assert set(folders) == {number for number, row in seen.findings.items() if row.status != "explained"}
    for number, folder in folders.items():
        model = seen.findings[number].model
        assert (folder.parent.name == "suspects") == seen.findings[number].suspect
        assert [f for f in FILES if not (folder / f).is_file()] == []
        assert (folder / "model.onnx").read_bytes() == model
        onnx.checker.check_model(onnx.load_model_from_string(model))
