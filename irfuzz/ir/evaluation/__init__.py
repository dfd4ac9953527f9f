"""Elements of values, computed or judged without a target.

All results are exact or absent: nothing here rounds differently from some runtime.

`constant_values` finds which values are constants and computes cheap ones; `exact_integer_evaluation` computes a
program's whole numbers on some inputs by the rules of `exact_integer_rules`; `fact_check` holds a fact against a
value that a run gave; `intermediate_precision` names types that an operator computes in besides those of its values;
`stress_numbers` draws elements on which faulty arithmetic shows.

A new rule is a function in the table of `exact_integer_rules` or `constant_values`. Do not compute what a runtime might
round otherwise.
"""
