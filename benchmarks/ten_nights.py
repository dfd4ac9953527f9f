"""Ten nights on one folder, with a converter that has three known faults, and a new one from one night on.

``python -m benchmarks.ten_nights`` runs a campaign, writes its findings into the baseline, and continues it night after
night, as a nightly job does: every night has to be green, but for the one before which a fault was planted, which shows
that fault and no other. What shows there goes into the baseline the next morning, so the nights behind it have to be
green again. ``--time`` is that of a night; the campaign before the first has three times as long. A line a night says
what was new. The exit code is 1 if a night has the wrong colour or the first campaign did not find the known faults.
There are two converters with other faults (``--converter``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.nightly.project import TARGET, Project, refused_share, summary_of
from irfuzz.cli.parser import duration

KNOWN = (
    {"softmax-axis": "Softmax", "gemm-beta": "Gemm", "transpose-default": "Transpose"},
    {"sub-broadcast": "Sub", "mean-transpose": "ReduceMean, Transpose", "concat-axis": "Concat"},
)
"""Faults that each converter has from the beginning, and what their findings name."""

PLANTED = ({"mean-keepdims": "ReduceMean"}, {"softmax-axis": "Softmax"})
"""The fault of each that comes later."""


def night(project: Project, *words: str) -> tuple[int, list[str], float]:
    """A run: its exit code, titles of what is new, and the share of programs that the converter refused."""
    command = [sys.executable, "-m", "irfuzz", "fuzz", "--budget", "night", "--json", *words]
    ended = project.run(command)
    summary = summary_of(ended)
    if ended.code not in (0, 1):
        print(f"exit code {ended.code}: {ended.err[-2000:]}", file=sys.stderr)
    return ended.code, [row["title"] for row in summary["list"] if row["fails"]], refused_share(summary)


def expect(project: Project) -> None:
    """Write what was found into the baseline."""
    place = ["irfuzz-out", "-o", "irfuzz-baseline.json"]
    ended = project.run([sys.executable, "-m", "irfuzz", "findings", "baseline", *place])
    print(ended.out.strip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", default="2m", help="of a night; default: 2m")
    parser.add_argument("--nights", type=int, default=10)
    parser.add_argument("--converter", type=int, choices=(1, 2), default=1, help="which faults it has")
    parser.add_argument("--plant", type=int, default=6, help="night before which the new fault comes; 0: never")
    args = parser.parse_args()
    known, later = KNOWN[args.converter - 1], PLANTED[args.converter - 1]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="nights-") as place:
        project = Project(Path(place), {"PYTHONPATH": str(Path(__file__).resolve().parents[1])})
        project.plant(*known)
        setting_up = project.run([sys.executable, "-m", "irfuzz", "init", "--target", TARGET, "--ci", "none"])
        if setting_up.code:
            raise SystemExit(setting_up.err)
        _, new, share = night(project, "--time", f"{3 * duration(args.time):.0f}s")
        print(f"before: {len(new)} findings, {share:.1%} refused")
        missed = [fault for fault, op in known.items() if not any(op in title for title in new)]
        print(f"not found of the known faults: {', '.join(missed) or 'none'}")
        expect(project)
        for number in range(1, args.nights + 1):
            planted = args.plant and number >= args.plant
            project.plant(*known, *(later if planted else ()))
            code, new, share = night(project, "--time", args.time)
            wanted = int(number == args.plant)
            right = code == wanted and all(any(op in title for op in later.values()) for title in new)
            wrong += not right
            colour = {0: "green", 1: "red"}.get(code, f"exit {code}")
            mark = "" if right else "  WRONG"
            print(
                f"night {number}: {colour}{mark}, {share:.1%} refused{''.join(f'; {title}' for title in new)}",
                flush=True,
            )
            if code == 1:
                expect(project)
    return int(bool(wrong or missed))


if __name__ == "__main__":
    sys.exit(main())
