"""Finds by static analysis which operators of a program may compute NaN, an infinity or crash, given ranges of its
inputs.

A run shows what happens for one input; this analysis finds what can happen for all inputs in their ranges, before a
model is trained or run. It is DEBAR (Zhang et al., ESEC/FSE 2020) on ONNX, with more relations between values and a
search for inputs that really trigger a warning (docs/analysis.md). ``irfuzz analyze`` reports it, campaigns steer
inputs by it away from hazards or into them, and self-tests use it to prove that no NaN can arise.

What every file relies on:

* A range holds for computed numbers and for any order of summing: bounds are rounded outwards in the element type's own
  format. Of 2,561,485 elements of results of drawn calls none was outside of its range (``benchmarks/soundness.py``).
* What is not known is the widest range, and never a guess. The results of an operator without a transfer function are
  anything that their type holds, and such calls are counted (``Analysis.unknown``).
* What may come out of a call (a transfer function) and whether the call may go wrong (an unsafe condition) are separate
  functions in separate tables.
* After a warning the analysis goes on with what the call gives if the fault does not occur, so that one fault is one
  warning.
* An overflow that only an unlimited input, or a bound that is seldom attained, could cause is listed and is no warning.
* The program stays as it is. A witness counts only after a runtime has shown the fault.

The way through the files:

* ``initial_ranges`` has what inputs and weights start as, from what users said and from the model.
* ``abstract_domain`` is what is known of a value: partitions, intervals and relations.
* ``transfer_functions`` computes the outputs of each operator; ``unsafe_conditions`` lists what can go wrong.
* ``numeric_range_analysis`` walks over a program: branches under their condition, loops of at most 16 turns turn by
  turn, others until their ranges are stable.
* ``safe_input_ranges`` finds the widest range of each input that makes a call safe (RANUM's precondition).
* ``raw_variances`` proves of layers with no more inputs than units that a variance of two moments is not negative.
* ``failing_inputs`` looks for inputs that trigger a warning, and ``warning_examination`` puts everything together.

To add an operator, write a transfer function in its family's module of ``transfer_functions`` and a line in that
module's table, from which ``TRANSFER`` is made. ``tests/analyze/test_soundness.py`` draws calls of all operators and
compares concrete runs with the ranges. To add an unsafe condition, write a function that yields a ``Fault`` for each
way to go wrong, and a line in ``CHECKS``; ``tests/analyze/test_unsafe_conditions.py`` has each fault with a twin in
which it is mended and nothing is warned of.

Do not run an operator on samples to learn its range. Do not narrow a range because runtimes happen to stay within it.
Do not take a model without warnings for one without faults of other kinds.
"""
