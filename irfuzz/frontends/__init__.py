"""Reads models of other frameworks and files as programs.

Whatever a user has (an ONNX file of any opset, a text format, a Keras file, a SavedModel, a frozen graph, an exported
program of PyTorch, or a function that makes a model) becomes a ``Program`` that passes onnx's checker. Files come from
anywhere, so they are treated as hostile: the C++ code of onnx, frameworks and the user's own code run in processes of
their own, and what a file could use to run code is refused before it is loaded (docs/models.md).

What every file relies on:

* Every error is an ``InvalidProgram`` or a ``UsageError`` whose message is one line that names the path and the reason.
* No framework is imported in this process. Files in ``workers`` run without irfuzz.
* Devices, pipes and folders are never read as files; sizes are checked before memory is taken.
* Large weights are neither parsed nor copied: a file is mapped, and its weights become views of it.
* What is changed while reading (an opset that was converted, a shape that was declared wrongly) is reported through the
  argument ``tell``, one line for each change.
* An operator that neither ONNX nor the model defines is carried, if its outputs have types; nobody guesses them.

The way through the files:

* ``model_kind_detection`` finds out what kind of model a path names, and reads at most a byte of the file for that.
* ``onnx_file`` reads and writes. ``load_seed`` has all steps in order: read, convert, decode, check, infer, complete.
  ``regular_file_opening``, ``external_data_inlining`` and ``serialized_weight_separation`` get the bytes and the
  weights.
* ``isolated_onnx_calls``, with ``isolated_onnx_worker``, runs onnx's parsers, checker and version converter in a
  worker.
* ``opset_upgrade`` converts models below opset 9, ``unknown_operator_refusal`` refuses operators that ONNX lacks, and
  ``opaque_output_type_inference`` asks a runtime for the types of opaque nodes.
* ``framework_conversion`` has the table ``FRONT_ENDS`` and runs the files in ``workers``.
* ``project_file`` and ``toml_file_reading`` read ``irfuzz.toml``.
* ``graphsurgeon_conversion`` and ``produced_model_conversions`` give programs back in the forms that other libraries
  take.

To add a kind of model: a name in ``model_source.Kind`` and the condition for it in ``source_of``, a line in
``FRONT_ENDS``, a worker file whose ``handle`` returns ONNX, a row in docs/models.md, and tests in
``tests/frontends/test_framework_conversion.py``: the model computes the same, and a damaged file is one line.

Do not unpickle anything, and do not load a file in this process to find out what it is. Do not correct a model
silently: what differs from the file is reported, or the file is refused.
"""
