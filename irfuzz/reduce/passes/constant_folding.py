"""Computed constants: makes initializers of values whose elements are known anyway."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.ir.program import Program
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.reduce.session import Change, NotPossible, Session


def fold_known(session: Session) -> bool:
    """Replace Constant nodes and chains (Shape, Gather, Concat) by what they give: all at once, else one by one.

    For example ``Reshape(x, Shape(y))`` -> ``Reshape(x, known)`` with an initializer, if the shape of ``y`` is known.
    Nothing is run: the elements are those that inference knows.
    """
    names = [site for site in session.sites() if _elements(session.program, site) is not None]
    if len(names) > 1 and session.edit(_folding(names)):
        return True
    return session.each(_folding([name]) for name in names)


def _folding(names: list[str]) -> Change:
    def change(program: Program) -> None:
        for name in names:
            value, tensor = program.value(name), _elements(program, name)
            if value is None or tensor is None:
                raise NotPossible
            if value.uses():
                program.replace_uses(value, program.constant(tensor, "known"))

    return change


def _elements(program: Program, name: str) -> ir.TensorProtocol | None:
    value = program.value(name)
    if value is None or value.producer() is None or not value.uses():
        return None
    found, fact = program.constant_of(value), program.tensor(value)
    if found is not None or fact is None or fact.value is None or not fact.known or fact.static_shape is None:
        return found
    return array_tensor(np.array(fact.value).astype(fact.dtype.numpy()).reshape(fact.static_shape), fact.dtype)
