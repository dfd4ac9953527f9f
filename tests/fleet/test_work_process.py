"""A process of work tells what became of it, also if it dies, and takes nothing with it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from irfuzz.fleet.lease_table import LeaseKind
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep import work_process
from irfuzz.fleet.upkeep.work_process import WorkProcess
from irfuzz.fleet.upkeep.work_request import WorkRequest, WorkResult


def request_of(url: str, path: Path, kind: str) -> WorkRequest:
    return WorkRequest(kind, "s", url, str(path / "blobs"), "a", str(path), str(path / "scratch"), ("reference",))


def ended(process: WorkProcess) -> WorkResult:
    until = time.monotonic() + 240
    while (found := process.ended()) is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


@pytest.mark.unit
def test_a_request_survives_the_pipe(tmp_path: Path) -> None:
    request = request_of("sqlite:///x", tmp_path, "reduce")
    assert WorkRequest.from_text(request.to_text()) == request
    result = WorkResult("told", failed=True, again_in=3.0)
    assert WorkResult.read(tmp_path) is None
    result.write(tmp_path)
    assert WorkResult.read(tmp_path) == result


@pytest.mark.planted
@pytest.mark.timeout(600)
def test_what_a_process_says_and_what_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One does its work, one dies of a fault of ours, one of a kill and one of its time."""
    url = f"sqlite:///{tmp_path}/fleet.sqlite"
    StoreConnection(url, make=True).close()
    SharedBlobs(str(tmp_path / "blobs")).check()
    work = [WorkProcess(request_of(url, tmp_path, kind)) for kind in (LeaseKind.REDUCE, "nothing", LeaseKind.REDUCE)]
    work[2]._process.kill()
    assert ended(work[0]) == WorkResult("no such finding any more")
    assert ended(work[1]) == WorkResult("died: KeyError: 'nothing'", failed=True)
    assert ended(work[2]).failed
    monkeypatch.setattr(work_process, "LONGEST", 0.0)
    late = WorkProcess(request_of(url, tmp_path, LeaseKind.REDUCE))
    assert ended(late) == WorkResult("took longer than 0 s", failed=True)
    closed = WorkProcess(request_of(url, tmp_path, LeaseKind.REDUCE))
    closed.close()
    assert list((tmp_path / "scratch").iterdir()) == []
