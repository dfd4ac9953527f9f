"""Makes the request that a component's worker understands from a program and its inputs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import onnx
from google.protobuf.message import DecodeError

from irfuzz.execute.adapters import tensor_packing
from irfuzz.execute.adapters.mapped_weights import MappedModel
from irfuzz.execute.cuda_detection import reasons, why_no_cuda, why_no_gpu, why_no_tensorrt
from irfuzz.execute.run_types import Target, Value

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

WORKERS = Path(__file__).parents[1] / "workers"
"""The handler files; each runs in an interpreter that has no irfuzz."""

OLDEST_OPSET, OLDEST_IR = 13, 7
"""What is not asked about: every version of a component that is still in use takes these."""

SINGLE_THREAD: Mapping[str, str] = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""More threads make small models ten times slower on a busy machine, and float sums unrepeatable."""

GPU_HANDLER = WORKERS / "gpu_worker.py"
"""The handler file of every component on a GPU."""

GPU_ARITHMETIC: Mapping[str, bool] = {"tf32": False}
"""Options of all variants on a GPU: float32 is not rounded to TensorFloat-32, which has 10 bits behind the point."""

Request = tuple[dict[str, Any], list[Any]]
"""JSON for the handler, and the values that travel beside it."""


class Adapter(Protocol):
    """How one component is run, with which handler file (see ``irfuzz.isolate.WorkerSpec``).

    To the request that ``describe`` makes the handler answers ``{"version": str}``; ``opset`` and ``ir``, the newest
    versions of ONNX's default domain and of the format that it takes, if it can tell; and if its targets differ
    in device ``{"providers": {name: why not}}``.

    To the request that ``prepare`` makes, which lists ``variants``, it answers ``{"runs": [status, ...]}`` with one
    status for each: ``stage`` (import, convert, compile, run), ``exit`` (ok, rejected, unsupported, memory, protocol),
    ``error``, ``log``, ``seconds`` and, if ok, ``outputs`` (``{"name"}`` each); the values of all outputs follow one
    another. What it raises counts as the component's own: ``NotImplementedError`` is unsupported, the rest rejected.

    Before each stage it writes ``irfuzz-at VARIANT STAGE`` and a newline to file descriptor 2, which tells where the
    process died if it does.
    """

    @property
    def component(self) -> str:
        """Name of the software that computes."""
        ...

    @property
    def handler(self) -> Path:
        """The file that runs in the worker (see ``irfuzz.isolate.WorkerSpec``)."""
        ...

    @property
    def preload(self) -> tuple[str, ...]:
        """Modules that the zygote imports, so that a new child starts at once."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables of the worker."""
        ...

    @property
    def allowed(self) -> tuple[str, ...]:
        """Permissions of the worker in the sandbox (see ``irfuzz.isolate.WorkerSpec``)."""
        ...

    @property
    def distributions(self) -> tuple[str, ...]:
        """Names of the Python distributions that bring the component; empty if none is known."""
        ...

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every way to run the component that this machine might offer."""
        ...

    @property
    def reads_bytes(self) -> bool:
        """Whether ``prepare`` looks at the bytes of a model; otherwise those of a large one need not be made."""
        ...

    def missing(self, target: Target) -> str:
        """Why ``target`` cannot run here, decided without importing anything; empty if it can.

        Args:
            target: one of ``targets``. The text is shown to users, so it is to say what to install.
        """
        ...

    def describe(self) -> Request:
        """The request that asks the worker for its version and devices."""
        ...

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:
        """Why the started worker, which gave ``answer``, cannot run ``target``; empty if it can.

        Args:
            target: one of ``targets``.
            answer: of the handler to the request of ``describe``.
        """
        ...

    def prepare(
        self, program: Program | bytes, model: bytes, inputs: Mapping[str, Value], targets: Sequence[Target]
    ) -> Request:
        """The request that runs ``targets`` (all of this component) on one program.

        Args:
            program: the program, or bytes that may not even be one.
            model: the same as ONNX bytes.
            inputs: values by name.
            targets: variants, in the order in which the answer lists them.

        Raises:
            Unsupported: the component cannot express the program; becomes a result, not an error.
            InvalidProgram: the program cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelAdapter:
    """A component that takes ONNX bytes as they are. For most new targets one of these is all that is needed.

    Attributes:
        component: name of the component, and the target's name before the colon.
        handler: its worker file.
        package: the module whose presence says that it is installed.
        distributions: names of the Python distributions that bring it, for its version and for advice.
        variants: options by the target's name after the colon; the key ``""`` stands for no colon.
        preload: modules for the zygote.
        env: environment of the worker, beside ``SINGLE_THREAD``.
        allowed: what the sandbox leaves to the worker.
        packs: tensors of types that numpy lacks travel as packed bytes (``tensor_packing.pack``), for a handler that
            must do without ml_dtypes.
        slow: it takes a fraction of a second or more for a small program; see ``Target.slow``.
        tells_outputs: the request lists the graph's outputs, for a component that forgets their names.
        maps: the handler can find external data in ``request["folder"]``; it says whether its component can (``maps``
            of the answer to ``describe``).
        tells: the handler names the passes of the component's optimiser if a variant asks for it (``tell``).
        keeps: the handler keeps what it made of a model for the next request if ``request["keep"]`` says so.
    """

    component: str
    handler: Path
    package: str
    distributions: tuple[str, ...]
    variants: Mapping[str, Mapping[str, str | int | float | bool]] = field(default_factory=lambda: {"": {}})
    preload: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: SINGLE_THREAD)
    allowed: tuple[str, ...] = ()
    packs: bool = False
    slow: bool = False
    tells_outputs: bool = False
    maps: bool = False
    keeps: bool = False
    tells: bool = False

    @property
    def reads_bytes(self) -> bool:
        """It takes ONNX."""
        return True

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each variant."""
        return tuple(
            Target(
                name=f"{self.component}:{variant}" if variant else self.component,
                component=self.component,
                interpreter=sys.executable,
                device=variant.partition("@")[2] or "cpu",
                options=options,
                slow=self.slow or variant.endswith("@tensorrt"),  # which builds an engine for each program
                process=variant if "@" in variant else "",
            )
            for variant, options in self.variants.items()
        )

    def missing(self, target: Target) -> str:
        """Why ``target`` cannot run here; looks for the package without importing it.

        Args:
            target: on another device than the CPU it needs that, and the last of ``distributions``.

        Returns:
            Advice such as ``onnxruntime is not installed; pip install onnxruntime``; empty if it can run.
        """
        on_gpu = target.device != "cpu"
        absent = ""
        package = importlib.util.find_spec(self.package)
        if package is None:
            absent = f"{self.package} is not installed; pip install {self.distributions[-1 if on_gpu else 0]}"
        if not on_gpu:
            return absent
        absent = absent or why_no_cuda(self.component)
        if not absent and target.device == "tensorrt" and package is not None and package.origin is not None:
            absent = why_no_tensorrt(Path(package.origin).parent)
        return reasons(why_no_gpu(), absent)

    def describe(self) -> Request:
        """Ask for version and devices, and with trivial models for the newest opset and IR version that it takes."""
        opsets, irs = range(onnx.defs.onnx_opset_version(), OLDEST_OPSET, -1), range(onnx.IR_VERSION, OLDEST_IR, -1)
        models = [_identity(), *(_identity(opset=n) for n in opsets), *(_identity(ir=n) for n in irs)]
        providers = [options["provider"] for options in self.variants.values() if "provider" in options]
        return {"do": "describe", "opsets": [*opsets], "irs": [*irs], "providers": providers}, models

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:
        """Why the provider that ``target`` names did not start.

        Args:
            target: with the option ``provider``, or without one.
            answer: of the handler, whose ``providers`` say why not.

        Returns:
            Empty if the provider started, and for every target that names none.
        """
        provider = target.options.get("provider")
        if provider is None:
            return ""
        return str(answer.get("providers", {}).get(provider, f"{provider} is not known to it"))

    def prepare(
        self,
        program: Program | bytes,
        model: bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target],
    ) -> Request:
        """The model's bytes, then the inputs.

        Args:
            program: only looked at for the outputs, if ``tells_outputs``.
            model: the same as ONNX bytes.
            inputs: values by name, packed if numpy lacks their type and the handler ``packs``.
            targets: variants, whose options travel in this order.

        Raises:
            Unsupported: a sequence holds tensors that would have to be packed.
        """
        about, values = ([{"name": n} for n in inputs], [*inputs.values()])
        if self.packs:
            about, values = tensor_packing.pack(self.component, inputs)
        message: dict[str, Any] = {"do": "run", "inputs": about, "variants": [dict(t.options) for t in targets]}
        if self.tells_outputs:
            message["outputs"] = _outputs(program)
        return message, [model, *values]

    def prepare_mapped(
        self, program: Program, model: MappedModel, inputs: Mapping[str, Value], targets: Sequence[Target]
    ) -> Request:
        """Like ``prepare``, for a handler that ``maps``.

        Args:
            program: the program.
            model: its bytes, which name files for large weights, and the folder in which these lie.
            inputs: values by name.
            targets: variants, in the order in which the answer lists them.
        """
        message, values = self.prepare(program, model.data, inputs, targets)
        return {**message, "folder": str(model.folder)}, values


def _outputs(program: Program | bytes) -> list[str]:
    """Names of a program's outputs; none of what is no model, which no component takes either."""
    if not isinstance(program, bytes):
        return [value.name or "" for value in program.graph.outputs]
    try:
        return [value.name for value in onnx.load_model_from_string(program).graph.output]
    except DecodeError:
        return []


def _identity(opset: int = OLDEST_OPSET, ir: int = OLDEST_IR) -> bytes:
    """A model of one Identity; by default at versions that every component still in use can read."""
    value, out = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y"))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "probe", [value], [out])
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=ir
    ).SerializeToString()
