"""A program enters, the request that runs its generated TensorFlow source leaves."""

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


@dataclass(frozen=True, slots=True)
class TensorflowAdapter:
    """TensorFlow, through irfuzz's own lowering (``irfuzz.export.tensorflow``).

    Attributes:
        modes: keys of ``MODES`` in its worker file.
        slow: they take long to trace and compile, and get a worker of their own.
    """

    modes: tuple[str, ...] = ("eager",)
    slow: bool = False
    distributions: tuple[str, ...] = ("tensorflow", "tensorflow-cpu")

    @property
    def component(self) -> str:
        """TensorFlow."""
        return "tensorflow"

    @property
    def handler(self) -> Path:
        """The worker file."""
        return WORKERS / "tensorflow.py"

    @property
    def preload(self) -> tuple[str, ...]:
        """TensorFlow takes three seconds to import; what it imports later on is asked for by name."""
        return ("tensorflow",)

    @property
    def env(self) -> Mapping[str, str]:
        """Single-threaded, on the CPU, silent, with the kernels that do not depend on oneDNN's choice of order."""
        return {
            **SINGLE_THREAD,
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
        }

    @property
    def reads_bytes(self) -> bool:
        """It runs the program's lowering."""
        return False

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each mode."""
        return tuple(
            Target(
                name=f"tensorflow:{mode}",
                component="tensorflow",
                interpreter=sys.executable,
                options={"mode": mode},
                slow=self.slow,
                kernels="xla" if mode == "xla" else "",
            )
            for mode in self.modes
        )

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Whether TensorFlow is installed."""
        found = importlib.util.find_spec("tensorflow") is not None
        return "" if found else "tensorflow is not installed; pip install tensorflow-cpu"

    def describe(self) -> Request:
        """Ask for the version."""
        return {"do": "describe"}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:  # noqa: ARG002 - the protocol's
        """It is there when its worker has answered."""
        return ""

    def prepare(
        self,
        program: Program | bytes,
        model: bytes,  # noqa: ARG002 - the protocol's
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The source; then its arrays, then the inputs."""
        # The exporter is only needed where TensorFlow is a target.
        from irfuzz.export.tensorflow import lower
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
            raise Unsupported("irfuzz's lowering to TensorFlow", "an invalid call", str(problems[0])) from error
        message = {
            "do": "run",
            "source": lowered.source,
            "arrays": list(lowered.arrays),
            "inputs": [{"name": name} for name in inputs],
            "variants": [dict(t.options) for t in targets],
        }
        return message, [*lowered.arrays.values(), *inputs.values()]
