"""The operators that have a PyTorch lowering, and the emitter of each."""

from __future__ import annotations

from irfuzz.export.source.emitter_context import Emitter
from irfuzz.export.source.emitter_table import SHARED
from irfuzz.export.source.emitters.elementwise import binary, unary, variadic

_OWN: dict[str, Emitter] = {
    "Acos": unary("torch.acos"),
    "Acosh": unary("torch.acosh"),
    "Asin": unary("torch.asin"),
    "Asinh": unary("torch.asinh"),
    "Atan": unary("torch.atan"),
    "Atanh": unary("torch.atanh"),
    "Ceil": unary("torch.ceil"),
    "Cos": unary("torch.cos"),
    "Cosh": unary("torch.cosh"),
    "Exp": unary("torch.exp"),
    "Floor": unary("torch.floor"),
    "IsNaN": unary("torch.isnan"),
    "Log": unary("torch.log"),
    "Neg": unary("torch.neg"),
    "Not": unary("torch.logical_not"),
    "Reciprocal": unary("torch.reciprocal"),
    "Round": unary("torch.round"),
    "Sigmoid": unary("torch.sigmoid"),
    "Sin": unary("torch.sin"),
    "Sinh": unary("torch.sinh"),
    "Sqrt": unary("torch.sqrt"),
    "Tan": unary("torch.tan"),
    "Tanh": unary("torch.tanh"),
    "And": binary("torch.logical_and"),
    "Equal": binary("torch.eq"),
    "Or": binary("torch.logical_or"),
    "Where": variadic("torch.where"),
    "Xor": binary("torch.logical_xor"),
}

EMITTERS: dict[tuple[str, str], Emitter] = {("", op): emitter for op, emitter in {**SHARED, **_OWN}.items()}
"""Emitter of each (domain, operator)."""
