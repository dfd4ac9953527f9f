"""``--time`` is kept whatever targets do, and a target that does not come to its start is named meanwhile."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from irfuzz import stop_request
from irfuzz.campaign.config import TARGETS
from irfuzz.campaign.targets import start_reports
from irfuzz.campaign.targets.start_reports import JobTargets, still_starting, still_unanswered, together
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import resolve
from irfuzz.store.database import Database
from tests.campaign.running import Running, alive, planted, wait_until

TIME = 16
"""Seconds that a campaign is given: as many as a target's start takes on a busy machine, and a few more."""

OVER = 10.0
"""Seconds beyond ``--time`` that are promised."""

HANGS = planted("Target").replace("faults.py", "hangs_on_import.py")


def words(seed: Path, out: Path, target: str, *more: object) -> list[object]:
    return [
        seed, "--out", out, "--time", f"{TIME}s", "--jobs", 1, "--reduce", 1,
        "--targets", "reference,onnxruntime:disabled", "--target", target, *more,
    ]  # fmt: skip


def ended(running: Running) -> tuple[str, str]:
    """What a campaign prints; it has ended in time, and nobody is left behind."""
    below: list[int] = []
    began = time.monotonic()
    while running.process.poll() is None:
        below = running.below() or below
        assert time.monotonic() - began < 60, "it does not end"
        time.sleep(0.2)
    told, errors = running.process.communicate()
    assert wait_until(lambda: not any(map(alive, below)), 10), "somebody outlives the campaign"
    return told, errors


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("target", "more"),
    [(HANGS, []), (planted("Hang"), ["--timeout", 60])],
    ids=["hangs on import", "hangs on a program"],
)
def test_a_target_that_never_answers_does_not_hold_the_campaign_up(
    tmp_path: Path, tiny: Path, target: str, more: list[object]
) -> None:
    with Running(*words(tiny, tmp_path / "out", target, *more), cwd=tmp_path) as running:
        told, errors = ended(running)
    assert running.process.returncode == 2, told
    (line,) = [line for line in errors.splitlines() if "no program was judged in " in line]
    seconds = float(line.partition("judged in ")[2].partition(" s")[0])
    assert seconds <= TIME + OVER
    assert not (tmp_path / "out").exists(), "nothing was judged, so nothing is left"
    if target == HANGS:
        assert f"still starting: {HANGS}" in line
    else:
        assert f"no answer yet from {target}" in line


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_script_that_is_slow_is_cut_short_and_what_it_was_to_show_is_kept_apart(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    with Running(*words(tiny, out, planted("RaisesLate"), "--json", "--quiet"), cwd=tmp_path) as running:
        told, errors = ended(running)
    assert (running.process.returncode, errors) == (0, "")
    found: dict[str, Any] = json.loads(told)
    assert found["seconds"] <= TIME + OVER
    assert found["counts"]["unfinished"] == found["unreplayed"] == 1
    (folder,) = (out / "unreplayed").iterdir()
    assert "the time of the campaign was up" in (folder / "report.md").read_text()
    assert not (out / "drafts").exists()


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
def test_a_target_that_hangs_on_import_is_named_within_twenty_seconds(tmp_path: Path, tiny: Path) -> None:
    with Running(*words(tiny, tmp_path / "out", HANGS, "--time", "60s"), cwd=tmp_path) as running:
        assert running.process.stderr is not None
        lines: list[str] = []
        reading = iter(running.process.stderr.readline, "")
        threading.Thread(target=partial(lines.extend, reading), daemon=True).start()
        assert wait_until(lambda: any(line.startswith("irfuzz: targets: ") for line in lines), 60)
        began = time.monotonic()
        assert wait_until(lambda: any(f"{HANGS} has not started after " in line for line in lines), 40)
        assert time.monotonic() - began < 20


@pytest.mark.unit
def test_what_is_starting_is_told_from_a_time_on_and_no_more_once_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_reports, "LOOK", 0.01)
    monkeypatch.setattr(start_reports, "SLOW", 0.2)
    database = Database(tmp_path / "campaign.sqlite")
    (target,) = resolve(["reference"])
    starting: tuple[Target, float] | None = (target, time.monotonic())

    def told() -> list[str]:
        return [database.settings().get(f"{TARGETS} 0", ""), ""]

    with JobTargets(database, 0).watching(lambda: starting):
        time.sleep(0.1)
        assert still_starting(told()) == {}
        assert wait_until(lambda: still_starting(told()).get("reference", 0.0) >= 0.2, 5)
        starting = (replace(target, name="another"), time.monotonic())
        assert wait_until(lambda: still_starting(told()) == {}, 5)
        starting = None
        with stop_request.waiting("hangs"):
            assert wait_until(lambda: still_unanswered(told()).get("hangs", 0.0) >= 0.2, 5)
        assert wait_until(lambda: still_unanswered(told()) == {}, 5)
    assert together(told()) is None, "nothing is used yet"
    database.close()


@pytest.mark.unit
def test_of_several_jobs_the_one_that_waits_longest_counts() -> None:
    now = time.monotonic()
    texts = [json.dumps({"used": {}, "absent": {}, "starting": {"a": now - seconds}}) for seconds in (3, 30, 8)]
    assert still_starting([*texts, ""])["a"] == pytest.approx(30, abs=1)
    assert still_starting([json.dumps({"used": {"a": "1"}, "absent": {}})]) == {}, "as campaigns of before have it"
