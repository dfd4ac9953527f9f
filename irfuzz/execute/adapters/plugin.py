"""The adapter that runs a user's class in a worker, by its name; the class is never imported here."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.run_types import Target, Value
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.isolate.sandbox_report import checked

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

NAME = re.compile(r"(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[^:]+\.py):[A-Za-z_]\w*")
"""``package.module:Class`` or ``path/to/file.py:Class``."""

NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What ``ast`` raises for what is no Python, or has brackets in one another by the hundred."""

ATTRIBUTE = "irfuzz_allow"
"""Attribute of a class with its permissions in the sandbox."""


@dataclass(frozen=True, slots=True)
class PluginAdapter:
    """A class of the user's with ``run(model_bytes: bytes, inputs: dict) -> dict`` (arrays by name).

    Raising ``NotImplementedError`` there means unsupported, any other exception a rejection. A ``version`` attribute is
    shown in reports, and ``irfuzz_allow = ("network",)`` says what the sandbox is to leave to it.

    Attributes:
        name: the target's name.
        source: place of the class (``NAME``).
        folder: searched for modules before ``sys.path``; the current folder, as with ``python -m``.
    """

    name: str
    source: str
    folder: str = field(default_factory=os.getcwd)

    @property
    def component(self) -> str:
        """Every plug-in is a component, and so a witness, of its own."""
        return self.name

    @property
    def handler(self) -> Path:
        """The worker file."""
        return WORKERS / "plugin.py"

    @property
    def preload(self) -> tuple[str, ...]:
        """Nothing: a module that dies on import must not take the zygote with it."""
        return ()

    @property
    def env(self) -> Mapping[str, str]:
        """Single-threaded, with the module search path of this process."""
        return {**SINGLE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    @property
    def allowed(self) -> tuple[str, ...]:
        """What the class says in its attribute ``irfuzz_allow``, which is read and not run.

        Raises:
            UsageError: it is no tuple or list of words that a sandbox knows and paths.
        """
        path, name = self.file, self.source.rpartition(":")[2]
        try:
            tree = ast.parse(read_plain(path)) if path is not None else None
        except (InvalidProgram, *NOT_PYTHON):
            return ()  # its worker says what is wrong with it
        for statement in tree.body if tree is not None else ():
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                return _said_in(statement, self.name)
        return ()

    @property
    def file(self) -> Path | None:
        """The file with the class, which need not be there if a path names it; ``None`` if a module has none."""
        place = self.source.rpartition(":")[0]
        return Path(self.folder, place) if place.endswith(".py") else self._module_file(place)

    def _module_file(self, module: str) -> Path | None:
        """The file of a module, which is found without running its packages; ``None`` if it has none."""
        places: list[str] = [self.folder, *sys.path]
        origin = None
        for part in module.split("."):
            spec = PathFinder.find_spec(part, places)
            if spec is None:
                return None
            origin, places = spec.origin, list(spec.submodule_search_locations or ())
        return Path(origin) if origin is not None and origin.endswith(".py") else None

    @property
    def distributions(self) -> tuple[str, ...]:
        """Which distribution a module is of is not asked."""
        return ()

    @property
    def reads_bytes(self) -> bool:
        """The class takes ONNX."""
        return True

    @property
    def targets(self) -> tuple[Target, ...]:
        """The one."""
        return (
            Target(
                name=self.name,
                component=self.name,
                interpreter=sys.executable,
                options={"class": self._located()},
            ),
        )

    def _located(self) -> str:
        """The source, with a file's whole path, so that a finding can be replayed from any folder."""
        place, _, name = self.source.rpartition(":")
        return f"{Path(self.folder, place).absolute()}:{name}" if place.endswith(".py") else self.source

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Always empty: nothing can be said before its worker has started and imported the class."""
        return ""

    def not_there(self) -> str:
        """Why there can be no such class, as far as that is known without importing anything: no file, no package."""
        place, _, _ = self.source.rpartition(":")
        if place.endswith(".py"):
            return "" if Path(self.folder, place).is_file() else f"{place}: no such file"
        package = place.partition(".")[0]
        found = package in sys.modules or PathFinder.find_spec(package, [self.folder]) or find_spec(package)
        if found:
            return ""
        source = Path(self.folder, "src", package)
        installed = "; it lies in src, so install the project, such as by `pip install -e .`"
        hint = installed if source.is_dir() or source.with_suffix(".py").is_file() else ""
        return f"no module named {package!r}{hint}"

    def describe(self) -> Request:
        """Import the class and ask for its version."""
        return {"do": "describe", "class": self.source, "folder": self.folder}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:  # noqa: ARG002 - the protocol's
        """Always empty: it is there when its worker has answered."""
        return ""

    def prepare(
        self,
        program: Program | bytes,  # noqa: ARG002 - the protocol's
        model: bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The model's bytes, then the inputs.

        Args:
            program: not looked at.
            model: ONNX bytes.
            inputs: values by name.
            targets: the one, or its other ways to run a model; the class is told which by its option ``way``.
        """
        ways = [str(t.options.get("way", "")) for t in targets]
        message = {
            "do": "run",
            "class": self.source,
            "folder": self.folder,
            "inputs": [{"name": n} for n in inputs],
            "variants": [{"way": way} if way else {} for way in ways],
        }
        return message, [model, *inputs.values()]


@cache
def source_digest(source: str) -> str:
    """Tells apart states of a user's class by the file that holds it; read once in a process.

    Args:
        source: place of the class, as in the option ``class`` of its target.

    Returns:
        The beginning of the file's SHA-256; empty if there is no such file.
    """
    path = PluginAdapter(source, source).file
    try:
        return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError:
        return ""


def allowed_to(name: str, source: str) -> tuple[str, ...]:
    """Permissions of a class of the user's in the sandbox.

    Args:
        name: of the target.
        source: place of the class.

    Raises:
        UsageError: what it says is nothing that a sandbox knows.
    """
    return PluginAdapter(name, source).allowed


def _said_in(statement: ast.ClassDef, target: str) -> tuple[str, ...]:
    """The value of ``irfuzz_allow`` in a class.

    Raises:
        UsageError: it is none that a sandbox knows.
    """
    where = f"target {target}: {ATTRIBUTE} of class {statement.name}"
    for line in statement.body:
        names = (
            line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
        )
        if any(isinstance(name, ast.Name) and name.id == ATTRIBUTE for name in names):
            assert isinstance(line, ast.Assign | ast.AnnAssign)
            try:
                said = ast.literal_eval(line.value) if line.value is not None else ()
            except (TypeError, *NOT_PYTHON):
                said = None
            if not isinstance(said, tuple | list) or not all(isinstance(word, str) for word in said):
                raise UsageError(f"{where}: expected a tuple of texts, as it stands there, got {_shown(line)!r}")
            return checked(where, list(said))
    return ()


def _shown(line: ast.stmt) -> str:
    """A statement as it would be written; what is too deep for that is named by its line."""
    try:
        return ast.unparse(line)
    except RecursionError:
        return f"line {line.lineno}"
