"""A model enters, a copy that shares tensors, types, shapes, plain attributes and facts (none ever changed) leaves."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

import onnx_ir as ir

from irfuzz._cloning import Cloner

T = TypeVar("T")

_COPIED = (ir.Model, ir.Graph, ir.Function, ir.Node, ir.Value)
_SHARED = (ir.TensorProtocol, ir.TypeProtocol, ir.SymbolicDim, Enum)


def clone(part: T) -> T:
    """A copy of a model, of one of its functions, or of a tuple of such things and of what refers to them.

    Constructing all nodes and values again, as onnx-ir does, takes ten times as long. Shapes are frozen, so that both
    may have them: whoever wants another shape assigns one.
    """
    return _CLONER.clone(part)


def free(holder: list[object]) -> bool:
    """Free a model at once where a list has the only reference to it and nobody refers to a part of it.

    A model is full of cycles, so that it would wait for the garbage collector, which costs as much as half an edit.
    """
    # When the interpreter ends, nothing may be left of this module.
    return _CLONER is not None and _CLONER.free(holder)


def _how(first: object) -> str:
    """What ``Cloner`` is to do with objects of a class."""
    kind = type(first)
    if kind in (list, dict, set, tuple):
        return "copy"
    if isinstance(first, ir.Attr):
        return "probe"
    if isinstance(first, ir.Shape):
        return "freeze"
    ours = isinstance(first, _COPIED) or kind.__module__.partition(".")[0] == "onnx_ir"
    if isinstance(first, dict):  # collections.Counter
        return "copy"
    if not ours or isinstance(first, _SHARED):
        return "share"
    if isinstance(first, tuple) or not any(base.__dict__.get("__slots__") for base in kind.__mro__):
        return "copy"
    return "slots" if not getattr(first, "__dict__", None) else f"both slots and {vars(first)}"


_CLONER = Cloner(_how, ir.Graph)
