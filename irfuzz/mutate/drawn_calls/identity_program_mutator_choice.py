"""The edits by which a program that only copies its input becomes drawn calls and nothing else."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.model_interface.dimension_to_symbol import DimensionToSymbol
from irfuzz.mutate.model_interface.open_declarations import OpenDeclarations

if TYPE_CHECKING:
    from irfuzz.choices import Choices

OPENED = {DimensionToSymbol.name: 0.15, OpenDeclarations.name: 0.08}
"""How often sizes of the inputs are open then, and others at run time than those with which the calls were drawn; and
how often the model states less than is known of what it computes."""


def called(choices: Choices, mutators: Container[str]) -> tuple[str, ...]:
    """Names of mutators, in order.

    Args:
        choices: decide what follows the calls.
        mutators: names of those that may be drawn; ``insert-neighbours`` is taken for one of them.
    """
    more = [name for name, share in OPENED.items() if name in mutators and choices.boolean(share)]
    return (InsertNeighbours.name, *more)
