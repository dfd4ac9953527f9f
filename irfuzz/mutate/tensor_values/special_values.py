"""``special-values``: feeds NaN, infinities, -0, denormals or extremes to a layer (COMET's SpecialI, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values, is_exact, layer_nodes, main_uses, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, INTEGER_LIMITS, runs
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import with_trait

_FEW = 3
"""At most this many elements become special, unless all do."""

FLOAT_SPECIALS = (
    "nan",
    "+inf",
    "-inf",
    "-0",
    "smallest denormal",
    "largest finite",
    "-largest finite",
    "smallest normal",
)
_WAYS = (("Where", 0, True), ("Add", 0, False), ("Max", 0, True), ("Min", 0, True), ("Mul", 1, False))
"""Operators that bring special elements in, what stands beside these, and whether integers come through as they are."""

INTEGER_SPECIALS = ("largest", "smallest", "0", "-1")


@dataclass(frozen=True, slots=True)
class SpecialValues:
    """Replaces elements of a weight, or merges a constant with special elements into a computed value."""

    context: Context
    name: ClassVar[str] = "special-values"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.5,
        papers=(
            PublishedOperator(
                "comet", 8, "SpecialI", "Special Input", note="also -0, denormals, extremes, and single elements"
            ),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Inputs of layers whose elements are free and of which there are some; constants and computed values, each
        once.
        """
        exact = exact_values(program)
        found: dict[str, None] = {}
        for node in layer_nodes(program, self.context.specs):
            for index, value in enumerate(node.inputs):
                if value is None or not value.name or value in exact:
                    continue
                fact = program.fact(value)
                if (
                    isinstance(fact, TensorFact)
                    and fact.dtype in CASTABLE
                    and not is_exact(node, index, fact.dtype)
                    and fact.size() != 0
                ):
                    found[value.name] = None
        return list(found)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw which number, how many elements (one to three, or all), and how it gets in.

        A constant is replaced by one with special elements. A computed value passes through Add, Mul, Max or another
        operator together with a constant that has them, in front of its first reader in the main graph. Booleans are
        skipped.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        uses = main_uses(program, value)
        if not uses:
            return Skipped("no reader in the main graph")
        if fact.dtype not in CASTABLE or fact.dtype is ir.DataType.BOOL:
            return Skipped(f"no special values of {fact.dtype.name}")
        floating = fact.dtype.is_floating_point()
        kind = self.context.prefer(
            choices, FLOAT_SPECIALS if floating else INTEGER_SPECIALS, lambda k: ("special", k, uses[0][0].op_type)
        )
        special = special_number(fact.dtype, kind)
        tensor = program.constant_of(value)
        if tensor is not None:
            array = np.array(tensor.numpy())
            for place in _places(array.size, choices):
                array.reshape(-1)[place] = special
            new = Inserter(program, uses[0][0]).constant(array, "special")
            program.replace_uses(value, new)
            program.prune()
            return f"{kind} in the constant {site}"
        specs, opset = self.context.specs, program.opset
        ways = [w for w in _WAYS if (floating or w[2]) and runs(specs, w[0], opset, fact.dtype)]
        if not ways:
            return Skipped(f"no operator puts special values into {fact.dtype.name}")
        way, neutral, _ = choices.pick(ways)
        shape = [d if type(d) is int else 1 for d in fact.shape or ()]
        size = int(np.prod(shape, dtype=np.int64))
        inserter = Inserter(program, uses[0][0])
        array = np.full(shape, neutral, fact.dtype.numpy())
        mask = np.zeros(shape, np.bool_)
        for place in _places(size, choices):
            array.reshape(-1)[place] = special
            mask.reshape(-1)[place] = True
        if way in with_trait("data_input"):
            result = inserter.value(way, inserter.constant(mask, "mask"), inserter.constant(array, "special"), value)
        else:
            result = inserter.value(way, value, inserter.constant(array, "special"))
        program.replace_uses(value, result, users=uses)
        return f"{kind} through {way} into {site}"


def _places(size: int, choices: Choices) -> list[int]:
    """Which elements become special: a few, or all."""
    if size == 0:
        return []
    if choices.boolean(0.1):
        return list(range(size))
    return [choices.index(size) for _ in range(choices.integer(1, min(_FEW, size)))]


def special_number(dtype: ir.DataType, kind: str) -> Any:
    """The named special number as a NumPy scalar of an element type.

    Args:
        dtype: a float or integer type.
        kind: one of ``FLOAT_SPECIALS`` for floats, of ``INTEGER_SPECIALS`` for integers; ``-1`` is 0 for those without
            a sign.
    """
    numpy_type = dtype.numpy()
    if dtype in INTEGER_LIMITS:
        low, high = INTEGER_LIMITS[dtype]
        number = {"largest": high, "smallest": low, "0": 0, "-1": max(low, -1)}[kind]
        return np.array(number).astype(numpy_type)[()]
    info = ml_dtypes.finfo(numpy_type)
    numbers = {
        "nan": np.nan,
        "+inf": np.inf,
        "-inf": -np.inf,
        "-0": -0.0,
        "smallest denormal": info.smallest_subnormal,
        "largest finite": info.max,
        "-largest finite": info.min,
        "smallest normal": info.smallest_normal,
    }
    return np.array(numbers[kind]).astype(numpy_type)[()]
