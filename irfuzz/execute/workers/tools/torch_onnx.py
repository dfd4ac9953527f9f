"""Exports a generated PyTorch module by torch.onnx."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import Any

import torch
import torch.onnx

try:
    from .deployed.generated_torch_module import GeneratedSource
except ImportError:  # beside the script of a finding
    from generated_torch_module import GeneratedSource

FRAMEWORK = "torch"
"""Whose generated source it takes."""

OPSET = 18
"""What torch.onnx's newer exporter writes; the older one goes no further than 20."""

GAP = re.compile(
    r"UnsupportedOperatorError|SymbolicValueError|Unsupported|UserError|No ONNX function found|No decompos|"
    r"DispatchError|data-dependent|GuardOnDataDependentSymNode|Only tuples, lists and Variables|"
    r"Could not guard|UnsupportedFakeTensor|TorchRuntimeError.*fake|is not a valid JitScalarType"
    r"|ScalarType UInt(16|32|64) is an unexpected tensor scalar type"
    r"|We don't have an op for aten::view but it isn't a special case"
)
"""What its documentation says of modules whose control flow or shapes depend on data, and of operators nobody wrote.

The last three are unsigned integers of more than 8 bits, which TorchScript's exporter has no type for, and what its
tracing says of every ``Tensor.view(dtype)``, which only the generated source has.
"""


def version() -> str:
    """Of the installed torch."""
    return str(torch.__version__)


def warm() -> None:
    """Make torch single-threaded."""
    torch.set_num_threads(1)


def export(source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str], dynamo: bool) -> bytes:
    """Export with fixed shapes.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name, for tracing.
        outputs: names that the outputs are to have.
        dynamo: by ``torch.export``; otherwise by TorchScript's tracing.
    """
    loaded, given = GeneratedSource(source, arrays, inputs, outputs), list(inputs)
    loaded.computed()
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said):
        warnings.simplefilter("ignore")
        if dynamo:
            program = torch.onnx.export(
                loaded.module, loaded.arguments, dynamo=True, input_names=given, output_names=outputs,
                opset_version=OPSET, verbose=False,
            )  # fmt: skip
            assert program is not None
            return program.model_proto.SerializeToString()
        made: Any = io.BytesIO()
        torch.onnx.export(
            loaded.module,
            loaded.arguments,
            made,
            dynamo=False,
            input_names=given,
            output_names=outputs,
            opset_version=17,
        )
        return made.getvalue()
