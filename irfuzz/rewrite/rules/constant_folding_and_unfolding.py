"""Replaces a constant by nodes that compute it, and nodes of known results by a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.convex_regions import same_type
from irfuzz.mutate.editing.mutation_sites import exact_values, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

_D = ir.DataType
_WIDER = {_D.FLOAT: _D.DOUBLE, _D.INT32: _D.INT64, _D.INT8: _D.INT32, _D.UINT8: _D.INT32}
_KINDS = (*_WIDER, _D.DOUBLE, _D.INT64)
MAX_ELEMENTS = 4096
"""Larger constants stay what they are."""


def _small(program: Program, value: ir.Value) -> bool:
    fact = program.tensor(value)
    return fact is not None and fact.dtype in _KINDS and fact.is_static and 0 < (fact.size() or 0) <= MAX_ELEMENTS


def _stored(program: Program, specs: Specs) -> list[str]:
    """Initializers of numbers that decide no shape and no index."""
    exact = exact_values(program)
    return [
        v.name
        for v in program.graph.initializers.values()
        if v.name
        and v.uses()
        and not v.is_graph_input()
        and not v.is_graph_output()
        and v not in exact
        and all(use.node.graph is program.graph for use in v.uses())
        and _small(program, v)
    ]


def _computed_as(inserter: Inserter, array: np.ndarray, kind: _D, choices: Choices) -> tuple[ir.Value, str]:
    """A node, or two, that compute the array's elements to the bit."""
    ways = ["Reshape", "Concat"] if array.ndim and array.size > 1 else ["Reshape"]
    bits = array.reshape(-1).view(f"u{array.itemsize}")
    if (bits == bits[0]).all():
        ways += ["Expand", "ConstantOfShape"]
    if kind in _WIDER:
        ways.append("Cast")
    if array.ndim >= 2:
        ways.append("Transpose")
    way = choices.pick(ways)
    if way == "Concat":
        axis = choices.pick([i for i, size in enumerate(array.shape) if size > 1])
        cut = choices.integer(1, array.shape[axis] - 1)
        parts = np.split(array, [cut], axis)
        return inserter.value("Concat", *(inserter.constant(p.copy(), "part") for p in parts), axis=axis), way
    if way == "Expand":
        return inserter.expand(inserter.constant(array.reshape(-1)[:1].reshape(()), "one"), array.shape), way
    if way == "ConstantOfShape":
        value = ir.tensor(array.reshape(-1)[:1].copy())
        return inserter.value("ConstantOfShape", inserter.ints(array.shape), value=value), way
    if way == "Cast":
        wide = inserter.constant(array.astype(_WIDER[kind].numpy()), "wide")
        return inserter.cast(wide, kind), way
    if way == "Transpose":
        perm = choices.sample(range(array.ndim), array.ndim)
        turned = inserter.constant(np.ascontiguousarray(np.transpose(array, perm)), "turned")
        return inserter.value("Transpose", turned, perm=[perm.index(i) for i in range(array.ndim)]), way
    return inserter.reshape(inserter.constant(array.reshape(-1).copy(), "flat"), array.shape), way


def _compute(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
    value = value_at(program, site)
    array, fact = program.const_array(value), program.tensor(value)
    if array is None or fact is None or site not in _stored(program, specs):
        return Skipped("no constant that could be computed")
    if fact.dtype is _D.FLOAT and np.isnan(array).any():
        return Skipped("the bits of a NaN may change")
    new, way = _computed_as(Inserter(program, next(iter(program.graph))), array, fact.dtype, choices)
    if not same_type(program.fact(value), program.fact(new)):
        raise InvalidProgram(f"value {site!r}: expected {program.fact(value)}, got {program.fact(new)}")
    program.replace_uses(value, new)
    program.prune()
    return f"the initializer {site} is computed by {way}"


def _elements(fact: object) -> np.ndarray | None:
    """What a fact knows of a value, if that is all."""
    if not isinstance(fact, TensorFact) or fact.value is None or fact.dtype not in (_D.INT64, _D.INT32, _D.BOOL):
        return None
    if any(not isinstance(e, (int, bool)) for e in fact.value) or not fact.value:
        return None
    return np.array(fact.value, fact.dtype.numpy()).reshape(fact.static_shape or ())


def _known(program: Program, specs: Specs) -> list[str]:
    """Computed values of which every element is known."""
    return [
        v.name
        for node in program.graph
        if node.op_type != "Constant"
        for v in node.outputs
        if v.name
        and v.uses()
        and not v.is_graph_output()
        and all(use.node.graph is program.graph for use in v.uses())
        and _elements(program.fact(v)) is not None
    ]


def _fold(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
    value = value_at(program, site)
    array = _elements(program.fact(value)) if site in _known(program, specs) else None
    if array is None:
        return Skipped("not all elements are known")
    program.replace_uses(value, Inserter(program, None).constant(array, "known"))
    program.prune()
    return f"the computed {site} is an initializer"


REWRITES: tuple[Rewrite, ...] = (
    Rewrite("compute-constant", Exactness.BITWISE, "initializer -> nodes that compute it of others", _stored, _compute),
    Rewrite("fold-known", Exactness.BITWISE, "sizes and indices that are computed -> initializer", _known, _fold),
)
