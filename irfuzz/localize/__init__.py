"""Finds the node at which targets that disagree on a program part.

A disagreement of outputs shows little: in a model of a hundred nodes any of them may be at fault, and rounding errors
grow on the way. So ``irfuzz check`` runs a model on many inputs, puts together what has one cause, and then looks for
the node in three ways: it replays each node alone with the inputs that it had on the other target, it compares hidden
states (CRADLE), and it varies parameters (AUDEE). Of 125 planted faults all were found by each of the three; isolated
replay and AUDEE's algorithm name nothing else, while CRADLE's map highlights 13% of all layers falsely
(docs/localization.md).

What every file relies on:

* A node is blamed if it differs alone, fed with the same values on both targets. A map only ranks nodes.
* Disagreements of outputs are judged as everywhere else, by ``MeasuringJudge``, or by the bounds that the user gave.
* A run that a limit of irfuzz ended is no disagreement. A target that refuses a model that breaks a rule of ONNX is
  right, and then no node is looked for.
* Time and Ctrl-C are kept everywhere: what is known by then is reported, and what was left out is named.
* Statistics of outputs are streamed; the arrays of all inputs are kept only if the caller asks for them or gives
  labels.
* A check needs two targets that run the model on an input; without them it raises ``NothingCompared``.

The way through the files:

* ``target_comparison`` is the whole: compare, put together, locate. ``check_result`` is what it returns.
* ``comparison`` runs every input on every target and collects disagreements and statistics.
* ``disagreement_grouping`` makes one ``Divergence`` for each cause, over targets and inputs.
* ``nodes`` looks for nodes and for parameters of nodes.
* ``onnx_rule_violations`` lists the rules of ONNX that a program breaks with the sizes of a run; ``input_summary``
  describes in one line what was fed.

To add a way to find nodes, write it in ``nodes``, call it from ``node_search`` so that it ends with that clock, give
its answer a field of ``Located``, and show it in ``irfuzz/report/command_reports``. To add a statistic, add it to
``comparison/graph_output_distances.py``. ``tests/localize/test_planted.py`` runs a sample of the planted faults;
``python -m benchmarks.localization --all`` measures all of them, and a change here should not make those figures worse.

Do not decide here who is right: that is an oracle's question. Do not run a target again for what an earlier run has
given. Do not edit the user's program: work on clones.
"""
