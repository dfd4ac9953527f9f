"""Asks the worker of a converter, a tool or a runtime with a file in ``workers/tools`` to run a program.

A model that a tool made goes to the baseline.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import onnx

from irfuzz.errors import Unsupported
from irfuzz.execute.adapters import tensor_packing
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.adapters.declared_limits import NO_LIMITS, DeclaredLimits
from irfuzz.execute.adapters.input_shape_freezing import settled
from irfuzz.execute.run_types import Target, TargetRole, Value
from irfuzz.execute.versions import environments
from irfuzz.execute.versions.recipes import word_for

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

TOOLS = WORKERS / "tools"
"""A file a tool, which needs nothing but the standard library, numpy and the tool."""

BASELINE = "onnxruntime:disabled"
"""The target that runs the models that tools make."""

Gives = Literal["model", "values", "types"]


@dataclass(frozen=True, slots=True)
class ToolAdapter:
    """A converter, a tool that makes another model of a model, or a runtime that is one file in ``workers/tools``.

    Attributes:
        component: name of the component, and the target's name before the colon.
        tool: name of its file under ``workers/tools``, without ``.py``.
        folder: of that file below ``workers/tools``; empty if it lies there.
        package: the module whose presence says that it is installed.
        distributions: names of the Python distributions that bring it.
        needs: further packages without which it cannot run.
        variants: options of the tool by the target's name after the colon.
        preload: modules for the zygote; the tool's file, which imports the tool, is read there in any case.
        role: what it counts as.
        takes: ONNX bytes, or irfuzz's lowering to a framework.
        gives: a ``model``, which the baseline runs; ``values``; or a model whose ``types`` are compared with those of
            all inner values that the baseline computes.
        before: of ``execute.Target``.
        approximate: values differ on purpose (half precision).
        slow: the variants that take seconds for a program.
        limits: what it says it does not take.
        env_more: environment variables of its worker, beside those of all tools.
        only_named: of ``execute.Target``.
        own_environment: it cannot be installed beside irfuzz, for its files are those of another component.
        npm: it is a package of npm's, which node runs.
        cache: environment variable that names a folder for what a driver compiles, which outlives its workers; empty if
            there is none.
    """

    component: str
    tool: str
    package: str
    distributions: tuple[str, ...]
    needs: tuple[str, ...] = ()
    variants: Mapping[str, Mapping[str, str | int | float | bool]] = field(default_factory=lambda: {"": {}})
    preload: tuple[str, ...] = ("onnx",)
    role: TargetRole = TargetRole.TOOL
    takes: Literal["onnx", "torch", "tensorflow", "keras"] = "onnx"
    gives: Gives = "model"
    before: str = BASELINE
    approximate: bool = False
    slow: frozenset[str] = frozenset()
    limits: DeclaredLimits = NO_LIMITS
    env_more: Mapping[str, str] = field(default_factory=dict[str, str])
    only_named: bool = False
    own_environment: bool = False
    folder: str = ""
    npm: bool = False
    cache: str = ""

    @property
    def handler(self) -> Path:
        """The worker file: one for all tools in Python, one for all of npm; its environment says which it is."""
        return WORKERS / ("node/node_worker.py" if self.npm else "tool.py")

    @property
    def file(self) -> Path:
        """The tool's own file."""
        return TOOLS / self.folder / f"{self.tool}.py"

    @property
    def env(self) -> Mapping[str, str]:
        """Single-threaded, without telemetry and caches, and with the tool's file."""
        return {
            **SINGLE_THREAD,
            "ORT_DISABLE_TELEMETRY": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "CUDA_VISIBLE_DEVICES": "-1",
            "KERAS_BACKEND": "tensorflow",
            "IRFUZZ_TOOL": f"{self.folder}.{self.tool}".lstrip("."),
            **({self.cache: str(self.compiled)} if self.cache else {}),
            **self.env_more,
        }

    @property
    def compiled(self) -> Path:
        """The folder of ``cache``: workers of this component alone may change it."""
        return environments.folder().with_name("compiled") / self.component

    @property
    def allowed(self) -> tuple[str, ...]:
        """No permission beyond the scratch folder, but for the folder of ``cache``."""
        return (str(self.compiled),) if self.cache else ()

    @property
    def reads_bytes(self) -> bool:
        """Whether the tool, or the baseline, takes ONNX."""
        return self.takes == "onnx" or self.gives != "values"

    @property
    def targets(self) -> tuple[Target, ...]:
        """One for each variant."""
        return tuple(
            Target(
                name=f"{self.component}:{variant}" if variant else self.component,
                component=self.component,
                interpreter=sys.executable,
                options={**options, "tool": self.tool},
                role=self.role,
                before=self.before,
                approximate=self.approximate,
                slow=variant in self.slow,
                only_named=self.only_named,
            )
            for variant, options in self.variants.items()
        )

    def missing(self, target: Target) -> str:  # noqa: ARG002 - the protocol's
        """Whether the tool, and what runs the models that it makes, are installed.

        Args:
            target: not looked at; all variants need the same packages.

        Returns:
            What to install for the first package that is not there, with the word of ``irfuzz env add`` if there is
            a recipe, else nothing.
        """
        add = f"`irfuzz env add {word_for(self.distributions[0]) or f'{self.distributions[0]}==VERSION'}`"
        if self.own_environment:
            return f"it needs an environment of its own; run {add}, then name {self.component}@VERSION"
        needed = {self.package: self.distributions[0], **{name: name for name in self.needs}}
        if self.gives != "values":
            needed["onnxruntime"] = "onnxruntime"
        for package, distribution in needed.items():
            if importlib.util.find_spec(package) is None:
                instead = f", or {add}, then name {self.component}@VERSION" if word_for(self.distributions[0]) else ""
                return f"{package} is not installed; pip install {distribution}{instead}"
        return ""

    def describe(self) -> Request:
        """Ask for the version."""
        return {"do": "describe"}, []

    def absent(self, target: Target, answer: Mapping[str, Any]) -> str:  # noqa: ARG002 - the protocol's
        """Always empty: it is there when its worker has answered."""
        return ""

    def prepare(
        self, program: Program | bytes, model: bytes, inputs: Mapping[str, Value], targets: Sequence[Target]
    ) -> Request:
        """What the tool takes, then the inputs; then, for the baseline, the model and its inputs as that takes them.

        Raises:
            Unsupported: the program needs what ``limits`` says the component does not take.
        """
        if not isinstance(program, bytes):
            self.limits.check(self.component, program, inputs)
        variants = [dict(t.options) for t in targets]
        message: dict[str, Any] = {"do": "run", "inputs": [{"name": name} for name in inputs], "variants": variants}
        if self.takes == "onnx":
            blobs: list[Any] = [_untyped(model) if self.gives == "types" else model]
        else:
            source, arrays, outputs = _lowered(self.takes, program, inputs)
            message |= {"source": source, "arrays": list(arrays)}
            for variant in variants:
                variant["outputs"] = outputs  # type: ignore[assignment]
            blobs = [*arrays.values()]
        blobs += inputs.values()
        if self.gives != "values":
            about, values = tensor_packing.pack(self.component, inputs)
            tapped, own = _tapped(model) if self.gives == "types" else (model, [])
            message["before"] = {"at": len(blobs), "inputs": about, "outputs": own}
            blobs += [tapped, *values]
        return message, blobs


def _lowered(
    framework: str, program: Program | bytes, inputs: Mapping[str, Value]
) -> tuple[str, Mapping[str, Any], list[str]]:
    """Source, arrays and output names of irfuzz's own lowering, for inputs of these sizes."""
    # Lowerings are only needed where such a converter is a target.
    from irfuzz.export.lowerings import LOWERINGS
    from irfuzz.ir.program import Program

    whole = Program.from_bytes(program) if isinstance(program, bytes) else program
    lowered = LOWERINGS[framework](settled(whole, inputs))
    return lowered.source, lowered.arrays, list(dict.fromkeys(v.name or "" for v in whole.graph.outputs))


# ---- for the inference of types -------------------------------------------------------------


def _untyped(model: bytes) -> bytes:
    """The model without the types that are to be inferred: those of inner values, and the shapes of outputs."""
    proto = _parsed(model)
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return proto.SerializeToString()


def _tapped(model: bytes) -> tuple[bytes, list[str]]:
    """The model with every value of its main graph as an output, none of a declared shape; names of its own outputs."""
    proto = _parsed(_untyped(model))
    there = list(dict.fromkeys(value.name for value in proto.graph.output))
    for name in [name for node in proto.graph.node for name in node.output if name and name not in there]:
        proto.graph.output.add(name=name)
    return proto.SerializeToString(), there


def _parsed(model: bytes) -> onnx.ModelProto:
    try:
        return onnx.load_model_from_string(model)
    except Exception as error:
        raise Unsupported("the inference of types", "what is no model", str(error)[:200]) from error
