"""Replaces large tensors of a model, wherever they are in it, by the names of blobs that hold their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx.external_data_helper import set_external_data

from irfuzz.store.blob_store import SUFFIX, Blobs


def with_blobs(data: bytes, blobs: Blobs, folder: str, *, least: int) -> bytes:
    """The same model; tensors of at least ``least`` bytes in its main graph and in bodies are in ``blobs``.

    Those of functions stay: not every reader looks for files that a function names.

    Args:
        data: an ONNX model.
        blobs: get the tensors that they do not have.
        folder: in which a reader of the model finds the blobs, relative to the model.
        least: bytes of a tensor that is not written into the model.
    """
    model = onnx.ModelProto.FromString(data)
    for tensor in _tensors(model.graph):
        if len(tensor.raw_data) >= least:
            digest = blobs.put(tensor.raw_data)
            set_external_data(tensor, f"{folder}/{digest}{SUFFIX}", offset=0, length=len(tensor.raw_data))
            tensor.ClearField("raw_data")
    return model.SerializeToString()


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _tensors(body)
