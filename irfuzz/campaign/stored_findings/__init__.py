"""Keeps the findings of a campaign, and works on them later: makes them smaller, or finds the release that brought
them.

The database holds the truth; folders are made from it, and made again if missing. A known signature is counted, never
stored twice.

Read `archive` (counts, replays, stores), `folder_placement` (in which folder a finding lies), then the commands on a
stored finding: `finding_reduction`, `mutation_trace_reduction` (fewer edits of its trace) and `release_bisection`.

A new command reads a folder by `findings.codec.read_folder`, sends the finding through steps of `findings.pipeline`,
and writes it back whole or not at all. Do not touch the JSON of a finding here.
"""
