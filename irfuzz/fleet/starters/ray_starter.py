"""Starts agents of a fleet on a Ray cluster: an actor a node keeps an agent running, and is started again itself."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from irfuzz.errors import UsageError

EXTRA = "pip install 'irfuzz[fleet-ray]'"

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, which ends with this process."""

FIRST_PAUSE = 2.0
"""Seconds before an agent that failed is started again; twice as many each time it fails again at once."""

LONGEST_PAUSE = 60.0

QUICK = 60.0
"""An agent that fails sooner than this many seconds after its start has not worked."""

MOST_QUICK = 6
"""After so many of these in a row it is given up."""

OBJECT_STORE = 80 << 20
"""Bytes of a local cluster's object store, about the least that Ray takes: only an exit code goes through it."""

LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class KeptAgent:
    """The agent that an actor keeps running.

    Attributes:
        store: URL of the fleet's store.
        out: folder of the agent on its node.
        flags: more words for ``irfuzz agent``.
    """

    store: str
    out: str
    flags: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """The command of the agent, behind a guard that ends it with the actor; a password is not in it."""
        guard = [sys.executable, "-P", "-m", "irfuzz.fleet.starters.agent_guard"]
        store = without_password(self.store)[0]
        agent = [sys.executable, "-P", "-m", "irfuzz", "agent", "--store", store, "--out", self.out]
        return [*guard, *agent, *self.flags]

    def env(self) -> dict[str, str]:
        """The environment of the agent: the actor's, with the password of the store, which ``ps`` does not show."""
        env, password = {**os.environ}, without_password(self.store)[1]
        if not env.get("CUDA_VISIBLE_DEVICES", "all"):
            del env["CUDA_VISIBLE_DEVICES"]  # Ray hides GPUs from actors that ask for none; an agent looks for itself
        return env if password is None else {**env, "PGPASSWORD": password}


def without_password(store: str) -> tuple[str, str | None]:
    """The URL of a store as command lines may show it, and the password in it if there is one."""
    try:
        url = make_url(store)
    except ArgumentError:  # the agent says what is wrong with it
        return store, None
    if url.password is None:
        return store, None
    return url._replace(password=None).render_as_string(hide_password=False), str(url.password)


class AgentKeeper:
    """The actor: runs an agent in a process of its own until it ends as it was asked, whatever it found.

    Nothing of value is here: if this dies, the agent ends, and the actor that takes its place starts one in the same
    folder, or in an empty one on another node.

    Args:
        kept: what to run.
        pause: seconds before an agent that failed at once is started again.
    """

    def __init__(self, kept: KeptAgent, pause: float = FIRST_PAUSE) -> None:
        self._kept, self._pause = kept, pause

    def run(self) -> int:
        """Keep the agent running until it ends; 0.

        Raises:
            UsageError: it has failed again and again at its start.
        """
        out = Path(self._kept.out)
        out.parent.mkdir(parents=True, exist_ok=True)
        log = out.with_name(f"{out.name}.log")
        quick = 0
        while True:
            began = time.monotonic()
            code = self._once(log, out.with_name(f"{out.name}.keeper.json"))
            if code == 0:
                return 0
            quick = quick + 1 if time.monotonic() - began < QUICK else 0
            if quick >= MOST_QUICK:
                lines = log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
                raise UsageError(f"agent in {out} ended {quick} times at its start, with {code}: {' / '.join(lines)}")
            time.sleep(min(LONGEST_PAUSE, self._pause * 2**quick))

    def _once(self, log: Path, about: Path) -> int:
        with log.open("ab") as opened:
            process = subprocess.Popen(
                self._kept.words(), stdin=subprocess.PIPE, stdout=opened, stderr=opened, env=self._kept.env()
            )
            draft = about.with_suffix(".draft")
            draft.write_text(json.dumps({"keeper": os.getpid(), "agent": process.pid, "node": _node()}))
            draft.replace(about)
            return process.wait()


def _node() -> str:
    """The id of the node of Ray on which this runs; empty outside of Ray."""
    ray: Any = sys.modules.get("ray")
    return str(ray.get_runtime_context().get_node_id()) if ray is not None and ray.is_initialized() else ""


def start_on_ray(
    address: str, agents: int, store: str, out: Path, flags: Sequence[str], say: Callable[[str], None]
) -> list[int]:
    """Run agents on the nodes of a Ray cluster, one a node as far as there are nodes, until all have ended.

    If this process ends, so do they. An actor that dies is started again as often as that happens; if its node is
    gone, on another one.

    Args:
        address: of the cluster, or ``LOCAL``.
        agents: how many.
        store: URL of the store, which every node reaches.
        out: folder for the agents' folders on each node, ``ray-0``, ``ray-1`` and so on.
        flags: more words for ``irfuzz agent``.
        say: prints a line.

    Returns:
        The exit code of each agent.

    Raises:
        UsageError: Ray is not installed or cannot be reached, or agents could not start.
    """
    ray = _connected(address)
    try:
        nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
        say(f"{agents} agents on {len(nodes)} nodes of Ray")
        keepers = [
            _keeper(ray, nodes[number % len(nodes)]).remote(KeptAgent(store, str(out / f"ray-{number}"), tuple(flags)))
            for number in range(agents)
        ]
        try:
            return _ended(ray, [keeper.run.remote() for keeper in keepers], say)
        finally:
            for keeper in keepers:
                ray.kill(keeper, no_restart=True)  # its guard ends the agent cleanly
    finally:
        ray.shutdown()


def _connected(address: str) -> Any:
    try:
        ray: Any = importlib.import_module("ray")
    except ModuleNotFoundError:
        raise UsageError(f"--ray {address}: needs ray; {EXTRA}") from None
    more: dict[str, Any] = {}
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        more = {"include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", **more)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(f"--ray {address}: cannot be reached: {lines[0]}") from None
    return ray


def _keeper(ray: Any, node: str) -> Any:
    """The actor's class for a node; another node takes it if that one is gone."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    strategy = strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=True)
    return ray.remote(AgentKeeper).options(
        num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=strategy
    )


def _ended(ray: Any, running: list[Any], say: Callable[[str], None]) -> list[int]:
    """Wait for all actors and collect the exit codes of their agents.

    Raises:
        UsageError: agents failed; raised once the others have ended.
    """
    codes: list[int] = []
    failed: list[str] = []
    while running:
        (done, *_), running = ray.wait(running)
        try:
            codes.append(int(ray.get(done)))
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            failed.append(str(cause or error).strip().splitlines()[-1])
            say(failed[-1])
    if failed:
        raise UsageError(f"{len(failed)} of {len(failed) + len(codes)} agents could not work: {failed[0]}")
    return codes
