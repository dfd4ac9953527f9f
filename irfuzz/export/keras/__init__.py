"""Writes a program as the source of an equivalent functional Keras model, and its arrays.

Converters of Keras models have to be given Keras models, with layers that hold weights, and not a function of tensors.
So this lowering writes a program as layers (Dense, Conv, pooling, normalisations, recurrent layers) and, if no layer
fits, as operations of ``keras.ops``, which a functional model holds as it holds layers. The same source runs on each
back end of Keras (``keras:tensorflow``, ``keras:torch``, ``keras:jax``, ``keras:numpy``; docs/targets.md). It has fewer
operators than the other lowerings, and it is no witness of what an operator means.

What every file relies on:

* Each input has a first axis, which Keras takes for the batch; ``lower`` refuses a program without inputs, or with a
  scalar input.
* All sizes that are needed are known when the source is written. Weights are constants.
* Element types are float32, float64, int32, int64 and bool. Half precision is left out, because layers round it at
  places that ONNX does not name.
* A node becomes a layer or an operation that is exactly the operator for these inputs, or it is refused with a reason.
  A layer that needs the channels last is put between two Permute layers.
* A local function of the domain ``keras`` whose documentation is a layer's configuration stays that layer, as long as
  its inputs have the sizes for which its body was made and its weights are constants; else its body is written out.

The way through the files:

* ``source_conventions`` describes Keras, and ``emitter_table`` lists the operators that a Keras model can express.
* ``layer_emitters`` and ``recurrences`` write layers with weights or windows, ``window_arguments`` what Keras calls a
  window; ``elementwise`` and ``reshaping_slicing_reducing`` write operations.
* ``node_checks`` has the refusals that emitters share.
* ``original_layer_calls`` keeps the layers of a Keras file that a front end has read.
* ``support`` has the functions that a module carries; they are read as text and never imported by irfuzz.

To add an operator, write an emitter in the module of its kind, let it refuse by ``node_checks`` what Keras computes
otherwise, and add a line to ``emitter_table``. ``tests/export/test_keras.py`` compares drawn calls with TensorFlow's
module; ``tests/export/test_kept_layers.py`` has the layers of files.

Do not accept a case because it is close: what a layer does otherwise for one attribute is refused for that attribute.
Do not import keras here.
"""

from functools import partial

from irfuzz.errors import Unsupported
from irfuzz.export.keras.original_layer_calls import with_layers
from irfuzz.export.keras.source_conventions import KERAS
from irfuzz.export.source import program_to_module_source
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.ir.program import Program

__all__ = ["ModuleSource", "lower", "lower_model"]

lower_model = partial(program_to_module_source.lower_model, KERAS)


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
    return program_to_module_source.lower(KERAS, program)
