"""Runs irfuzz without a flag, `check` or a campaign of 30 s, on every model of the list; writes docs/real-models.md.

    python -m benchmarks.real_models.run [--cache FOLDER] [--fuzz] [--held-out] [--irfuzz PROGRAM] [ID ...]

The program should stand in an environment with onnxruntime and torch only (`pip install 'irfuzz[onnxruntime,torch]'`):
what else is installed takes part. No flag is given but the time of a campaign, one model runs at a time, and each is
ended after two minutes (--limit). Results of earlier runs stay for models that are not run again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.real_models import page
from benchmarks.real_models.catalogue import EXPECTED, PAGE, RESULTS, Model, chosen, models, parser

LIMIT = 120.0
VERDICTS = {0: "agree", 1: "disagree", 2: "refused", 3: "fault of irfuzz"}
DOUBTS = (re.compile(r"UNDECIDED on (\d+)"), re.compile(r"(\d+) inputs? runs? on no target"))
"""Inputs on which nothing is said of who is right."""
COMPARED = re.compile(r"on (\d+) (?:of \d+ )?inputs?")
NOTHING = "NOTHING COMPARED"


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command printed and what it took."""

    code: int | None
    """``None`` if it had to be ended."""
    output: str
    errors: str
    seconds: float
    cpu_seconds: float
    peak_mib: float
    """Largest sum of the proportional set sizes of it and its workers, looked at five times a second."""


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [root], [root]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def pss(processes: list[int]) -> float:
    """Their memory in MiB; what they share is counted once."""
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) if "Pss:" in text else 0  # type: ignore[index]
    return total / 1024


def measured(command: list[str], folder: Path, limit: float = LIMIT) -> Ended:
    """Run a command to its end, or end it and its workers after ``limit`` seconds."""
    out, err = folder / "output", folder / "errors"
    begun, peak, seen = time.monotonic(), 0.0, set[int]()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL)
        status: int | None = None
        usage = None
        while status is None:
            done, ended, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(ended)
                break
            processes = tree(process.pid)
            seen |= set(processes)
            peak = max(peak, pss(processes))
            if time.monotonic() - begun > limit:
                for pid in seen & set(tree(process.pid)):
                    os.kill(pid, signal.SIGKILL)
                _, _, usage = os.wait4(process.pid, 0)
                break
            time.sleep(0.2)
    assert usage is not None
    process.returncode = -1 if status is None else status
    text, errors = (path.read_text(errors="replace") for path in (out, err))
    seconds = time.monotonic() - begun
    return Ended(status, text, errors, seconds, usage.ru_utime + usage.ru_stime, peak)


def first_line(ended: Ended, folder: Path) -> str:
    """The headline without the models' folder; of a command that printed nothing the last line of its errors."""
    lines = [line for line in ended.output.splitlines() if line.strip()]
    if not lines:
        lines = [line for line in ended.errors.splitlines() if line.strip()][-1:]
    return " ".join(lines[0].split()).replace(f"{folder}/", "")[:400] if lines else ""


def cost(ended: Ended) -> dict[str, Any]:
    return {
        "seconds": round(ended.seconds, 1),
        "cpu seconds": round(ended.cpu_seconds, 1),
        "peak MiB": round(ended.peak_mib),
    }


def verdict(code: int | None, headline: str) -> tuple[str, int]:
    """What the first line and the exit code come to, and on how many inputs nothing was decided.

    Agreement that is undecided on every input, or that compared nothing, is no agreement, whatever the exit code.
    """
    doubtful = sum(int(found[1]) for pattern in DOUBTS if (found := pattern.search(headline)))
    inputs = int(found[1]) if (found := COMPARED.search(headline)) else 0
    if code is None:
        return "not done in time", doubtful
    if code == 0 and NOTHING in headline:
        return "nothing compared", doubtful
    if code == 0 and doubtful and doubtful >= inputs:
        return "undecided", doubtful
    return VERDICTS.get(code, f"exit {code}"), doubtful


def check(program: str, path: Path, folder: Path, limit: float) -> dict[str, Any]:
    """The verdict of `irfuzz check` without a flag."""
    ended = measured([program, "check", str(path)], folder, limit)
    headline = first_line(ended, path.parent)
    got, doubtful = verdict(ended.code, headline)
    return {
        "got": got,
        "undecided inputs": doubtful,
        "exit": ended.code,
        "headline": headline,
        **cost(ended),
    }


def fuzz(program: str, path: Path, folder: Path, limit: float) -> dict[str, Any]:
    """How many programs of a campaign of 30 s ran on two targets."""
    command = [program, "fuzz", str(path), "--time", "30s", "--out", str(folder / "campaign"), "--json"]
    ended = measured(command, folder, limit)
    try:
        summary = json.loads(ended.output)
    except ValueError:
        return {
            "exit": ended.code,
            "programs": 0,
            "compared share": None,
            "says": first_line(ended, path.parent),
            **cost(ended),
        }
    told = {
        name: summary[name]
        for name in ("programs", "findings", "suspects", "internal_errors")
        if isinstance(summary.get(name), int)
    }
    whys = [name for name in summary["counts"] if name.startswith("not compared: ")]
    most = max(whys, key=lambda name: summary["counts"][name], default="")
    return {"exit": ended.code, **told, "compared share": summary["compared_share"], "says": most, **cost(ended)}


COMMANDS = {"check": check, "fuzz": fuzz}


def stored() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"schema": 1}


def versions(program: str) -> dict[str, str]:
    """The targets that take part, as the program itself lists them."""
    ended = subprocess.run([program, "targets", "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(ended.stdout)
    rows = rows["targets"] if isinstance(rows, dict) else rows
    return {row["name"]: row["version"] for row in rows if row.get("usable", row.get("ready"))}


def record(which: str, what: str, model: Model, row: dict[str, Any], used: dict[str, str]) -> None:
    """Put one result into the file, which so holds all that is done if the next one is ended."""
    held = stored()
    rows = held.setdefault(which, {}).setdefault(what, {})
    rows[model.id] = row
    held[which][what] = {one.id: rows[one.id] for one in models(which) if one.id in rows}
    held["targets"] = used
    RESULTS.write_text(json.dumps(held, indent=1) + "\n")


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--fuzz", action="store_true", help="campaigns of 30 s instead of checks")
    flags.add_argument("--irfuzz", help="the program (default: irfuzz on the PATH)", default=shutil.which("irfuzz"))
    flags.add_argument("--limit", type=float, default=LIMIT, help="seconds for one model (default: %(default)s)")
    flags.add_argument("--note", help="one sentence for the page: on what machine, beside what other work")
    flags.add_argument("--page", action="store_true", help="only write the page anew from the results")
    options = flags.parse_args()
    which, wanted = chosen(options)
    what = "fuzz" if options.fuzz else "check"
    used = {} if options.page else versions(options.irfuzz)
    for model in [] if options.page else wanted:
        with tempfile.TemporaryDirectory() as folder:
            row = COMMANDS[what](options.irfuzz, model.path(options.cache), Path(folder), options.limit)
        row["bytes"] = model.path(options.cache).stat().st_size
        record(which, what, model, row, used)
        print(f"{model.id}: {json.dumps(row)}", file=sys.stderr, flush=True)
    if options.note is not None:
        RESULTS.write_text(json.dumps({**stored(), "note": options.note}, indent=1) + "\n")
    expected = {name: json.loads(path.read_text())["models"] for name, path in EXPECTED.items() if path.exists()}
    PAGE.write_text(page.rendered(stored(), expected))


if __name__ == "__main__":
    main()
