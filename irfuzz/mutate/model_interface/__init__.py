"""Mutators that change what a model declares: inputs, outputs, named and open sizes, defaults, opset and imported
domains.

The nodes compute the same; what is known before a run, or what an optimiser may assume, changes. An edit whose
outcome cannot be predicted is made on a copy first (`editing/dry_run.py`).

Read `constant_to_input` and `input_to_constant`, then `dimension_to_symbol`, `symbol_to_number`, `name_sizes` and
`open_declarations`; `freeze_defaults`, `expose_value`, `convert_opset` and `import_domain` stand alone.

To add one: a class with `sites` and `apply` and a line in `mutate/mutator_table.py`. An input that is new must have a
domain from which valid values can be drawn (`ir/input_domain.py`). Do not declare more than inference proves.
"""
