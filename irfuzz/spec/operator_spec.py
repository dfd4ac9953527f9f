"""What is known of an operator: the schema's formal part and the overlay's, as frozen data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.facts import Fact, TensorFact
from irfuzz.spec.constraints.dimension_patterns import DimensionPattern
from irfuzz.spec.constraints.expression import Expression

Unusual: TypeAlias = Literal["", "scalar", "empty"]
"""What a drawn call is to have that calls in the wild rarely have."""


@dataclass(frozen=True, slots=True)
class FormalParameter:
    """A formal input or output of an operator's schema.

    Attributes:
        option: ``single``, ``optional`` or ``variadic``.
        types: ONNX type strings, as ``"tensor(float)"`` or ``"seq(tensor(int64))"``.
        type_str: the type variable (``"T"``), or the only type.
        dtypes: element types of the tensors in ``types``, be they in sequences or optionals.
        kinds: which of ``"tensor"``, ``"seq"`` (of tensors) and ``"optional"`` (of either) are among ``types``.
        homogeneous: all items of a variadic formal have one type.
        least: for variadic ones, the smallest number of items.
    """

    name: str
    option: str
    types: frozenset[str]
    type_str: str
    dtypes: frozenset[ir.DataType]
    homogeneous: bool = True
    least: int = 0
    kinds: frozenset[str] = frozenset({"tensor"})


@dataclass(frozen=True, slots=True)
class GeneratorCall:
    """A call of a generator (``irfuzz/spec/sampling/parameter_generators.py``)."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ValueDomain:
    """Where the values of an attribute, a size or an input come from (the tables of ``ops/``).

    ``one_of``, ``at_least``, ``at_most`` and ``len`` limit what is valid; everything else only says what to draw.

    Attributes:
        one_of: the only valid values.
        pick: values to draw (valid, but others may be too).
        bounds: smallest and largest number to draw.
        each: the same for every element of a list (``i`` is its index), or a list of values to draw from.
        length: number of elements of a list.
        value: the only value to draw, computed.
        generate: a named generator and its arguments, for what no expression can say.
        dtype_of: an attribute that is an element type: a portable one of this type variable.
        absent: value that the operator takes if the attribute or input is omitted.
        when: give the attribute or input only if this holds.
        omit: probability of omission if it can be omitted.
        exact: an input is given as a constant of known value, not as a range.
        integer_bounds: for inputs, ``bounds`` if the element type is an integer.
    """

    one_of: tuple[Any, ...] | None = None
    pick: tuple[Any, ...] | None = None
    bounds: tuple[Expression, Expression] | None = None
    each: tuple[Expression, Expression] | tuple[Any, ...] | None = None
    each_is_range: bool = False
    length: Expression | None = None
    value: Expression | None = None
    generate: GeneratorCall | None = None
    dtype_of: str = ""
    absent: Expression | None = None
    when: Expression | None = None
    omit: float = 0.35
    exact: bool = False
    integer_bounds: tuple[Expression, Expression] | None = None
    at_least: Expression | None = None
    at_most: Expression | None = None
    invalid: tuple[Any, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def limits_validity(self) -> bool:
        """Something here can make a value invalid: the rest only says what to draw."""
        return any(e is not None for e in (self.one_of, self.length, self.at_least, self.at_most))


@dataclass(frozen=True, slots=True)
class AttrSpec:
    """An attribute: the schema's part, and the overlay's ``domain`` (``None``: nothing said).

    Attributes:
        type: ``INT``, ``FLOATS``, ``STRING``, ``TENSOR``, ``GRAPH``... as in ``AttributeProto.AttributeType``.
        default: the schema's default as a Python value, or ``None``.
        invalid: values that no component may accept (AUDEE's mutations: 0, negative, too long).
    """

    name: str
    type: str
    required: bool
    default: Any = None
    domain: ValueDomain | None = None

    @property
    def invalid(self) -> tuple[Any, ...]:
        """Deliberately invalid values, from the overlay's ``invalid``; empty if it has none."""
        return self.domain.invalid if self.domain else ()


@dataclass(frozen=True, slots=True)
class Numerics:
    """How rounding enters an operator.

    Attributes:
        kind: ``exact`` (no rounding), ``elementwise`` (correctly rounded arithmetic), ``reduction`` (a sum of ``terms``
            in any order), ``transcendental`` (library function) or ``quantised`` (rounds to integers).
        terms: number of terms that are added up.
        hazards: words for what can go wrong: ``overflow``, ``cancellation``, ``division``, ``domain``, ``tie``...
    """

    kind: str
    terms: Expression | None = None
    hazards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UndefinedBehaviour:
    """A condition under which ONNX leaves the result open, so components may differ.

    Attributes:
        when: it cannot be met if this is false.
        test: nor if the test of this name (``irfuzz/oracle/dataflow/undefined_behaviour.py``) looks at the call and
            finds otherwise.
    """

    name: str
    why: str
    when: Expression | None = None
    test: str = ""


_LIMIT = re.compile(r"(expected at (?:least|most)).*")
_CAME_TO = re.compile(r" = \(?[-\d., ]+\)?(?= elements|$)")


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule of a call: ``where`` is the input or attribute, ``message`` says value, expected and got."""

    kind: str
    where: str
    message: str

    @property
    def rule(self) -> str:
        """The rule alone, without what this call has in its place: equal for all calls that break it."""
        text = self.message.partition(" does not hold")[0].partition(" has no value")[0]
        if self.kind == "shape":
            text = text.rpartition("expected ")[2]
        # The text of a limit and of a length is the same for all calls, what it comes to is not.
        text = _CAME_TO.sub("", _LIMIT.sub(r"\1", text.partition(", got ")[0]))
        return f"{self.where}: {text}" if self.where else text

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True)
class SampledInput:
    """One input of a sampled call.

    Attributes:
        fact: static dtype and shape, with the range and small values that are prescribed; of a sequence or optional
            what holds for the tensors in it.
        low, high: every element must lie in this range, if not ``None``.
        value: the exact value if it is prescribed (axes, shapes, indices).
        is_parameter: a weight: to be an initializer rather than a computed value.
        given: the caller's own input at this position.
        outer: the sequence or optional, if the input is one.
    """

    fact: TensorFact
    low: float | None = None
    high: float | None = None
    value: np.ndarray | None = None
    is_parameter: bool = False
    given: bool = False
    outer: Fact | None = None

    @property
    def whole(self) -> Fact:
        """The fact of the input itself: of the sequence or optional, if it is one, else of the tensor."""
        return self.fact if self.outer is None else self.outer


@dataclass(frozen=True, slots=True)
class SampledCall:
    """A valid call of an operator.

    Attributes:
        attrs: only what differs from an omission.
        inputs: by position; ``None`` is an omitted optional input.
        outputs: how many outputs the node has.
    """

    attrs: dict[str, Any]
    inputs: tuple[SampledInput | None, ...]
    outputs: int = 1


Patterns = tuple[tuple[Expression | None, DimensionPattern], ...]
"""Alternatives for one input: the first whose condition is not false and whose rank fits applies."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """What ``ops/`` says of one version of an operator.

    Attributes:
        patterns: of inputs, by name.
        sizes: domains of names in patterns.
        values: domains of inputs.
        constants: attributes and inputs of other versions, whose ``absent`` value holds in this one.
        rules: conditions of validity, with their text.
        prefer: conditions that sampled calls satisfy besides.
        usual: the same, but for calls that are to be unusual.
        shapes: generators of the shapes of variadic inputs.
        results: patterns of outputs, by name, for operators whose outputs ONNX does not infer.
        outputs: number of outputs of a sampled call.
        counts: fewest and most items of a variadic input in a sampled call.
        present: probability that an optional input is given.
        source: the file.
        sampled: calls can be drawn; false if they need what no draw gives (graphs, types, encoded images).
        open: rules (``Violation.rule``) that ONNX's text does not spell out: who answers a call that breaks one may.
    """

    doc: str
    since: int
    patterns: Mapping[str, Patterns]
    sizes: Mapping[str, ValueDomain]
    values: Mapping[str, ValueDomain]
    constants: Mapping[str, ValueDomain]
    rules: tuple[tuple[str, Expression], ...]
    prefer: tuple[Expression, ...]
    usual: tuple[Expression, ...]
    shapes: Mapping[str, GeneratorCall]
    results: Mapping[str, Patterns]
    outputs: Expression | None
    counts: tuple[int, int]
    present: Mapping[str, float]
    source: Path
    sampled: bool = True
    open: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec:
    """One version of an operator.

    Attributes:
        name: the operator, behind its domain if that is not the default one: ``ai.onnx.ml.Scaler``.
        since: the operator version; it applies from this opset until the next version.
        portable: for each type variable, element types that ONNXRuntime's CPU provider runs without optimisation
            (measured; empty if there is no overlay).
        portable_except: combinations of portable types which it does not run.
        overlay: ``None`` if ``ops/`` says nothing: such an operator is checked by schema only and never sampled.
        traits: what holds for all versions, by name (``irfuzz/spec/operator_traits.py``); ``True`` if a trait takes
            no value.
    """

    op: str
    domain: str
    name: str
    since: int
    deprecated: bool
    inputs: tuple[FormalParameter, ...]
    outputs: tuple[FormalParameter, ...]
    min_inputs: int
    max_inputs: int
    attrs: Mapping[str, AttrSpec]
    type_vars: Mapping[str, frozenset[ir.DataType]]
    overlay: Overlay | None = None
    numerics: Numerics | None = None
    undefined: tuple[UndefinedBehaviour, ...] = ()
    parameters: tuple[str, ...] = ()
    portable: Mapping[str, tuple[ir.DataType, ...]] = field(default_factory=dict)
    portable_except: tuple[Mapping[str, ir.DataType], ...] = ()
    traits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_overlay(self) -> bool:
        """True if ``ops/`` says something of this version."""
        return self.overlay is not None

    @property
    def is_sampled(self) -> bool:
        """True if calls can be drawn: it has an overlay that does not rule that out, and is not deprecated."""
        return self.overlay is not None and self.overlay.sampled and not self.deprecated

    @property
    def is_dense(self) -> bool:
        """True if it takes and gives dense tensors; it may do the same to sequences and optionals."""
        return all("tensor" in f.kinds for f in (*self.inputs, *self.outputs))

    def formal(self, position: int) -> FormalParameter | None:
        """The formal input at a position, the last one again if it is variadic; ``None`` beyond the end."""
        if position < len(self.inputs):
            return self.inputs[position]
        if self.inputs and self.inputs[-1].option == "variadic":
            return self.inputs[-1]
        return None


def full_name(domain: str, op: str) -> str:
    """An operator, behind its domain if that is not the default one: ``Add``, but ``ai.onnx.ml.Scaler``."""
    return op if domain in ("", "ai.onnx") else f"{domain}.{op}"


def split_name(name: str) -> tuple[str, str]:
    """Domain and operator of what ``OpSpec.name`` gives; a colon between them is understood, too.

    ``ai.onnx.ml.Scaler`` gives ``("ai.onnx.ml", "Scaler")`` and ``Add`` gives ``("", "Add")``.
    """
    domain, _, op = name.replace(":", ".").rpartition(".")
    return ("" if domain == "ai.onnx" else domain), op
