"""Emitters of PyTorch's and TensorFlow's shared lowering: one module a family of operators, each function turning a
node into an expression or a block of statements.

An emitter reads the node's attributes, defaults and forms for its opset and names a support function; the arithmetic
is in `export/torch/support` and `export/tensorflow/support`, whose families have the same names. What cannot be
expressed exactly raises `Unsupported` with the reason.

Read `elementwise` and `convolutions` first, then any family; `control_flow_and_sequences` writes blocks.

To add an operator: an emitter here, a line in `source/emitter_table.py`, and a function of that name in both
`support/` folders. Do not import from `export/array`, and do not compute elements here: NumPy's lowering is a witness
because it shares none of this.
"""
