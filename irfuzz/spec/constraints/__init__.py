"""What a call of an operator must fulfil, as checked expressions, and which rules a given call breaks.

The language is a whitelisted part of Python's grammar and is never evaluated as Python; unknown values give unknown
results, and only certain violations are told.

Read `expression` and `expression_functions` (the language), `dimension_patterns` (shapes),
`attribute_value_type_check` and `sequence_optional_inputs` (kinds of values), then `call_check`, which puts them
together; `rule_breaking_values` turns each rule into the nearest value that breaks it.

A new function of the language is one entry of the table in `expression_functions`, with a line in docs/operators.md.
Do not write rules of single operators here: they stand in `ops/`.
"""
