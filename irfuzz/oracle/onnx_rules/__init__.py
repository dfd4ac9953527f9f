"""Elements that ONNX's rules decide, whoever computes them: a witness that needs no runtime.

What is fed and what is constant is exact. As long as operators only move, compare, choose or convert such elements,
nothing is rounded: a comparison with NaN is false, of equal maxima ArgMax takes the first, Round takes halves to the
even number. A special value decides more: the sum of NaN and anything is NaN, the logarithm of no sum at all is minus
infinity. ``DecidedValues`` follows a program from its inputs and knows such elements; of all others it knows nothing.

An element is *open* if ONNX's text leaves it open (NaN through Relu, Max or ArgMax; NaN as an integer), if it is
rounded (the sum of two fractions), or if it is a subnormal number, which some components take for zero.

The way through the files: ``known_elements`` has the type that rules take and give, ``element_movement``,
``comparison_selection_rules``, ``max_pooling``, ``cast_rules``, ``integer_resize`` and ``nan_inf_arithmetic`` have the
rules, ``rule_table`` has their names, which operators bear as the trait ``decided`` in ``ops/``, and
``rule_propagation`` follows a program. A new rule is a function, one line of the table and one of the operator's file;
it quotes ONNX if its answer is not plain arithmetic, and gives ``None`` for a call that it does not know. It must never
guess: what it says wrongly is a false finding.
"""

from irfuzz.oracle.onnx_rules.known_elements import Elements
from irfuzz.oracle.onnx_rules.rule_propagation import DecidedValues

__all__ = ["DecidedValues", "Elements"]
