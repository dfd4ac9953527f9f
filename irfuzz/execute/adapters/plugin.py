"""The adapter that runs a user's class in a worker, by its name; the class is never imported here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.run_types import Target, Value

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

NAME = re.compile(r"(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[^:]+\.py):[A-Za-z_]\w*")
"""``package.module:Class`` or ``path/to/file.py:Class``."""


@dataclass(frozen=True, slots=True)
class PluginAdapter:
    """A class of the user's with ``run(model_bytes: bytes, inputs: dict) -> dict`` (arrays by name).

    Raising ``NotImplementedError`` there means unsupported, any other exception a rejection. A ``version`` attribute is
    shown in reports.

    Attributes:
        name: the target's name.
        source: where the class is (``NAME``).
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
        return "" if found else f"no module named {package!r}"

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
