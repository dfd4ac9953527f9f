"""What a graph output is computed from, as far as that decides how firmly it can be judged.

Everything here is read from the program, its specs and what was fed; nothing is run. What is not known counts as
possible, so that an answer can make a verdict a suspect but never a finding.

Read ``output_uncertainty_sources`` first, which puts all together for one output, then ``operand_values_and_bounds``
(a node with what was fed), ``undefined_behaviour`` (what ``ops/`` declares undefined and a node can really meet),
``unspecified_nan_inf``, ``masked_nan`` and ``rounding_free_nodes``. ``concrete_size_substitution`` and
``subgraph_nodes`` prepare the program.

A new test of undefined behaviour is a function, a line of the table in ``undefined_behaviour`` and a line of the
operator's file. Do not name operators in conditions if a trait can say it.
"""
