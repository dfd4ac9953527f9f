"""Agents on a Ray cluster: killed actors and nodes are replaced, and who can never work is told."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

import irfuzz
from benchmarks.fleet_kills import TINY
from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.fleet.agent_registry import Orders, tell
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.starters import ray_starter
from irfuzz.fleet.starters.agent_guard import guard
from irfuzz.fleet.starters.ray_starter import AgentKeeper, KeptAgent
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.isolate import linux

ENV = {
    **os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "RAY_USAGE_STATS_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
}  # fmt: skip


def comes(check: Callable[[], Any], seconds: float = 300.0) -> Any:
    """What a check gives once it gives anything."""
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.5)
    return found


@pytest.mark.unit
@pytest.mark.parametrize(
    ("store", "shown", "password"),
    [
        ("postgresql+psycopg://fuzz:a%2Fb@db.example:5433/f", "postgresql+psycopg://fuzz@db.example:5433/f", "a/b"),
        ("postgresql+psycopg://fuzz@db.example/f?sslmode=require", "", None),
        ("sqlite:///fleet.sqlite", "", None),
        ("no address", "", None),
    ],
)
def test_a_command_line_shows_no_password(
    monkeypatch: pytest.MonkeyPatch, store: str, shown: str, password: str | None
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    kept = KeptAgent(store, "out", ("--jobs", "2"))
    assert kept.words()[-6:] == ["--store", shown or store, "--out", "out", "--jobs", "2"]
    assert kept.env().get("PGPASSWORD") == password


@pytest.mark.unit
def test_a_guard_ends_its_command_with_its_holder(tmp_path: Path) -> None:
    mark = tmp_path / "ended"
    code = (
        "import pathlib, signal, sys, time\n"
        "def end(*_): pathlib.Path(sys.argv[1]).touch(); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    held, ours = os.pipe()
    words = [sys.executable, "-P", "-m", "irfuzz.fleet.starters.agent_guard", sys.executable, "-c", code, str(mark)]
    process = subprocess.Popen(words, stdin=held, stdout=subprocess.PIPE, env=ENV)
    os.close(held)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.close(ours)  # as the kernel does when the holder is killed
    assert process.wait(60) == 5
    assert mark.exists()
    process.stdout.close()


@pytest.mark.unit
@pytest.mark.parametrize("code", [0, 3])
def test_a_guard_has_the_exit_code_of_its_command(code: int) -> None:
    held, ours = os.pipe()
    old = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        with os.fdopen(held, "rb") as stream:
            assert guard([sys.executable, "-c", f"import sys; sys.exit({code})"], stream) == code
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
        os.close(ours)


@pytest.mark.unit
def test_a_keeper_starts_its_agent_again_until_it_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        f"import pathlib, sys; p = pathlib.Path({str(tmp_path / 'n')!r}); n = len(p.read_text()) if p.exists() else 0"
    )
    code += "; p.write_text('x' * (n + 1)); sys.exit(0 if n == 2 else 2)"
    monkeypatch.setattr(KeptAgent, "words", lambda _: [sys.executable, "-c", code])
    assert AgentKeeper(KeptAgent("", str(tmp_path / "out")), pause=0.01).run() == 0
    assert (tmp_path / "n").read_text() == "xxx"


@pytest.mark.unit
def test_a_keeper_gives_up_what_never_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_starter, "MOST_QUICK", 2)
    keeper = AgentKeeper(KeptAgent("mysql://db/x", str(tmp_path / "out")), pause=0.01)
    with pytest.raises(UsageError, match=r"ended 2 times at its start, with 2: .*--store: expected sqlite"):
        keeper.run()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["start"], "start: expected --ray ADDRESS"),
        (["status", "--ray", "local"], "status: --ray belongs to start"),
        (["status", "--agents", "2"], "status: --agents belongs to start"),
        (["start", "--ray", "10.0.0.1:6379"], "a store in SQLite is for one machine"),
        (["start", "--ray", "local", "--agent-flags", "'"], "--agent-flags: No closing quotation"),
    ],
)
def test_what_cannot_start_is_told(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/fleet.sqlite"
    StoreConnection(url, make=True).close()
    assert main(["fleet", *words, "--store", url]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.unit
def test_a_missing_ray_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"needs ray; pip install 'irfuzz\[fleet-ray\]'"):
        ray_starter.start_on_ray("local", 1, "", Path("x"), [], print)


class TwoNodes:
    """Two raylets on this machine, with a token of their own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("198.51.100.1", 9))  # sends nothing; two nodes need an address that is not the loopback's
            host = probe.getsockname()[0]
        with socket.socket() as probe:
            probe.bind((host, 0))
            self.address = f"{host}:{probe.getsockname()[1]}"
        (folder / "token").write_text(secrets.token_hex(32))
        self.env = {**ENV, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
        port = self.address.rpartition(":")[2]
        common = ["--block", "--num-cpus", "1", "--object-store-memory", str(80 << 20), "--node-ip-address", host]
        head = ["--head", "--port", port, "--include-dashboard", "false", "--temp-dir", str(folder / "ray")]
        self.folder, self.leaders = folder, list[subprocess.Popen[bytes]]()
        self._words = [*head, *common], ["--address", self.address, *common]

    def start(self) -> None:
        """Start the first node, then the second."""
        self.head = self._start("head", self._words[0])
        self.second = self._start("second", self._words[1])
        comes(lambda: self._alive() == 2)  # a node runs before the others know of it

    def _alive(self) -> int:
        """How many nodes the cluster knows."""
        code = (
            f"import ray; ray.init(address={self.address!r}, log_to_driver=False, logging_level='error'); "
            "print(sum(node['Alive'] for node in ray.nodes()))"
        )
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False)
        return int(done.stdout) if done.returncode == 0 else 0

    def _start(self, name: str, words: list[str]) -> subprocess.Popen[bytes]:
        """Start a node, again if it does not come within the 30 seconds that Ray gives it on a busy machine."""
        code = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; sys.exit(main())"
        for attempt in range(8):
            path = self.folder / f"{name}{attempt}.log"
            with path.open("wb") as log:
                node = subprocess.Popen(
                    [sys.executable, "-c", code, "start", *words], env=self.env, stdout=log, stderr=log,
                    stdin=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            self.leaders.append(node)
            comes(lambda path=path, node=node: b"runtime started" in path.read_bytes() or node.poll() is not None)
            if node.poll() is None:
                return node
            self.kill(node)
        raise AssertionError(path.read_text()[-1000:])

    def processes(self, node: subprocess.Popen[bytes]) -> set[int]:
        """All processes of a node, those that lost their parents, too."""
        return {*linux.descendants(node.pid), node.pid, *session(node.pid)}

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """Kill all processes of a node."""
        for pid in self.processes(node):
            kill(pid)
        node.wait()
        self.leaders.remove(node)

    def end(self) -> None:
        for node in list(self.leaders):
            self.kill(node)


def session(leader: int) -> list[int]:
    """Processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            found.append(int(path.parent.name))
    return found


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    pytest.importorskip("ray", reason="ray is not installed (`pip install 'irfuzz[fleet-ray]'`)")
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"irfuzz-ray-{os.getpid()}"  # sockets have short names
    folder.mkdir()
    found = TwoNodes(folder)
    try:
        found.start()
        yield found
    finally:
        found.end()


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(2400)
def test_actors_and_nodes_that_are_killed_are_replaced(nodes: TwoNodes, postgres: Any, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(TINY), tmp_path / "tiny.onnx")
    url = postgres.database()
    words = [
        "fleet", "start", tmp_path / "tiny.onnx", "--store", url, "--blobs", tmp_path / "blobs", "--ray", nodes.address,
        "--agents", "2", "--out", tmp_path / "agents", "--agent-flags",
        "--jobs 1 --sync 1 --targets reference,onnxruntime:disabled",
    ]  # fmt: skip
    with (tmp_path / "start.log").open("wb") as log:
        started = subprocess.Popen(
            [sys.executable, "-P", "-m", "irfuzz", *map(str, words)], cwd=tmp_path, env=nodes.env, stdout=log,
            stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        about = [tmp_path / "agents" / f"ray-{number}.keeper.json" for number in (0, 1)]
        store = StoreConnection(url, make=True)

        def programs() -> list[int]:
            assert started.poll() is None, (tmp_path / "start.log").read_text()
            return sorted(agent.programs for agent in fleet_status(store).agents)

        def go_on() -> None:
            before = programs()
            comes(lambda: len(programs()) >= 2 and all(a > b for a, b in zip(programs(), before, strict=True)))

        comes(lambda: len(programs()) == 2 and min(programs()) > 0, 600)
        first, second = (json.loads(one.read_text()) for one in about)
        assert first["node"] != second["node"]
        kill(first["keeper"])
        comes(lambda: json.loads(about[0].read_text())["keeper"] != first["keeper"])
        comes(lambda: not Path(f"/proc/{first['agent']}").exists())
        go_on()
        kept = [json.loads(one.read_text()) for one in about]
        there = {one["node"] for one in kept if one["keeper"] in nodes.processes(nodes.second)}
        assert len(there) == 1, f"no agent on the second node: {kept}"
        nodes.kill(nodes.second)
        comes(lambda: not there & {json.loads(one.read_text())["node"] for one in about}, 600)
        go_on()
        assert len(fleet_status(store).agents) == 2  # the folders are as they were, and so are the agents
        tell(store, Orders.DRAIN)
        store.close()
        assert started.wait(300) == 0, (tmp_path / "start.log").read_text()
        assert "2 agents ended" in (tmp_path / "start.log").read_text()
    finally:
        for pid in (*linux.descendants(started.pid), started.pid):
            kill(pid)
        started.wait()
