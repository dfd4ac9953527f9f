"""What the elements of an input mean: pixels, masks, positions, rates, states; its readers say it, or else its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.graph_input_limits import GraphInputLimits
from irfuzz.generate.input_planning.element_flow import Flow
from irfuzz.generate.input_planning.open_axes import inputs_of
from irfuzz.ir.input_domain import InputDomain, input_domain
from irfuzz.ir.program import Program
from irfuzz.spec import has_trait, names_input, trait_values, with_trait

MOST_FOLLOWED = 200
"""Calls that are looked at behind one input."""

SMALL = 0.1
"""How far from zero the elements of states are drawn."""

RATES = (16000.0, 8000.0)
"""Sampling rates that models of sounds know."""


@dataclass(frozen=True, slots=True)
class InputRole:
    """What an input's elements may be.

    Attributes:
        about: in words, for messages.
        domain: their range and order; ``None`` if ``choices`` say all.
        choices: values of an input with one element, the likeliest first.
        length: the elements are sizes of the longest axis of the other inputs.
        state: what an earlier run left.
    """

    about: str
    domain: InputDomain | None = None
    choices: tuple[float, ...] = ()
    length: bool = False
    state: bool = False


@dataclass(slots=True)
class _Reads:
    """What reads an input, as far as its elements arrive there unchanged.

    Attributes:
        calls: node and position.
    """

    calls: list[tuple[ir.Node, int]] = field(default_factory=list["tuple[ir.Node, int]"])

    def at(self, *ops: str) -> Iterator[tuple[ir.Node, int]]:
        return ((node, index) for node, index in self.calls if node.op_type in ops)


def roles_of(program: Program) -> dict[str, InputRole]:
    """The roles of inputs that have one, by name; those whose metadata says something already have none. Readers and
    names are asked; the first rule that finds something counts.
    """
    found: dict[str, InputRole] = {}
    flow = Flow(program)
    for value in inputs_of(program):
        fact = program.fact(value)
        if input_domain(value) is not None or not isinstance(fact, TensorFact):
            continue
        reads = _reads_of(flow, value)
        role = next((role for rule in _RULES if (role := rule(program, value, fact, reads)) is not None), None)
        role = role or _ids(program, flow, value, fact)
        if role is not None:
            found[value.name or ""] = role
    return found


def _reads_of(flow: Flow, value: ir.Value) -> _Reads:
    def passes(node: ir.Node, index: int) -> bool:
        return has_trait(node, "moves") and names_input("carries", node.op_type, index)

    return _Reads(list(flow.calls(value, passes, MOST_FOLLOWED)))


def _other(program: Program, node: ir.Node, index: int) -> np.ndarray | None:
    """The constant on the other side of a call of two inputs."""
    value = node.inputs[1 - index] if len(node.inputs) == 2 and index < 2 else None
    array = None if value is None else program.const_array(value)
    return array if array is not None and array.size and array.dtype.kind in "iufb" else None


def _one_element(fact: TensorFact) -> bool:
    return all(d == 1 for d in fact.shape or ())


def _mask(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """``(1 - mask) * -10000``, a comparison with 0, a cast to a truth value, or a name."""
    if (fact.rank or 0) < 2 or fact.dtype is ir.DataType.STRING:
        return None
    named = re.search(r"mask", value.name or "", re.IGNORECASE) is not None
    shown = False
    for node, index in reads.at("Sub"):
        other = _other(program, node, index)
        shown = shown or (index == 1 and other is not None and other.size == 1 and float(other.flat[0]) == 1.0)
    if fact.dtype.is_integer():
        shown = shown or any(_to_bool(node) for node, _ in reads.at("Cast"))
    else:
        shown = False  # of floats, 1 - x says little: gates compute it
    if not shown and not named:
        return None
    # One place at most is seen from each place of a square mask, or all of them; a prefix of ones is right for both.
    return InputRole("a mask", InputDomain(0, 1, order="prefix"))


def _to_bool(node: ir.Node) -> bool:
    attr = node.attributes.get("to")
    return isinstance(attr, ir.Attr) and not attr.is_ref() and attr.as_int() == ir.DataType.BOOL


def _positions(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    if not fact.dtype.is_integer() or not re.search(r"position|pos_id|cache_pos", value.name or "", re.IGNORECASE):
        return None
    return InputRole("positions", InputDomain(0, float(1 << 20), order="ascending"))


def _rate(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """One element that is compared with constants: those, and for a rate the other usual ones."""
    if not _one_element(fact) or not fact.dtype.is_integer():
        return None
    compared = [
        float(number)
        for node, index in reads.at(*with_trait("compares"))
        if (other := _other(program, node, index)) is not None and other.size == 1
        for number in other.flat
    ]
    named = re.fullmatch(r"sr|fs|.*(sampl\w*|frame)_?rate.*|rate", value.name or "", re.IGNORECASE) is not None
    if named or any(number in RATES for number in compared):
        return InputRole("a sampling rate", choices=tuple(dict.fromkeys([*(c for c in compared if c > 999), *RATES])))
    if not compared:
        return None
    more = [number + 1 for number in compared]
    return InputRole("compared with constants", choices=tuple(dict.fromkeys([*compared, *more])))


def _length(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """A number, or one a sample, that is compared with the places of an axis, or called so."""
    if not fact.dtype.is_integer() or (fact.rank or 0) > 1 or fact.dtype.bitwidth < 32:
        return None
    counted = any(
        (other := node.inputs[1 - index]) is not None
        and (producer := _source(other)) is not None
        # Nothing else gives the places of an axis.
        and producer.op_type == "Range"
        # Equal finds one place and no length.
        for node, index in reads.at(*with_trait("compares") - {"Equal"})
    )
    if counted or re.search(r"len(gth)?s?(\b|_|$)", value.name or "", re.IGNORECASE):
        return InputRole("a length", length=True)
    return None


def _source(value: ir.Value) -> ir.Node | None:
    """What computes a value, before its elements are moved or cast."""
    node = value.producer()
    while node is not None and has_trait(node, "moves") and node.inputs and node.inputs[0] is not None:
        node = node.inputs[0].producer()
    return node


def _classes(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """Integers that are compared with a list of constants for equality: a one-hot code that an exporter spelled out."""
    if not fact.dtype.is_integer():
        return None
    for node, index in reads.at("Equal"):
        other = _other(program, node, index)
        if other is not None and other.size > 2 and other.dtype.kind in "iu" and other.min() < other.max():
            return InputRole("compared with constants", InputDomain(float(other.min()), float(other.max())))
    return None


def _threshold(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """One float that is compared with a list of constants lies among them."""
    if not _one_element(fact) or not fact.dtype.is_floating_point():
        return None
    for node, index in reads.at(*with_trait("compares")):
        other = _other(program, node, index)
        if other is not None and other.size > 1 and np.isfinite(other).all() and other.dtype.kind in "iuf":
            return InputRole("compared with constants", InputDomain(float(other.min()), float(other.max())))
    return None


def _pixels(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """Divided by 255, or by something of its size, or with a mean of that size taken off."""
    if (fact.rank or 0) < 2 or fact.dtype in (ir.DataType.STRING, ir.DataType.BOOL):
        return None
    for node, index in reads.calls:
        rule = _PREPROCESSING.get(node.op_type)
        other = None if rule is None else _other(program, node, index)
        if rule is None or other is None or other.dtype.kind == "b":
            continue
        most = rule(index, other, float(np.abs(other.astype(np.float64)).mean()))
        if most is not None:
            return InputRole(f"pixels from 0 to {most}", InputDomain(0, most))
    return None


def _divided(index: int, other: np.ndarray, size: float) -> int | None:
    return 255 if index == 0 and (250 <= size <= 260 or 120 <= size <= 135) else None


def _multiplied(index: int, other: np.ndarray, size: float) -> int | None:
    return 255 if size and 250 <= 1 / size <= 260 else None


def _shifted(index: int, other: np.ndarray, size: float) -> int | None:
    if index == 0 and 90 <= size <= 140:
        return 255
    return 1 if index == 0 and 0.35 <= size <= 0.55 and other.size == 3 else None  # a number a colour


# How exporters write the first steps of preprocessing: each of the three is read in its own way.
_PREPROCESSING = {"Div": _divided, "Mul": _multiplied, "Sub": _shifted}


_KEPT = re.compile(r"state|hidden|past|cache|mem|key|value|conv|(^|_)[hc](_?\d+|n|_in|_prev)?$", re.IGNORECASE)
"""Names of what one run leaves for the next."""


def _state(program: Program, value: ir.Value, fact: TensorFact, reads: _Reads) -> InputRole | None:
    """The initial state of a recurrent operator, or a tensor that an output of like name and shape feeds back."""
    if not fact.dtype.is_floating_point() or (fact.rank or 0) < 2:
        return None
    called = _KEPT.search(value.name or "") is not None
    states = trait_values("state_inputs")
    recurrent = any(index in states[node.op_type] for node, index in reads.at(*states))
    if recurrent or (called and any(_feeds_back(value, fact, program, out) for out in program.graph.outputs)):
        return InputRole("a state", InputDomain(-SMALL, SMALL), state=True)
    return None


def _feeds_back(value: ir.Value, fact: TensorFact, program: Program, out: ir.Value) -> bool:
    other = program.fact(out)
    if not isinstance(other, TensorFact) or other.dtype != fact.dtype or other.rank != fact.rank:
        return False
    pairs = zip(fact.shape or (), other.shape or (), strict=True)
    sizes = all(not isinstance(a, int) or not isinstance(b, int) or a == b for a, b in pairs)
    return sizes and bool(_stems(value.name or "") & _stems(out.name or ""))


def _stems(name: str) -> set[str]:
    """What is left of a name without the words for before and after, and perhaps without an ``n`` at its end."""
    plain = re.sub(r"past_key_values|present|past|new|next|prev|initial|init|output|input|out|[_\W]", "", name)
    return {plain, re.sub(r"[nN]$", "", plain)} - {""}


def _ids(program: Program, flow: Flow, value: ir.Value, fact: TensorFact) -> InputRole | None:
    """Integers that, whatever is added to them, become indices of a table, and that nothing else limits."""
    if not fact.dtype.is_integer() or GraphInputLimits(program, {}).of(value) is not None:
        return None
    for node, index in flow.calls(value, lambda node, index: has_trait(node, "shifts_indices"), MOST_FOLLOWED):
        # The only one of those that look up rows whose indices are drawn one by one.
        table = program.tensor(node.inputs[0]) if node.op_type == "Gather" and index == 1 else None
        axis = node.attributes.get("axis")
        size = _size(table, axis.as_int() if isinstance(axis, ir.Attr) and not axis.is_ref() else 0)
        if size:
            return InputRole("indices of a table", InputDomain(0, size - 1))
    return None


def _size(fact: TensorFact | None, axis: int) -> int | None:
    size = fact.shape[axis] if fact is not None and fact.shape and -len(fact.shape) <= axis < len(fact.shape) else None
    return size if isinstance(size, int) else None


def unlimited(program: Program, roles: Collection[str]) -> frozenset[str]:
    """Inputs of integers that nothing is known of, so that only a run tells whether those that are drawn will do.

    Args:
        program: it is not changed.
        roles: names of inputs whose meaning is known.
    """
    limits = GraphInputLimits(program, {})
    return frozenset(
        value.name or ""
        for value in inputs_of(program)
        if value.name not in roles
        and isinstance(fact := program.fact(value), TensorFact)
        and fact.dtype.is_integer()
        and fact.dtype.bitwidth > 8
        and input_domain(value) is None
        and limits.of(value) is None
    )


_RULES: tuple[Callable[[Program, ir.Value, TensorFact, _Reads], InputRole | None], ...] = (
    _mask, _positions, _rate, _length, _classes, _threshold, _state, _pixels,
)  # fmt: skip
"""The first that says something counts."""
