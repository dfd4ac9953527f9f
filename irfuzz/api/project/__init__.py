"""What belongs to a user's project rather than to a campaign: its set-up for a build, and what its changes are about.

* ``project_setup`` writes ``irfuzz.toml``, a baseline, seeds and a job (``irfuzz init``); ``job_templates`` has jobs
  as they are written, and docs/ci.md shows them.
* ``first_seed_choice`` finds seeds that a target runs.
* ``changed_operators`` reads a project's changes (``irfuzz fuzz --changed-since``).

To add a build server, write its job in ``job_templates``, add it to ``BuildServer`` and ``_job`` of ``project_setup``
and to ``SERVERS`` of ``irfuzz/cli/commands/init.py``, and give it a schema in ``tests/test_build_servers.py``. Do not
write over what a person may have written: what is there is an error or stays.
"""
