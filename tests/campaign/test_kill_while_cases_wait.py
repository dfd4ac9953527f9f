"""Disagreements are on disk before anybody looks into them: kill -9 while some wait loses none of them."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from irfuzz.isolate import linux
from tests.campaign.running import Running, alive, planted, wait_until

pytestmark = [pytest.mark.planted, pytest.mark.backend, pytest.mark.slow]

REFUSING = ("Picky", "Choosy", "Raises")
"""Each of them refuses nearly every program, so that some cases wait while others are looked into."""


def words(seed: Path, out: Path, jobs: int) -> list[object]:
    return [
        seed, "--out", out, "--time", "100s", "--seed", 5, "--jobs", jobs, "--reduce", 0.5, "--every", 4,
        "--targets", "reference,onnxruntime:disabled", *(w for n in REFUSING for w in ("--target", planted(n))),
    ]  # fmt: skip


def asked(out: Path, query: str) -> list[tuple[object, ...]]:
    """Rows of the campaign's database; none before it is there."""
    path = out / "campaign.sqlite"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30)) as base:
        tables = {name for (name,) in base.execute("select name from sqlite_master")}
        return base.execute(query).fetchall() if {"waiting", "finding"} <= tables else []


def waiting(out: Path) -> dict[int, tuple[object, ...]]:
    """Owner, target and what was said, by number."""
    rows = asked(out, "select number, owner, target, words from waiting where not again")
    return {int(str(number)): tuple(rest) for number, *rest in rows}


def lost(out: Path, seen: dict[int, tuple[object, ...]]) -> list[tuple[object, ...]]:
    """What neither waits nor is a finding."""
    left = waiting(out)
    found = asked(out, "select target, title from finding")  # also one that its script did not show on a busy machine
    kept = {(target, said) for _, target, said in left.values()}
    return [
        (target, said)
        for number, (_, target, said) in seen.items()
        if number not in left
        and (target, said) not in kept
        and not any(target == one and _known(str(said), str(title)) for one, title in found)
    ]


def _known(said: str, title: str) -> bool:
    return said in title or ("bytes are not to my taste" in said and "bytes are not to my taste" in title)


@pytest.mark.timeout(400)
def test_what_waits_for_triage_outlives_its_job_and_its_campaign(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    seen: dict[int, tuple[object, ...]] = {}
    with Running(*words(tiny, out, 2), cwd=tmp_path) as running:
        assert wait_until(lambda: len({owner for owner, *_ in waiting(out).values()}) == 2, 90), "nothing waits"
        seen |= waiting(out)
        jobs = running.jobs()
        doomed = [pid for job in jobs for pid in (job, *linux.descendants(job))]
        for job in jobs:
            os.kill(job, signal.SIGKILL)
        assert wait_until(lambda: not any(map(alive, doomed))), "workers outlive their job"
        assert lost(out, seen) == []
        assert wait_until(lambda: len(running.jobs()) == 2), "the jobs were not started again"
        assert wait_until(lambda: set(waiting(out)) - set(seen) != set(), 90), "nothing more was seen"
        seen |= waiting(out)
        doomed = [running.process.pid, *running.below()]
        for pid in doomed:
            linux.kill(pid)
        assert wait_until(lambda: not any(map(alive, doomed)))
    assert lost(out, seen) == []
    with Running(*words(tiny, out, 1), cwd=tmp_path) as running:
        assert wait_until(partial(looked_into, out, seen), 90), "what waited was not looked into"
        running.process.terminate()
        running.process.communicate(timeout=90)
    assert {owner for owner, *_ in waiting(out).values()} <= {0}, "nobody would look into them"
    assert lost(out, seen) == []


def looked_into(out: Path, seen: dict[int, tuple[object, ...]]) -> bool:
    """Whether half of what waited has come to something."""
    return len(set(seen) & set(waiting(out))) <= len(seen) // 2
