"""Writes a program as the source of an equivalent JAX module and its arrays.

The module is that of the array lowering (``irfuzz.export.array``): the same emitters and the same support functions, in
which ``np`` is not NumPy but ``Arrays``, which calls ``jax.numpy`` wherever an argument is an array of JAX's. So JAX
shares NumPy's reading of ONNX, with which it is one witness of values, and brings kernels and a compiler of its own.

What every file relies on:

* Inputs and floating-point weights are arrays of JAX's. Integers and booleans that follow from weights and shapes alone
  stay NumPy's, so that ``jax.jit`` knows the sizes that they give.
* What reads a number of an input (a shape, a branch, a count of iterations) works eagerly. Under ``jax.jit`` JAX raises
  an error of ``jax.errors``, which the worker reports as unsupported.
* 64-bit types are on; importing the module switches them on for the process.
* XLA sets the processor to give zero for subnormal numbers and contracts a product and a sum to one rounding. The
  former is declared (``irfuzz.oracle.witnesses_and_blame.flushes``), the latter is within the bounds of two roundings.

The way through the files: ``source_conventions`` describes JAX, ``support/array_functions`` has ``Arrays``, and
``support/replacements`` has the functions that write into arrays, or compute with Python's numbers, in JAX's way.

To add an operator, add it to ``irfuzz.export.array``. If its support function assigns to elements, add a function of
the same name and parameters to ``replacements``; ``tests/export/test_jax.py`` runs ONNX's cases both ways.

Do not repeat in ``replacements`` how an operator is read: only how its elements are put down.
"""

from functools import partial

from irfuzz.export.jax.source_conventions import JAX
from irfuzz.export.source import program_to_module_source
from irfuzz.export.source.module_source import ModuleSource

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(program_to_module_source.lower, JAX)
lower_model = partial(program_to_module_source.lower_model, JAX)
