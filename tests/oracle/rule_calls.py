"""Single rules of ONNX, asked with plain lists, for the tests of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from irfuzz.oracle.onnx_rules.known_elements import Elements, Rule, RuleCall

NAN, INF = np.nan, np.inf
HALF, SINGLE, DOUBLE, INT8, INT64, UINT8 = map(np.dtype, ("f2", "f4", "f8", "i1", "i8", "u1"))
OPEN = None
"""An element that the rule does not decide."""


def elements(value: Any) -> Elements | None:
    """Decided ones; lists are floats, and ``None`` among their numbers is open."""
    if value is None or isinstance(value, Elements):
        return value
    if isinstance(value, np.ndarray):
        return Elements.whole(value)
    given = np.array(value, object)
    sure = np.array([e is not None for e in given.ravel()], bool).reshape(given.shape)
    return Elements(np.where(sure, given, 0.0).astype(np.float64), sure)


def ask(
    rule: Rule,
    *given: Any,
    op: str = "",
    version: int = 18,
    to: np.dtype | None = None,
    more: tuple[Any, ...] = (),
    **attrs: Any,
) -> Any:
    """What a rule gives, as nested lists with ``None`` for open elements; ``None`` if it knows nothing."""
    with np.errstate(all="ignore"):
        found = rule(RuleCall(op, attrs, version, (to, *more)), [elements(g) for g in given])
    if found is None:
        return None
    return told(found) if isinstance(found, Elements) else [told(e) for e in found if e is not None]


def told(found: Elements) -> Any:
    assert found.values.shape == found.decided.shape
    return np.where(found.decided, found.values.astype(object), None).tolist()


def same(found: Any, wanted: Any) -> bool:
    """Whether nested lists are equal; NaN is equal to NaN, and a zero to one of its own sign alone."""
    return repr(np.array(found, object).tolist()) == repr(np.array(wanted, object).tolist())
