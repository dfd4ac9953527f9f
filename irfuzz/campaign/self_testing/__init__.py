"""Tests a target against itself: rewritten forms of a program, and other ways to run it, must compute the same.

A form counts only if the rewrite is exact for the inputs, or if the difference is above what rounding may do; a
contradiction is run again in fresh processes before it is believed.

Read `equivalent_form_testing` (makes forms, runs and compares them), `contradiction_record` (what it gives),
`contradiction_reduction` (makes one small), `contradiction_findings` (sends it through the pipeline).
`control_flow_body_testing` tests bodies and functions, `nan_free_proof` proves that no NaN can arise,
`rounds_until_deadline` ends a test in time. `campaign/metamorphic_testing_strategy.py` uses all this in campaigns,
`irfuzz equiv` on one model.

A new kind of form is a rewrite in `irfuzz/rewrite`, or a way to run in `irfuzz/execute`; nothing is added here.
"""
