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

try:
    from .generated_torch_module import GeneratedSource
except ImportError:  # beside the script of a finding
    from generated_torch_module import GeneratedSource

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
    loaded = GeneratedSource(source, arrays, inputs, outputs)
    buffer = _lowered(loaded, backend)

    def run(values: dict[str, Any]) -> dict[str, Any]:
        fed = loaded.tensors_of(values)
        try:
            method = Runtime.get().load_program(buffer).load_method("forward")
            assert method is not None
            found = method.execute([value.contiguous() for value in fed])
        except (RuntimeError, ValueError) as error:
            raise _in_short(error) from None
        return {name: loaded.to_array(value.clone()) for name, value in zip(outputs, found)}  # noqa: B905

    return run


def _lowered(loaded: GeneratedSource, backend: str) -> bytes:
    """The program's file."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, exported = loaded.exported()
        try:
            partitioners = [make() for make in PARTITIONERS[backend]]
            return to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch().buffer
        except Exception as error:  # noqa: BLE001 - it raises many kinds; the reason is in the text
            raise _in_short(error) from None


def _in_short(error: Exception) -> Exception:
    kind = "" if isinstance(error, (RuntimeError, ValueError)) else f"{type(error).__name__}: "
    return Refused(kind + " ".join(str(error).split())[:600])
