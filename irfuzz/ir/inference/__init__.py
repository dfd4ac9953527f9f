"""Every value of a program gets a fact: its type, shape, range and known elements.

A fact holds on every conforming runtime; what does not follow is left open, never guessed. ONNX's own inference is
asked for types, unless it would not survive the call (`crash_guards`).

Read `graph_facts` first, which walks a graph; `call_output_types` asks about one call, `static_shape_rules` answers the
common ones quickly; `control_flow` goes through subgraphs; `shape_rules`, `known_element_rules`, `range_rules` and
`sequence_rules` add what ONNX leaves open. `spec_result_types` and `opaque_nodes` serve operators that ONNX has no
inference for; `misdeclared_shapes` corrects what a file declares wrongly.

A new rule is a function in the table of its module, named by operator. Do not read weights or run anything here.
"""
