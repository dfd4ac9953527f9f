"""Offers irfuzz to other fuzzers and tests, as a source of ONNX models that their bytes or draws steer.

A fuzzer that mutates bytes hardly ever makes a model: of its inputs 3 to 5% parse. With irfuzz's mutation instead, 97%
parse, and AFL++ reached 3.3 to 3.5 times as many edges of onnx's checker and inference, Atheris 3.5 to 4.0 times as
many features (docs/embedding.md). A test of a converter has the same need: valid models of the operators that it has,
which shrink when it fails. So this folder offers the engine in the form that each of these tools takes.

What every file relies on:

* The same bytes, seed and size give the same mutant in every process. Nothing else is drawn from.
* No call of ``ModelMutator.mutate`` or ``cross`` raises, whatever the bytes are, and no result is longer than allowed.
  What is no model is changed as bytes.
* A mutant of a valid model is valid unless its caller asks for loose ones, which need not be:
  ``ModelMutator(loose=...)``, or ``IRFUZZ_LOOSE`` under AFL++ and Atheris, whose default is seven in ten.
* ONNX's own inference runs in this process here, so its faults end the fuzzer's process as the target's do.
* What Hypothesis draws goes through its own choices, so that examples shrink and replay.
* The pytest plug-in imports nothing of irfuzz before a test asks for its fixture: other people's test runs load it.

The way through the files:

* ``mutator`` turns bytes into bytes; ``invalid_models`` makes the loose mutants.
* ``atheris`` and ``aflpp`` give it the functions that libFuzzer and AFL++ call; ``model_trimming`` is irfuzz's
  reduction as AFL++ asks for it, one candidate after the other.
* ``byte_choices`` makes ``Choices`` of bytes, for any other fuzzer; ``parallel_mutant_stream`` makes the mutants of
  ``irfuzz mutate`` in one process or in several, and ``stream_framing`` writes them on a stream.
* ``hypothesis`` has the strategies, with ``single_call_model`` (one valid call), ``node_range_extraction`` (a range
  of nodes) and ``element_type_filter`` (some element types only).
* ``pytest_plugin`` is the fixture; ``converter_campaign`` compares the test's converter with independent runtimes, and
  ``inprocess_runner`` calls the converter here and its witnesses in workers.
* ``corpus_export`` writes a corpus of small models for ``irfuzz seeds export``.

To add another fuzzer, write a module with the functions that it calls, each a call of ``for_fuzzer()``'s mutator as in
``atheris``, and a section in docs/embedding.md; ``tests/embed/test_ways.py`` runs each way as a reader types it. To add
a strategy, add it to ``hypothesis`` and build it of draws of Hypothesis. To add a kind of loose edit, see
``invalid_models``.

Do not import Hypothesis, pytest or a fuzzer outside of the module that is for it. Do not let a mutant depend on what
was mutated before: parsed models are only cached. Do not use a loose mutant in an oracle.
"""
