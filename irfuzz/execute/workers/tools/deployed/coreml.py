"""Converts a generated PyTorch module by coremltools; models for Core ML run on macOS alone, so none is run."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable
from typing import Any

import coremltools as ct
import numpy as np
import torch
from coremltools.converters.mil.mil import types

try:
    from .generated_torch_module import GeneratedSource
except ImportError:  # beside the script of a finding
    from generated_torch_module import GeneratedSource

FRAMEWORK = "torch"
"""Whose generated source it takes."""

GAP = re.compile(
    r"conversion for .* not implemented|is not implemented|PyTorch convert function for op '[^']*' not implemented"
    r"|Unsupported|only supports?\b|does not support|(?i:not (currently |yet )?(supported|implemented)|unsupported)"
    r"|KeyError: torch\.\w+$|'Builder' has no attribute"
)
"""What it says of operators and types that it does not convert; it looks both up in tables, unasked."""


class ConversionError(Exception):
    """An output of another shape or kind than the module's."""


class Refused(Exception):
    """What it says, in one line."""


def version() -> str:
    """Of the installed coremltools."""
    return str(ct.__version__)


def warm() -> None:
    """Make torch single-threaded, and coremltools quiet."""
    torch.set_num_threads(1)
    logging.getLogger("coremltools").setLevel(logging.ERROR)


def build(
    source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Export with fixed shapes, convert in single precision, and see what the converted program says of its outputs.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name, for the export.
        outputs: names of the outputs.

    Returns:
        What gives the values that PyTorch computes: the program's own would take macOS.

    Raises:
        ConversionError: an output has another shape, or is of another kind (number with a fraction, integer, boolean).
        NotImplementedError: PyTorch itself does not run or export the module.
    """
    loaded = GeneratedSource(source, arrays, inputs, outputs)
    if not inputs:
        raise NotImplementedError("Core ML takes one input at least")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, exported = loaded.exported()
        try:
            program = ct.convert(exported.run_decompositions({}), convert_to="milinternal",
                                 compute_precision=ct.precision.FLOAT32,
                                 minimum_deployment_target=ct.target.iOS18)  # fmt: skip
        except Exception as error:  # noqa: BLE001 - it raises many kinds; the reason is in the text
            raise _in_short(error) from None
    _compare(program, dict(zip(outputs, found)))  # noqa: B905 - Python 3.9

    def run(_values: dict[str, Any]) -> dict[str, Any]:
        return {name: loaded.to_array(value) for name, value in zip(outputs, found)}  # noqa: B905

    return run


def _compare(program: Any, expected: dict[str, Any]) -> None:
    """What the converted program declares, against what PyTorch computes; sizes that only a run tells are left out."""
    made = program.functions["main"].outputs
    if len(made) != len(expected):
        raise ConversionError(f"the converted program has {len(made)} outputs, expected {len(expected)}")
    for value, (name, tensor) in zip(made, expected.items()):  # noqa: B905 - Python 3.9
        known = [size if isinstance(size, (int, np.integer)) else None for size in value.shape]
        sizes = list(tensor.shape)
        # Core ML has no tensors without dimensions at its border: they are vectors of one.
        if not sizes and known == [1]:
            known = []
        if len(known) != len(sizes) or any(k not in (None, s) for k, s in zip(known, sizes)):  # noqa: B905
            raise ConversionError(f"output {name!r} is {known} in the converted program, PyTorch gives {sizes}")
        if _kind(value) not in (None, _kind_of(tensor)):
            raise ConversionError(f"output {name!r} is {_kind(value)} in the converted program, not {_kind_of(tensor)}")


def _kind(value: Any) -> str | None:
    """Core ML has fewer types, so that only the kind is compared."""
    if types.is_float(value.dtype):
        return "float"
    if types.is_bool(value.dtype):
        return "bool"
    return "int" if types.is_int(value.dtype) else None


def _kind_of(tensor: Any) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    return "float" if tensor.is_floating_point() else "int"


def _in_short(error: Exception) -> Exception:
    if isinstance(error, NotImplementedError):
        return NotImplementedError(" ".join(str(error).split())[:600])
    return Refused(f"{type(error).__name__}: " + " ".join(str(error).split())[:600])
