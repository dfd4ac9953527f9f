"""Holds programs: ONNX models in which every value has a known type and shape.

A mutator has to know what a value is before it connects it to something, and an oracle has to know what an output
should be. So each value carries a fact (``irfuzz.facts``): its type, its shape, bounds of its elements, and known
elements of small tensors. A fact is inferred when a model is read, and after an edit only what the edit reaches is
inferred again.

What every file relies on:

* A fact holds on every conforming runtime. What does not follow is left open and never guessed.
* ``Program`` is the only way to change a model: its editing methods infer what follows. A method that raises
  ``InvalidProgram`` may have changed half of the program, so callers edit a ``clone()``.
* Clones share tensors, types and facts, which nobody changes in place.
* A node is named by its first named output. Names are unique in the main graph, which is all that edits touch; bodies
  and functions are carried along.
* Equal programs that are built alike give equal bytes. What onnx-ir cannot hold is kept beside the model and written
  back, so that reading and writing loses nothing (docs/normalisations.md lists what changes).
* Two programs with equal ``digest`` mean the same: names of inner values, order and documentation do not count.
* The two native modules (``irfuzz._cloning``, ``irfuzz._graph``) read private attributes of onnx-ir. They are compared
  with its public ways once in a process; the fallback makes the same mutants in 1.5 times the time (docs/native.md).

The way through the files:

* ``value`` is a value with its fact, and ``fact_type_conversion`` converts facts from and to ONNX's types.
* ``inference`` finds the facts; ``program_view`` has what can be asked of a program, and ``program`` what edits it.
* ``verifier`` checks a program against ONNX's schemas and ``ops/``, and lists every broken rule.
* ``subgraphs`` and ``inlining`` deal with bodies, local functions and loops that are written out.
* ``input_domain`` keeps in an input's metadata what may be fed to it, so that mutants have it, too. ``input_defaults``
  finds inputs with a default, and ``trainable_parameters`` finds the weights that training changes.
* ``clone``, ``digest`` and ``fast_mapping_access`` are what edits do so often that it has to be quick.
* ``serialization`` reads and writes bytes; ``evaluation`` computes elements exactly, without a target.

To add a rule of inference, add a function to the table of its module in ``inference`` (the docstring of that folder
names the modules), and a test to ``tests/ir/test_graph_facts.py``. To add an editing method, add it to ``Program``, let
it end in a new inference of what it reached, and test it in ``tests/ir/test_program.py``, which also compares the facts
after edits with those of a fresh inference. A message that onnx-ir drops gets its place in ``serialization``.

Do not edit ``program.model`` from outside without a call of ``infer()`` afterwards. Do not keep nodes or values in
``Program.asked``: clones share it. Do not run a target or a mutator here; both are in folders that import this one.
"""
