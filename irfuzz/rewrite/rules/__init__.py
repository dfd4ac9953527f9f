"""The built-in rewrites, one family of equivalences a module.

A rewrite promises bitwise equality or rounding errors only, and finds its sites by side conditions that make the
promise true. It draws from the given choices alone, and what cannot be done returns ``Skipped`` before anything is
edited.

Read ``neutral_operation_insertion`` first: one builder and one table line each. Then ``inverse_movement_insertion``,
``elementwise_equivalents`` and ``operator_decomposition``; ``convolution``, ``pooling``, ``separable_convolution`` and
``pixel_value_scaling`` are for layers of images, ``recurrent_layout`` and ``recurrent_unrolling`` for RNN, GRU and
LSTM.

A new rewrite is a line in the ``REWRITES`` of its module, and a new module one line in ``rewrite_table``. Pattern and
replacement stand in ``about``. Do not promise ``BITWISE`` if a sum changes its order.
"""
