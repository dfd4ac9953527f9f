"""Writes the `repro.py` of a finding: plain Python that shows the fault without irfuzz.

A script ends with 1 if the fault shows, with 0 if not, and with 2 if it cannot tell. It imports nothing of irfuzz,
and is replayed in a fresh process before the finding is called confirmed.

Read `full_script` (any finding), with its text in `code_templates` and `tool_templates`; then `short_script` (under
40 lines, if that shows it), with `model_source` (a model as source), `target_snippets` (how a target runs) and
`framework_call_script` (a framework's own calls). `two_form_script` shows a contradiction of two forms,
`shared_weight_links` reads large weights.

A new target needs a runner in `code_templates` and, if few lines do, one in `target_snippets`. Do not build source
from unescaped names of a model.
"""
