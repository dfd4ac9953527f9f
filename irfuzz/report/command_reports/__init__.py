"""Writes what a command found as text for people, as JSON, and as an HTML page.

The functions are pure: a result goes in, text comes out; the same result gives the same text. JSON carries a schema
version. Names from models are escaped in HTML.

One module for each command: `finding_list` (`irfuzz findings`), `coverage` (`irfuzz coverage`), `genetic_search`
(`irfuzz evolve`), `numeric_analysis` (`irfuzz analyze`). A check has four: `known_issue_labels` labels its result,
then `check_text`, `check_json` and `check_page` write it.

A new report has `as_text` and `as_json`, and `as_html` if a page helps. Do not print, parse arguments or run targets
here: that is for `irfuzz/cli` and `irfuzz/api`.
"""
