"""What the static analysis knows of a value: intervals, for each partition of a tensor, with affine relations between
them.

Everything is sound for computed numbers, not only for real ones: bounds are rounded outwards in the element type's
own format. An empty or unknown answer is the widest one, never a guess.

Read ``number_formats``, ``interval``, ``partitioned_tensor`` (grids of partitions, which can be aligned, joined and
cut), ``affine_relations`` (linear forms of symbols), then ``reduction_relations`` and ``norm_relations``, which know
what a reduction or a norm says of its elements.

A new relation needs a proof in its docstring that includes rounding, and a test against drawn inputs. Nothing here
looks at nodes or operators; that is the part of ``transfer_functions``.
"""
