"""Decides which disagreements are looked into, when, and for how long, since making one small takes as long as a
thousand runs.

A disagreement is on disk before anybody looks into it: it is stored in the transaction that says how far its job has
come, with its program, its inputs and what every target did, and removed when it is known what it came to. Each job has
a queue; the next job of its number goes on with it, and if a campaign is continued with fewer jobs the others share it.
A case at which irfuzz fails or dies waits again, behind all others; the fourth time it is kept as it was seen.

By what a confirmed finding is recognised is stored (``store.fault_marks``): other jobs, the next job of the same number
and other agents of a fleet read it before each look at what waits, and do not make the same fault small once more.

What looks like a known fault still has a turn at its 1st, 2nd, 4th and 8th occurrence, since another fault may hide
behind it.

Read `disagreement_handling` (the whole cycle of one job), `known_fault_filter` (is it likely known?),
`recognised_faults` (what others have looked into, and what they are told), `case_queue` (which comes next),
`stored_case_queue` (the same in the database, with `waiting_case_codec`), `time_budget` (how much time there is, and
for which target), `suspect_proof_search` (a search for a program that shows a doubtful case without a doubt).

A new filter is a class that `disagreement_handling` asks before a case gets into the queue. Do not reduce or blame
here: the steps of a finding are functions of `irfuzz/findings/pipeline.py`.
"""
