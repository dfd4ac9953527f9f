"""Writes a program as the source of an equivalent TensorFlow module, and its arrays.

The targets ``tensorflow:eager``, ``tensorflow:function`` and ``tensorflow:xla`` run this source, ``tf2onnx`` converts
it, and a SavedModel is traced from it. It shares the emitters with PyTorch's lowering and has arithmetic of its own.

What every file relies on:

* The emitters are those of ``irfuzz/export/source/emitters``, except the operators in this folder's ``emitter_table``.
* The files in ``support`` are read as text and never imported by irfuzz. Functions that shared emitters name have the
  names and signatures of PyTorch's, and share no code with them but ``irfuzz.export.size_arithmetic``.
* A module must run eagerly and as a traced ``tf.function``. Sizes, axes and conditions that are known while a graph is
  traced are used as Python numbers; the support function ``folded`` finds those that follow from constants alone. What
  is not known is ``Unsupported``, except for If, which becomes ``tf.cond``.
* Bodies of If and Loop become local functions (``control_flow_nodes``), which Python calls if the condition is known,
  and ``tf.cond`` calls if it is not.
* Element types without a kernel go through ``support/dtype_conversions``, exactly. Strings are tensors here, and so
  TensorFlow has operators on text that PyTorch lacks.
* Kernels flush subnormal numbers to zero, which no option changes; oracles take that into account (docs/exporters.md).
  Workers switch oneDNN off, because it chooses the order of sums by the machine.

The way through the files: ``source_conventions`` describes TensorFlow; ``emitter_table`` joins the shared emitters
and its own; ``control_flow_nodes`` writes bodies as local functions and the calls that get them; ``support`` has a
module for each family of operators. Read ``support/array_tensor_conversion`` and ``support/branches_and_loops``
first.

To add an operator, follow ``irfuzz/export/source``: an emitter and a line there, and a function in both ``support``
packages; an operator of TensorFlow alone has its line in ``_OWN``. ``tests/export/test_tensorflow.py`` has what only
this framework has: strings, tracing, and traps of its own kernels.

Do not branch on the value of a tensor in a support function without a way for a traced graph.
"""

from functools import partial

from irfuzz.export.source import program_to_module_source
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.export.tensorflow.source_conventions import TENSORFLOW

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(program_to_module_source.lower, TENSORFLOW)
lower_model = partial(program_to_module_source.lower_model, TENSORFLOW)
