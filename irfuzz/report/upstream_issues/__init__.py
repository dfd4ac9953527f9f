"""Writes a finding as an issue of the tracker of the component at fault, ready to be read and filed by a person.

A maintainer closes a report that leaves their template empty, names no version, or comes with a script that shows
nothing. So an issue states cause, expectation with the specification's sentence, a script in one file, versions with
the release in which the fault came and went, severity, and what was searched; and its script is run before the issue
is printed.

The way through the files:

* ``issue_trackers`` is a table: a line per component with repository, template and the template's own headings, each
  with the facts that belong under it. A component that is not there gets a plain form.
* ``issue_facts`` says each fact in words.
* ``issue_export`` reads a finding's folder, finds a script in one file, runs it, and fills the form.

To add a component, add a line to ``TRACKERS`` with the headings of the template that its repository has under
``.github/ISSUE_TEMPLATE``; ``tests/report/test_issue_trackers.py`` checks that no fact is left out.

Do not file anything: whoever files an issue has to have read it, and some projects ask for just that. Do not say that
a tracker was searched: nothing here uses the network.
"""
