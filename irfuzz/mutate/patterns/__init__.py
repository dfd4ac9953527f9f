"""Inserts subgraphs that optimisers recognise, mostly with exactly one thing off.

Each `*.toml` here lists patterns with the pass that fuses them. A pattern is bound to sizes and types (a draft),
judged by the operators' rules, spelled for the opset and put in place; a near miss changes one node, attribute,
constant or type of a draft and nothing else.

Read `pattern_file_reader`, `pattern_draft`, `pattern_draft_validation`, `pattern_placement`, then `near_misses` and
`attribute_constant_near_misses`; `neutral_nodes` lists nodes that change nothing; `insert_pattern` is the mutator.

To add a pattern: an entry in a TOML file with its source. To add a kind of miss: a function and a line in its table.
Do not write a pattern in Python, and do not name a pattern in a condition.
"""
