"""Exports a generated PyTorch module for ExecuTorch, and runs it there."""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

FRAMEWORK = "torch"
"""Whose generated source it takes."""

PARTITIONERS: dict[str, list[Any]] = {"xnnpack": [XnnpackPartitioner], "portable": []}
"""What is taken out of the graph for XNNPACK; what is left runs on ExecuTorch's portable kernels."""

GAP = re.compile(
    r"is not Aten Canonical|not (in )?[Cc]ore A[Tt][Ee][Nn]|Missing out variants|OperatorMissing|NotSupported"
    r"|SpecViolation|0x14\b|0x10\b|(?i:not (currently |yet )?(supported|implemented)|unsupported|does not support)"
)
"""What its verifier says of operators outside of the set that it takes, and the runtime of kernels that it lacks."""


class Refused(Exception):
    """What it says, in one line."""


class Generated(torch.nn.Module):
    """The generated source as a module: weights are buffers, inputs come in the order of the model."""

    def __init__(self, names: dict[str, Any], weights: dict[str, Any], inputs: list[str], outputs: list[str]) -> None:
        super().__init__()
        self.compute = names["forward"]
        self.names = list(weights)
        self.given = inputs
        self.wanted = outputs
        for index, value in enumerate(weights.values()):
            if not isinstance(value, torch.Tensor):
                raise NotImplementedError("a constant sequence is no buffer of a module")
            self.register_buffer(f"weight_{index}", value)

    def forward(self, *inputs: Any) -> Any:
        """The outputs as a tuple."""
        weights = {name: getattr(self, f"weight_{index}") for index, name in enumerate(self.names)}
        found = self.compute(weights, dict(zip(self.given, inputs)))  # noqa: B905 - Python 3.9
        return tuple(found[name] for name in self.wanted)


def version() -> str:
    """Of the installed ExecuTorch."""
    return importlib.metadata.version("executorch")


def warm() -> None:
    """Make torch single-threaded."""
    torch.set_num_threads(1)


def build(
    source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str], backend: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Export with fixed shapes, lower, and load the program.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name, for the export.
        outputs: names of the outputs.
        backend: a key of ``PARTITIONERS``.

    Raises:
        NotImplementedError: PyTorch itself does not run or export the module.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    weights, given = names["tensors"](_bits(arrays), _bits(inputs))
    if any(not isinstance(value, torch.Tensor) for value in given.values()):
        raise NotImplementedError("ExecuTorch takes tensors as inputs, no sequences and no optionals")
    module = Generated(names, weights, list(inputs), outputs).eval()
    buffer = _lowered(module, tuple(given[name] for name in inputs), backend)

    def run(values: dict[str, Any]) -> dict[str, Any]:
        _, fed = names["tensors"](_bits(arrays), _bits(values))
        try:
            loaded = Runtime.get().load_program(buffer)
            method = loaded.load_method("forward")
            assert method is not None
            found = method.execute([fed[name].contiguous() for name in inputs])
        except (RuntimeError, ValueError) as error:
            raise _in_short(error) from None
        return {name: names["to_array"](value.clone()) for name, value in zip(outputs, found)}  # noqa: B905

    return run


def _lowered(module: Any, arguments: tuple[Any, ...], backend: str) -> bytes:
    """The program's file."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = _exported(module, arguments)
        try:
            partitioners = [make() for make in PARTITIONERS[backend]]
            return to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch().buffer
        except Exception as error:  # noqa: BLE001 - it raises many kinds; the reason is in the text
            raise _in_short(error) from None


def _exported(module: Any, arguments: tuple[Any, ...]) -> Any:
    """What torch.export makes of the module, which is a target of its own: what it refuses is nothing of ExecuTorch."""
    try:
        found = module(*(t.clone() for t in arguments))
    except Exception as error:  # noqa: BLE001 - whatever it raises, the exporter is not to blame
        raise NotImplementedError(f"the module itself does not run: {error}") from None
    if any(not isinstance(value, torch.Tensor) for value in found):
        raise NotImplementedError("ExecuTorch gives tensors as outputs, no sequences and no optionals")
    try:
        return torch.export.export(module, arguments, strict=False)
    except Exception as error:  # noqa: BLE001 - the same
        raise NotImplementedError(f"torch.export does not take it: {error}") from None


def _in_short(error: Exception) -> Exception:
    kind = "" if isinstance(error, (RuntimeError, ValueError)) else f"{type(error).__name__}: "
    return Refused(kind + " ".join(str(error).split())[:600])


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
