"""Judges what several targets did with one program.

Targets differ all the time, and mostly nobody is wrong: sums are taken in another order, ONNX leaves something open, or
a component lacks an operator and reports that. The rule behind every threshold here is that a false finding costs more
than a missed bug. So an oracle looks for a disagreement, and then a table of excuses looks for a reason for which it
may be nobody's fault. What has none is a finding, what has one is a suspect with that reason (docs/oracles.md has the
formulae and the figures: of 20,000 programs on targets that differ by legal reassociation, none gave a false finding).

What every file relies on:

* A verdict names a symptom, one target and the witnesses against it in typed fields; ``evidence`` is for readers alone.
* Verdicts depend on nothing but the arguments: not on the order of the results and not on time. Moves of inputs are
  seeded.
* Two targets are independent witnesses if their components differ, and if they do not share irfuzz's reading of ONNX
  (``witnesses_and_blame``). As a rule a finding needs two of them against one; docs/oracles.md lists for each oracle
  what may replace the second, and a crash needs none.
* Nothing is run here. Reruns and the float64 shadow are callables, which a ``Case`` calls only if an oracle asks, and
  whose answers it keeps.
* A bound of floats is derived for the program and its inputs, never fixed by hand.
* What is reported was judged through ``MeasuringJudge``, so campaigns, ``irfuzz check``, ``irfuzz.judge`` and the
  plug-ins give the same verdict on one case.

The way through the files:

* ``verdict`` is the result. ``runs_to_judge`` is what an oracle looks at, and ``witnesses_and_blame`` decides who is
  right.
* ``judge`` asks all oracles of ``oracle_table`` and keeps one verdict for each fault; ``judge_with_reruns`` is
  ``judge`` with everything measured.
* ``symptoms`` has the oracles of one symptom each, ``numeric`` the one of floating-point values.
* ``dispute`` is a disagreement before it is decided, and ``excuses`` with ``refusal_excuses`` the table of reasons.
* ``dataflow`` has what an output is computed from; ``onnx_rules`` computes the elements that ONNX's rules decide
  without any runtime.
* ``converter_verdicts`` judges converters and tools beside the runtimes; ``equivalent_form_comparison`` decides
  whether a target contradicts itself; ``cradle_distances`` has CRADLE's measures.
* ``fault_signature`` makes the text by which equal faults are one, from ``message_normalization`` and
  ``signature_details``. ``value_structure`` describes values.

To add an oracle, write a function from a ``Case`` to verdicts and add a line to ``BUILT_IN`` of ``oracle_table``; other
distributions use the entry points ``irfuzz.oracles``. To add an excuse, write a function from a ``Dispute`` to a reason
and add a line to ``EXCUSES``: its docstring is its entry in docs/oracles.md, which ``tests/oracle/test_excuses.py``
compares. Before you do, write down which true bug it could hide, and run the planted faults (``pytest -m planted``)
with and without it. To change a bound, measure with ``python -m benchmarks.numeric_oracle``.

Do not excuse by an operator's name: declare a trait in ``ops/``. Do not count two levels or versions of a component as
two witnesses. Do not read ``evidence`` in code.
"""

from __future__ import annotations

from irfuzz.oracle.fault_signature import signature, title
from irfuzz.oracle.judge import judge
from irfuzz.oracle.judge_with_reruns import MeasuringJudge
from irfuzz.oracle.message_normalization import normalise_message
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.oracle_table import Oracle, oracles
from irfuzz.oracle.runs_to_judge import Case, Leaf
from irfuzz.oracle.verdict import Symptom, Verdict

__all__ = [
    "Case",
    "Leaf",
    "MeasuringJudge",
    "Oracle",
    "Rerun",
    "Symptom",
    "Verdict",
    "judge",
    "normalise_message",
    "oracles",
    "signature",
    "title",
]
