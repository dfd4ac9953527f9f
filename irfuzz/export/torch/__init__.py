"""Writes a program as the source of an equivalent PyTorch module, and its arrays.

PyTorch is the framework in which most things are computed: the targets ``torch:eager``, ``torch:jit``, ``torch:export``
and ``torch:compile`` run this source, ``torch-onnx`` exports it, gradients are taken through it, and if PyTorch is
installed, the float64 shadow of the numeric oracle is this module in wider types. So it has to be exact, and it has to
be possible to trace and to compile it.

What every file relies on:

* The emitters are those of ``irfuzz/export/source/emitters``. The table here has only operators that PyTorch has as one
  function of its own.
* The files in ``support`` are read as text and never imported by irfuzz: a module carries what it uses, ahead of its
  ``forward``. They import torch, numpy, the standard library, and ``irfuzz.export.size_arithmetic``, whose functions a
  module carries, too.
* A support function that a shared emitter names has the name and the signature of its twin in
  ``irfuzz/export/tensorflow/support``, but no code in common with it: an error in one is seen beside the other.
* float16 and bfloat16 are computed in float32 and rounded once. uint16, uint32 and uint64, for which torch has storage
  and little arithmetic (``WIDE_UNSIGNED``), are no ``plain`` types: they go through ``support/dtype_conversions``.
* PyTorch has no strings; programs with strings are refused.

The way through the files: ``source_conventions`` describes PyTorch (element types, templates, the body of ``run``);
``emitter_table`` joins the shared emitters and PyTorch's own; ``support`` has a module for each family of operators.
Start with ``support/elementwise`` and ``support/convolutions_and_pools``.

To add an operator, follow ``irfuzz/export/source``: an emitter and a line there, a function here and one in
TensorFlow's ``support``. If torch has a function that is exactly the operator, a line in ``_OWN`` such as
``"Acos": unary("torch.acos")`` is enough here, and TensorFlow gets a line in its own table. Run ``tests/export``:
ONNX's cases (``test_conformance.py``), calls that are drawn from the specs (``test_agreement.py``, ``test_sampled.py``)
and corners that ONNX's cases leave out (``test_semantics.py``).

Do not use a function of torch that rounds or breaks ties otherwise than ONNX says without a test of that case. Do not
read elements in Python if a tensor operation does it: what is read is fixed when a module is traced.
"""

from functools import partial

from irfuzz.export.source import program_to_module_source
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.export.torch.source_conventions import TORCH

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(program_to_module_source.lower, TORCH)
lower_model = partial(program_to_module_source.lower_model, TORCH)
