"""ONNX to the IR and back: what onnx-ir cannot hold is carried in a ``Residue`` and in ``meta``, never lost."""

from __future__ import annotations

from irfuzz.ir.carried import Residue
from irfuzz.ir.decode import decode
from irfuzz.ir.encode import encode, encode_bytes, encode_parts

__all__ = ["Residue", "decode", "encode", "encode_bytes", "encode_parts"]
