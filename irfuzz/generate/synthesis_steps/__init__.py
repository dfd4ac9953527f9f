"""The steps by which `generate/covering_program_synthesis.py` makes a small program that covers what a large one
covers (COMET, section 3.2 and algorithm 1).

A node of the large program is a part with the features that it covers and the inputs that can be wired anew; wires go
from lower to higher places, so that no circle arises.

In order: `covered_features`, `nodes_as_parts`, `part_selection` (few parts that cover everything wanted),
`part_assembly`, `size_naming`, `weight_reduction`.

To add a feature: give it in `covered_features`, with its spelling; coverage reports read it from there. Do not let a
step look at operator names; what a node covers is all that decides.
"""
