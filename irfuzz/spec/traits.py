"""Traits of operators: the properties that ``ops/`` names for oracles, mutators and targets, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from irfuzz.errors import SpecError


@dataclass(frozen=True, slots=True)
class Trait:
    """A property that operators have or lack.

    Attributes:
        meaning: one sentence, as docs/operators.md prints it.
        takes: type of the value that stands with it; ``bool`` if there is none, ``tuple`` for a list.
    """

    meaning: str
    takes: type = bool


TRAITS: Mapping[str, Trait] = MappingProxyType(
    {
        "absolute_error": Trait("Has an absolute error, by its formula or how it is approximated."),
        "adds": Trait("Adds a constant to a computed value: the sum is rounded at the constant's magnitude."),
        "contracts": Trait("Sums products along an inner axis."),
        "copies": Trait("Rounds nothing: what it gives stood in its inputs, but for signs and constants."),
        "data_dependent_shape": Trait("The output shape depends on the elements of any input."),
        "defined_for_nan": Trait("IEEE 754 or plain copying prescribes what it does with NaN and Inf."),
        "discontinuous": Trait("A rounding error in a floating-point input decides between distant results."),
        "discontinuous_indices": Trait("Outputs after the first are positions, which a rounding error moves."),
        "domain_edge": Trait("Gives NaN or Inf beyond an edge: rounding decides on which side of it an input falls."),
        "hides_nan": Trait("May answer NaN with a number, and ONNX does not say whether it does."),
        "intermediate_overflow": Trait("May overflow inside from moderate inputs, depending on the chosen formula."),
        "quantises": Trait("Rounds to integers of few bits: if a fraction is a half, results may differ by one step."),
        "random": Trait("Draws numbers with a generator that ONNX leaves open even if a seed is given."),
        "recurrent": Trait("Repeats its roundings for every step of the sequence."),
        "rounds_to_integers": Trait("Floats become whole numbers, so neighbouring results differ by one step."),
        "saturates": Trait("What was added before it (a mask of -1e9) no longer shows its magnitude behind it."),
        "shape_from_last_input": Trait("The output shape depends on the elements of the last input."),
        "shape_only": Trait("Reads the shape of its input, or whether there is one, so values do not flow through it."),
        "transparent": Trait("Says nothing of a fault and so has no part in its signature."),
        "underflows": Trait("Makes subnormal numbers of ordinary ones."),
    }
)
"""Every trait that a file may name."""

CONTRIBUTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "contracts": ("MultiHeadAttention",),
        "intermediate_overflow": ("BiasGelu", "FastGelu", "QuickGelu"),
        "quantises": (
            *("QAttention", "QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool"),
            *("QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid"),
        ),
    }
)
"""Operators of onnxruntime's own domain, which have no file."""

_WORDS = {bool: "true", int: "an integer", float: "a number", str: "a text", tuple: "a list", dict: "a table"}


def build_traits(tables: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The ``traits`` key of a file: a list of names, or a table of names and values. Raises ``SpecError``."""
    given = tables.get("traits", [])
    if isinstance(given, list):
        given = {str(name): True for name in given}
    if not isinstance(given, dict):
        raise SpecError(f"{where}: traits: expected a list of names or a table of names and values, got {given!r}")
    for name, value in given.items():
        trait = TRAITS.get(name)
        if trait is None:
            raise SpecError(f"{where}: traits: got {name!r}; expected one of {', '.join(sorted(TRAITS))}")
        found = tuple if isinstance(value, list) else type(value)
        if found is not trait.takes or value is False:
            raise SpecError(f"{where}: traits.{name}: expected {_WORDS[trait.takes]}, got {value!r}")
    return MappingProxyType({name: tuple(v) if isinstance(v, list) else v for name, v in sorted(given.items())})


def as_markdown() -> str:
    """The list of ``docs/operators.md``."""
    lines = ["| trait | meaning |", "|---|---|"]
    for name, trait in sorted(TRAITS.items()):
        value = "" if trait.takes is bool else f" = {_WORDS[trait.takes]}"
        lines.append(f"| `{name}`{value} | {trait.meaning} |")
    return "\n".join(lines)
