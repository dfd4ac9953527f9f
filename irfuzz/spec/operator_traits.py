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
        "activation": Trait(
            "Its place among operators of one input with finite results, which replace each other.", int
        ),
        "adapts": Trait("Mutators insert it to fit a value to the place where it is read."),
        "adds": Trait("Adds the inputs from this one on to a value, and rounds at their magnitude.", int),
        "along_axis": Trait("Treats all lines along its attribute ``axis`` alike, from opset 13 on."),
        "always_valid": Trait("Its result is a usable shape, index or scale whatever elements it reads."),
        "axes_input": Trait("The input that holds axes, which may count from the end.", int),
        "axis_from_end": Trait("Its attribute ``axis`` may count from the end of the first input."),
        "bit_exact": Trait("Every correct component computes it the same to the bit."),
        "body_inputs_from": Trait("The input from which on inputs are those of its body, at the same positions.", int),
        "body_outputs_from": Trait("The output of its body that is the node's first.", int),
        "broadcast_shape": Trait("Broadcasts all inputs to the shape of its output."),
        "broadcasts": Trait("Broadcasts its inputs."),
        "carries": Trait("Inputs whose elements come out unchanged, perhaps moved; all if the list is empty.", tuple),
        "casts": Trait("Converts elements to another type, in which floats out of range are undefined."),
        "channels_from_weights": Trait("How many channels it gives hangs on its second input alone."),
        "chooses": Trait("Rounds nothing, but compares, chooses or steps, so that a rounding before it may decide."),
        "common": Trait("Its place among the operators that most models are made of, the simplest first.", int),
        "commutative": Trait("Two operands may change places."),
        "compares": Trait("Compares two numbers."),
        "contracts": Trait("Sums products along an inner axis."),
        "control_flow": Trait(
            "Runs bodies: a `branch`, or one repeatedly as `loop`, `scan` or `map` of elements.", str
        ),
        "copies": Trait("Rounds nothing: what it gives stood in its inputs, but for signs and constants."),
        "counted_by_rank": Trait(
            "What its first input counts (``Kind``), by its least rank or that of its weights.", dict
        ),
        "data_dependent_shape": Trait("The output shape depends on the elements of any input."),
        "data_input": Trait("The first input that holds data, if it is not the first of all.", int),
        "decided": Trait(
            "Which elements its definition decides: a rule of `irfuzz/oracle/onnx_rules/rule_table.py`.", str
        ),
        "defined_for_infinity": Trait("What it does with infinities follows from their order, while NaN is left open."),
        "defined_for_nan": Trait("IEEE 754 or plain copying prescribes what it does with NaN and Inf."),
        "discontinuous": Trait("A rounding error in a floating-point input decides between distant results."),
        "discontinuous_from": Trait("Outputs from this one on are positions, which a rounding error moves.", int),
        "distance_to_step": Trait(
            "How far from a jump operands are: a function of `irfuzz/oracle/numeric/discontinuity_distance.py`.", str
        ),
        "divides": Trait("Divides by its second input, which must not be 0 if it holds integers."),
        "domain_edge": Trait("Gives NaN or Inf beyond an edge: rounding decides on which side of it an input falls."),
        "drawn_elements": Trait(
            "Elements that inputs may be drawn with: limits, or a rule of "
            "``generate/graph_inputs/operator_input_limits.py``.",
            dict,
        ),
        "elementwise": Trait("Computes each element from one of each input; what is not broadcast is a scalar."),
        "empty_batch_only": Trait("ONNXRuntime takes it without images, but not without channels or places."),
        "exact_inputs": Trait(
            "Inputs whose elements decide shapes, indices or scales; all if the list is empty.", tuple
        ),
        "excess": Trait("How far above 1, its bound, a component computes it, by component and element type.", dict),
        "family": Trait("The family of operators that stand where others stand, and its place in it.", tuple),
        "gathers": Trait("Picks elements at the indices of its second input: any do that are in range."),
        "hides_nan": Trait("May answer NaN with a number, and ONNX does not say whether it does."),
        "incidental": Trait("Has a part in a fault's signature only if nothing else has."),
        "indexes": Trait("Its second input holds indices, which limit the sizes that the data may have."),
        "indices_along_axis": Trait("Its second input holds indices along ``axis``, which may count from the end."),
        "indices_bound_by_sizes": Trait(
            "Its indices are bound by sizes of the data, so that none of these may be a name."
        ),
        "inference_guard": Trait(
            "Without which onnx's inference dies: a function of `irfuzz/ir/inference/crash_guards.py`.", str
        ),
        "integer_forms": Trait("Operators of integers that do what it does with real numbers.", tuple),
        "intermediate_overflow": Trait("May overflow inside from moderate inputs, depending on the chosen formula."),
        "iterates": Trait("Runs its body in turns, each of which takes what the one before it left."),
        "keeps_kind": Trait("Behind it an input is still what it was: elements are moved or computed one by one."),
        "keeps_order": Trait("Keeps all elements in row-major order."),
        "limited_indices": Trait("Reads indices of which any do that are clipped to the right limits."),
        "limits_by_inputs": Trait("Its exact inputs survive a cast: they are limits, not scales or indices."),
        "makes_nan": Trait("May make NaN of ordinary numbers: a test of `irfuzz/oracle/dataflow/masked_nan.py`.", str),
        "moves": Trait("Moves elements and changes none."),
        "nan_by_majority": Trait(
            "What it does with NaN is left open, but all do one thing: who stands alone, or does two, is wrong."
        ),
        "nan_objective": Trait(
            "`name` in `irfuzz/search/nan_inconsistency_fitness.py`: towards NaN, which lies `beyond`.", dict
        ),
        "needs_known_sizes": Trait("ONNX's inference refuses it with unknown sizes, as those in a body are."),
        "neuron_axes": Trait("Axes of its own neurons and of those before it, in its weights.", tuple),
        "no_coverage": Trait("Why it is in no space of COMET's coverage.", str),
        "nonnegative_inputs": Trait("Inputs at these positions hold no negative numbers (variances).", tuple),
        "not_a_layer": Trait("Nothing is learnt by changing the type or shape of its input."),
        "not_a_seed": Trait("No region of nodes begins with it."),
        "probabilities": Trait("Gives probabilities, or their logarithms, of its input, the logits."),
        "quantised": Trait("Takes or gives integers with a scale."),
        "quantises": Trait("Rounds to integers of few bits: if a fraction is a half, results may differ by one step."),
        "random": Trait("Draws numbers with a generator that ONNX leaves open even if a seed is given."),
        "random_in_training": Trait("Draws if its third input says that it trains."),
        "recognised_by_shape": Trait(
            "Optimisers look at the shape of its constants, of which several give the same result."
        ),
        "recurrent": Trait("Repeats its roundings for every step of the sequence."),
        "reduces": Trait("Reduces along ``axes``, an attribute or its second input."),
        "refused_for": Trait(
            "Why valid calls may be refused or read otherwise: a rule of ``mutate/editing/runtime_refusals.py``.", str
        ),
        "refuses_empty": Trait("ONNXRuntime refuses it without elements."),
        "result_range": Trait(
            "Within which bounds its elements lie: a rule of `irfuzz/ir/inference/range_rules.py`.", str
        ),
        "rounds_to_integers": Trait("Floats become whole numbers, so neighbouring results differ by one step."),
        "same_in_slices": Trait("With one input, computes slices exactly as it computes the whole tensor."),
        "samples_at": Trait(
            "Samples at the coordinates in this input: those with few bits behind the point round in no formula.",
            int,
        ),
        "saturates": Trait("What was added before it (a mask of -1e9) no longer shows its magnitude behind it."),
        "selects": Trait("Takes one of several values by a boolean: what jumps is the comparison that gives it."),
        "shader_inexact": Trait(
            "WGSL, the language of WebGPU, allows it an absolute error of 2**-11, or what cancels in its formula."
        ),
        "shape_from_last_input": Trait("The output shape depends on the elements of the last input."),
        "shape_only": Trait("Reads the shape of its input, or whether there is one, so values do not flow through it."),
        "shifts_indices": Trait("Behind it an index may still be one: exporters turn negative indices into others."),
        "sizes_input": Trait("Its second input holds sizes, of which others may have to be multiples."),
        "source": Trait("Makes values of none, or of the shape of one, so that nothing flows through it."),
        "spatial_inputs": Trait("How many of its inputs, of sizes ``N, C, *spatial``, gain an axis together.", int),
        "state_inputs": Trait("Inputs that are what an earlier run left.", tuple),
        "transparent": Trait("Says nothing of a fault and so has no part in its signature."),
        "underflows": Trait("Makes subnormal numbers of ordinary ones."),
        "wrong_inferred_shape": Trait(
            "ONNX infers wrong sizes, so the rule in `irfuzz/ir/inference/shape_rules.py` counts."
        ),
    }
)
"""Every trait that a file may name."""

RUNTIME = "com.microsoft"
"""The domain of onnxruntime's own operators."""

_WORDS = {bool: "true", int: "an integer", float: "a number", str: "a text", tuple: "a list", dict: "a table"}


def build_traits(tables: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The ``traits`` key of a file: a list of names, or a table of names and values.

    Messages begin with the place that is given: the file.

    Returns:
        Values by name, in order of the names; ``True`` for a trait without one.

    Raises:
        SpecError: a name is no trait, or its value is of another type than the trait takes.
    """
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
    """The list of ``docs/operators.md``: a table with a row for each trait, by name."""
    lines = ["| trait | meaning |", "|---|---|"]
    for name, trait in sorted(TRAITS.items()):
        value = "" if trait.takes is bool else f" = {_WORDS[trait.takes]}"
        lines.append(f"| `{name}`{value} | {trait.meaning} |")
    return "\n".join(lines)
