"""The operators that have a TensorFlow lowering, and the emitter of each."""

from __future__ import annotations

from irfuzz.export.source.emitter_context import Emitter
from irfuzz.export.source.emitter_table import SHARED
from irfuzz.export.source.emitters import strings_and_ngrams
from irfuzz.export.source.emitters.elementwise import binary, unary, variadic
from irfuzz.export.tensorflow import control_flow_nodes

_OWN: dict[str, Emitter] = {
    "Acos": unary("acos"),
    "Acosh": unary("acosh"),
    "And": binary("tf.logical_and"),
    "Asin": unary("asin"),
    "Asinh": unary("asinh"),
    "Atan": unary("atan"),
    "Atanh": unary("atanh"),
    "Ceil": unary("tf.math.ceil"),
    "Cos": unary("cos"),
    "Cosh": unary("cosh"),
    "Equal": binary("tf.equal"),
    "Exp": unary("exp"),
    "Floor": unary("tf.floor"),
    "If": control_flow_nodes.if_,
    "IsNaN": unary("tf.math.is_nan"),
    "Log": unary("log"),
    "Loop": control_flow_nodes.loop,
    "MatMul": variadic("matmul"),
    "Neg": unary("neg"),
    "Not": unary("tf.logical_not"),
    "Or": binary("tf.logical_or"),
    "Reciprocal": unary("reciprocal"),
    "Round": unary("tf.round"),
    "SequenceAt": control_flow_nodes.sequence_at,
    "Sigmoid": unary("sigmoid"),
    "Sin": unary("sin"),
    "Sinh": unary("sinh"),
    "Sqrt": unary("sqrt"),
    "RegexFullMatch": strings_and_ngrams.regex_full_match,
    "StringConcat": binary("string_concat"),
    "StringNormalizer": strings_and_ngrams.string_normalizer,
    "StringSplit": strings_and_ngrams.string_split,
    "Tan": unary("tan"),
    "Tanh": unary("tanh"),
    "Where": variadic("tf.where"),
    "Xor": binary("tf.math.logical_xor"),
}

EMITTERS: dict[tuple[str, str], Emitter] = {("", op): emitter for op, emitter in {**SHARED, **_OWN}.items()}
"""Emitter of each (domain, operator)."""
