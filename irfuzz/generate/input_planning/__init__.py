"""Decides what the inputs of a model are to be, if the model says neither their sizes nor their meaning.

``plan_inputs`` is asked once, when a model is read; ``annotate`` writes the answer into the metadata of the inputs
(``irfuzz/ir/input_domain.py``), from which ``make_inputs`` takes it for the model and for every mutant of it.

The way through the files:

* ``open_axes``: the open axes in groups of one size: equal names, what rules of operators tie (``size_equalities``),
  batches.
* ``axis_kinds``: what a group counts (a batch, a side of an image, samples of a sound, ...), and its usual sizes.
* ``element_flow``: where elements go, through bodies and functions, too.
* ``input_roles``: what elements mean (masks, positions, rates, lengths, states, pixels), by what reads them.
* ``size_search``: combinations of sizes, likely ones first, until one is good.
* ``size_trial``: judges a combination: by inference (``shape_inference_probe``), and by a run (``trial_run_outcome``)
  if that leaves anything open.
* ``input_plan``: puts it together, and looks for further combinations, so that samples differ in size.

To add a kind of axis, add it to ``axis_kinds.Kind`` with its sizes and what tells it; to add a meaning of elements,
write a rule and put it into ``input_roles._RULES``. Neither may ask for the name of a model. What the user said
(``InputSpec``) is never overruled. This folder must not import what runs programs: a run is a callable that is passed
in.
"""

from irfuzz.generate.input_planning.input_plan import ModelInputPlan, annotate, plan_inputs, without_floats
from irfuzz.generate.input_planning.trial_run_outcome import Runtime, TrialRun

__all__ = ["ModelInputPlan", "Runtime", "TrialRun", "annotate", "plan_inputs", "without_floats"]
