"""Passes that make a failing case smaller or plainer, each a function from a `Session` to whether it did.

A pass offers candidates to the session, which checks that they are valid and still fail; it never edits the best case
itself. Each candidate is smaller or plainer by some measure, so that the loop ends.

`reduce/pass_loop.py` has the order. Fewer nodes: `output_removal`, `computed_value_to_input`, `body_inlining`,
`constant_folding`, `node_bypass`, `cast_removal`. Plainer nodes: `optional_part_removal`,
`attribute_value_simplification`. Smaller data: `size_shrinking`, `float32_conversion`, `data_simplification`,
`input_merging`. Looks: `opset_lowering`, `name_shortening`.

A new pass is one function and one line in a tuple of `pass_loop`. Do not count tries or look at the clock in a pass:
the session raises `OutOfBudget`.
"""
