"""Asks a framework's worker to run irfuzz's own lowering of a program."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.errors import IrfuzzError, Unsupported
from irfuzz.execute.adapters.adapter import GPU_ARITHMETIC, GPU_HANDLER, SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.adapters.input_shape_freezing import settled
from irfuzz.execute.cuda_detection import reasons, why_no_cuda, why_no_gpu
from irfuzz.execute.run_types import Target, Value

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
        allowed: what the sandbox leaves to the worker.
        kernels: of the modes that have kernels of their own, whose these are.
        needs: further packages without which it cannot run.
        fixes_sizes: its lowering takes the sizes of the inputs for constants.
        process: see ``Target.process``.
        only_named: its targets run only if they are named.
        advice: how it is installed, if not by the name of the package that is missing.
        device: on which it computes, as ``Target.device`` has it; each of its modes then has a worker of its own.
    """

    component: str
    title: str
    distributions: tuple[str, ...]
    modes: tuple[str, ...] = ("eager",)
    slow: bool = False
    preload: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: SINGLE_THREAD)
    allowed: tuple[str, ...] = ()
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: tuple[str, ...] = ()
    fixes_sizes: bool = False
    process: str = ""
    only_named: bool = False
    advice: str = ""
    device: str = "cpu"

    @property
    def handler(self) -> Path:
        """The worker file."""
        return GPU_HANDLER if self._on_gpu else WORKERS / f"{self.component}.py"

    @property
    def _on_gpu(self) -> bool:
        return self.device != "cpu"

    @property
    def reads_bytes(self) -> bool:
        """It runs the program's lowering."""
        return False

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each mode."""
        return tuple(self._target(mode) for mode in self.modes)

    def _target(self, mode: str) -> Target:
        target = Target(
            name=f"{self.component}:{mode}",
            component=self.component,
            interpreter=sys.executable,
            options={"mode": mode},
            slow=self.slow,
            kernels=self.kernels.get(mode, ""),
            process=self.process,
            only_named=self.only_named,
        )
        if not self._on_gpu:
            return target
        there = f"{mode}@{self.device}"
        return replace(
            target,
            name=f"{self.component}:{there}",
            device=self.device,
            options={"mode": mode, "device": self.device, **GPU_ARITHMETIC},
            kernels=f"{target.kernels}@{self.device}",
            process=there,
        )

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Whether the framework, and what it needs, are installed; on a GPU, whether that is there.

        Args:
            target: not looked at; all modes need the same packages.

        Returns:
            What to install for the first package that is not there, else nothing.
        """
        absent = self._not_installed()
        if not self._on_gpu:
            return absent
        return reasons(why_no_gpu(), absent or why_no_cuda(self.component))

    def _not_installed(self) -> str:
        packages = {self.component: self.distributions[-1], **{name: name for name in self.needs}}
        for package, distribution in packages.items():
            if importlib.util.find_spec(package) is None:
                return f"{package} is not installed; {self.advice or f'pip install {distribution}'}"
        return ""

    def describe(self) -> Request:
        """Ask for the version, for the modes that cannot work, and why a device cannot be used."""
        return {"do": "describe", **({"device": self.device} if self._on_gpu else {})}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:
        """What a mode lacks; the others are there when the worker has answered.

        Args:
            target: whose mode is asked about.
            answer: of the handler, whose ``modes`` say what is wrong with some, and ``device`` with all on a GPU.
        """
        return str(answer.get("device", "") or answer.get("modes", {}).get(target.options["mode"], ""))

    def prepare(
        self,
        program: Program | bytes,
        model: bytes,  # noqa: ARG002 - the protocol's
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The source; then its arrays, then the inputs.

        Args:
            program: that is lowered, at the sizes of ``inputs`` if the framework fixes these.
            model: not looked at.
            inputs: values by name.
            targets: modes, in the order in which the answer lists them.

        Raises:
            Unsupported: no source can be written for the program, or the lowering fails on a call that is invalid.
        """
        # Exporters are only needed if a framework is a target.
        from irfuzz.export.lowerings import LOWERINGS
        from irfuzz.ir.program import Program
        from irfuzz.ir.verifier import verify

        try:
            whole = Program.from_bytes(program) if isinstance(program, bytes) else program
            if self.fixes_sizes:
                whole = settled(whole, inputs)
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

JAX = SourceAdapter(
    "jax",
    "JAX",
    ("jax",),
    ("eager", "jit"),
    slow=True,  # XLA compiles each operator, or the program, for each shape
    preload=("jax", "jax.scipy.special", "ml_dtypes"),
    env={
        **SINGLE_THREAD,
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "CUDA_VISIBLE_DEVICES": "-1",
    },
    only_named=True,
)

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


def keras_on(backend: str, *needs: str, preload: tuple[str, ...] = (), **env: str) -> SourceAdapter:
    """Keras on one of its back ends, in a process of its own: Keras takes one back end for the life of a process.

    Args:
        backend: as ``KERAS_BACKEND`` names it.
        needs: packages that it computes with.
        preload: modules for the zygote, before Keras.
        env: of the worker, beside what all have.
    """
    return SourceAdapter(
        "keras",
        "Keras",
        ("keras",),
        (backend,),
        slow=True,
        preload=(*preload, "keras"),
        env={**TENSORFLOW.env, "KERAS_BACKEND": backend, **env},
        kernels={backend: backend},
        needs=needs,
        fixes_sizes=True,
        process=backend,
        only_named=True,
    )


KERAS = (
    keras_on("tensorflow", "tensorflow", preload=("tensorflow",)),
    keras_on("torch", "torch", preload=("torch",)),
    keras_on("jax", "jax", preload=("jax",), JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu"),
    # Convolutions and pooling of the NumPy back end are JAX's.
    replace(
        keras_on("theano", "theano", THEANO_FLAGS="device=cpu,floatX=float32"),
        allowed=("~/.theano",),  # compiled operators, which it would compile for minutes in each worker
        advice="Keras 2.3 and older have it: irfuzz env add keras==2.2.4 --python 3.7 --with theano",
    ),
    keras_on("numpy", "jax", preload=("jax",), JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu"),
)
"""Keras on each back end, as CRADLE compares them."""
