"""How many runs a converter refuses with and without ``irfuzz fuzz --learn``.

The converter is ``tests/planted_targets/small_converter.py``: thirteen operators, of some element types, ranks,
attributes and opsets. Two campaigns of one seed run the same number of programs on it, beside the reference evaluator
and onnxruntime without optimisation. A row says how many runs of valid programs the converter refused, and how many
programs two targets ran.

Run ``python -m benchmarks.learnt_support [--programs 303] [--seed 0] [SEED ...]``; exit code 1 if ``--learn`` leaves
a tenth or more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

TARGET = "tests/planted_targets/small_converter.py:SmallConverter"

MOST = 0.1
"""Share of refused runs from which on too few are left out."""


def campaign(words: Sequence[str], out: Path) -> dict[str, Any]:
    """The summary of a campaign.

    Args:
        words: of its command line, beside what all of them have.
        out: its folder.

    Raises:
        SystemExit: it failed; what it said goes to standard error.
    """
    command = [sys.executable, "-m", "irfuzz", "fuzz", "--target", TARGET, "--jobs", "1", "--json", "--out", str(out)]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    for line in done.stderr.splitlines():
        if "operators are taken" in line:
            print(line)
    return json.loads(done.stdout)


def refused(summary: dict[str, Any]) -> int:
    """Runs that the converter refused."""
    return sum(summary["counts"].get(f"{TARGET} {end}", 0) for end in ("unsupported", "rejected"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run both campaigns and print a row of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", default=["seeds"])
    parser.add_argument("--programs", type=int, default=303)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", default="60m")
    args = parser.parse_args(argv)
    words = [*args.seeds, "--programs", str(args.programs), "--seed", str(args.seed), "--time", args.time]
    share = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("plain", []), ("--learn", ["--learn"])):
            summary = campaign([*words, *more], Path(folder, name.strip("-")))
            share = refused(summary) / summary["programs"]
            print(
                f"{name:8} refused {refused(summary)} of {summary['programs']} ({share:.1%}), two targets ran "
                f"{summary['compared_share']:.0%} of the programs, {summary['seconds']:.0f} s",
                flush=True,
            )
    return int(share >= MOST)


if __name__ == "__main__":
    sys.exit(main())
