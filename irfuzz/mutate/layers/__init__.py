"""Mutators that change, copy, move, replace or remove layers a program already has.

What the layer computes afterwards is predicted from its rules before anything is edited, and its result is restored
to the type and shape that readers expect.

Read `change_attribute` first, then `change_dtype`, `change_rank` and `change_shape` (the layer computes in another
form, restored behind it); `swap_layers`, `exchange_layers`, `duplicate_layer`, `connect_layers` and `remove_layer`
are LEMON's and COMET's; `quantise_region` uses `quantisation_scheme` and `integer_operator_replacement`.

To add one: a class with `sites` and `apply`, its paper and weight in `profile`, and a line in
`mutate/mutator_table.py`. Do not edit a node in place of `editing.layer_rewiring`, which knows what must not be
copied.
"""
