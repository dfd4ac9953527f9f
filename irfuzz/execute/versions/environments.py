"""Lists the component versions that are completely built in the user's folder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError

HOME = "IRFUZZ_HOME"
"""Environment variable: where irfuzz keeps what outlives a campaign."""

SCHEMA = 1
"""Version of ``environment.json``."""

NAME = re.compile(r"[A-Za-z0-9](?:[\w.+-]*[\w+])?")
"""What an environment may be called: it stands in target names, beside ``@``, ``:``, ``,`` and ``*``."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with one version of one component.

    Attributes:
        name: unique; ``onnxruntime-1.29.0`` unless the user chose another.
        distribution: what pip calls the component.
        wanted: the version that was asked for.
        version: the version that pip says is there.
        component: as targets call it; empty if no target runs this distribution.
        interpreter: its Python executable.
        python: version of that.
        numpy: version of numpy in it.
        opset: newest version of ONNX's default domain that the component takes; 0 if unknown.
        ir: newest ONNX IR version that it takes; 0 if unknown.
        requirements: what pip was given.
        packages: everything that pip installed, with versions.
    """

    name: str
    distribution: str
    wanted: str
    version: str
    component: str
    interpreter: str
    python: str
    numpy: str
    opset: int = 0
    ir: int = 0
    requirements: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def requirement(self) -> str:
        """What to give pip, or ``irfuzz env add``, for the same version."""
        return f"{self.distribution}=={self.wanted}"

    @property
    def for_pip(self) -> str:
        """Everything that pip was told, with the component by version even if it came as a file."""
        return " ".join((self.requirement, *self.requirements[1:]))


def usual_name(distribution: str, version: str) -> str:
    """The name of an environment for which the user chose none: ``onnxruntime-1.20.1``.

    Args:
        distribution: as pip calls it.
        version: of it.
    """
    return f"{distribution}-{version}"


def folder() -> Path:
    """The folder of all environments: ``$IRFUZZ_HOME``, else ``irfuzz`` in ``$XDG_DATA_HOME`` or ``~/.local/share``.

    Returns:
        An absolute path that ends in ``environments``. It need not exist, and is not made.
    """
    home = os.environ.get(HOME)
    if home:
        return Path(home).expanduser().absolute() / "environments"
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path("~/.local/share").expanduser()
    return base / "irfuzz" / "environments"


def record(name: str) -> Path:
    """The file that makes an environment count; written last.

    Args:
        name: of the environment.

    Returns:
        A path, whether the environment is there or not.
    """
    return folder() / name / "environment.json"


def installed() -> tuple[Environment, ...]:
    """Every environment that is complete, by distribution and version.

    Returns:
        Older versions first; empty if there is no folder. Those without a record, which a stopped installation leaves,
        are left out.

    Raises:
        UsageError: the folder or a record cannot be read.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder()) if entry.is_dir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{folder()}: cannot be read: {error.strerror}; set {HOME} to another folder") from None
    found = [read(path) for name in names if (path := record(name)).is_file()]
    return tuple(sorted(found, key=lambda e: (e.distribution, version_key(e.wanted), e.name)))


def read(path: Path) -> Environment:
    """What a record says.

    Args:
        path: of the file, as ``record`` gives it.

    Raises:
        UsageError: it is no record, or one of another version of irfuzz.
    """
    advice = "remove that environment with `irfuzz env remove` and add it again"
    try:
        data: Any = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); {advice}") from None
    known = {f.name for f in fields(Environment)}
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA or set(data) != known:
        raise UsageError(f"{path}: expected a record of schema {SCHEMA}; {advice}")
    data["requirements"] = tuple(data["requirements"])
    return Environment(**data)


def write(environment: Environment) -> None:
    """Let an environment count from now on.

    Args:
        environment: whose folder is there. The record replaces an older one in a single step, whole or not at all.
    """
    path = record(environment.name)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"schema": SCHEMA, **asdict(environment)}, indent=1))
    draft.replace(path)


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Sorts versions by their numbers; a pre-release (``1.0rc1``, ``1.0.dev2``) comes before its release.

    Args:
        version: of any form. ``1.0.post1`` comes after ``1.0``; what follows a plus does not count.
    """
    parts: list[tuple[int, int | str]] = []
    for number, word in re.findall(r"(\d+)|([a-z]+)", version.lower().partition("+")[0]):
        parts.append((1, int(number)) if number else (2 if word == "post" else -1, word))
    return (*parts, (0, 0))
