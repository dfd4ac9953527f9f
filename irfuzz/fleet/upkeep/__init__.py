"""What agents do once for all of their fleet beside fuzzing: they keep its corpus small and its findings up to date.

Work is offered as leases (``lease_table`` of the folder above), and ``shared_work`` there takes, renews and tells it.
Sweeps are quick, and scripts have processes of their own. All others run in a process each (``work_process``), which
gets a ``work_request`` on its standard input and does what ``leased_work`` says for its kind: whatever a target does
there, or a kill, costs the agent nothing, and the process ends with the agent.

What every file relies on:

* Work is as good twice: who dies in the middle is followed by another agent, who does it again from the store.
* What a machine can do is a list of words (``agent_abilities``), one of which a lease may need: a target, a target in a
  release, two releases to compare. It is made again whenever the machine's environments change.
* Nothing is written into another agent's folder. Regressions go into the own folder, as findings of a job that no
  campaign has, and reach the store as all findings do. A smaller case goes into the store, as nobody's.
* Answers of releases have rows of their own, so that whoever tells a finding again takes none away.

The way through the files: ``corpus_distillation`` drops what the store can do without; ``finding_upkeep`` makes
findings smaller and asks releases about them; ``release_following`` finds new releases and offers the work on them, of
which ``corpus_regressions`` runs the corpus; ``work_status`` tells how far all of it is.
"""
