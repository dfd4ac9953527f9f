"""A program enters, the request that runs its generated PyTorch source leaves."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.errors import IrfuzzError, Unsupported
from irfuzz.execute.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.types import Target, Value

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

COMPILERS = ("torch._dynamo", "torch._inductor.compile_fx", "torch.export")
"""What the slow modes import; without it each new process would take seconds to get ready."""


@dataclass(frozen=True, slots=True)
class TorchAdapter:
    """PyTorch, through irfuzz's own lowering (``irfuzz.export.torch``).

    Attributes:
        modes: keys of ``MODES`` in its worker file.
        slow: they take seconds a program; they get a worker of their own, so that no quick one waits for them.
        preload: what that imports once.
    """

    modes: tuple[str, ...] = ("eager",)
    slow: bool = False
    preload: tuple[str, ...] = ("torch", "torch.nn.functional")
    distributions: tuple[str, ...] = ("torch",)

    @property
    def component(self) -> str:
        """PyTorch."""
        return "torch"

    @property
    def handler(self) -> Path:
        """The worker file."""
        return WORKERS / "torch.py"

    @property
    def env(self) -> Mapping[str, str]:
        """Single-threaded."""
        return SINGLE_THREAD

    @property
    def reads_bytes(self) -> bool:
        """It runs the program's lowering."""
        return False

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each mode; those that compile have kernels of their own."""
        return tuple(
            Target(
                name=f"torch:{mode}",
                component="torch",
                interpreter=sys.executable,
                options={"mode": mode},
                slow=self.slow,
                kernels="inductor" if mode == "compile" else "",
            )
            for mode in self.modes
        )

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Whether torch is installed."""
        return "" if importlib.util.find_spec("torch") is not None else "torch is not installed; pip install torch"

    def describe(self) -> Request:
        """Ask for the version."""
        return {"do": "describe"}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:
        """What ``torch.compile`` lacks; the others are there when the worker has answered."""
        return str(answer.get("modes", {}).get(target.options["mode"], ""))

    def prepare(
        self,
        program: Program | bytes,
        model: bytes,  # noqa: ARG002 - the protocol's
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The source; then its arrays, then the inputs."""
        # The exporter is only needed where PyTorch is a target.
        from irfuzz.export.torch import lower
        from irfuzz.ir.program import Program
        from irfuzz.ir.verify import verify

        try:
            lowered = lower(Program.from_bytes(program) if isinstance(program, bytes) else program)
        except IrfuzzError:
            raise
        except Exception as error:
            problems = [] if isinstance(program, bytes) else verify(program)
            if not problems:
                raise
            # Lowerings take valid calls for granted.
            raise Unsupported("irfuzz's lowering to PyTorch", "an invalid call", str(problems[0])) from error
        message = {
            "do": "run",
            "source": lowered.source,
            "arrays": list(lowered.arrays),
            "inputs": [{"name": name} for name in inputs],
            "variants": [dict(t.options) for t in targets],
        }
        return message, [*lowered.arrays.values(), *inputs.values()]
