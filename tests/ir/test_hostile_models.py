"""Models that were made to do harm are mutated or refused in one line (benchmarks/damaged_models.py runs thousands)."""

from __future__ import annotations

import onnx
import onnx.helper
import onnx.parser
import pytest

from benchmarks.damaged_models import as_bytes
from benchmarks.hostile_models import built, texts, wide
from benchmarks.hostile_sizes import hostile
from irfuzz.errors import InvalidProgram
from irfuzz.facts import SequenceFact
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.checked_tensors import MOST_DIMENSIONS
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


LEAST, MOST = -(2**63), 2**63 - 1

UNHOLDABLE = {
    f"int64 a = {{{LEAST}}}, int64 b = {{{MOST}}}, int64 d = {{1}}": "y = Range(a, b, d)",
    f"int64 a = {{{MOST}}}, int64 b = {{{LEAST}}}, int64 d = {{-7}}": "y = Range(a, b, d)",
    "int64[2] r = {4611686018427387904, 4}": "e = Slice(s, z, z) t = Tile(e, r) y = Shape(t)",
}


@pytest.mark.parametrize("tensors", UNHOLDABLE)
def test_sizes_beyond_what_numpy_and_python_count_are_read(tensors: str) -> None:
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (y)'
    more = "int64[1] z = {0}, float[1, 1] s = {1}"
    text = f"{head} <{more}, {tensors}> {{ {UNHOLDABLE[tensors]} }}"
    Program.from_bytes(onnx.parser.parse_model(text).SerializeToString())


def test_no_mutant_is_made_of_a_tensor_without_elements_and_with_a_long_side() -> None:
    head = '<ir_version: 8, opset_import: ["": 17]> g '
    text = head + "(float[0, {}] x) => (float[0, {}] y) {{ y = Neg(x) }}"
    long, short = (onnx.parser.parse_model(text.format(n, n)).SerializeToString() for n in (2**26 + 1, 2**26))
    assert why_not_mutated(Program.from_bytes(long)) == f"input 'x' has {2**26 + 1} elements; at most {2**26} are made"
    assert why_not_mutated(Program.from_bytes(short)) == ""


def _if(*outputs: str, function: bool = False) -> bytes:
    """An If with branches that give as much as it does, or that refers to a function's parameter for them."""
    value = onnx.helper.make_tensor_value_info("x", 1, [2])
    results = [onnx.helper.make_tensor_value_info(f"r{name}", 1, [2]) for name in outputs]
    same = [onnx.helper.make_node("Identity", ["x"], [f"r{name}"]) for name in outputs]
    branch = onnx.helper.make_graph(same, "b", [], results)
    own = onnx.helper.make_opsetid("own", 1)
    default = onnx.helper.make_opsetid("", 17)
    condition = onnx.helper.make_tensor_value_info("c", 9, [])
    if not function:
        node = onnx.helper.make_node("If", ["c"], outputs, then_branch=branch, else_branch=branch)
        graph = onnx.helper.make_graph([node], "g", [condition, value], [value])
        return onnx.helper.make_model(graph, opset_imports=[default]).SerializeToString()
    node = onnx.helper.make_node("If", ["c"], outputs)
    node.attribute.add(name="then_branch", ref_attr_name="q", type=onnx.AttributeProto.GRAPH)
    node.attribute.add(name="else_branch", ref_attr_name="q", type=onnx.AttributeProto.GRAPH)
    body = onnx.helper.make_function("own", "F", ["c", "x"], outputs, [node], [default], ["q"])
    call = onnx.helper.make_node("F", ["c", "x"], ["z"], domain="own", q=branch)
    graph = onnx.helper.make_graph([call], "g", [condition, value], [value])
    return onnx.helper.make_model(graph, opset_imports=[default, own], functions=[body]).SerializeToString()


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (_if(), "it has no output; expected at least one"),
        (_if("y", function=True), "it refers to 'q', but a graph cannot be a parameter"),
    ],
)
def test_what_no_edit_could_work_on_is_refused(model: bytes, why: str) -> None:
    with pytest.raises(InvalidProgram, match=why):
        Program.from_bytes(model)


@pytest.mark.parametrize(("rank", "fits"), [(MOST_DIMENSIONS, True), (MOST_DIMENSIONS + 1, False)])
def test_a_constant_has_as_many_dimensions_as_numpy_holds(rank: int, fits: bool) -> None:
    text = f"g (float[1] x) => (y) <float[{', '.join('1' * rank)}] w = {{1}}> {{ y = Add(x, w) }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}').SerializeToString()
    if fits:
        assert Program.from_bytes(model).const_array(Program.from_bytes(model).graph.initializers["w"]) is not None
    else:
        with pytest.raises(InvalidProgram, match=f"it has {rank} dimensions; expected at most {MOST_DIMENSIONS}"):
            Program.from_bytes(model)


@pytest.mark.unit
def test_names_with_line_breaks_do_not_break_the_line() -> None:
    assert str(InvalidProgram("node 'a\nb\r\nc': it is wrong")) == "node 'a b c': it is wrong"
