"""Models with large weights without these: a runtime maps them from the files in which they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.ir.serialization import serde
from irfuzz.ir.serialization.external_tensor_references import ExternalLocation
from irfuzz.ir.serialization.lazy_tensor import LazyTensor
from irfuzz.ir.serialization.mapped_file import FileSpan

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.ir.program import Program

LARGE_MODEL = 16 << 20
"""Bytes of weights in files of one folder from which on they are left there; a smaller model is sent as it is."""

LARGE_WEIGHT = 1 << 16
"""Bytes from which on a weight of such a model is left in its file."""


@dataclass(frozen=True, slots=True)
class MappedModel:
    """A model that refers to its large weights.

    No links to these files are made, which onnx would refuse ("hardlink attack"), and nothing is written beside them.

    Attributes:
        data: the model as ONNX, its external data relative to ``folder``.
        folder: absolute.
        weights: bytes of the external data.
    """

    data: bytes
    folder: Path
    weights: int


def mapped_model(program: Program) -> MappedModel | None:
    """A program that refers to its large weights; ``None`` if it has few bytes of them in files of one folder.

    Raises:
        InvalidProgram: see ``Program.to_bytes``.
    """
    sizes: dict[Path, int] = {}
    for value in program.graph.initializers.values():
        if type(tensor := value.const_value) is LazyTensor and (span := _span(tensor)) is not None:
            sizes[span.path.parent] = sizes.get(span.path.parent, 0) + span.size
    if not sizes:
        return None
    folder, weights = max(sizes.items(), key=lambda item: item[1])
    if weights < LARGE_MODEL:
        return None

    def place(tensor: ir.TensorProtocol) -> ExternalLocation | None:
        span = _span(tensor)
        if span is None or span.path.parent != folder:
            return None
        return ExternalLocation(span.path.name, span.offset, span.size)

    return MappedModel(serde.encode_bytes(program.model, program.residue, place), folder, weights)


def mapped_bytes(program: Program) -> int:
    """Bytes of the large weights of a program that lie in files, so that workers map them and are not sent them."""
    return sum(span.size for span in _spans(program))


def _spans(program: Program) -> Iterator[FileSpan]:
    for value in program.graph.initializers.values():
        span = _span(value.const_value)
        if span is not None:
            yield span


def _span(tensor: ir.TensorProtocol | None) -> FileSpan | None:
    if not isinstance(tensor, LazyTensor) or tensor.span is None or tensor.span.size < LARGE_WEIGHT:
        return None
    return tensor.span
