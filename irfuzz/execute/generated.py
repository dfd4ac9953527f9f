"""Asks a framework's worker to run irfuzz's own lowering of a program."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.errors import IrfuzzError, Unsupported
from irfuzz.execute.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.types import Target, Value

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class SourceAdapter:
    """A framework that runs generated source (``irfuzz.export``). To add one: its lowering, and one of these.

    Attributes:
        component: key of its lowering in ``LOWERINGS``, name of its worker file and of the module that it is.
        title: its name in prose.
        distributions: names of the Python distributions that bring it; the last one is recommended.
        modes: keys of ``MODES`` in its worker file.
        slow: they take seconds a program; they get a worker of their own, so that no quick one waits for them.
        preload: modules for the zygote.
        env: environment of the worker.
        kernels: of the modes that have kernels of their own, whose these are.
    """

    component: str
    title: str
    distributions: tuple[str, ...]
    modes: tuple[str, ...] = ("eager",)
    slow: bool = False
    preload: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: SINGLE_THREAD)
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def handler(self) -> Path:
        """The worker file."""
        return WORKERS / f"{self.component}.py"

    @property
    def reads_bytes(self) -> bool:
        """It runs the program's lowering."""
        return False

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each mode."""
        return tuple(
            Target(
                name=f"{self.component}:{mode}",
                component=self.component,
                interpreter=sys.executable,
                options={"mode": mode},
                slow=self.slow,
                kernels=self.kernels.get(mode, ""),
            )
            for mode in self.modes
        )

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Whether the framework is installed."""
        if importlib.util.find_spec(self.component) is not None:
            return ""
        return f"{self.component} is not installed; pip install {self.distributions[-1]}"

    def describe(self) -> Request:
        """Ask for the version, and for the modes that cannot work."""
        return {"do": "describe"}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:
        """What a mode lacks; the others are there when the worker has answered."""
        return str(answer.get("modes", {}).get(target.options["mode"], ""))

    def prepare(
        self,
        program: Program | bytes,
        model: bytes,  # noqa: ARG002 - the protocol's
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The source; then its arrays, then the inputs."""
        # Exporters are only needed if a framework is a target.
        from irfuzz.export.lowerings import LOWERINGS
        from irfuzz.ir.program import Program
        from irfuzz.ir.verify import verify

        try:
            whole = Program.from_bytes(program) if isinstance(program, bytes) else program
            lowered = LOWERINGS[self.component](whole)
        except IrfuzzError:
            raise
        except Exception as error:
            problems = [] if isinstance(program, bytes) else verify(program)
            if not problems:
                raise
            # Lowerings take valid calls for granted.
            raise Unsupported(f"irfuzz's lowering to {self.title}", "an invalid call", str(problems[0])) from error
        message = {
            "do": "run",
            "source": lowered.source,
            "arrays": list(lowered.arrays),
            "inputs": [{"name": name} for name in inputs],
            "variants": [dict(t.options) for t in targets],
        }
        return message, [*lowered.arrays.values(), *inputs.values()]


TORCH = SourceAdapter("torch", "PyTorch", ("torch",), ("eager", "jit"), preload=("torch", "torch.nn.functional"))

NUMPY = SourceAdapter("numpy", "NumPy", ("numpy",), preload=("numpy", "ml_dtypes"))

TENSORFLOW = SourceAdapter(
    "tensorflow",
    "TensorFlow",
    ("tensorflow", "tensorflow-cpu"),
    preload=("tensorflow",),  # three seconds; what it imports later on is asked for by name
    env={
        **SINGLE_THREAD,
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",  # whose choice of order changes from run to run
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    },
)
