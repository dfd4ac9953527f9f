"""``constant-to-input``: a constant becomes a graph input, which the input generator keeps within valid values."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import InputDomain, set_input_domain
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.dry_run import rehearse
from irfuzz.mutate.editing.mutation_sites import exact_values, value_at
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, INTEGER_LIMITS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import has_trait

MOST_INPUTS = 8
"""A program with so many inputs gets no more."""

MAX_ELEMENTS = 1 << 14
"""Larger constants stay what they are: inputs are drawn and sent for every run."""

MAX_EXACT = 64
"""Constants whose elements must stay as they are become inputs up to this many elements."""

_LARGEST = 1e6
"""Inputs are not drawn beyond this magnitude, whatever the constant held."""

_WHOLE = 1 << 53
"""Largest magnitude of integers that a domain can hold."""


@dataclass(frozen=True, slots=True)
class ConstantToInput:
    """Exchanges an initializer or Constant node for an input that has its type, its shape and a domain.

    Elements that decide shapes, axes or scales stay as they were, but nobody knows them before a run; indices stay
    within the old ones, and free elements within their range.
    """

    context: Context
    name: ClassVar[str] = "constant-to-input"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.5)

    def sites(self, program: Program) -> list[str]:
        """Constants that nodes read and that have 1 to ``MAX_ELEMENTS`` elements; none if there are ``MOST_INPUTS``
        inputs.
        """
        if len(program.graph.inputs) >= MOST_INPUTS:
            return []
        return [value.name for value in program.values() if value.name and _can(program, value)]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Make the input, if every output then still has a known rank; nothing is drawn.

        The domain of the input holds the constant's own elements if shapes, axes or scales depend on them, else the
        range that they had, widened by 1 at both ends if it is a single number.
        """
        value = value_at(program, site)
        tensor = program.constant_of(value)
        if tensor is None or not _can(program, value):
            return Skipped("not a constant that can be an input")
        domain = _domain(program, value, tensor.numpy())
        if isinstance(domain, Skipped):
            return domain
        reason = rehearse(program, self.context.specs, lambda copy: _exchange(copy, site, domain))
        if reason is not None:
            return Skipped(reason)
        name = _exchange(program, site, domain)
        within = f"{domain.low:g} to {domain.high:g}" if domain.exact is None else "its own elements only"
        return f"the constant {site} is the input {name}, {within}"


def _can(program: Program, value: ir.Value) -> bool:
    fact = program.fact(value)
    if not isinstance(fact, TensorFact) or fact.dtype not in CASTABLE or not value.uses() or value.is_graph_output():
        return False
    return 0 < (fact.size() or 0) <= MAX_ELEMENTS and program.constant_of(value) is not None


def _exchange(program: Program, site: str, domain: InputDomain) -> str:
    """The name of the new input."""
    value = value_at(program, site)
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    new = program.add_input(fact.without_value(), "given")
    set_input_domain(new, domain)
    program.replace_uses(value, new)
    program.prune()
    return new.name or ""


def _domain(program: Program, value: ir.Value, array: np.ndarray) -> InputDomain | Skipped:
    """What the input may hold."""
    wide = array.astype(np.float64)
    if array.dtype.kind in "iu" and np.abs(wide).max() > _WHOLE:
        return Skipped("elements that a domain cannot hold")
    exact = exact_values(program)
    if value in exact and not _is_index(value, exact):
        if array.size > MAX_EXACT:
            return Skipped("too many elements that must stay as they are")
        if not np.isfinite(wide).all():
            return Skipped("elements that a domain cannot hold")
        whole = array.dtype.kind != "f" and array.dtype.kind != "V"
        elements = [int(e) for e in array.ravel()] if whole else wide.ravel().tolist()
        return InputDomain(min(elements), max(elements), tuple(elements))
    finite = wide[np.isfinite(wide)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    if low == high and value not in exact:
        # Any elements will do, and different ones show more.
        fact = program.fact(value)
        assert isinstance(fact, TensorFact)
        least, most = INTEGER_LIMITS.get(fact.dtype, (-_LARGEST, _LARGEST))
        low, high = max(low - 1, least), min(high + 1, most)
    return InputDomain(float(np.clip(low, -_LARGEST, _LARGEST)), float(np.clip(high, -_LARGEST, _LARGEST)))


def _is_index(value: ir.Value, exact: Container[ir.Value]) -> bool:
    """True if all readers look up elements that decide no shape."""
    return all(
        has_trait(use.node, "gathers")
        and use.idx == 1
        and use.node.domain in ("", "ai.onnx")
        and not any(o in exact for o in use.node.outputs)
        for use in value.uses()
    )
