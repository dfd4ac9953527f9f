"""ONNX to the IR and back: what onnx-ir cannot hold is carried in a ``Residue`` and in ``meta``, never lost."""

from __future__ import annotations

from irfuzz.ir.serialization.model_decoding import decode
from irfuzz.ir.serialization.model_encoding import encode, encode_bytes, encode_parts
from irfuzz.ir.serialization.preserved_unsupported_fields import Residue

__all__ = ["Residue", "decode", "encode", "encode_bytes", "encode_parts"]
