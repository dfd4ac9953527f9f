"""Draws one call, or two that optimisers rewrite together, and lets a program compute these: the main source of
coverage in a campaign.

A call is drawn from all operators, versions and element types, those first that were drawn least; it becomes a
pattern draft, so that it is judged and placed as patterns are.

Read `insert_neighbours` (the mutator), `single_call_draw`, `fused_operator_pairs`, then
`identity_program_filling` and `identity_program_mutator_choice` (a program that is a single Identity becomes the call
alone), and `call_quantisation` and `quantised_width_change` (Q and DQ around it).

To reach operators that luck misses, raise their weight in `single_call_draw`, with the reason beside it. Do not list
operators here that a trait can name.
"""
