"""Tells what each extra of irfuzz downloads on a machine that nobody prepared: the wheels that PyPI has for it.

uv resolves each extra for a platform and writes the sizes of all wheels into a lock file; of every package the wheel
that pip would take counts. Nothing is downloaded but metadata. The README's table is made from this.

Needs ``pip install uv packaging``. Run ``python -m benchmarks.extra_sizes [--python 3.12] [--platform x86_64]``.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
GLIBC = 28
"""Wheels for glibc 2.28 and older count: Debian 10, Ubuntu 20.04 and all that is newer."""

SKIPPED = ("test",)


def tags(python: str, machine: str) -> list[Tag]:
    """What an interpreter on Linux takes, best first."""
    version = [int(part) for part in python.split(".")]
    manylinux = [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC, 4, -1)]
    old = [f"manylinux{name}_{machine}" for name in ("2014", "2010", "1")]
    platforms = [*manylinux, *old, f"linux_{machine}"]
    interpreter = f"cp{version[0]}{version[1]}"
    return [*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter, platforms)]


def resolved(extra: str, python: str, machine: str) -> list[dict[str, Any]]:
    """The packages that pip would install for irfuzz with an extra, as ``pylock.toml`` has them."""
    with tempfile.TemporaryDirectory() as name:
        lock = Path(name) / "pylock.toml"
        command = ["uv", "pip", "compile", "--quiet", "--format", "pylock.toml", "--no-config", "-o", str(lock)]
        command += ["--python-version", python, "--python-platform", f"{machine}-manylinux_2_{GLIBC}"]
        command += ["--extra", extra] if extra else []
        done = subprocess.run([*command, str(ROOT / "pyproject.toml")], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"irfuzz[{extra}]: uv pip compile: exit {done.returncode}\n{done.stderr}")
        return tomllib.loads(lock.read_text(encoding="utf-8"))["packages"]


def sizes(packages: list[dict[str, Any]], wanted: list[Tag]) -> Iterator[tuple[str, int]]:
    """Each package with the bytes of the wheel that is taken, or of its source if it has no wheel."""
    order = {tag: place for place, tag in enumerate(wanted)}
    for package in packages:
        fitting = [
            (min(order[tag] for tag in found if tag in order), wheel["size"])
            for wheel in package.get("wheels", ())
            if (found := parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]) & order.keys()
        ]
        if fitting:
            yield package["name"], min(fitting)[1]
        elif "sdist" in package:
            yield package["name"], package["sdist"]["size"]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--platform", default="x86_64", choices=("x86_64", "aarch64"))
    args = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = tags(args.python, args.platform)
    for extra in ("", *(name for name in project["optional-dependencies"] if name not in SKIPPED)):
        found = sorted(sizes(resolved(extra, args.python, args.platform), wanted), key=lambda row: -row[1])
        large = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in found[:4])
        total = sum(size for _, size in found) / 1e6
        print(f"{extra or 'nothing':12} {total:6.0f} MB in {len(found):3} packages: {large}", flush=True)


if __name__ == "__main__":
    main()
