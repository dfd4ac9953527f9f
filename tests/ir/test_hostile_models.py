"""Models that were made to do harm are mutated or refused in one line (benchmarks/damaged_models.py runs thousands)."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from benchmarks.damaged_models import as_bytes
from benchmarks.hostile_models import built, texts, wide
from benchmarks.hostile_sizes import hostile
from irfuzz.errors import InvalidProgram
from irfuzz.facts import SequenceFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.drawn_constant_limit import MOST_DRAWN, drawable
from irfuzz.mutate.mutation_engine import why_not_mutated

MODELS = hostile()

REFUSED = {
    "a function that calls itself": "calls itself",
    "two functions that call each other": "calls itself",
    "forty doublings": "stands for about 10^12 nodes",
    "Tile beyond int64": "the largest int64",
    "an opset of 2^62": "expected at most 2147483647",
    "nothing": "empty",
    "rubbish": "not an ONNX model",
    "three thousand graphs in one another": "protobuf cannot read it",
}
"""What is said of those that no mutant can be made of; the others are valid, however large what they compute."""


@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_is_mutated_or_refused_in_one_line(name: str) -> None:
    told = ""
    try:
        as_bytes(MODELS[name])
    except InvalidProgram as error:
        told = str(error)
    assert "\n" not in told
    if name in REFUSED:
        assert REFUSED[name] in told


BUILT = dict(built())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("five hundred functions in one another", "lie in one another 500 deep"),
        ("two hundred functions in branches of one another", "lie in one another 399 deep"),
        ("a function that calls itself in a branch", "calls itself"),
        ("a tensor of no element and many sides", "expected at most 288230376151711744 without those of 0"),
        ("a tensor of less than nothing", "negative size"),
    ],
)
def test_what_no_command_can_hold_is_refused(name: str, why: str) -> None:
    with pytest.raises(InvalidProgram, match=why):
        as_bytes(BUILT[name])


def test_a_body_is_asked_for_its_sizes_too() -> None:
    """Inlined by one edit, it gave the next one a constant of 60 GiB to draw."""
    program = Program.from_bytes(dict(texts())["an If around much"])
    assert why_not_mutated(program) == f"Expand computes 'u' with {90_000**2} elements; at most {1 << 29} are held"


@pytest.mark.parametrize(("count", "why"), [(4096, ""), (4097, "Sum has 4097 inputs; at most 4096 are edited")])
def test_a_node_of_many_inputs_is_left_alone(count: int, why: str) -> None:
    assert why_not_mutated(Program.from_proto(wide("Sum", count))) == why


def test_parts_of_a_sequence_are_counted_and_not_listed() -> None:
    program = Program.from_bytes(dict(texts())["SplitToSequence of many"])
    (found,) = [f for v in program.graph.all_nodes() if isinstance(f := program.fact(v.outputs[0]), SequenceFact)]
    assert found.length == 100_000_000


@pytest.mark.unit
def test_constants_are_drawn_up_to_a_size() -> None:
    assert drawable((MOST_DRAWN,)) == (MOST_DRAWN,)
    assert drawable((0, 2**40)) == (0, 2**40)
    with pytest.raises(InvalidProgram, match="at most 16777216 are drawn"):
        drawable((MOST_DRAWN // 2 + 1, 2))


SCAN = (
    """y{} = Scan <num_scan_inputs = {}, body = b (float[3] s, float[4] e) => (float[3] t) {{ t = Relu(s) }}> (s, x)"""
)

CONTRADICTIONS = {
    "y = Transpose <perm = [1]> (x)": "perm is [1]; expected each of the 2 axes once",
    "y = Transpose <perm = [1, 1]> (x)": None,
    SCAN.format("", 0): "num_scan_inputs is 0; expected 1 to 2",
    SCAN.format("", 3): "num_scan_inputs is 3; expected 1 to 2",
    SCAN.format(", z", 1): "2 outputs, but its body gives 1",
    SCAN.format("", 1).replace("<num", "<scan_input_axes = [0, 0], num"): "scan_input_axes has 2 axes; expected 1",
}
"""What ONNX's own inference lets pass or finds too late, and what is said of it."""


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_what_contradicts_itself_is_refused(text: str) -> None:
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[3, 4] x) => (y) <float[3] s = {1, 2, 3}>'
    model = onnx.parser.parse_model(f"{head} {{ {text} }}").SerializeToString()
    with pytest.raises(InvalidProgram) as told:
        as_bytes(model)
    assert (CONTRADICTIONS[text] or "") in str(told.value)


def test_a_scan_without_contradiction_is_read() -> None:
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[3, 4] x) => (float[3] y) <float[3] s = {1, 2, 3}>'
    model = onnx.parser.parse_model(f"{head} {{ {SCAN.format('', 1)} }}").SerializeToString()
    assert as_bytes(model) == "mutated"
