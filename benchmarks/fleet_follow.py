"""Lets a fleet follow real releases of onnxruntime, with bugs of which docs/bugs tells when they came and went.

The package index is a folder of wheels to which one release after the other is added, and which pip is set up to look
at alone: ``pip index versions`` and ``pip install`` are the real ones. Findings are made on the first release by the
pipeline of campaigns, of models in docs/bugs; models that show their fault in a later release only are in the corpus.

Run ``python -m benchmarks.fleet_follow WHEELS [--postgres] [--inline]``, with wheels of onnxruntime 1.29.0, 1.30.0,
1.31.1 and 1.32.0 and of what they need; it prints a line for each finding, and exits with 1 if one is wrong.
Environments are made in $IRFUZZ_HOME, where that is set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from sqlalchemy import update

from benchmarks.postgres_server import PostgresServer
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.stored_findings.archive import CampaignArchive
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import environments
from irfuzz.execute.versions.installation import WantedEnvironment, add
from irfuzz.execute.versions.releases import releases
from irfuzz.findings.blame.introduced_fixed_releases import fixed_in, introduced_in
from irfuzz.findings.codec import finding_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import FindingReproducer, steps
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.fleet import shared_work
from irfuzz.fleet.agent_registry import join, register
from irfuzz.fleet.finding_exchange import shared_findings
from irfuzz.fleet.fleet_schema import LEASE
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.lease_table import LeaseKind
from irfuzz.fleet.program_exchange import give_seeds
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.shared_work import WorkSetting
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.synchronisation import FolderSync
from irfuzz.fleet.upkeep.leased_work import do
from irfuzz.fleet.upkeep.work_request import WorkRequest, WorkResult
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import MeasuringJudge
from irfuzz.store.database import Database
from irfuzz.store.npz_tensors import unpack

BUGS = Path(__file__).resolve().parents[1] / "docs" / "bugs"

BASE, LATER = "1.29.0", ("1.30.0", "1.31.1", "1.32.0")

KNOWN = {
    "002-onnxruntime-transpose-matmul-vector": ("", ""),
    "005-onnxruntime-pad-averagepool-ceil": ("", "1.32.0"),
    "064-onnxruntime-transpose-gemm-identity": ("", "1.30.0"),
}
"""Bugs that the base shows: the releases in which they came and went, of those that the index has."""

COMES = {"089-onnxruntime-quantize-dequantize-axis": ("1.30.0", "")}
"""Bugs that a later release brings."""

TARGETS = (f"onnxruntime@{BASE}:all", f"onnxruntime@{BASE}:disabled", "reference")

SECONDS = 7200.0

WORK = ("re-check", "replay")
"""What is done about a release; who has several at once may ask about releases alone, too."""


class InlineWork:
    """Leased work that is done at once in this process, which spares a busy machine dozens of starts."""

    def __init__(self, request: WorkRequest) -> None:
        releases.cache_clear()  # as a new process would
        folder = Path(request.scratch) / "work"
        folder.mkdir(parents=True)
        self._result = do(replace(request, scratch=str(folder)))
        shutil.rmtree(folder)
        print(f"  {request.kind} {request.item}: {self._result.told}", flush=True)

    def ended(self) -> WorkResult:
        """What became of it."""
        return self._result

    def close(self) -> None:
        """It has ended."""


def program_of(bug: str) -> Program:
    """The model of a bug."""
    return load_seed(BUGS / bug / "model.onnx")


def find(layout: Layout, database: Database, config: Config, bug: str) -> str:
    """Make a finding of a bug on the base; its signature."""
    program = program_of(bug)
    inputs = unpack((BUGS / bug / "inputs.npz").read_bytes(), bug)
    with Runner(TARGETS, Limits(seconds=config.timeout)) as runner:
        runs = runner.run(program, inputs, runner.targets)
        verdicts = MeasuringJudge(runner, wrong_here).judge(program, inputs, runs)
        wrong = [v for v in verdicts if not v.suspect and v.target.startswith("onnxruntime")]
        assert wrong, f"{bug} does not show in {BASE}: {verdicts}"
        case = FailingCase(program, inputs)
        bench = FindingReproducer(
            [runner], lambda _: runner.targets, lambda _: runner.targets, lambda finding, watch: finding.case,
            lambda finding, seen, results: "not seen", lambda finding: "not seen",
        )  # fmt: skip
        archive = CampaignArchive(layout, database, config)
        print(bug, archive.take(Finding(wrong[0], case, case, runs), steps(bench, archive)), flush=True)
    return database.findings(bare=True)[-1].signature


def work_all(store: StoreConnection, sync: FolderSync, until: float) -> None:
    """Synchronise until no work is left that this agent can do."""
    quiet = 0
    while quiet < 3 and time.monotonic() < until:
        sync.synchronise()
        with store.transaction() as connection:
            rows = connection.execute(LEASE.select().where(~LEASE.c.done)).all()
        kinds = [row.kind for row in rows if row.kind in WORK or row.agent]
        quiet = 0 if kinds else quiet + 1
        time.sleep(0.5)


def main() -> int:
    """Follow the releases, and hold what the store then says against what docs/bugs does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL in a temporary folder instead of SQLite")
    parser.add_argument("--inline", action="store_true", help="do leased work in this process, not one each")
    args = parser.parse_args()
    if args.inline:
        shared_work.WorkProcess = InlineWork  # pyright: ignore[reportAttributeAccessIssue]
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="irfuzz-follow-")))
        os.environ.setdefault(environments.HOME, str(folder / "home"))
        index = folder / "index"
        index.mkdir()
        for wheel in args.wheels.glob("*.whl"):
            if not wheel.name.startswith("onnxruntime-"):
                (index / wheel.name).symlink_to(wheel.absolute())
        os.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
        publish(args.wheels, index, BASE)
        add(WantedEnvironment("onnxruntime", BASE, f"onnxruntime=={BASE}"))
        url = f"sqlite:///{folder}/fleet.sqlite"
        if args.postgres:
            server = PostgresServer.begin()
            stack.callback(server.end)
            url = server.database()
        store = StoreConnection(url, make=True)
        stack.callback(store.close)
        wrong = follow_all(store, SharedBlobs(str(folder / "blobs")), folder, args.wheels, index)
    print(f"{time.monotonic() - began:.0f} s, {wrong} wrong")
    return 1 if wrong else 0


def publish(wheels: Path, index: Path, version: str) -> None:
    """Let the index list a release."""
    (wheel,) = wheels.glob(f"onnxruntime-{version}-*.whl")
    shutil.copy(wheel, index)


def follow_all(store: StoreConnection, blobs: SharedBlobs, folder: Path, wheels: Path, index: Path) -> int:
    """Let one agent follow all releases; how many findings are wrong."""
    layout, config = Layout(folder / "agent"), Config(targets=TARGETS, reduce=5.0)
    layout.out.mkdir()
    for place in layout.folders():
        place.mkdir(parents=True)
    with closing(Database(layout.database)) as database:
        database.set("config", config.to_json())
        bugs = {find(layout, database, config, bug): bug for bug in KNOWN}
        give_seeds(store, blobs, [(f"{bug}.onnx", program_of(bug)) for bug in (*KNOWN, *COMES)])
        account = register(store, "follower", join(store, None)[0], TARGETS, 1)
        setting = WorkSetting(work=WORK, follow=("onnxruntime",), look=SECONDS, out=layout.out)
        sync = FolderSync(store, blobs, database, account, TARGETS, folder / "scratch", setting)
        until = time.monotonic() + SECONDS
        work_all(store, sync, until)
        for version in LATER:
            publish(wheels, index, version)
            with store.transaction() as connection:  # the time until the next look is over
                connection.execute(update(LEASE).where(LEASE.c.kind == LeaseKind.FOLLOW.value).values(until=0.0))
            work_all(store, sync, until)
            print(fleet_status(store), flush=True)
        sync.close()
    return judged(store, bugs)


def judged(store: StoreConnection, bugs: dict[str, str]) -> int:
    """Hold what the store says against what is known; how many findings are wrong."""
    wrong = 0
    left = dict(COMES)
    for row in shared_findings(store, suspects=False):
        finding = finding_of(row)
        told = introduced_in(finding), fixed_in(finding)
        bug = bugs.get(row.signature)
        if bug is None:
            bug = next((bug for bug, expected in left.items() if expected == told), "unexpected")
            left.pop(bug, None)
        expected = {**KNOWN, **COMES}.get(bug)
        wrong += told != expected
        word = "right" if told == expected else "WRONG"
        print(f"{word}: {bug}: introduced in {told[0] or '?'}, fixed in {told[1] or '?'}")
        print(f"   {row.title} {[(s.version, s.shows, s.previous) for s in finding.shown]}")
    return wrong + len(left)


if __name__ == "__main__":
    sys.exit(main())
