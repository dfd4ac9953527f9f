"""What all mutators edit with and check against: where a program may be changed, what may be inserted there, and how a
layer is rewired.

A function that may fail answers before it edits: it gives a reason or a `Skipped`, and the program stays as it was.
Everything inserted goes through `Inserter`, which spells an operation as the program's opset does and keeps facts
right.

Read `mutation_sites` (layers, values, exact inputs), `node_inserter`, `value_adaptation` (any value to a wanted type
and shape), `layer_rewiring`, then `call_inputs`, `convex_regions` and `dry_run`; `operator_type_portability` and
`runtime_refusals` tell what runtimes take.

Put a function here if mutators of two folders need it; a step of a single mutator stays beside that mutator. Nothing
here may import a mutator, and no operator is asked for by its name if a trait under `ops/` says the same.
"""
