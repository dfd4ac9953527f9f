"""Exports programs as source code or model files of other frameworks.

PyTorch, TensorFlow, Keras and NumPy cannot read ONNX, and converters that could bring it to them are under test
themselves. So irfuzz writes a program as the source of a Python module that imports only numpy and the framework: one
line an operator, the support functions that these lines call, and the weights as an npz. The same text is what
``irfuzz export`` writes, what the targets ``torch:*``, ``tensorflow:*``, ``numpy:*`` and ``keras:*`` run, what computes
the shadow in float64, and what a finding's script carries (docs/exporters.md).

What every file relies on:

* A module computes what ONNX's text says, or nothing: what has no exact form raises ``Unsupported`` with the operator
  and the reason. Of ONNX's own cases in the usual types 97.8% pass with PyTorch, TensorFlow and NumPy; the others are
  refused, and none is wrong (docs/conformance.md).
* Half types are computed in wider ones and rounded once. Types without a kernel are widened or reinterpreted, exactly.
* The lowerings are witnesses. PyTorch's and TensorFlow's share one reading of operators, and so they count as one;
  NumPy's has a reading of its own and shares only the writing of modules and the arithmetic of sizes. Keras' is no
  witness of what an operator means.
* No framework is imported here. Support functions are read as text.
* Names of a model never become code: identifiers and literals are made of them.
* Equal programs give equal text.

The way through the files:

* ``source`` writes modules and has the emitters that PyTorch and TensorFlow share.
* ``torch``, ``tensorflow``, ``array`` (NumPy) and ``keras`` describe a framework each.
* ``size_arithmetic`` computes integers that follow from shapes and attributes, for all frameworks.
* ``lowerings`` is the table of frameworks, and of those in which shadows are computed.
* ``module_file_writing`` writes the text and the arrays as two files, with the same bytes each time.

To add an operator: an emitter and a line in ``source/emitter_table.py``, with a function in ``torch/support`` and one
of the same name in ``tensorflow/support``; a line in ``array/emitter_table.py`` with a function in ``array/support``;
and a line in ``keras/emitter_table.py`` if a layer or an operation of Keras is exactly the operator. ``tests/export``
runs ONNX's cases and drawn calls for the first three, and drawn calls for Keras;
``python -m benchmarks.conformance --write`` makes the tables of docs/conformance.md. To add a framework: a
``FrameworkDescription``, a table of emitters, a ``support`` package, a line in ``LOWERINGS``, and a ``SourceAdapter``
in ``irfuzz/execute/adapters/generated_source.py``.

Do not call a framework's own ONNX converter. Do not let NumPy's lowering share code that reads operators with the
others: ``tests/export/test_independence.py`` lists what it may import. Do not approximate.
"""
