"""Kills a campaign again and again, and looks for what was lost: disagreements, findings, processes, files.

``python benchmarks/kills.py [--kills 100] [--minutes N] [--seed 0] [--jobs 2] [--out FOLDER] [--json FILE]``. Three
planted targets disagree all the time, so that cases wait. Each kill is a ``kill -9`` of the campaign, of a job, of a
job's workers or of all of them, at a random moment or while a job is in one of ``PHASES``; then the campaign is
resumed. A trigger in the campaign's database notes each disagreement in the transaction that stores it. In the end each
kind of them (target, symptom, what was said) must wait or be a finding, a suspect or something unreplayed, every
finding's ``repro.py`` must show it, and nothing may be left. Exit code 1 if that is not so.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

import irfuzz
from irfuzz.isolate import linux

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "tests" / "planted_targets" / "faults.py"
PLANTED = tuple(f"{FAULTS}:{name}" for name in ("Picky", "WrongNumbers", "Choosy"))
TINY = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }'

PHASES: Mapping[str, tuple[str, float]] = {
    "making": ("irfuzz.campaign.loop:_make", 0.005),
    "running": ("irfuzz.campaign.loop:_execute", 0.03),
    "judging": ("irfuzz.campaign.loop:_judge", 0.01),
    "storing": ("irfuzz.store.database:Database.record", 0.002),
    "triage": ("irfuzz.campaign.triage.disagreement_handling:Triage._settled", 1.0),
    "reduction": ("irfuzz.campaign.triage.disagreement_handling:Triage._shrunk", 0.5),
    "replay": ("irfuzz.campaign.stored_findings.archive:CampaignArchive.replay", 1.0),
    "writing a bundle": ("irfuzz.campaign.stored_findings.folder_placement:write_bundle", 0.01),
    "forgetting": ("irfuzz.campaign.triage.stored_case_queue:StoredQueue.done", 0.002),
}
"""The function that a job is in, and the seconds from its beginning in which the kill comes."""

PATIENCE = 90.0
"""Seconds in which a job is to get into a phase; if none does the kill comes at that moment."""

VICTIMS = ("campaign", "job", "workers", "all")

HOOK = """
import json, os, random, signal, sys, threading, time
def _children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    if int(stat.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(name))
            except OSError:
                pass
    return found
def _below(pid):
    return [one for child in _children(pid) for one in (child, *_below(child))]
def _kill(plan):
    me, campaign = os.getpid(), os.getppid()
    whom = {"campaign": [campaign], "job": [me], "workers": _below(me), "all": [campaign, *_below(campaign)]}
    for pid in sorted(whom[plan["whom"]], key=lambda pid: pid == me):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
def _watch(plan):
    where, _, path = plan["function"].partition(":")
    *owner, name = path.split(".")
    while True:
        at = sys.modules.get(where)
        for one in owner:
            at = getattr(at, one, None)
        if hasattr(at, name) and getattr(sys.modules.get("irfuzz.campaign.loop"), "fuzz", None):
            break
        time.sleep(0.005)
    inner, calls, inside = getattr(at, name), [0], [0]
    def wrapped(*args, **options):
        calls[0] += 1
        if calls[0] == plan["call"]:
            threading.Thread(target=late, daemon=True).start()
        inside[0] += 1
        try:
            return inner(*args, **options)
        finally:
            inside[0] -= 1
    def late():
        time.sleep(plan["delay"])
        try:
            mark = os.open(plan["mark"], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except OSError:
            return
        os.write(mark, b"in" if inside[0] else b"behind")
        _kill(plan)
    setattr(at, name, wrapped)
if "KILLS_PLAN" in os.environ and any("irfuzz.campaign.job" in word for word in sys.orig_argv):
    threading.Thread(target=_watch, args=(json.loads(os.environ["KILLS_PLAN"]),), daemon=True).start()
"""
"""``sitecustomize.py`` of the processes: a job of one plan kills when it is in a phase."""


@dataclass
class Kills:
    """One campaign that is killed.

    Attributes:
        folder: with the campaign, the temporary folder of its processes, and what is put into them.
        jobs: of the campaign.
        dice: which moments, victims and phases.
        done: kills by phase and victim.
        problems: what was lost or left.
        told: confirmed findings by number.
        descriptors: most that a job and a campaign had open.
    """

    folder: Path
    jobs: int
    dice: random.Random
    done: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter[tuple[str, str]])
    problems: list[str] = field(default_factory=list[str])
    told: dict[int, str] = field(default_factory=dict[int, str])
    descriptors: dict[str, int] = field(default_factory=lambda: {"job": 0, "campaign": 0})
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.mark = f"kills-{os.getpid()}-{time.time_ns()}"
        self.out, self.scratch, self.site = (self.folder / name for name in ("out", "tmp", "site"))
        for place in (self.scratch, self.site):
            place.mkdir(parents=True)
        (self.site / "sitecustomize.py").write_text(HOOK)
        self.seed = self.folder / "tiny.onnx"
        onnx.save(onnx.parser.parse_model(TINY), self.seed)

    # ---- processes --------------------------------------------------------------------------

    def start(
        self, plan: Mapping[str, Any] | None = None, seconds: str = "1h", programs: int = 1_000_000
    ) -> subprocess.Popen[bytes]:
        """The campaign, begun or resumed."""
        words = [
            "fuzz", self.seed, "--out", self.out, "--time", seconds, "--programs", programs,
            "--seed", 5, "--jobs", self.jobs, "--reduce", 1,
            "--every", 4, "--quiet", "--targets", "reference,onnxruntime:disabled",
            *(word for name in PLANTED for word in ("--target", name)),
        ]  # fmt: skip
        path = f"{self.site}{os.pathsep}{Path(irfuzz.__file__).parents[1]}"
        env = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.scratch), "KILLS": self.mark}
        if plan is not None:
            env["KILLS_PLAN"] = json.dumps(plan)
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "irfuzz", *map(str, words)], env=env, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def living(self) -> list[int]:
        """Processes that any of its campaigns started, whoever their parent is now."""
        found = []
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and f"KILLS={self.mark}".encode() in (place / "environ").read_bytes():
                    found.append(int(place.name))
            except OSError:
                continue
        return found

    def all_gone(self, seconds: float = 30.0) -> bool:
        """Whether all of them end by themselves."""
        began = time.monotonic()
        gone = until(lambda: not self.living(), seconds)
        self.slowest = max(self.slowest, time.monotonic() - began)
        if not gone:
            left = self.living()
            self.problems.append(f"outlived their campaign by {seconds:.0f} s: {[command_of(pid) for pid in left]}")
            for pid in left:
                linux.kill(pid)
        return gone

    def count_descriptors(self, campaign: int) -> None:
        """Take note of how many descriptors are open."""
        for kind, pids in (("campaign", [campaign]), ("job", self.job_pids(campaign))):
            for pid in pids:
                try:
                    count = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
                except OSError:
                    continue
                self.descriptors[kind] = max(self.descriptors[kind], count)

    def job_pids(self, campaign: int) -> list[int]:
        """The jobs of a campaign."""
        found = []
        for pid in linux.children(campaign):
            try:
                if b"irfuzz.campaign.job" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue
        return found

    # ---- one kill ---------------------------------------------------------------------------

    def kill(self, phase: str) -> None:
        """One run of the campaign that ends by a kill in a phase, or at a random moment."""
        whom = self.dice.choice(VICTIMS)
        if phase == "random":
            self.kill_at_random(whom)
        else:
            function, most = PHASES[phase]
            mark = self.folder / f"mark{self.done.total()}"
            plan = {
                "function": function, "call": self.dice.randint(1, 3), "delay": self.dice.uniform(0, most),
                "whom": whom, "mark": str(mark),
            }  # fmt: skip
            running = self.start(plan)
            until(lambda: mark.exists() or running.poll() is not None, PATIENCE)
            if mark.exists():
                place = mark.read_text() or "in"
                self.done[phase if place == "in" else f"just behind {phase}", whom] += 1
                self.after(running, whom)
            else:
                self.problems += [f"exit {running.poll()} before {phase}"] if running.poll() is not None else []
                self.hit(running, "all")
                self.done["random", "all"] += 1
        self.check_rows()

    def kill_at_random(self, whom: str) -> None:
        """One from outside, from the first moments on."""
        running = self.start()
        time.sleep(self.dice.uniform(0.2, 20.0))
        self.count_descriptors(running.pid)
        self.hit(running, whom)
        self.done["random", whom] += 1

    def hit(self, running: subprocess.Popen[bytes], whom: str) -> None:
        """Kill, and see to what follows."""
        jobs = self.job_pids(running.pid)
        workers = [pid for job in jobs for pid in linux.descendants(job)]
        victims = {
            "campaign": [running.pid],
            "job": jobs[:1] or [running.pid],
            "workers": workers,
            "all": [running.pid, *linux.descendants(running.pid)],
        }
        for pid in victims[whom]:
            linux.kill(pid)
        self.after(running, whom)

    def after(self, running: subprocess.Popen[bytes], whom: str) -> None:
        """A campaign that lives gets its job back and is killed, too; half of the next ones find processes dying."""
        if whom in ("job", "workers") and running.poll() is None:
            if not until(lambda: len(self.job_pids(running.pid)) == self.jobs, 30) and running.poll() is None:
                self.problems.append(f"after a kill of {whom} there are {len(self.job_pids(running.pid))} jobs")
            time.sleep(self.dice.uniform(0, 4))
            self.count_descriptors(running.pid)
        if running.poll() is None:
            self.done["random", "campaign"] += whom in ("job", "workers")
            linux.kill(running.pid)
        running.wait()
        if self.dice.random() < 0.5:
            self.all_gone()

    # ---- what is stored ---------------------------------------------------------------------

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Of the campaign's database."""
        with closing(sqlite3.connect(self.out / "campaign.sqlite", timeout=30)) as base:
            return base.execute(query).fetchall()

    def note_what_is_stored(self) -> None:
        """Let the database note each disagreement as it is stored."""
        columns = "number, symptom, target, words, suspect, operators"
        new = ", ".join(f"new.{name}" for name in columns.split(", "))
        with closing(sqlite3.connect(self.out / "campaign.sqlite", timeout=30)) as base:
            base.execute(f"create table noted as select {columns} from waiting")
            base.execute(f"create trigger note after insert on waiting begin insert into noted values ({new}); end")
            base.commit()

    def check_rows(self) -> None:
        """See that no confirmed finding is gone or changed."""
        found = dict(self.rows("select number, signature from finding where status = 'confirmed' and not suspect"))
        self.problems += [f"finding {n}: {s}: gone" for n, s in self.told.items() if found.get(n) != s]
        self.told = found

    def unaccounted(self) -> list[tuple[str, str, str]]:
        """Kinds of disagreements with planted targets that neither wait nor came to anything that is kept."""
        noted = self.rows("select distinct symptom, target, words from noted")
        waits = set(self.rows("select symptom, target, words from waiting"))
        kept = self.rows("select symptom, target, title || signature from finding")
        return [
            (symptom, target, words)
            for symptom, target, words in noted
            if target in PLANTED
            and (symptom, target, words) not in waits
            and not any((symptom, target) == (s, t) and words.partition(": ")[2] in text for s, t, text in kept)
        ]

    def check_folders(self) -> int:
        """Every row has its folder and each finding's script shows it; returns how many did."""
        wanted = {n for (n,) in self.rows("select number from finding where status != 'explained'")}
        folders = [f for kind in ("findings", "suspects", "unreplayed") for f in (self.out / kind).glob("*")]
        numbers = [int(f.name[:4]) for f in folders if not f.name.startswith(".")]
        self.problems += [f"{f} is left" for f in folders if f.name.startswith(".")]
        if sorted(numbers) != sorted(wanted):
            self.problems.append(f"folders of {sorted(numbers)}, rows of {sorted(wanted)}")
        shown = 0
        for folder in sorted((self.out / "findings").glob("0*")):
            ended = subprocess.run(
                [sys.executable, folder / "repro.py"], cwd=self.folder, capture_output=True, check=False, timeout=300
            )
            shown += ended.returncode == 1
            self.problems += [f"{folder.name}: repro.py ended with {ended.returncode}"] if ended.returncode != 1 else []
        return shown

    def by_phase(self) -> dict[str, int]:
        """How many kills came in each phase."""
        found: collections.Counter[str] = collections.Counter()
        for (phase, _), count in sorted(self.done.items()):
            found[phase] += count
        return dict(found)

    def run(self, kills: int, minutes: float) -> dict[str, Any]:
        """All kills, or as many as come in so many minutes, and what is left of the campaign after them."""
        shared, began = shared_memory(), time.monotonic()
        self.start(seconds="120s", programs=2).wait()
        self.note_what_is_stored()
        turns: list[str] = []
        while self.done.total() < kills and time.monotonic() < began + 60 * minutes:
            if not turns:
                turns = [*PHASES, "random", "random", "random"]
                self.dice.shuffle(turns)
            self.kill(turns.pop())
            print(f"{self.done.total()} kills, {len(self.told)} findings, {self.problems}", flush=True)
        waited = self.rows("select count(*) from waiting")[0][0]
        self.all_gone()
        last = self.start(seconds="60s")
        last.wait()
        if last.returncode not in (0, 1):
            self.problems.append(f"the last run ended with {last.returncode}")
        self.all_gone()
        self.check_rows()
        self.problems += [f"lost: {kind}" for kind in self.unaccounted()]
        replayed = self.check_folders()
        self.problems += [f"{f} is left" for f in self.scratch.iterdir()]
        self.problems += [f"{path} is left" for path in shared_memory() - shared]
        kinds = self.rows("select count(*), count(distinct symptom || target || words) from noted")[0]
        return {
            "kills": self.done.total(),
            "by_phase": self.by_phase(),
            "by_phase_and_victim": {f"{p}: {w}": n for (p, w), n in sorted(self.done.items())},
            "disagreements_stored": kinds[0],
            "kinds_of_them": kinds[1],
            "waited_after_the_last_kill": waited,
            "wait_in_the_end": self.rows("select count(*) from waiting")[0][0],
            "findings": len(self.told),
            "findings_that_replay": replayed,
            "suspects": self.rows("select count(*) from finding where suspect")[0][0],
            "unreplayed": self.rows("select count(*) from finding where not suspect and status = 'unreplayed'")[0][0],
            "most_descriptors": self.descriptors,
            "slowest_end_of_processes": round(self.slowest, 1),
            "seconds": round(time.monotonic() - began),
            "problems": self.problems,
        }


def command_of(pid: int) -> str:
    """The words with which a process was started."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "ended by now"


def shared_memory() -> set[Path]:
    """What irfuzz has there under a name."""
    return {path for path in Path("/dev/shm").iterdir() if "irfuzz" in path.name}


def until(check: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf, help="no kill comes later")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="new folder for the campaign; a temporary one if omitted")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = Kills(args.out or Path(place, "kills"), args.jobs, random.Random(args.seed)).run(
            args.kills, args.minutes
        )
    text = json.dumps(found, indent=1)
    if args.json:
        args.json.write_text(text + "\n")
    print(text)
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
