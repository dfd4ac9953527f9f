"""Runs cases whose results are known on targets, and counts by operator how many each gets right.

A campaign looks for faults wherever it comes; a table of conformance is the same for everybody who asks: which
operators does this runtime have, which of them compute what ONNX says, which end its process? So the cases are fixed
(ONNX's own node cases, the models of known bugs, the shipped seeds, calls that are drawn from a recorded seed), and
each target is judged alone, against the same witnesses, whoever else is in the table.

What every file relies on:

* A verdict on a target depends on the case, the target and the witnesses (``case_judge``), never on the other targets
  of a table. The expected values of a node case are a witness beside the runtimes of other components.
* Values are judged by the numeric oracle with derived bounds, not by a tolerance. What the oracle doubts is
  ``UNDECIDED``, and so is what nobody else computes: a wrong verdict is worse than none.
* What a target refuses is apart from what it gets wrong, whether it calls that a gap or raises an error of its own.
* A process that died or hung is tried again, alone in a new process; only what shows there counts.
* Cases have names and digests. Results are kept by target and version, and a result counts for a case only as long as
  the case is the same to the byte.
* The order in which cases run is drawn from a seed and goes round the operators, so that the first N are a sample of
  all of them, and what was run when the time is up is one, too.

The way through the files:

* ``case_types`` is what a case is; ``onnx_node_cases``, ``shipped_model_cases`` and ``drawn_call_cases`` make them, and
  ``case_selection`` puts them together and in order.
* ``target_results`` is what came of them, and its JSON; ``result_folder`` keeps it.
* ``case_judge`` judges one run, ``conformance_run`` runs all.
* ``result_comparison`` compares two versions.

To add a source of cases, write a function that gives ``ConformanceCase`` and add it to ``SOURCES`` of
``case_selection``. The tables are written by ``conformance_table``, ``conformance_junit`` and ``conformance_page`` of
``irfuzz/report``.

Do not judge here: that is ``irfuzz.oracle``'s. Do not let a case depend on the clock, on another case or on
targets.
"""
