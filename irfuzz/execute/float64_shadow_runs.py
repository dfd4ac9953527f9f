"""Runs a program's shadow: what it computes in float64, and how far its own roundings may move that."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS
from irfuzz.execute.run_types import Value
from irfuzz.isolate import Limits, Worker, WorkerSpec

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class ShadowRun:
    """What the shadow of a program computes on some inputs. Keys are outputs, with indices if these are sequences.

    Attributes:
        reference: tensors, floats as float64.
        small: how far made-up rounding errors of the program's own types move each element at most (float64); 0 or
            infinity for elements that are no floats, and infinity if an element becomes or ceases to be NaN or Inf.
        wide: the same for errors ``width`` times as large.
        width: how many times.
        clean: no NaN or infinity was fed or computed on the way to any output, with and without errors.
        numeric: no NaN was.
        overflowed: infinity came of finite numbers, or NaN did.
        reshaped: outputs whose shape or structure some errors change.
        framework: what computes it.
        refused: why there is none; empty if there is.
    """

    reference: Mapping[str, np.ndarray] = field(default_factory=dict)
    small: Mapping[str, np.ndarray] = field(default_factory=dict)
    wide: Mapping[str, np.ndarray] = field(default_factory=dict)
    width: float = 1.0
    clean: bool = False
    numeric: bool = False
    overflowed: bool = True
    reshaped: frozenset[str] = frozenset()
    framework: str = ""
    refused: str = ""


_WORKERS = {
    "torch": ("torch_float64_rounding_errors.py", ("torch", "torch.nn.functional")),
    "numpy": ("numpy_float64_rounding_errors.py", ("numpy", "ml_dtypes")),
}
"""Of each framework that computes shadows its worker file, and what that imports."""


class Shadow:
    """One worker that computes shadows, started when the first one is asked for.

    Args:
        limits: of each of its requests.
        framework: a key of ``_WORKERS``; torch if it is installed, else numpy.
    """

    def __init__(self, limits: Limits, framework: str = "") -> None:
        self._limits = limits
        self._worker: Worker | None = None
        # PyTorch's kernels are the quicker ones; NumPy is always there.
        self._framework = framework or ("numpy" if importlib.util.find_spec("torch") is None else "torch")
        self._missing = ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def run(self, program: Program, inputs: Mapping[str, Value], *, quick: bool = False) -> ShadowRun:
        """The shadow's results; ``refused`` says why if there are none.

        Args:
            program: stays as it is.
            inputs: values by graph input name.
            quick: in one direction of small errors and one of large ones: three runs instead of nine. No move that it
                gives is larger than that of the whole shadow.
        """
        if self._missing:
            return ShadowRun(refused=self._missing)
        # Only needed where a shadow is asked for.
        from irfuzz.export.lowerings import SHADOWED
        from irfuzz.export.source.float64_shadow_source import shadow
        from irfuzz.spec import load_specs

        try:
            source = shadow(SHADOWED[self._framework], program, load_specs())
        except (Unsupported, InvalidProgram) as error:
            return ShadowRun(refused=str(error))
        names = [name for name in inputs if inputs[name] is not None or name in source.inputs]
        request = {"source": source.source, "arrays": list(source.arrays), "inputs": names, "quick": quick}
        values = [*source.arrays.values(), *(_widened(inputs[name]) for name in names)]
        try:
            reply = self._start().call(request, values)
        except UsageError as error:
            self._missing = str(error)
            return ShadowRun(refused=self._missing)
        if reply.exit != "ok":
            return ShadowRun(refused=reply.error.get("message", "") or reply.detail or reply.exit)
        if "refused" in reply.response:
            return ShadowRun(refused=str(reply.response["refused"]))
        return replace(_read(reply.response, reply.values), framework=self._framework)

    def _start(self) -> Worker:
        if self._worker is None:
            handler, preload = _WORKERS[self._framework]
            spec = WorkerSpec("shadow", WORKERS / handler, preload, sys.executable, SINGLE_THREAD)
            worker = Worker(spec, self._limits)
            worker.start()
            self._worker = worker
        return self._worker


def _read(response: Mapping[str, Any], values: Sequence[Any]) -> ShadowRun:
    reference: dict[str, np.ndarray] = {}
    small: dict[str, np.ndarray] = {}
    wide: dict[str, np.ndarray] = {}
    for place, name in enumerate(response["outputs"]):
        for found, value in zip((reference, small, wide), values[3 * place : 3 * place + 3], strict=True):
            found.update(_leaves(name, value))
    clean, numeric, overflowed = (bool(response[name]) for name in ("clean", "numeric", "overflowed"))
    width, reshaped = float(response["width"]), frozenset(map(str, response["reshaped"]))
    return ShadowRun(reference, small, wide, width, clean, numeric, overflowed, reshaped)


def _leaves(label: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, list):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _leaves(f"{label}[{index}]", item)
    elif isinstance(value, np.ndarray):
        yield label, value


def _widened(value: Value) -> Any:
    """Floats of up to 32 bits as float64; sequences item by item."""
    if isinstance(value, list):
        return [_widened(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype in (np.float32, np.float16, np.dtype(ml_dtypes.bfloat16)):
        return value.astype(np.float64)
    return value
