"""What of an operator's declared undefined behaviour a node can really meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from irfuzz._native import difference
from irfuzz.errors import SpecError
from irfuzz.facts import MAX_KNOWN_ELEMENTS, TensorFact
from irfuzz.ir.inference.graph_facts import fact_of_elements
from irfuzz.oracle.dataflow.ambiguous_resize_coordinates import fractional_length, rounded_coordinate
from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.oracle.numeric.dtype_thresholds import is_float, smallest
from irfuzz.spec import has_trait, trait_values
from irfuzz.spec.constraints.call_check import bindings
from irfuzz.spec.constraints.expression import truth
from irfuzz.spec.constraints.expression_functions import Undefined

Test: TypeAlias = Callable[[FedCall], bool]

_DOUBLE = 2.0**52
"""Whole numbers below this are exact in double precision, and so is whatever their roots round to."""


_BIAS = 8
"""The input of QLinearConv that is its bias, added to sums of int32."""

BROKEN_RULE = "broken_rule"
"""Name of what no operator declares: a call is another than its specification allows, or its elements are."""

BEFORE_A_RUN = frozenset(
    {
        BROKEN_RULE,
        "window_beyond_input",
        "no_spatial_axes",
        "optional_activation",
        "integer_fmod",
        "letter_of_two_sizes",
    }
)
"""Declared names that concern the call itself: all others need elements, so no component meets them on loading."""


def _index_read(call: FedCall) -> bool:
    """Equal values are equal in any order: only who reads places sees it."""
    return any(o in call.used for o in call.node.outputs[1:])


def _shift(call: FedCall) -> bool:
    dtype = call.dtype(call.input(0))
    low, high = call.bounds(1)
    return dtype is None or not (low >= 0 and high < 8 * dtype.itemsize)


def _cast_range(call: FedCall) -> bool:
    source, target = call.dtype(call.input(0)), call.dtype(call.node.outputs[0])
    if source is None or target is None:
        return True
    if not is_float(source) or is_float(target) or target.kind not in "iuV":
        return False
    info: Any = ml_dtypes.iinfo(target)
    low, high = call.bounds(0)
    # NaN is within any bounds of a fact, but special values are looked after elsewhere.
    return not (low > int(info.min) - 1 and high < int(info.max) + 1)


def _cast_text(call: FedCall) -> bool:
    source, target = call.dtype(call.input(0)), call.dtype(call.node.outputs[0])
    return target is None or (target.kind == "O" and (source is None or is_float(source)))


def _zero_divisor(call: FedCall) -> bool:
    dtype = call.dtype(call.input(0))
    if dtype is not None and is_float(dtype):
        return False
    array = call.array(1)
    if array is not None:
        return bool((array == 0).any())
    low, high = call.bounds(1)
    return low <= 0 <= high


def _integer_power(call: FedCall) -> bool:
    dtype = call.dtype(call.input(0))
    return dtype is None or not is_float(dtype)


def _power_beyond(call: FedCall) -> bool:
    """Whether a power of a whole number is beyond its type; one with a fraction's type is rounded in ways not said."""
    exceeds = call.integers.exceeds(call.node)
    return _integer_power(call) if exceeds is None else exceeds


def _root_rounded(call: FedCall) -> bool:
    """Whether a sum of squares of whole numbers may be beyond what a double holds exactly."""
    dtype, fact = call.dtype(call.input(0)), call.program.tensor(call.input(0))
    if dtype is not None and is_float(dtype):
        return False
    terms = None if fact is None else fact.size()
    largest = max(abs(bound) for bound in call.bounds(0))
    return terms is None or terms * largest**2 >= _DOUBLE


def _negative_power(call: FedCall) -> bool:
    return _integer_power(call) and call.bounds(1)[0] < 0


def _low_above_high(call: FedCall) -> bool:
    return call.bounds(1)[1] > call.bounds(2)[0]


def _infinity_without_bound(call: FedCall) -> bool:
    """Whether an infinity may reach the side of a Clip on which no bound is given."""
    attrs = call.program.attrs(call.node)
    low, high = call.bounds(0)
    given = [call.input(place) is not None or attrs.get(name) is not None for place, name in ((1, "min"), (2, "max"))]
    return (low == -np.inf and not given[0]) or (high == np.inf and not given[1])


_OBLIGATORY = frozenset({"relu", "tanh", "sigmoid"})


def _optional_activation(call: FedCall) -> bool:
    names = call.program.attrs(call.node).get("activations") or ()
    return any((n.decode() if isinstance(n, bytes) else str(n)).lower() not in _OBLIGATORY for n in names)


def _letter_of_two_sizes(call: FedCall) -> bool:
    """Whether a letter of an Einsum stands for several sizes, or may if sizes are not known."""
    equation = call.program.attrs(call.node).get("equation", "")
    text = equation.decode() if isinstance(equation, bytes) else str(equation)
    sizes: dict[str, int | None] = {}
    for term, value in zip(text.replace(" ", "").partition("->")[0].split(","), call.node.inputs, strict=False):
        fact = call.program.tensor(value)
        shape = None if fact is None else fact.static_shape
        before, dots, after = term.partition("...")
        if shape is None:
            return True
        letters = [*zip(before, shape, strict=False), *zip(reversed(after), reversed(shape), strict=False)]
        if any(
            sizes.setdefault(letter, size) != size
            for letter, size in (letters if dots else zip(term, shape, strict=False))
        ):
            return True
    return False


def _overflow(size_of: Callable[[int, float], float]) -> Test:
    """True if the exact result is beyond the integer type.

    If that is not known, unless what ``size_of`` bounds, the base-2 logarithm of any result, surely fits. It gets the
    number of elements and the logarithm of the largest magnitude among them.
    """

    def test(call: FedCall) -> bool:
        exceeds = call.integers.exceeds(call.node)
        if exceeds is not None:
            return exceeds
        dtype, fact = call.dtype(call.input(0)), call.program.tensor(call.input(0))
        if dtype is not None and is_float(dtype):
            return False
        terms = None if fact is None else fact.size()
        if dtype is None or terms is None:
            return True
        size = size_of(terms, np.log2(max(1.0, *(abs(b) for b in call.bounds(0)))))
        return bool(size >= 8 * dtype.itemsize - (dtype.kind == "i"))

    return test


def _products_overflow(call: FedCall) -> bool:
    exceeds = call.integers.exceeds(call.node)
    if exceeds is not None:
        return exceeds
    dtype, size = call.dtype(call.input(0)), 0.0
    if dtype is None or is_float(dtype):
        return dtype is None
    for index, value in enumerate(call.node.inputs):
        fact = call.program.tensor(value)
        terms = None if fact is None else fact.size()
        if terms is None:
            return True
        # Every product has one factor of each operand, and there are at most as many as there are combinations.
        size += np.log2(max(1, terms)) + np.log2(max(1.0, *(abs(b) for b in call.bounds(index))))
    return bool(size >= 8 * dtype.itemsize - (dtype.kind == "i"))


def _bias_overflows(call: FedCall) -> bool:
    """Whether the products of bytes that are summed for one element, and a bias of int32, may not fit in 32 bits."""
    weights = call.program.tensor(call.input(3))
    elements = None if weights is None else weights.size()
    if weights is None or not weights.shape or elements is None:
        return True
    low, high = (0.0, 0.0) if call.input(_BIAS) is None else call.bounds(_BIAS)
    # A size that is known is an int, and so all are where the product is.
    terms = elements / max(1, int(weights.shape[0] or 1))  # type: ignore[arg-type]
    return not max(-low, high) + terms * 255.0**2 < 2.0**31


def _repeats(repeated: Callable[[np.ndarray, tuple[int, ...], int], bool]) -> Test:
    """True unless updates are combined, or ``repeated`` says of indices, shape and axis that no place comes twice."""

    def test(call: FedCall) -> bool:
        attrs = call.program.attrs(call.node)
        if attrs.get("reduction", "none") not in ("none", b"none"):
            return False
        indices = call.array(1)
        fact = call.program.tensor(call.input(0))
        shape = None if fact is None else fact.static_shape
        return indices is None or not shape or repeated(indices, shape, int(attrs.get("axis", 0)) % len(shape))

    return test


def _repeated_rows(indices: np.ndarray, shape: tuple[int, ...], _axis: int) -> bool:
    count, depth = math.prod(indices.shape[:-1]), indices.shape[-1]
    if count == 0 or depth == 0:  # no row, or rows that all mean the whole
        return count > 1
    rows = indices.reshape(count, depth) % np.array(shape[:depth])
    return len(np.unique(rows, axis=0)) < len(rows)


def _repeated_along(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> bool:
    ordered = np.sort(indices % shape[axis], axis=axis)
    return bool((np.diff(ordered, axis=axis) == 0).any())


def _region_ends_first(call: FedCall) -> bool:
    """True unless all regions are known, finite, and end where they begin or later."""
    regions = call.array(1)
    if regions is None or not bool(np.isfinite(regions.astype(np.float64)).all()):
        return True
    return not bool((regions[..., 2:] >= regions[..., :2]).all())


def _foreign_letters(call: FedCall) -> bool:
    """True unless all strings are known to be ASCII: constants, what was fed, and numbers as text."""
    array = call.array(0)
    if array is not None:
        texts = (t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in array.ravel().tolist())
        return not all(t.isascii() for t in texts)
    value = call.input(0)
    maker = None if value is None else value.producer()
    source = None if maker is None or not has_trait(maker, "casts") else call.dtype(maker.inputs[0])
    return source is None or source.kind == "O"


def _zero_norm(call: FedCall) -> bool:
    """True unless every norm is known not to be zero, squares that vanish included."""
    array = call.array(0)
    if array is None or not array.size or not array.ndim:
        return array is None
    axis = int(call.program.attrs(call.node).get("axis", -1))
    largest = np.abs(array.astype(np.float64)).max(axis=axis if -array.ndim <= axis < array.ndim else -1)
    return not bool((largest**2 > smallest(array.dtype)).all())


def _equal_scores(call: FedCall) -> bool:
    scores = call.array(1)
    return scores is None or bool((np.diff(np.sort(scores, axis=-1), axis=-1) == 0).any())


def _repeated_indices(call: FedCall) -> bool:
    indices = call.array(1)
    return indices is None or len(np.unique(indices)) < indices.size


def _may_be(test: Callable[[np.ndarray], bool]) -> Test:
    """True unless the first input is known, and the test of it fails."""
    return lambda call: (array := call.array(0)) is None or test(array)


_MASKED = 1e4
"""Magnitude from which an element of a mask may leave nothing of its key, or whatever it is added to."""


def _masked_row(call: FedCall) -> bool:
    """True unless every row of an Attention's mask is known to leave a key, the first one if others see less."""
    mask, lengths = call.array(3), call.input(6)
    if mask is None or lengths is not None or not mask.ndim or not mask.shape[-1]:
        return True
    seen = mask if mask.dtype.kind == "b" else np.abs(mask.astype(np.float64)) < _MASKED
    left = seen[..., 0] if call.program.attrs(call.node).get("is_causal", 0) else seen.any(axis=-1)
    return not bool(left.all())


def _of_nothing(call: FedCall) -> bool:
    """A mean of no elements: certain, for all that are not known to be none have some."""
    fact = call.program.tensor(call.input(0))
    return fact is not None and fact.size() == 0


def _ratio_beyond(call: FedCall) -> bool:
    if call.input(1) is None:
        return not 0 <= float(call.program.attrs(call.node).get("ratio", 0.5)) < 1
    low, high = call.bounds(1)
    return not 0 <= low <= high < 1


def _reflected_beyond(call: FedCall) -> bool:
    """True unless all pads are known to be smaller than their axes."""
    attrs = call.program.attrs(call.node)
    if attrs.get("mode", b"constant") not in ("reflect", b"reflect"):
        return False
    fact = call.program.tensor(call.input(0))
    shape = None if fact is None else fact.static_shape
    pads = np.asarray(attrs["pads"]) if "pads" in attrs else call.array(1)
    axes = np.arange(len(shape or ())) if call.input(3) is None else call.array(3)
    if shape is None or pads is None or axes is None or pads.size != 2 * axes.size:
        return True
    most = np.array(shape, np.int64)[axes] - 1
    return bool((pads.reshape(2, -1) > most).any())


def _no_probability(call: FedCall) -> bool:
    """True unless all are within [0, 1]; what is fed or may be made as NaN stays NaN behind a Clip."""
    low, high = call.bounds(0)
    if not 0 <= low <= high <= 1 or call.array(0) is not None:
        return not 0 <= low <= high <= 1
    fed = (a for a in call.inputs.values() if isinstance(a, np.ndarray) and is_float(a.dtype))
    before = (p.op_type for v in call.used if (p := v.producer()) is not None and p is not call.node)
    return any(difference(a, a).nan_a for a in fed) or not trait_values("makes_nan").keys().isdisjoint(before)


TESTS: Mapping[str, Test] = MappingProxyType(
    {
        "": lambda call: True,
        "all_zero": _may_be(lambda a: not a.any()),
        "bias_overflows": _bias_overflows,
        "cast_out_of_range": _cast_range,
        "equal_scores": _equal_scores,
        "float_to_text": _cast_text,
        "foreign_letters": _foreign_letters,
        "fractional_length": fractional_length,
        "integer_zero_divisor": _zero_divisor,
        "infinity_without_bound": _infinity_without_bound,
        "letter_of_two_sizes": _letter_of_two_sizes,
        "low_above_high": _low_above_high,
        "masked_row": _masked_row,
        "nan_elements": _may_be(lambda a: is_float(a.dtype) and bool(np.isnan(a.astype(np.float64)).any())),
        "negative_exponent": _negative_power,
        "no_elements": _of_nothing,
        "no_probability": _no_probability,
        "not_finite": lambda call: not np.isfinite(call.bounds(0)).all(),
        "optional_activation": _optional_activation,
        "positions_read": _index_read,
        "power_beyond_type": _power_beyond,
        "product_overflows": _overflow(lambda terms, top: terms * top),
        "products_overflow": _products_overflow,
        "ratio_beyond": _ratio_beyond,
        "reflected_beyond": _reflected_beyond,
        "region_ends_first": _region_ends_first,
        "repeated_along_axis": _repeats(_repeated_along),
        "repeated_indices": _repeated_indices,
        "repeated_rows": _repeats(_repeated_rows),
        "root_rounded": _root_rounded,
        "rounded_coordinate": rounded_coordinate,
        "shift_beyond_width": _shift,
        "squares_overflow": _overflow(lambda terms, top: np.log2(max(1, terms)) + 2 * top),
        "sum_overflows": _overflow(lambda terms, top: np.log2(max(1, terms)) + top),
        "zero_norm": _zero_norm,
    }
)
"""Tests that ``[undefined]`` tables name: whether the condition can be met, where facts tell more than expressions."""


def can_be_met(call: FedCall, env: Mapping[str, Any] | None) -> Iterator[str]:
    """Names of the declared undefined behaviours of a node's operator that are not known to be avoided.

    Args:
        call: the node.
        env: names that the expressions of its spec see; ``None`` if nothing is known.
    """
    for declared in call.spec.undefined:
        if declared.when is not None and env is not None:
            try:
                applies = truth(declared.when.evaluate(dict(env)))
            except Undefined:
                applies = None
            if applies is False:
                continue
        if declared.test not in TESTS:
            where = f"{call.spec.op}: undefined.{declared.name}.test"
            raise SpecError(f"{where}: got {declared.test!r}; expected one of {', '.join(TESTS)}")
        if TESTS[declared.test](call):
            yield declared.name
    yield from _broken_rule(call)


def _broken_rule(call: FedCall) -> Iterator[str]:
    """What breaks a rule that nobody may have checked before: a ratio of 1, a zero point of int32 that is fed."""
    if not call.spec.has_overlay:
        return
    attrs = call.program.attrs(call.node)
    facts = [None if v is None else call.program.fact(v) for v in call.node.inputs]
    if any(v is not None and f is None for v, f in zip(call.node.inputs, facts, strict=True)):
        return
    if bindings(call.spec, facts, attrs)[1]:
        yield BROKEN_RULE
        return
    for index, fact in enumerate(facts):
        array = call.array(index)
        if (
            isinstance(fact, TensorFact)
            and array is not None
            and array.size <= MAX_KNOWN_ELEMENTS
            and array.dtype.kind in "iufb"
        ):
            facts[index] = fact_of_elements(fact, array)
    if bindings(call.spec, facts, attrs)[1]:
        yield f"{BROKEN_RULE}_by_elements"
