"""The built-in oracles that look at one symptom each, such as a crash, a refusal, another dtype or NaN.

An oracle is a function from a ``Case`` to verdicts. It decides nothing that two independent witnesses do not bear
out, and leaves it to ``excuses`` to say why a disagreement may be nobody's fault. It runs nothing by itself: reruns
and the shadow come from the case.

Read ``crash`` first, which is the shortest, then ``dtype_shape`` with ``dtype_shape_majority``, ``exact_equality``
and ``nan_inf``, and ``rejection`` with ``refusal_justification``; wrong floating-point values are in ``numeric``.

A new oracle is a function here and one line of ``oracle_table``. Do not parse the text of a log to learn about NaN,
and do not count two targets of one component as two witnesses.
"""
