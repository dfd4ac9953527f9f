"""Writes a program as the source of an equivalent module of a framework, and its arrays.

All frameworks get modules of one form: ``forward(weights, inputs)`` on tensors and ``run(arrays, inputs)`` on arrays.
What differs between frameworks is data, a ``FrameworkDescription``, so that the writing of a module exists once. For
PyTorch and TensorFlow nearly all emitters are shared as well: an emitter reads a node and names a support function, and
only the support functions differ.

What every file relies on:

* ``program_to_module_source`` has no code for a framework or an operator: it asks the description for emitters and
  spellings.
* An emitter gets an ``EmitterContext`` and a node, and returns an expression, a ``TupleExpression`` or a
  ``StatementBlock``. Of other nodes it sees only the constants that the context gives it, and its own bodies.
* A support function that is called is noted in ``EmitterContext.used``. A module carries the functions that it uses,
  with all that these use, and no others.
* ``Code`` is a Python expression; any other string is quoted. A name of a model becomes an identifier by
  ``python_identifiers`` or a literal by ``literal``; comments and docstrings of the module get it cleaned.
* Calls of local functions are written out first, except those that ``FrameworkDescription.keeps`` keeps.

The way through the files:

* ``module_source`` is the result, ``framework_description`` what is to be known of a framework.
* ``program_to_module_source`` writes a module; ``emitter_context`` is what emitters ask and give.
* ``emitter_table`` has the emitters that PyTorch and TensorFlow share, which are in ``emitters``.
* ``python_identifiers`` makes names, and ``support_function_source`` finds the text of support functions.
* ``float64_shadow_source`` writes the same module with all floating-point values in float64, and writes before each
  node how its results would be rounded; the numeric oracle is built on it.

To add an operator whose two lowerings differ only in support functions, add an emitter to its family in ``emitters``
and a line to ``SHARED``, then a function of that name and signature to both ``support`` packages. What a single
framework spells differently is a template in its ``forms``, or a line in its own ``emitter_table``.
``tests/export/test_source.py`` checks the text; a support function that nobody uses or that has no docstring fails
there.

Do not write ``torch`` or ``tf`` into a shared emitter. Do not compute elements while writing: a constant may decide
sizes, axes or which form is written, and no more. Do not import this folder's emitters from ``irfuzz/export/array``.
"""
