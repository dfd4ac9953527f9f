"""Writes a stored finding as a folder that anyone can replay and paste into a bug report.

Whoever gets a finding need not have irfuzz. So its folder holds the model, the inputs, a text and a script that needs
only the packages in question; and a finding is called confirmed only after that script has shown it in a fresh process
(docs/findings.md). Other commands' results are written here as well, as text, JSON and pages.

What every file relies on:

* A folder is complete or absent: it is written beside its place and then moved there.
* A ``repro.py`` imports nothing of irfuzz. It exits with 1 if the fault shows, with 0 if not, and with 2 if that cannot
  be found out.
* If a script of less than 40 lines shows the fault, it is the ``repro.py``, and the long one that runs the witnesses,
  too, is ``compare.py``. What no script shows is marked ``unreplayed``.
* Names in models and messages of components are data of strangers: they are escaped in Python, Markdown and HTML, and
  cleaned before a terminal shows them.
* The functions of ``command_reports`` are pure: the same result gives the same text. JSON carries a schema version.
* A finding's own JSON is read and written by ``irfuzz/findings/codec.py`` only.

The way through the files:

* ``finding_folder_writer`` writes a folder (``write_bundle``), and does so until its script shows the finding
  (``write_shown``); ``script_replay`` runs scripts (``replays``), on a copy of their folder.
* ``plugin_module_copies`` collects the modules of users' classes, which travel with the folder.
* ``repro_scripts`` writes the scripts, long and short.
* ``finding_markdown`` makes ``report.md``, with ``specification_quotes`` (what ONNX says of the operators) and
  ``affected_versions_text`` (in which versions the fault shows).
* ``command_reports`` writes the results of ``check``, ``analyze``, ``evolve``, ``coverage`` and ``findings``.
* ``ci_reports`` writes a campaign for build servers: JUnit, SARIF, GitHub's annotations and summaries. What is decided
  of a finding is given (``BuildResult``); names and fingerprints stay the same from night to night.
* ``upstream_issues`` writes a finding as an issue of the tracker of the component at fault.
* ``pages`` writes campaigns and findings as HTML; its essay says how.
* ``terminal_text_cleaning`` cleans text for a terminal.

To add a file to a finding's folder, let ``finding_folder_writer`` make its bytes in ``_files``, list it in
docs/findings.md, and test it in ``tests/report/test_finding_folder_writer.py``. To add a target, give it a runner in
``repro_scripts/code_templates.py`` and, if a few lines run it, one in ``repro_scripts/target_snippets.py``;
``tests/report/test_replay.py`` replays every kind of finding in a fresh process. To add the report of a command,
write a module with ``as_text`` and ``as_json`` in ``command_reports``.

Do not decide here whether something is a finding, and do not run targets except through a script. Do not let a script
need anything that is not in its folder, except the packages in question.
"""
