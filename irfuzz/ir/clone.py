"""Copies a model; tensors, types, shapes, plain attributes and facts are shared, since none is ever changed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import onnx_ir as ir

from irfuzz._cloning import Cloner

Part = TypeVar("Part", ir.Model, ir.Function)

_COPIED = (ir.Model, ir.Graph, ir.Function, ir.Node, ir.Value)
_SHARED = (ir.TensorProtocol, ir.TypeProtocol, ir.SymbolicDim, Enum)


def clone(part: Part) -> Part:
    """A copy of a model or of one of its functions.

    Constructing all nodes and values again, as onnx-ir does, takes ten times as long. Shapes are frozen, so that both
    may have them: whoever wants another shape assigns one.
    """
    return _ways()[0](part)


def clone_with(model: ir.Model, values: dict[str, ir.Value]) -> tuple[ir.Model, dict[str, ir.Value]]:
    """``clone``, and a table of values of the model as one of the copy's.

    Args:
        model: stays as it is.
        values: values of the model by name.

    Returns:
        The copy, and by the same names what stands for each value there.
    """
    return _ways()[1](model, values)


def free(holder: list[object]) -> bool:
    """Free a model at once if a list has the only reference to it and nobody refers to a part of it.

    A model is full of cycles, so that it would wait for the garbage collector, which costs as much as half an edit.
    It does nothing to models of which this process has cloned none.
    """
    # When the interpreter ends, nothing may be left of this module.
    return _CLONER is not None and _CLONER.free(holder)


@cache
def _ways() -> tuple[Callable[[Any], Any], Callable[[ir.Model, dict[str, ir.Value]], Any]]:
    """How this process clones: natively if the installed onnx-ir allows it."""
    from irfuzz.ir.serialization.fast_path_self_check import native_fault
    from irfuzz.ir.serialization.onnx_ir_fallback import public_clone, public_clone_with

    if native_fault() is not None:
        return public_clone, public_clone_with
    return _CLONER.clone, lambda model, values: _CLONER.clone((model, values))


def native_cloner() -> Cloner:
    """A native cloner of models that knows no class yet; it learns how to copy each when it first meets one."""
    return Cloner(_how, ir.Graph)


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


_CLONER = native_cloner()
