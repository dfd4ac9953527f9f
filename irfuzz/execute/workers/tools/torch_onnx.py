"""Exports a generated PyTorch module by torch.onnx."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import Any

import torch
import torch.onnx

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


class Generated(torch.nn.Module):
    """The generated source as a module: weights are buffers, inputs come in the order of the model."""

    def __init__(self, names: dict[str, Any], weights: dict[str, Any], inputs: list[str]) -> None:
        super().__init__()
        self.compute = names["forward"]
        self.names = list(weights)
        self.given = inputs
        for index, value in enumerate(weights.values()):
            if not isinstance(value, torch.Tensor):
                raise NotImplementedError("a constant sequence is no buffer of a module")
            self.register_buffer(f"weight_{index}", value)

    def forward(self, *inputs: Any) -> Any:
        """The outputs as a tuple."""
        weights = {name: getattr(self, f"weight_{index}") for index, name in enumerate(self.names)}
        outputs = self.compute(weights, dict(zip(self.given, inputs)))  # noqa: B905 - Python 3.9
        return tuple(outputs.values())


def export(source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str], dynamo: bool) -> bytes:
    """Export with fixed shapes.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name, for tracing.
        outputs: names that the outputs are to have.
        dynamo: by ``torch.export``; otherwise by TorchScript's tracing.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    weights, tensors = names["tensors"](_bits(arrays), _bits(inputs))
    given = list(inputs)
    if any(not isinstance(tensors[name], torch.Tensor) for name in given):
        raise NotImplementedError("torch.onnx takes tensors as inputs, no sequences and no optionals")
    module = Generated(names, weights, given).eval()
    arguments = tuple(tensors[name] for name in given)
    try:
        with torch.no_grad():
            module(*(t.clone() for t in arguments))
    except Exception as error:  # noqa: BLE001 - whatever it raises, the exporter is not to blame
        raise NotImplementedError(f"the module itself does not run: {error}") from None
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said):
        warnings.simplefilter("ignore")
        if dynamo:
            program = torch.onnx.export(
                module, arguments, dynamo=True, input_names=given, output_names=outputs, opset_version=OPSET,
                verbose=False,
            )  # fmt: skip
            assert program is not None
            return program.model_proto.SerializeToString()
        made: Any = io.BytesIO()
        torch.onnx.export(
            module, arguments, made, dynamo=False, input_names=given, output_names=outputs, opset_version=17
        )
        return made.getvalue()


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
