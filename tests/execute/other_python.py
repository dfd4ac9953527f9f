"""A second interpreter that sees this one's packages, recorded as an environment, without pip and without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from irfuzz.execute.versions import environments
from irfuzz.execute.versions.environments import Environment


def make_python(place: Path) -> Path:
    """A virtual environment whose packages are this one's; its Python."""
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(place)], check=True)
    packages = next((place / "lib").glob("python3*")) / "site-packages"
    (packages / "others.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
    return place / "bin" / "python"


def put(name: str, distribution: str, version: str, component: str, python: Path | str, **more: object) -> Environment:
    """Write a record, as ``irfuzz env add`` does at its end."""
    made = Environment(
        name, distribution, version, version, component, str(python), "3.11", "2.0",
        requirements=(f"{distribution}=={version}", "numpy"), **more,  # type: ignore[arg-type]
    )  # fmt: skip
    environments.record(name).parent.mkdir(parents=True, exist_ok=True)
    environments.write(made)
    return made
