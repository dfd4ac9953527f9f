"""Looks for inputs, within the ranges that were given, for which a call that is warned of really goes wrong.

A witness counts only after a runtime has computed NaN, an infinity or a crash with it. All draws come from one seed,
and each warning has a time limit; finding nothing proves nothing.

Read ``warning_subprogram`` (the part of the program that leads to the warning), ``input_candidates`` (corners, halves
and draws), ``fault_gradient`` (steps towards the fault by PyTorch's gradients), ``equal_elements`` (a variance of equal
elements, which only rounding takes below 0; with ``reduced_elements``, which finds them in the program, and
``bounded_least_squares``), and ``witness_search``, which tries them in turn.

A new source of candidates yields feeds as ``input_candidates`` does, cheapest first. Do not widen the user's ranges,
and do not require PyTorch: without it the search goes on unguided.
"""
