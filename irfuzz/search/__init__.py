"""Decides from what was seen before what to try next.

Most programs show nothing new, so it matters which of them are made. One part of this folder measures what programs
cover of a fixed space of operator calls (COMET). A second one learns which parents and mutators bring more of it for
their cost. A third one looks, in a single model, for inputs or weights that give NaN or a disagreement (AUDEE). Within
30 seconds of processor time the default search covers what COMET's search covers in 30 minutes (docs/search.md).

What every file relies on:

* A search draws from the choices that it is given and from nothing else, so a campaign can be repeated.
* Costs are counted in edits and nodes, and those of slow mutators in what they were measured to take once; seconds of a
  run would make two campaigns of one seed differ.
* All that is learnt is JSON-able (``state``), and a search that recalls it goes on as the one before.
* What was learnt steers which choice is drawn. It never changes what a recorded choice means, so traces replay without
  it.
* Coverage is a share of a space that is fixed for an opset; what the space does not hold is not counted.
* Only ``input_weight_evolution`` and its helpers run targets.

The way through the files:

* ``strategies`` decides which program is mutated next, and how. Read ``strategy_protocol`` (the protocol ``Search``),
  then ``weighted`` (the plainest), ``thompson`` (the default), and ``mcmc`` and ``uniform`` (COMET's search and its
  baseline, with ``parent_pool``); ``strategy_table`` lists them by name.
* ``coverage`` measures. ``coverable_call_space`` is the space and ``operator_call_coverage`` what programs cover of it;
  ``uncovered_operator_calls`` gives mutators what is missing. ``fusion_coverage``, with ``fusion_distance``, counts
  patterns that optimisers recognise; ``pass_coverage`` and ``pattern_priorities`` count the optimiser passes that
  fired and favour patterns that may fire others; ``graphfuzz_operator_coverage`` has GraphFuzz's criteria.
* ``input_weight_evolution`` is the genetic search of ``irfuzz evolve``: ``input_weight_genome`` makes a vector of
  inputs or weights, ``gene_vector_breeding`` breeds the next generation, ``nan_inconsistency_fitness`` measures how
  near a fault is, and ``gradient_steps_to_nan`` takes steps along PyTorch's gradients.

To add a search, write a class with the methods of ``Search`` in ``strategies``, and a line in ``SEARCHES`` (and one in
``USES`` if it uses some mutators only); ``irfuzz fuzz --search NAME`` then takes it.
``tests/search/test_strategies.py`` checks for each that equal seeds give equal programs and that a recalled state goes
on. Compare it with the others by ``python -m benchmarks.search_compare``. To add a criterion of coverage, write a
module in ``coverage``, let ``campaign/corpus/mutation_steering.py`` add programs to it, and let
``campaign/monitoring/coverage_across_jobs.py`` take the union over jobs.

Do not change a published algorithm in its own module: what differs from the paper is stated in its docstring. Do not
let a search look at programs beyond ``Parent`` and ``MutationOutcome``.
"""
