"""Mutators that move a region of the main graph into a body or a local function, or take a body apart again.

A region is connected and convex, so that it can be replaced by one node. Its nodes are built and inferred in the main
graph, and become a body only when all is known to fit.

Read `body_draft`, then `wrap_if`, `wrap_loop`, `wrap_scan` and `unwrap_control_flow`; `outline_function` and
`inline_function` do the same with functions; `branch_conditions` makes conditions and trip counts from values at
hand. Regions come from `editing/convex_regions.py`.

To add one: draw a region, open a `BodyDraft`, close it, and add a line to `mutate/mutator_table.py`. Do not move
stateful or random nodes into a body that runs more than once.
"""
