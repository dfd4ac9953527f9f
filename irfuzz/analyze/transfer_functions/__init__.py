"""For each operator, the abstract value of its outputs, from those of its inputs.

A transfer function takes the context, a node and abstract inputs, and gives abstract outputs that hold whatever order
a component computes in. It says what may come out; whether a call may go wrong is asked in ``unsafe_conditions``.

Read ``analysis_context`` (what a function may ask), ``transfer_table`` (all operators),
``elementwise_rule_application`` and ``elementwise_table`` (operators that treat elements alike) with ``arithmetic``,
``unary_functions`` and ``conditions_and_casts``. The others hold a family each: ``data_movement``,
``pad_and_scatter``, ``matmul_and_convolution``, ``reductions_and_pooling``, ``normalizations``, ``losses``.

A new operator is a function in its family and one line of the table. What is not known gives the whole range of the
type; do not run the operator on samples.
"""
