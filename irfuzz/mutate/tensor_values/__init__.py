"""Mutators that change what tensors hold: weights, how constants are stored and shared, and values at the edge of what
operators accept.

An equivalent edit keeps every element that is read; an invalid one says so by its relation, so that oracles expect a
refusal and never a crash. Elements that decide shapes or indices are left alone unless that is the point.

Read `change_weights` (with `lemon_weight_mutators` and `neuron_axes`), `share_initializers`, `split_initializer`,
`store_constant`; then `special_values` (NaN, infinities, denormals), `exact_ties`, `empty_tensor`, `negative_axes`;
last `invalid_value` and `invalid_element`.

To add one: a class with `sites` and `apply`, the right `relation`, and a line in `mutate/mutator_table.py`.
"""
