"""Runs the reproducers of docs/bugs on other versions of their component.

A version shows a bug if the script exits with 1 and, of one that is refused, says what the newest version that shows
it says: an old one may refuse the model for another reason, and that counts as unknown, as does a version that lacks
what the script calls.

Other versions lie in folders, one each: ``pip install --no-deps --target DIR/onnxruntime-1.20.1 onnxruntime==1.20.1``.
What a version needs besides (an older NumPy) lies in its ``also`` folder, put there with ``--target`` as well.

Run ``python -m benchmarks.bug_versions DIR [--only NUMBER ...] [--json FILE]``; it prints a line for each entry.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irfuzz.execute.versions.environments import version_key

ROOT = Path(__file__).resolve().parents[1]
PAGE, FOLDERS = ROOT / "docs" / "bugs.md", ROOT / "docs" / "bugs"

SECONDS = 600
"""For all scripts on one version."""

ALIKE = 0.6
"""How much two messages of one fault have in common at least, of 1."""

SERVER = """
import os, runpy, sys, traceback
told, *folders = sys.argv[1].split(os.pathsep)
sys.path[:0] = folders
for name in ("numpy", "onnx", "onnx.reference", sys.argv[2]):
    try:
        __import__(name)
    except Exception:  # what lacks it tells so itself
        pass
for script in sys.argv[3:]:
    child = os.fork()
    if not child:
        log = os.open(os.path.join(told, "log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv, code = [script], 2
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = open(os.path.join(told, "log"), errors="replace").read()
    said = [line for line in text.splitlines() if line.startswith("expected an answer, got ")]
    print(repr((script, code, said[-1] if said else "")), flush=True)
"""
"""Runs scripts in processes of their own, with what takes long imported beforehand."""

_ROW = re.compile(r"^\| (\d+) \| ([\w-]+) [\d.]+[^|]*\|", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """What a version does with a reproducer.

    Attributes:
        shows: whether the bug shows; ``None`` if that cannot be told.
        said: the message of one that refuses.
    """

    shows: bool | None
    said: str


def components(page: str) -> Mapping[int, str]:
    """The package of every entry."""
    return {int(number): package for number, package in _ROW.findall(page)}


def folders_of(place: Path, package: str) -> Mapping[str, list[Path]]:
    """The folders with each version of a package, and none for the one that is installed."""
    found = {f.name.removeprefix(f"{package}-"): [f, f / "also"] for f in place.glob(f"{package}-[0-9]*")}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found[importlib.metadata.version(package).partition("+")[0]] = []
    return {version: found[version] for version in sorted(found, key=version_key)}


def run(numbers: Sequence[int], package: str, folders: Sequence[Path]) -> Mapping[int, Shown]:
    """Run reproducers on one version."""
    scripts = [str(next(FOLDERS.glob(f"{number:03d}-*")) / "repro.py") for number in numbers]
    with tempfile.TemporaryDirectory() as place:
        paths = ":".join([place, *map(str, folders)])
        done = subprocess.run(
            [sys.executable, "-I", "-c", SERVER, paths, package.replace("-", "_"), *scripts], cwd=place,
            stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    found: dict[int, Shown] = {}
    for line in done.stdout.splitlines():
        if line.startswith("('"):
            script, code, said = eval(line, {})  # what the server above prints
            found[int(Path(script).parent.name[:3])] = Shown({0: False, 1: True}.get(code), _without_names(said))
    return found


def _without_names(said: str) -> str:
    """A message without paths, numbers and quoted names, which differ between versions."""
    return re.sub(r"\S*/\S+|'[^']*'|\d+", "", said)[:300]


def told(shown: Mapping[str, Shown]) -> dict[str, bool | None]:
    """Whether each version shows the bug, other refusals than that of the newest one that does left open."""
    newest = next((s.said for s in reversed(shown.values()) if s.shows), "")
    return {v: None if s.shows and not _alike(s.said, newest) else s.shows for v, s in shown.items()}


def _alike(said: str, other: str) -> bool:
    """Whether two messages are one, but for signatures of functions and the like."""
    return said == other or difflib.SequenceMatcher(None, said, other, autojunk=False).ratio() >= ALIKE


def main(words: Sequence[str]) -> int:
    """Print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", metavar="DIR", type=Path, help="Folder of the folders with other versions.")
    parser.add_argument("--only", metavar="NUMBER", nargs="*", type=int, help="Of entries; all if none is given.")
    parser.add_argument("--json", metavar="FILE", type=Path, help="Write what each version shows.")
    args = parser.parse_args(words)
    entries = {n: p for n, p in components(PAGE.read_text()).items() if not args.only or n in args.only}
    found: dict[int, dict[str, Shown]] = {number: {} for number in entries}
    for package in dict.fromkeys(entries.values()):
        numbers = [n for n, p in entries.items() if p == package]
        for version, folders in folders_of(args.place, package).items():
            for number, shown in run(numbers, package, folders).items():
                found[number][version] = shown
    words_of = {True: "yes", False: "no", None: "?"}
    for number, shown in found.items():
        print(number, entries[number], " ".join(f"{v}={words_of[s]}" for v, s in told(shown).items()))
    if args.json:
        args.json.write_text(json.dumps({n: told(s) for n, s in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
