"""An agent says what is wrong in one line, lives through absences of its store, and loses nothing when it is killed."""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from benchmarks.fleet_kills import TINY, FleetUnderTest, what_is_wrong
from benchmarks.postgres_server import postgres_programs
from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.fleet.agent import ABOUT
from irfuzz.fleet.agent_registry import Orders, tell
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.synchronisation import SyncThread
from tests.fleet.made import add_mutants, add_seed, finding
from tests.fleet.test_program_exchange import Member


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A model of two nodes."""
    path = tmp_path / "tiny.onnx"
    onnx.save(onnx.parser.parse_model(TINY), path)
    return path


@pytest.fixture
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """PostgreSQL if there is one, else SQLite."""
    if postgres_programs() is None:
        return f"sqlite:///{tmp_path}/fleet.sqlite"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that is refused in one line, with nothing left behind; the line."""

    def refuses(*words: object) -> str:
        before = {path for path in tmp_path.rglob("*") if not path.name.startswith("fleet.sqlite")}
        capsys.readouterr()
        assert main([str(word) for word in words]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        (line,) = [line for line in told.err.splitlines() if not line.startswith("irfuzz: reading")]
        after = {path for path in tmp_path.rglob("*") if not path.name.startswith("fleet.sqlite")}
        assert after == before
        return line

    return refuses


@pytest.mark.unit
def test_a_store_that_is_none_is_told(tmp_path: Path, refused: Callable[..., str]) -> None:
    out = ("--out", tmp_path / "out")
    assert "the following arguments are required: --store" in refused("agent", *out)
    assert "--store: expected sqlite:///PATH" in refused("agent", "--store", "mysql://db/x", *out)
    assert "there is no such file" in refused("fleet", "status", "--store", f"sqlite:///{tmp_path}/none")
    gone = "postgresql://irfuzz@127.0.0.1:1/x"
    assert "cannot be reached" in refused("agent", "--store", gone, "--blobs", tmp_path / "b", *out)
    assert "cannot be reached" in refused("fleet", "drain", "--store", gone)


@pytest.mark.unit
def test_an_agent_without_seeds_is_told(tmp_path: Path, refused: Callable[..., str]) -> None:
    store = f"sqlite:///{tmp_path}/fleet.sqlite"
    words = ("--store", store, "--out", tmp_path / "out", "--targets", "reference")
    assert "`irfuzz fleet add-seeds` gives it some" in refused("agent", *words)


@pytest.mark.unit
def test_a_folder_of_somebody_else_is_told(tmp_path: Path, refused: Callable[..., str]) -> None:
    store, out = f"sqlite:///{tmp_path}/fleet.sqlite", tmp_path / "out"
    StoreConnection(store, make=True).close()
    (tmp_path / "fleet.sqlite.blobs").mkdir()
    out.mkdir()
    about = '{"schema": 1, "fleet": "f", "name": "a", "first_job": 0, "seed": 0}'
    (out / ABOUT).write_text(about)
    assert "belongs to an agent of another fleet" in refused("agent", "--store", store, "--out", out)
    (out / ABOUT).write_text(about.replace("1", "2"))
    assert "expected schema 1, got 2" in refused("agent", "--store", store, "--out", out)
    with (fleet := StoreConnection(store)).transaction() as connection:
        own = about.replace('"f"', json.dumps(fleet.settings(connection)["id"]))
    fleet.close()
    (out / ABOUT).write_text(own)
    assert "an agent's of a fleet with seed 0; leave" in refused("agent", "--store", store, "--out", out, "--seed", 3)
    (out / ABOUT).write_text("[]")
    assert "expected an object with schema, fleet" in refused("agent", "--store", store, "--out", out)
    (out / ABOUT).write_text("{")
    assert "cannot be read" in refused("agent", "--store", store, "--out", out)


@pytest.mark.unit
def test_a_missing_extra_is_told(tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("agent", "--store", f"sqlite:///{tmp_path}/fleet.sqlite", "--out", tmp_path / "out")
    for package in ("alembic", "fsspec", "zstandard"):
        monkeypatch.setitem(sys.modules, package, None)
        assert f"needs {package}; pip install 'irfuzz[fleet]'" in refused(*words)
        monkeypatch.delitem(sys.modules, package)
        StoreConnection(f"sqlite:///{tmp_path}/fleet.sqlite", make=True).close()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "needs psycopg; pip install" in refused("fleet", "status", "--store", "postgresql://db/x")


@pytest.mark.unit
def test_orders_of_the_command_line(store: StoreConnection, store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for word, orders in (("pause", "pause"), ("resume", "run"), ("drain", "drain"), ("end", "end")):
        assert main(["fleet", word, "--store", store_url]) == 0
        assert fleet_status(store).orders == orders
    assert main(["fleet", "status", "--store", store_url]) == 0
    assert "told to end" in capsys.readouterr().out


@pytest.mark.unit
def test_an_absent_store_is_told_once_and_waited_for(
    postgres: Any, blobs: SharedBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irfuzz.fleet.synchronisation.LONGEST_PAUSE", 0.5)
    store = StoreConnection(postgres.database(), make=True)
    member = Member(store, blobs, tmp_path / "a")
    said: list[str] = []
    thread = SyncThread(member.sync, said.append, every=0.1)
    thread.start()
    try:
        postgres.stop()
        add_seed(member.database)
        add_mutants(member.database, [0])
        member.database.add_finding(finding("s"))
        assert _comes(lambda: bool(said))
        time.sleep(2)
    finally:
        postgres.start()
    assert _comes(lambda: len(said) == 2)
    tell(store, Orders.DRAIN)
    assert _comes(lambda: thread.orders is Orders.DRAIN)
    assert thread.end(20)
    assert "cannot be reached" in said[0]
    assert "work is kept here meanwhile" in said[0]
    assert said[1].startswith("the store is back after ")
    assert len(said) == 2
    status = fleet_status(store)
    assert (status.given, [f.signature for f in status.findings]) == (2, ["s"])
    store.close()


@pytest.mark.unit
def test_work_that_cannot_be_sent_is_counted(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> None:
    member = Member(store, blobs, tmp_path / "a")
    add_seed(member.database)
    member.database.add_finding(finding("s"))
    place = Path(blobs.place)
    shutil.rmtree(place, ignore_errors=True)
    place.write_text("in the way")
    said: list[str] = []
    thread = SyncThread(member.sync, said.append)
    thread.start()
    assert not thread.end(1.0)
    assert member.sync.left() == 2
    assert len(said) == 1
    place.unlink()
    member.sync.synchronise()
    assert member.sync.left() == 0


def _comes(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("tiny")
def test_nothing_is_lost_by_kills_and_a_drain(any_url: str, tmp_path: Path) -> None:
    """Two agents wait and go on, and one is killed with its jobs in the middle of its work."""
    fleet = FleetUnderTest(tmp_path, any_url)
    try:
        for name in ("a", "b"):
            fleet.start(name)
        assert _comes(lambda: _working(fleet) == 2, 240)
        assert main(["fleet", "pause", "--store", any_url]) == 0
        assert _comes(lambda: {a.state for a in fleet_status_of(fleet).agents} == {"paused"}, 120)
        assert main(["fleet", "resume", "--store", any_url]) == 0
        before = programs_of(fleet)
        assert _comes(lambda: all(count > before[name] for name, count in programs_of(fleet).items()), 240)
        again, _ = fleet.kill("agent and jobs", random.Random(0))
        fleet.start(again)
        before = programs_of(fleet)
        assert _comes(lambda: all(count > before[name] for name, count in programs_of(fleet).items()), 240)
        (name,) = {"a", "b"} - {again}
        fleet.agents[name].terminate()  # as service managers do
        assert fleet.agents[name].wait(120) == 0
        assert fleet.drain() == []
        assert {a.state for a in fleet_status_of(fleet).agents} == {"ended"}
        wrong, figures = what_is_wrong(fleet, replayed=5)
        assert wrong == []
        assert figures["programs given"] > 2
        assert figures["sightings"] > 0
    finally:
        fleet.end()


@pytest.mark.slow
@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("tiny")
def test_an_agent_that_starts_again_waits_for_its_store(postgres: Any, tmp_path: Path) -> None:
    """A new one says at once that the store is away (``test_a_store_that_is_none_is_told``)."""
    fleet = FleetUnderTest(tmp_path, postgres.database())
    try:
        fleet.start("a")
        assert _comes(lambda: (tmp_path / "a" / ABOUT).is_file() and _working(fleet) == 1, 240)
        fleet.agents["a"].kill()
        fleet.agents["a"].wait()
        before = programs_of(fleet)
        postgres.stop()
        try:
            fleet.start("a")
            log = tmp_path / "a.log"
            assert _comes(lambda: "cannot be reached" in log.read_text() and "; waiting for it" in log.read_text(), 120)
            time.sleep(2)
            assert fleet.agents["a"].poll() is None
        finally:
            postgres.start()
        assert _comes(lambda: all(count > before[name] for name, count in programs_of(fleet).items()), 240)
        fleet.agents["a"].terminate()
        assert fleet.agents["a"].wait(120) == 0
        assert log.read_text().count("waiting for it") == 1
    finally:
        fleet.end()


def fleet_status_of(fleet: FleetUnderTest) -> Any:
    status = fleet.status()
    assert status is not None
    return status


def programs_of(fleet: FleetUnderTest) -> dict[str, int]:
    return {agent.name: agent.programs for agent in fleet_status_of(fleet).agents}


def _working(fleet: FleetUnderTest) -> int:
    file = Path(fleet.url.removeprefix("sqlite:///"))
    if fleet.url.startswith("sqlite") and not file.is_file():
        return 0
    try:
        return sum(count > 0 for count in programs_of(fleet).values())
    except UsageError:  # the first agent is making it
        return 0
