"""How many bugs of a half irfuzz reports, where it is silent, and which triggers it draws, as tables.

``python -m benchmarks.recall --build`` makes the environments; ``--confirm`` runs each bug on the version that has it
and on the one that has not, without any oracle; without either a campaign of one program is run for each. ``--count N``
runs nothing and says which triggers stand in N programs as campaigns draw them. ``--half end`` is for the end.
Exit code 1 if a bug is not told firmly, not confirmed, or a fixed version is blamed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .bugs import HALVES, Bug, bugs
from .campaigns import build, judge
from .confirm import answers, confirmed
from .draws import count


def confirm(listed: list[Bug]) -> int:
    """Whether every version does what the list says."""
    wrong = 0
    for bug in listed:
        found = answers(bug, [v for v in (bug.shows, bug.fixed) if v])
        why = confirmed(bug, found[bug.shows], found.get(bug.fixed, []))
        wrong += bool(why)
        print(f"{bug.name:36} {bug.shows:10} {bug.fixed or 'none yet':10} {why or 'confirmed'}", flush=True)
        print(
            f"    expected {dict(bug.right)}\n    got      {'; '.join(t for fine, t in found[bug.shows] if not fine)}"
        )
    return int(wrong > 0)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(
        prog="python -m benchmarks.recall",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("--half", choices=HALVES, default=HALVES[0], help="which bugs")
    arguments.add_argument("--only", nargs="*", default=[], metavar="NAME", help="names of bugs, of any half")
    arguments.add_argument("--list", action="store_true", help="print their names and links")
    arguments.add_argument("--build", action="store_true", help="make the environments first")
    arguments.add_argument("--confirm", action="store_true", help="run the versions, ask no oracle")
    arguments.add_argument("--count", type=int, metavar="N", help="count triggers in so many programs; runs nothing")
    arguments.add_argument("--seed", type=int, default=1, help="of the programs")
    arguments.add_argument("--json", type=Path, help="write the answers there")
    arguments.add_argument("--keep", type=Path, help="keep the campaigns in this folder")
    given = arguments.parse_args()
    listed = bugs("" if given.only else given.half, given.only)
    if given.list:
        for bug in listed:
            print(f"{bug.name:36} {bug.half:5} {bug.component:22} {bug.shows:10} {bug.fixed:10} {bug.link}")
        return 0
    if given.build:
        build(listed)
    if given.confirm:
        return confirm(listed)
    if given.count:
        return count(listed, given.count, given.seed, given.json)
    return judge(listed, given.keep, given.json)


if __name__ == "__main__":
    sys.exit(main())
