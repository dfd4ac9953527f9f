"""How far the nodes that end at one node are from a pattern that optimisers recognise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.value import fact_of
from irfuzz.mutate.patterns.near_misses import siblings
from irfuzz.mutate.patterns.pattern_draft import Sizes, bind, permutation, sizes_of
from irfuzz.mutate.patterns.pattern_file_reader import (
    PERMUTATIONS,
    TYPES,
    Node,
    Number,
    Numbers,
    Operand,
    SubgraphPattern,
)
from irfuzz.spec import has_trait
from irfuzz.spec.constraints.expression_functions import Undefined
from irfuzz.spec.operator_registry import load_specs

if TYPE_CHECKING:
    from irfuzz.ir.program_view import ProgramView
    from irfuzz.spec import OpSpec

MOST = 1
"""How many things may be off."""

_TOLERANCE = 2e-3
"""Relative: a number as half floats hold it is still that number."""


@dataclass(frozen=True, slots=True)
class _State:
    """What stands for what so far.

    Attributes:
        values: of the program, by the pattern's names.
        nodes: of the program, by their places in the pattern.
        off: things that differ.
    """

    values: dict[str, ir.Value]
    nodes: dict[int, ir.Node]
    off: int = 0


def distance(pattern: SubgraphPattern, program: ProgramView, node: ir.Node, most: int = MOST) -> int | None:
    """0 if the pattern, as some optimiser recognises it, ends at a node; 1 with one thing off; ``None`` else.

    One thing is another operator of its kind, element, attribute, operand or element type, a constant that is computed
    or has another shape, a node in between or another reader of an inner value. With ``most`` 0 that is not looked for.

    Args:
        pattern: its last node is compared with ``node``, and so on upwards.
        program: that the node is in; its constants and facts are read.
        node: of any graph of the program.
        most: how many things may be off.
    """
    book = _Book(pattern, program, most)
    best: int | None = None
    for state in book.node(len(pattern.nodes) - 1, node, _State({}, {})):
        off = state.off + book.later(state)
        if off <= most and (best is None or off < best):
            best = off
            if not best:
                break
    return best


class _Book:
    """One pattern against one program, with so many things off at most."""

    def __init__(self, pattern: SubgraphPattern, program: ProgramView, most: int) -> None:
        self._pattern = pattern
        self._most = most
        self._program = program
        self._makers = {name: place for place, n in enumerate(pattern.nodes) for name in n.outputs}

    def _more(self, state: _State) -> _State | None:
        """One more thing is off."""
        return _State(state.values, state.nodes, state.off + 1) if state.off < self._most else None

    def node(self, place: int, node: ir.Node, state: _State) -> Iterator[_State]:
        """Every way in which a node can be that of a place, with what it reads."""
        wanted = self._pattern.nodes[place]
        if place in state.nodes:
            if state.nodes[place] is node:
                yield state
            return
        if node.domain not in ("", "ai.onnx") or node in state.nodes.values():
            return
        other = node.op_type != wanted.op
        if other and (state.off >= self._most or node.op_type not in siblings(wanted.op)):
            return
        started = _State(state.values, {**state.nodes, place: node}, state.off + other)
        given = self._operands(wanted, node)
        yield from self._reads(list(zip(wanted.inputs, given, strict=False)), started)
        if len(given) == 2 == len(wanted.inputs) and has_trait(node, "commutative"):
            yield from self._reads(list(zip(wanted.inputs, given[::-1], strict=True)), started)

    def _operands(self, wanted: Node, node: ir.Node) -> list[Any]:
        """What a node reads, as long as what is wanted; of an older opset, attributes in the place of inputs."""
        spec = _newest(node.op_type)
        given: list[Any] = list(node.inputs)
        for index in range(len(given), len(wanted.inputs)):
            formal = None if spec is None else spec.formal(index)
            attr = None if formal is None else node.attributes.get(formal.name)
            given.append(None if attr is None or attr.is_ref() else attr.value)
        return given

    def _reads(self, pairs: list[tuple[Operand, Any]], state: _State) -> Iterator[_State]:
        if not pairs:
            yield state
            return
        (wanted, given), *rest = pairs
        for found in self._operand(wanted, given, state):
            yield from self._reads(rest, found)

    def _operand(self, wanted: Operand, given: Any, state: _State) -> Iterator[_State]:
        if not isinstance(wanted, str):
            fits = given is None if wanted is None else self._literal(wanted, given)
            after = state if fits else self._more(state)
            if after is not None:
                yield after
        elif not isinstance(given, ir.Value):
            after = self._more(state)
            if after is not None and (given is None or wanted in self._pattern.constants):
                yield after
        elif wanted in state.values:
            after = state if state.values[wanted] is given else self._more(state)
            if after is not None:
                yield after
        elif wanted in self._makers:
            yield from self._made(wanted, given, state)
        else:
            yield _State({**state.values, wanted: given}, state.nodes, state.off)

    def _made(self, name: str, given: ir.Value, state: _State) -> Iterator[_State]:
        """What computes a value, with or without a node in between."""
        place = self._makers[name]
        maker = given.producer()
        if maker is None:
            return
        if given is maker.outputs[min(self._pattern.nodes[place].outputs.index(name), len(maker.outputs) - 1)]:
            for found in self.node(place, maker, state):
                yield _State({**found.values, name: given}, found.nodes, found.off)
        after = self._more(state)
        inner = maker.inputs[0] if maker.inputs else None
        if after is None or inner is None or (before := inner.producer()) is None:
            return
        if before.op_type == self._pattern.nodes[place].op:
            for found in self.node(place, before, after):
                yield _State({**found.values, name: given}, found.nodes, found.off)

    def _literal(self, wanted: Number | Numbers, given: Any) -> bool:
        array = self._array(given)
        if array is None:
            return False
        return isinstance(wanted, Numbers) or _is(array, wanted.value)

    def _array(self, given: Any) -> np.ndarray | None:
        if isinstance(given, ir.Value):
            return self._program.const_array(given)
        return None if given is None else np.asarray(given)

    # ---- what hangs on sizes, and so on the value that enters ------------------------------------

    def later(self, state: _State) -> int:
        """How many more things are off."""
        x = state.values.get("x")
        fact = None if x is None else fact_of(x)
        if not isinstance(fact, TensorFact):
            return self._most + 1
        env: Sizes | None = None
        if fact.shape is not None:
            env = next((e for s in self._pattern.shapes if (e := bind(s, fact.shape)) is not None), None)
        off = int(fact.dtype not in self._pattern.types) + int(env is None)
        env = {**(env or {}), "R": fact.rank}
        for name in self._pattern.constants:
            if name in state.values:
                off += not self._constant(name, state.values[name], env)
        for place, node in state.nodes.items():
            if off > self._most:
                break
            off += self._attributes(self._pattern.nodes[place], node, fact, env)
            off += self._lists(self._pattern.nodes[place], node, env)
        return off + self._readers(state)

    def _constant(self, name: str, given: ir.Value, env: Sizes) -> bool:
        wanted, array = self._pattern.constants[name], self._program.const_array(given)
        if array is None or (not wanted.fill and not _is(array, wanted.value)):
            return False
        for shape in wanted.shapes:
            found = bind(shape, array.shape) or ({} if sizes_of(shape, env) == array.shape else None)
            if found is not None and all(env.get(key, size) == size for key, size in found.items()):
                env.update(found)
                return True
        return False

    def _attributes(self, wanted: Node, node: ir.Node, x: TensorFact, env: Sizes) -> int:
        spec = load_specs().get(node.op_type, self._program.opset)
        named = {attribute.name for attribute in wanted.attrs}
        off = 0
        for attribute in wanted.attrs:
            given = self._attribute(node, attribute.name, spec)
            ways = [_value(way, x, env) for way in attribute.ways]
            off += not any(way is _UNKNOWN or _same(way, given) for way in ways)
        for name, attr in node.attributes.items():
            default = spec.attrs[name].default if spec is not None and name in spec.attrs else None
            formal = spec is not None and any(name == f.name for f in spec.inputs)
            if name in named or formal or attr.is_ref() or name in _AS_INPUTS:
                continue
            off += default is not None and not _same(default, attr.value)
        return off

    def _attribute(self, node: ir.Node, name: str, spec: OpSpec | None) -> Any:
        """A value that is given, by an input of the same name if newer opsets have one, or the default."""
        attr = node.attributes.get(name)
        if attr is not None:
            return None if attr.is_ref() else attr.value
        if spec is None:
            return None
        for place, formal in enumerate(spec.inputs):
            if formal.name == name and place < len(node.inputs):
                array = self._array(node.inputs[place])
                return None if array is None else array.tolist()
        return spec.attrs[name].default if name in spec.attrs else None

    def _lists(self, wanted: Node, node: ir.Node, env: Sizes) -> int:
        off = 0
        for operand, given in zip(wanted.inputs, self._operands(wanted, node), strict=False):
            array = self._array(given) if isinstance(operand, Numbers) else None
            if array is None or not isinstance(operand, Numbers):
                continue
            try:
                found = [e.evaluate(env) for e in operand.items]
            except (Undefined, KeyError):
                continue
            flat = [i for item in found for i in (item if isinstance(item, tuple) else (item,))]
            off += all(type(i) is int for i in flat) and flat != array.reshape(-1).tolist()
        return off

    def _readers(self, state: _State) -> int:
        """Inner values that somebody else reads, too."""
        nodes = set(state.nodes.values())
        inner = [v for name, v in state.values.items() if name in self._makers]
        return sum(v.is_graph_output() or any(user not in nodes for user, _ in v.uses()) for v in inner)


_UNKNOWN = object()

_AS_INPUTS = frozenset({"axes", "split", "starts", "ends", "pads", "value", "min", "max", "k", "ratio"})
"""Attributes that are inputs in newer opsets: they are compared where the pattern has them."""


def _value(way: Any, x: TensorFact, env: Sizes) -> Any:
    if isinstance(way, str):
        if way in PERMUTATIONS:
            return _UNKNOWN if x.rank is None else permutation(way, x.rank)
        return int((x.dtype if way == "T" else TYPES[way]).value) if way == "T" or way in TYPES else way
    if isinstance(way, float):
        return way
    try:
        found = [e.evaluate(env) for e in way] if isinstance(way, tuple) else way.evaluate(env)
    except (Undefined, KeyError):
        return _UNKNOWN
    items = found if isinstance(found, list) else [found]
    return found if all(type(i) is int for i in items) else _UNKNOWN


def _same(wanted: Any, given: Any) -> bool:
    if given is None:
        return False
    if isinstance(given, bytes):
        given = given.decode("utf-8", "replace")
    if isinstance(wanted, bytes):
        wanted = wanted.decode("utf-8", "replace")
    if isinstance(wanted, str) or isinstance(given, str):
        return wanted == given
    if isinstance(given, ir.TensorProtocol):
        return False
    one, other = np.asarray(wanted), np.asarray(given)
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf" or one.size != other.size:
        return False
    return bool(np.allclose(other.reshape(-1), one.reshape(-1), rtol=_TOLERANCE, atol=1e-7))


def _is(array: np.ndarray, value: float) -> bool:
    """Whether all elements are a number, as far as their type can hold it."""
    if not array.size or array.dtype.kind in "OSU":
        return False
    found = array.astype(np.float64)
    return bool(np.allclose(found, value, rtol=_TOLERANCE, atol=1e-7 if abs(value) > 1e-5 else 1e-12))


@lru_cache(maxsize=512)
def _newest(op: str) -> OpSpec | None:
    """The operator at a version at which its parameters are inputs."""
    return load_specs().get(op, 18)
