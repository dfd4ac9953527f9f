"""How far floating-point results of correct components may lie apart, and whether they lie farther.

Bounds are derived for the program and its inputs, never fixed by hand: from a float64 shadow whose roundings are
moved, or, if there is none, from the spread of independent witnesses under small moves of the inputs.

Read ``dtype_thresholds`` (what types can resolve, and the factors that all share), ``perturbation`` (moves and what
they change), ``error_bound`` and ``shadow_comparison`` (the numeric oracle), then ``witness_spread_comparison``,
which decides without a shadow. ``discontinuity_distance`` and ``nan_order_dependence`` answer single questions of the
excuses.

A new constant needs the measurement that it comes from in its docstring. Do not widen a bound for one operator by
name; declare a trait in ``ops/`` instead.
"""
