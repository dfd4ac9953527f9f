"""Sequences and optionals among the inputs of a call, and the tensors in them."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact, tensors_in
from irfuzz.spec.operator_spec import FormalParameter


def type_text(fact: Fact | None) -> str | None:
    """A type as schemas spell it (``"seq(tensor(float))"``), ``None`` if it is not known.

    Shapes are no part of it; maps and sparse tensors give ``None``.
    """
    if isinstance(fact, TensorFact):
        return None if fact.dtype is ir.DataType.UNDEFINED else f"tensor({fact.dtype.name.lower()})"
    if isinstance(fact, SequenceFact | OptionalFact):
        inner = type_text(fact.elem)
        return inner and f"{'seq' if isinstance(fact, SequenceFact) else 'optional'}({inner})"
    return None


def kinds_text(formal: FormalParameter) -> str:
    """What a formal input takes, in words for messages: ``a tensor or a sequence``."""
    words = {"tensor": "a tensor", "seq": "a sequence", "optional": "an optional"}
    return " or ".join(text for kind, text in words.items() if kind in formal.kinds) or "another type"


def wrong_kind(formal: FormalParameter, fact: Fact) -> str | None:
    """Why a value cannot be an input, looking at everything but the element type; ``None`` if it can.

    It is ``None`` too if too little is known of the value's type.

    Args:
        formal: the input.
        fact: of the value, be it a tensor, a sequence or an optional.
    """
    text, elem = type_text(fact), tensors_in(fact)
    if text is None or elem is None or not formal.kinds or text in formal.types:
        return None
    if elem.dtype not in formal.dtypes and text.partition("(")[0] in formal.kinds | {"tensor"}:
        return None  # the element type alone may be what is wrong
    return f"expected {kinds_text(formal)}, got {'a tensor' if fact is elem else text}"


def always_nested(formal: FormalParameter) -> bool:
    """True if an input takes no tensor, so that a drawn one is a sequence or an optional."""
    return bool(formal.kinds) and "tensor" not in formal.kinds


def outer_of(formal: FormalParameter, fact: TensorFact, items: Any) -> Fact | None:
    """What is drawn around tensors of one fact: a sequence of ``items`` of them, an optional, or nothing.

    Args:
        formal: the input; nothing (``None``) is drawn around it if it takes a tensor.
        fact: holds for each tensor.
        items: length of a sequence.
    """
    if not always_nested(formal):
        return None
    return SequenceFact(fact, items) if "seq" in formal.kinds else OptionalFact(fact)
