"""Mutators that put new calls behind values: single layers, rows, chains, cells, sequences, optionals, strings, random
draws and pieces of donor programs.

A call is drawn from the operator specs, its other inputs are made, and its result is adapted so that readers stay
valid. A program only grows here.

Read `layer_sampling` (which call), `drawn_call_inserter` (putting it in place) and `insert_layer`, then the others;
`sequence_element_facts` and `data_dependent_size_fixing` are what `insert_sequence` and calls such as NonZero need.

To add one: a module with one class that has `sites` and `apply`, and a line in `mutate/mutator_table.py`. Do not draw
element types or operators by hand; ask the context, which steers draws towards what is new. Subgraphs that optimisers
recognise belong to `patterns`.
"""
