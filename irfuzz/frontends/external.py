"""A model whose tensors lie in other files enters, the same model with all data inside leaves."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import Message

from irfuzz.errors import InvalidProgram
from irfuzz.ir.tensors import byte_count


def tensors_in(message: Message) -> Iterator[onnx.TensorProto]:
    """Every tensor of a model, graph, node or attribute, subgraphs and functions included."""
    pending: list[Message] = [message]
    while pending:
        current = pending.pop()
        if isinstance(current, onnx.TensorProto):
            yield current
            continue
        for field, value in current.ListFields():
            if field.message_type is None:
                continue
            pending.extend([value] if isinstance(value, Message) else value)


def inline_external(model: onnx.ModelProto, folder: Path, max_bytes: int) -> None:
    """Put the data that lie in other files of ``folder`` into the tensors of ``model``.

    Data outside of ``folder``, by an absolute path, ``..`` or a symbolic link, are refused, and so is
    everything that is not there in full: sizes are compared before anything is read.

    Raises:
        InvalidProgram: the reason, with tensor and file.
    """
    external = [t for t in tensors_in(model) if t.data_location == onnx.TensorProto.EXTERNAL]
    total = model.ByteSize() if external else 0
    for tensor in external:
        try:
            total += _span(tensor)[2]
            if total > max_bytes:
                raise InvalidProgram(f"with its external data the model is over {max_bytes} bytes")
            data = _read(tensor, folder)
        except InvalidProgram as e:
            raise InvalidProgram(f"tensor '{tensor.name}': {e}") from None
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = data


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


def _read(tensor: onnx.TensorProto, folder: Path) -> bytes:
    location, offset, size = _span(tensor)
    parts = Path(location.replace("\\", "/")).parts
    if Path(location).is_absolute() or ".." in parts:
        raise InvalidProgram(f"external data '{location}' lie outside of the model's folder; expected a relative path")
    root = os.path.realpath(folder)
    path = os.path.join(root, location)
    real = os.path.realpath(path)
    if os.path.commonpath([root, real]) != root or real != os.path.normpath(path):
        raise InvalidProgram(f"external data '{location}' are reached by a symbolic link; expected a plain file")
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        raise InvalidProgram(f"external data '{location}' cannot be read: {e.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise InvalidProgram(f"external data '{location}' are not a plain file")
        if offset + size > status.st_size:
            raise InvalidProgram(
                f"external data '{location}' have {status.st_size} bytes; expected {size} from offset {offset}"
            )
        file.seek(offset)
        data = file.read(size)
    if len(data) != size:
        raise InvalidProgram(f"external data '{location}' ended after {len(data)} of {size} bytes")
    return data
