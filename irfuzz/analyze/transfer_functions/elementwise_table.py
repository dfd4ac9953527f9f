"""The transfer functions of all operators that work on each element alone."""

from __future__ import annotations

from collections.abc import Mapping

from irfuzz.analyze.transfer_functions.analysis_context import Transfer
from irfuzz.analyze.transfer_functions.arithmetic import (
    clip,
    divide,
    extreme,
    modulo,
    multiply,
    neg,
    plus,
    power,
    prelu,
    total,
)
from irfuzz.analyze.transfer_functions.conditions_and_casts import (
    bits,
    cast,
    compare,
    conjunction,
    logical,
    negation,
    where,
)
from irfuzz.analyze.transfer_functions.elementwise_rule_application import elementwise, identity, unary
from irfuzz.analyze.transfer_functions.unary_functions import UNARY

ELEMENTWISE: Mapping[str, Transfer] = {
    **{op: elementwise(unary(op)) for op in UNARY if op not in ("Neg", "Not", "Identity")},
    "Add": elementwise(plus(1.0)),
    "And": elementwise(conjunction),
    "BitShift": elementwise(bits),
    "BitwiseAnd": elementwise(bits),
    "BitwiseNot": elementwise(bits),
    "BitwiseOr": elementwise(bits),
    "BitwiseXor": elementwise(bits),
    "Cast": cast,
    "CastLike": cast,
    "Clip": clip,
    "Div": elementwise(divide),
    "Equal": elementwise(compare("==")),
    "Greater": elementwise(compare(">")),
    "GreaterOrEqual": elementwise(compare(">=")),
    "Identity": identity,
    "Less": elementwise(compare("<")),
    "LessOrEqual": elementwise(compare("<=")),
    "Max": elementwise(extreme(larger=True)),
    "Mean": elementwise(total(mean=True)),
    "Min": elementwise(extreme(larger=False)),
    "Mod": elementwise(modulo),
    "Mul": elementwise(multiply),
    "Neg": elementwise(neg),
    "Not": elementwise(negation),
    "Or": elementwise(logical),
    "PRelu": elementwise(prelu),
    "Pow": elementwise(power),
    "Sub": elementwise(plus(-1.0)),
    "Sum": elementwise(total(mean=False)),
    "Where": elementwise(where),
    "Xor": elementwise(logical),
}
"""Operators that work on each element alone."""
