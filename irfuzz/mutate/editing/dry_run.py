"""Tries an edit whose outcome is not known on a copy first, and returns why it cannot be made, if so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.verifier import verify
from irfuzz.mutate.editing.mutation_sites import has_subgraph

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs


def rehearse(program: Program, specs: Specs, edit: Callable[[Program], object], *, static: bool = False) -> str | None:
    """Why an edit must not be made, ``None`` if it may be.

    Args:
        program: it is copied, not edited.
        specs: operator specs.
        edit: edits the program that it is given.
        static: every inner tensor that the edit touches must have sizes that are numbers, and no body or function may
            be touched, for there the rules are not checked.
    """
    copy = program.clone()
    copy.touched.clear()
    try:
        edit(copy)
    except InvalidProgram:
        return "ONNX finds the result ill-typed"
    touched = [node for node in copy.graph if node in copy.touched]
    for node in touched:
        if static and (node.domain not in ("", "ai.onnx") or has_subgraph(node)):
            return "a body or a function would be open"
        for value in node.outputs:
            fact = copy.fact(value)
            if isinstance(fact, TensorFact) and (fact.shape is None or (static and not fact.is_static)):
                return "a size would be open" if static else "a rank would be unknown"
    if verify(copy, specs, nodes=touched):
        return "a rule would be broken, or an output would have no rank"
    return None
