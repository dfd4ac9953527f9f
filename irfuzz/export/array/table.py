"""The operators that have a NumPy lowering, and the emitter of each."""

from __future__ import annotations

from irfuzz.export.source.context import Emitter
from irfuzz.export.source.elementwise import binary, unary, variadic
from irfuzz.export.source.table import SHARED

_OWN: dict[str, Emitter] = {
    "Abs": unary("np.abs"),
    "Acos": unary("acos"),
    "Acosh": unary("acosh"),
    "And": binary("np.logical_and"),
    "Asin": unary("asin"),
    "Asinh": unary("asinh"),
    "Atan": unary("atan"),
    "Atanh": unary("atanh"),
    "BitwiseAnd": binary("np.bitwise_and"),
    "BitwiseNot": unary("np.bitwise_not"),
    "BitwiseOr": binary("np.bitwise_or"),
    "BitwiseXor": binary("np.bitwise_xor"),
    "Ceil": unary("np.ceil"),
    "Cos": unary("cos"),
    "Cosh": unary("cosh"),
    "Equal": binary("np.equal"),
    "Exp": unary("exp"),
    "Floor": unary("np.floor"),
    "IsNaN": unary("np.isnan"),
    "Log": unary("log"),
    "MatMul": variadic("matmul"),
    "Neg": unary("np.negative"),
    "Not": unary("np.logical_not"),
    "Or": binary("np.logical_or"),
    "Reciprocal": unary("reciprocal"),
    "Round": unary("np.rint"),
    "Sigmoid": unary("sigmoid"),
    "Sin": unary("sin"),
    "Sinh": unary("sinh"),
    "Sqrt": unary("sqrt"),
    "Tan": unary("tan"),
    "Tanh": unary("tanh"),
    "Where": variadic("np.where"),
    "Xor": binary("np.logical_xor"),
}

EMITTERS: dict[tuple[str, str], Emitter] = {("", op): emitter for op, emitter in {**SHARED, **_OWN}.items()}
"""Emitter of each (domain, operator)."""
