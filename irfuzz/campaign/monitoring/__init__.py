"""Watches a campaign: what its jobs cover together, and faults of irfuzz itself.

Watching changes what is run in one way only: a program that covers something new may be kept as a parent. A fault of
irfuzz costs one program, is counted, and is kept in a folder that says how to see it again; a bounded number is kept.

Read `coverage_across_jobs` (the union over jobs, and its curve), `python_line_coverage` (lines of components written
in Python), `inferred_fact_audit` (inferred facts compared with two runs), `internal_error_guard` (what surrounds the
work on one program) and `internal_error_folders` (what it writes).

A new measure saves its state as a setting of each job, and `coverage_across_jobs` takes the union. Do not swallow a
`UsageError`: it ends the campaign.
"""
