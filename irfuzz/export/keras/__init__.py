"""Writes a program as the source of an equivalent functional Keras model, and its arrays."""

from functools import partial

from irfuzz.errors import Unsupported
from irfuzz.export.keras.framework import KERAS
from irfuzz.export.keras.layer_functions import with_layers
from irfuzz.export.source import lowering
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.ir.program import Program

__all__ = ["ModuleSource", "lower", "lower_model"]

lower_model = partial(lowering.lower_model, KERAS)


def lower(program: Program) -> ModuleSource:
    """Lower a program whose inputs all have a first axis, which Keras takes for the batch.

    Args:
        program: it stays as it is; calls of layers of a Keras file become these layers again if they fit.

    Returns:
        A module that makes a functional Keras model, and its arrays.

    Raises:
        Unsupported: layers and operations of Keras do not say it exactly; it has no input, or a scalar one.
    """
    program = with_layers(program)
    graph = program.model.graph
    given = [value for value in graph.inputs if value.name not in graph.initializers]
    if not given:
        raise Unsupported(KERAS.component, "model", "no input")
    for value in given:
        fact = program.tensor(value)
        if fact is not None and fact.static_shape == ():
            raise Unsupported(
                KERAS.component, f"input {value.name!r}", "it has no first axis, which Keras takes for the batch"
            )
    return lowering.lower(KERAS, program)
