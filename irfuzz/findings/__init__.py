"""What a finding is, and how it is confirmed, made small, blamed, signed, replayed and stored.

A ``Finding`` (``finding.py``) is a frozen type: a verdict, the case that shows it, the original that it was made of,
and what every target did. A ``FailingCase`` (``failing_case.py``) holds a program and its inputs as bytes and as
objects, and makes each form of the other once.

``pipeline.py`` has the way of every finding as functions from a finding to a finding, or to the reason for which it is
dropped: ``confirm``, ``reduce``, ``find_cause``, ``blame``, ``sign``, then an ``Archive``'s ``replay`` and ``store``.
Who uses it chooses the steps:

* campaigns: all of them (``campaign/triage/disagreement_handling.py`` says what enters and when,
  ``campaign/stored_findings/archive.py`` keeps findings);
* self-tests: their own reduction, then the archive's (``campaign/self_testing/contradiction_findings.py``);
* ``irfuzz reduce``: all but the search for a cause; its archive is a folder
  (``campaign/stored_findings/finding_reduction.py``);
* the pytest plug-in: ``reduce``, then a folder of its own (``embed/converter_campaign.py``).

``disposition.py`` says what is decided of a finding (a label, a known issue, the baseline of a project) and whether it
fails a build; ``baseline.py`` reads and writes that file.

A new step is one function in ``pipeline.py`` and one line in ``steps``.

``codec.py`` is the only place in which findings become rows, or ``finding.json``, and are read again. Both carry a
schema version: what an older irfuzz wrote opens, and what a newer one wrote is refused by its name. Nothing else
touches the JSON of a finding. Reports (``irfuzz/report``) get findings and give text.
"""
