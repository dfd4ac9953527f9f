"""Brings tensors that lie in other files into their model."""

from __future__ import annotations

from pathlib import Path

import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.regular_file_opening import open_plain
from irfuzz.frontends.serialized_weight_separation import LARGE
from irfuzz.ir.serialization.checked_tensors import byte_count
from irfuzz.ir.serialization.mapped_file import MappedFile
from irfuzz.ir.serialization.message_limits import tensor_protos_in


def inline_external(
    model: onnx.ModelProto, folder: Path, max_bytes: int, held: dict[int, bytes | memoryview] | None = None
) -> None:
    """Put the data that lie in other files of ``folder`` into the tensors of ``model``.

    Data outside of ``folder``, by an absolute path, ``..`` or a symbolic link, are refused, and so is everything that
    is not there in full: sizes are compared before anything is read.

    Args:
        model: is edited; its tensors say nothing of other files afterwards.
        folder: of the model's file.
        max_bytes: most bytes that the model may come to with its data.
        held: takes the data of large initializers of the main graph, by their place in it, beside what it has
            (``irfuzz.frontends.serialized_weight_separation.split``); without it all are copied into the model.

    Raises:
        InvalidProgram: the reason, with tensor and file.
    """
    external = [t for t in tensor_protos_in(model) if t.data_location == onnx.TensorProto.EXTERNAL]
    total = model.ByteSize() + sum(map(len, (held or {}).values())) if external else 0
    initializers = list(model.graph.initializer) if external else []
    places = {id(tensor): place for place, tensor in enumerate(initializers)}
    mapped: dict[Path, MappedFile] = {}
    for tensor in external:
        try:
            total += _span(tensor)[2]
            data = _read(tensor, folder, mapped) if total <= max_bytes else None
        except InvalidProgram as e:
            raise InvalidProgram(f"tensor '{tensor.name}': {e}") from None
        if data is None:
            raise InvalidProgram(f"with its external data the model is over {max_bytes} bytes")
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        place = places.get(id(tensor))
        if held is not None and place is not None and len(data) >= LARGE:
            held[place] = data
            tensor.raw_data = b""
        else:
            tensor.raw_data = bytes(data)


def _span(tensor: onnx.TensorProto) -> tuple[str, int, int]:
    """Location, offset and length in bytes of a tensor's data."""
    entries = {e.key: e.value for e in tensor.external_data}
    location = entries.get("location")
    if not isinstance(location, str) or not location or "\0" in location:
        raise InvalidProgram("its data are external, but external_data names no file under 'location'")
    size = byte_count(tensor.data_type, tensor.dims)
    numbers: dict[str, int] = {}
    for key, default in (("offset", 0), ("length", size)):
        written = entries.get(key, str(default))
        if not (isinstance(written, str) and written.isascii() and written.isdecimal() and len(written) < 20):
            raise InvalidProgram(f"external_data gives '{key}' as {written!r}; expected a count of bytes")
        numbers[key] = int(written)
    if numbers["length"] != size:
        raise InvalidProgram(
            f"sizes {list(tensor.dims)} take {size} bytes, but external_data gives length {numbers['length']}"
        )
    return location, numbers["offset"], size


def _read(tensor: onnx.TensorProto, folder: Path, mapped: dict[Path, MappedFile]) -> bytes | memoryview:
    """The data of a tensor; those of large ones are a view of their file, which comes into ``mapped``."""
    location, offset, size = _span(tensor)
    parts = Path(location).parts
    if Path(location).is_absolute() or ".." in parts:
        raise InvalidProgram(f"external data '{location}' lie outside of the model's folder; expected a relative path")
    path = folder.resolve() / Path(*parts)
    if path.resolve() != path:
        raise InvalidProgram(f"external data '{location}' are reached by a symbolic link; expected a plain file")
    data: bytes | memoryview = b""
    try:
        with open_plain(path, follow=False) as (file, present):
            if size >= LARGE and offset + size <= present:
                whole = mapped.get(path) or mapped.setdefault(path, MappedFile.of(file, path))
                data = memoryview(whole)[offset : offset + size]
            elif offset + size <= present:
                file.seek(offset)
                data = file.read(size)
    except InvalidProgram as e:
        raise InvalidProgram(f"external data '{location}': {e}") from None
    if len(data) != size:
        raise InvalidProgram(f"external data '{location}': {present} bytes; expected {size} from offset {offset}")
    return data
