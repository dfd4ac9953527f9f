"""The generated PyTorch source as a ``torch.nn.Module``, for what converts such modules.

Runs in the worker's interpreter, and beside the script of a finding, which takes this file along: imports only torch.
"""

from __future__ import annotations

from typing import Any

import torch


class GeneratedModule(torch.nn.Module):
    """Weights are buffers; inputs come, and outputs go, in the order of the model."""

    def __init__(self, forward: Any, weights: dict[str, Any], inputs: list[str], outputs: list[str]) -> None:
        super().__init__()
        self.compute = forward
        self.names, self.given, self.wanted = list(weights), inputs, outputs
        for index, value in enumerate(weights.values()):
            if not isinstance(value, torch.Tensor):
                raise NotImplementedError("a constant sequence is no buffer of a module")
            self.register_buffer(f"weight_{index}", value)

    def forward(self, *inputs: Any) -> Any:
        """The outputs as a tuple."""
        weights = {name: getattr(self, f"weight_{index}") for index, name in enumerate(self.names)}
        found = self.compute(weights, dict(zip(self.given, inputs)))  # noqa: B905 - Python 3.9
        return tuple(found[name] for name in self.wanted)


class GeneratedSource:
    """The generated source, loaded.

    Attributes:
        module: what it computes.
        arguments: the inputs that it was loaded with, as tensors in the order of ``module``.
        to_array: makes an array of a tensor.
    """

    def __init__(self, source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str]) -> None:
        """Load it.

        Args:
            source: the generated module.
            arrays: its weights by name.
            inputs: by name.
            outputs: names of the outputs.

        Raises:
            NotImplementedError: an input is no tensor, or a constant is a sequence.
        """
        names: dict[str, Any] = {"__name__": "generated"}
        exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
        self._tensors, self._arrays, self._inputs = names["tensors"], _bits(arrays), list(inputs)
        weights, given = self._tensors(self._arrays, _bits(inputs))
        self.arguments = tuple(given[name] for name in inputs)
        if any(not isinstance(value, torch.Tensor) for value in self.arguments):
            raise NotImplementedError("its inputs are tensors, no sequences and no optionals")
        self.module = GeneratedModule(names["forward"], weights, self._inputs, outputs).eval()
        self.to_array = names["to_array"]

    def tensors_of(self, inputs: dict[str, Any]) -> tuple[Any, ...]:
        """Other inputs as tensors, in the order of ``module``."""
        _, given = self._tensors(self._arrays, _bits(inputs))
        return tuple(given[name] for name in self._inputs)

    def computed(self) -> tuple[Any, ...]:
        """The outputs for ``arguments``.

        Raises:
            NotImplementedError: whatever the module raises, which is no fault of what converts it.
        """
        try:
            with torch.no_grad():
                return tuple(self.module(*(value.clone() for value in self.arguments)))
        except Exception as error:  # noqa: BLE001 - whatever it raises, the converter is not to blame
            raise NotImplementedError(f"the module itself does not run: {error}") from None

    def exported(self) -> tuple[tuple[Any, ...], Any]:
        """The outputs for ``arguments``, and what ``torch.export`` makes of the module with shapes fixed at theirs.

        Raises:
            NotImplementedError: the module does not run, gives more than tensors, or is not taken by ``torch.export``,
                which is a target of its own.
        """
        found = self.computed()
        if any(not isinstance(value, torch.Tensor) for value in found):
            raise NotImplementedError("its outputs are tensors, no sequences and no optionals")
        try:
            return found, torch.export.export(self.module, self.arguments, strict=False)
        except Exception as error:  # noqa: BLE001 - the same
            raise NotImplementedError(f"torch.export does not take it: {error}") from None


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
