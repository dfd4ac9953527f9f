"""What the inputs of a program may hold and which of it is drawn.

`generate/input_values.py` draws one value for each graph input, from a seed and the same in every process; this
folder tells it the limits. What is decided of an input stands in its metadata (`ir/input_domain.py`), so that mutants
keep to it.

Read `operator_input_limits` (an operator's input), `graph_input_limits` (followed to the graph's inputs),
`shape_variant_choice`, `number_class_draw` and `extreme_integers`, `integer_overflow_avoidance`; then what users say:
`user_input_claims` becomes an `InputSpec`, `input_annotation` writes it down; `seed_model_input_ranges` holds the
shipped seeds'.

To add a limit: a function in `operator_input_limits`, by a trait. Do not weaken a limit for one model.
"""
