"""Writes what a campaign found in the formats that build servers read.

``BuildResult`` (``build_result.py``) is what all of them get: the findings with what is decided of each
(``irfuzz/findings/disposition.py``). ``junit``, ``sarif`` and ``github`` are pure functions from it to text;
``irfuzz/cli/ci_reporting.py`` writes that text. What a component said is escaped for each format, and what identifies a
finding has no versions in it (``stable_signature``), so that a server recognises it the next night.

To add a format, write such a function in a module here, give it a flag in ``irfuzz/cli/ci_reporting.py``, and add both
to docs/ci.md and ``tests/report/test_ci_reports.py``.
"""
