"""Runs campaigns, and is the only place that wires everything.

A campaign makes mutants, runs them on targets and keeps what disagrees, for minutes or for days. In that time targets
die and hang, processes are killed, and irfuzz itself has faults; and most of what disagrees is a fault that was found
before. So a campaign is a folder with a database, one process that watches, and job processes, each of which may die at
any moment and is started again (docs/campaigns.md).

What every file relies on:

* Every step that matters is one transaction of the database. ``kill -9`` loses at most the round in flight, which runs
  again when the campaign is continued.
* What is made depends on nothing but the campaign's seed, the job's number, the iteration and the corpus. With one job
  equal seeds, models, flags and versions give equal programs; with more, nobody decides when one job's programs reach
  another.
* No target runs in the process of a job; all of them run in workers.
* A job writes into its journal what it is about to run. If it dies, it is started anew, finds out which program killed
  it, and leaves that one out. After more than five deaths in a row without a program that was judged the campaign gives
  up.
* An exception of irfuzz's own costs one program, is counted and kept. A ``UsageError`` ends the campaign.
* Programs are made, run and judged in rounds of at most 16, which are meant to take at most half a second: each step
  then finds its code in the caches, and the database is written once. Which programs are made does not depend on the
  rounds.

The way through the files:

* ``config`` has the settings of a campaign and the layout of its folder; ``output_folder_lock`` takes the folder for
  one process.
* ``output_folder_watch`` sees that the folder goes away, or can no longer be written, while the campaign runs.
* ``campaign`` starts jobs, watches them and sums up; ``job_processes`` starts them anew and ends them all.
* ``job`` is one process, and ``inflight_journal`` what outlives its death.
* ``loop`` is what every program passes: schedule, mutate, feed, execute, judge, keep, triage, audit. ``strategy`` is
  the protocol of these steps.
* ``differential_strategy`` compares targets; ``metamorphic_testing_strategy`` compares, on each target by itself,
  forms of one program and ways to run it.
* ``corpus`` chooses what runs next, ``targets`` which targets run it, ``triage`` which disagreements are looked into,
  ``self_testing`` makes and compares forms, ``stored_findings`` keeps findings and works on them later, and
  ``monitoring`` watches coverage and faults of irfuzz.

To add a kind of campaign, write a class with the steps of ``Strategy`` and a line in ``STRATEGIES`` of ``job``;
``tests/campaign/test_loop.py`` shows the smallest one. To add a setting, add a field to ``Config`` with its check, to
``FuzzOptions`` in ``irfuzz/api/fuzz.py``, and a flag in ``irfuzz/cli/commands/fuzz.py``; give ``from_json`` a value for
folders of before, as it has one for ``domains``, since it refuses settings that lack a field. To add a step of a
finding, see ``irfuzz/findings``. What a folder's essay names (a filter, a measure, a reason to skip a target) is added
there.

Do not look at the clock before a program is made: two campaigns of one seed would differ. Do not keep state in a job
that is not saved as a setting: a restarted job has to go on as if it had never stopped. Do not make a case small or
blame a pass inside of the loop's steps up to ``keep``. Do not let a fault of one target stop the others.
"""
