"""Runs a model on many inputs and targets and collects where they disagree.

Every input is judged by derived bounds, or by those that the user gave; a run that a limit of our own ended is never
a disagreement. When time is up or Ctrl-C comes, what is known so far is kept.

Read ``sample_runs`` (the loop over inputs and its clock), ``sample_disagreements`` (what is wrong with one input),
``failed_run_disagreements`` (who did not run through, and whose doing it was), ``graph_output_distances`` (ranges and
distances for the report). ``saved_output_targets`` stands in for targets of an earlier check,
``accepted_difference_shadow_skipping`` saves dear float64 runs, and ``ground_truth_inconsistencies`` measures against
a ground truth.

Do not keep arrays of all inputs: statistics are streamed. What has one cause is put together in
``disagreement_grouping``, one folder up.
"""
