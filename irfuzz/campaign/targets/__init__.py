"""Decides which targets run on which program, and keeps what each target was seen to run.

A target is skipped only for a program that it would be too slow for, or would hang on or refuse; what is skipped is
counted. A disagreement needs two outputs: a choice that leaves one target alone is worth nothing.

Read `per_program_selection` (all targets on a sample, quick ones on each program), `slow_sampling` and `slow_runner`
(slow targets within a share of the time), `hang_avoidance`, `failing_target_exclusion` (what never comes back is set
aside), `operator_support` (operators and element types that a target takes). Programs are drawn by what targets take,
a part of them for those that lack much (`narrow_targets`), with `--learn` nearly all: `refusal_probe` asks for it
before a campaign, `refusal_learning` puts each refusal down to what is new in the program, and `drawn_calls` keeps that
and the user's own limits for a job. `start_reports` and `compared_program_counts` say which targets started, and how
many programs two of them ran.

A new reason to skip a target is one module with one class that `differential_strategy` asks, and a count. Do not
judge results here: that is the oracle's work.
"""
