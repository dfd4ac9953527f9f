"""Facts that ONNX's own inference does not give: partial shape values, functions, control flow, contradictions."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from irfuzz.errors import InvalidProgram
from irfuzz.facts import SequenceFact, TensorFact
from irfuzz.ir.inference.call_output_types import CallKey
from irfuzz.ir.inference.graph_facts import infer_call
from irfuzz.ir.program import Program


def program(text: str) -> Program:
    return Program.from_proto(parser.parse_model(text))


def shape_of(program: Program, name: str) -> object:
    value = program.value(name)
    assert value is not None
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    return fact.shape


HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def test_shape_of_a_named_dimension_is_known_by_name() -> None:
    p = program(HEAD + "g (float[N,3] x) => (int64[2] y) { y = Shape(x) }")
    fact = p.tensor(p.value("y"))
    assert fact is not None
    assert fact.value == ("N", 3)


def test_reshape_keeps_the_named_dimension() -> None:
    p = program(HEAD + "g (float[N,3,4] x) => (y) <int64[2] s = {-1, 12}> { y = Reshape(x, s) }")
    assert shape_of(p, "y") == ("N", 12)


def test_reshape_through_shape_gather_concat() -> None:
    p = program(
        HEAD
        + """g (float[N,8,8] x) => (y)
        <int64 zero = {0}, int64[1] axis = {0}, int64[1] rest = {-1}> {
          s = Shape(x)
          n = Gather(s, zero)
          n1 = Unsqueeze(n, axis)
          to = Concat<axis = 0>(n1, rest)
          y = Reshape(x, to)
        }"""
    )
    assert shape_of(p, "y") == ("N", 64)


def test_reshape_to_a_size_that_may_be_0_copies_there() -> None:
    """Where M is 0, the first size of y is N: 0 copies."""
    text = """g (float[N,M,2] x) => (y, z, w) <int64[3] other = {1, 0, 2}> {
          s = Shape(x)
          swapped = Gather(s, other)
          y = Reshape(x, swapped)
          z = Reshape<allowzero = 1>(x, swapped)
          w = Reshape(x, s)
        }"""
    p = program(HEAD + text)
    assert shape_of(p, "y") == (None, None, 2)
    assert shape_of(p, "z") == ("M", "N", 2)
    assert shape_of(p, "w") == ("N", "M", 2)


def test_shape_arithmetic_on_integers_is_computed() -> None:
    p = program(
        HEAD
        + """g (float[2,6] x) => (y)
        <int64 one = {1}, int64 three = {3}, int64[1] axis = {0}, int64[1] rest = {-1}> {
          s = Shape(x)
          d = Gather(s, one)
          q = Div(d, three)
          q1 = Unsqueeze(q, axis)
          to = Concat<axis = 0>(q1, rest)
          y = Reshape(x, to)
        }"""
    )
    assert shape_of(p, "y") == (2, 6)


def test_integer_division_truncates_towards_zero() -> None:
    p = program(HEAD + "g () => (int64[2] y) <int64[2] a = {-7, 7}, int64[1] b = {2}> { y = Div(a, b) }")
    fact = p.tensor(p.value("y"))
    assert fact is not None
    assert fact.value == (-3, 3)


def test_a_value_that_may_be_minus_one_is_not_taken_for_a_size() -> None:
    p = program(HEAD + "g (float[N,3] x, int64[2] s) => (float[?,?] y) { y = Reshape(x, s) }")
    assert shape_of(p, "y") == (None, None)


def test_two_named_dimensions_do_not_broadcast_to_one() -> None:
    p = program(HEAD + "g (float[N] a, float[M] b) => (float[?] y) { y = Add(a, b) }")
    assert shape_of(p, "y") == (None,)


def test_ranges_of_activations() -> None:
    p = program(HEAD + "g (float[4] x) => (float[4] y) { a = Sigmoid(x)\n b = Relu(a)\n y = Identity(b) }")
    fact = p.tensor(p.value("y"))
    assert fact is not None
    assert (fact.low, fact.high) == (0.0, 1 + 2.0**-20)


def test_a_declared_shape_that_is_not_computed_is_refused_by_name() -> None:
    with pytest.raises(InvalidProgram, match=r"'y' is declared \[2,3\], but it is \[2,4\]"):
        program(HEAD + "g (float[2,4] x) => (float[2,3] y) { y = Relu(x) }")


def test_a_branch_that_contradicts_the_declared_output_is_refused() -> None:
    model = parser.parse_model(
        HEAD
        + """g (bool c) => (float[2,3] y) {
          y = If (c) <
            then_branch = t () => (float a) { a = Constant<value_float = 1.0>() },
            else_branch = e () => (float b) { b = Constant<value_float = 2.0>() }
          >
        }"""
    )
    with pytest.raises(InvalidProgram, match="declared"):
        Program.from_proto(model)


def test_branches_of_different_sizes_leave_the_size_open() -> None:
    p = program(
        HEAD
        + """g (bool c, float[2,3] x) => (float[?,3] y) <int64[1] ax = {0}, int64[1] from = {0}, int64[1] to = {1}> {
          y = If (c) <
            then_branch = t () => (a) { a = Relu(x) },
            else_branch = e () => (b) { b = Slice(x, from, to, ax) }
          >
        }"""
    )
    assert shape_of(p, "y") == (None, 3)


def test_a_growing_loop_value_is_widened() -> None:
    p = program(
        HEAD
        + """g (int64 trips, float[1,3] x) => (float[?,3] y, float[?,1,3] all) <bool go = {1}> {
          y, all = Loop (trips, go, x) <
            body = b (int64 i, bool cond, float[?,3] v) => (bool again, w, x2) {
              again = Identity(cond)
              w = Concat<axis = 0>(v, x)
              x2 = Identity(x)
            }
          >
        }"""
    )
    assert shape_of(p, "y") == (None, 3)
    assert shape_of(p, "all") == (None, 1, 3)


def test_scan_slices_and_stacks() -> None:
    p = program(
        HEAD
        + """g (float[2] s, float[5,2] xs) => (float[2] last, float[5,2] sums) {
          last, sums = Scan (s, xs) <
            num_scan_inputs = 1,
            body = b (float[2] acc, float[2] x) => (n, o) { n = Add(acc, x)\n o = Identity(n) }
          >
        }"""
    )
    assert shape_of(p, "last") == (2,)
    assert shape_of(p, "sums") == (5, 2)


def test_a_function_is_inferred_through_its_body_with_the_attributes_of_the_call() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2,3,4] x) => (y) { y = local.flat<at = 2>(x) }
        <domain: "local", opset_import: ["" : 17]>
        flat <at> (a) => (b) { b = Flatten<axis : int = @at>(a) }"""
    )
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    p = Program.from_proto(model)
    assert shape_of(p, "y") == (6, 4)


def test_a_sequence_knows_what_its_elements_have_in_common() -> None:
    p = program(
        HEAD
        + """g (float[2,3] a, float[4,3] b) => (float[?,3] y) <int64 i = {0}> {
          s = SequenceConstruct(a, b)
          y = SequenceAt(s, i)
        }"""
    )
    value = p.value("s")
    assert value is not None
    assert p.fact(value) == SequenceFact(TensorFact(ir.DataType.FLOAT, (None, 3)), 2)


def test_an_ill_typed_node_is_named() -> None:
    with pytest.raises(InvalidProgram, match=r"node 'bad' \(MatMul\)"):
        program(HEAD + "g (float[2,3] a, float[4,5] b) => (y) { [bad] y = MatMul(a, b) }")


def test_an_unknown_operator_is_named() -> None:
    model = parser.parse_model(HEAD + "g (float[2] a) => (float[2] y) { y = NoSuchThing(a) }")
    with pytest.raises(InvalidProgram, match="NoSuchThing is not an operator of opset 17"):
        Program.from_proto(model)


def test_another_domain_is_carried_and_untyped_unless_declared() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
        g (float[2] a) => (float[7] y) { y = mine.Thing(a) }"""
    )
    p = Program.from_proto(model)
    assert shape_of(p, "y") == (7,)


def test_a_split_into_another_number_of_parts_is_refused() -> None:
    """onnx 1.23.2 would abort the process."""
    call = CallKey("", "Split", 18, (("num_outputs", 2, 2),), (TensorFact(ir.DataType.FLOAT, (6,)),), (True,) * 3)
    with pytest.raises(InvalidProgram, match="num_outputs is 2, but the node has 3 outputs"):
        infer_call(call)


def test_a_negative_number_of_batch_dimensions_is_refused() -> None:
    """onnx 1.23.2 reads before the beginning of a list."""
    inputs = (TensorFact(ir.DataType.FLOAT, (8, 1, 2)), TensorFact(ir.DataType.INT64, (0,)))
    with pytest.raises(InvalidProgram, match="batch_dims is -2"):
        infer_call(CallKey("", "GatherND", 17, (("batch_dims", 2, -2),), inputs, (True,)))


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "why"),
    [
        ("LayerNormalization", (("axis", 2, 2**31),), ((3, 8), (8,)), "axis is 2147483648"),
        ("Expand", (), ((1,), (2**40,)), "shape has 1099511627776 elements"),
        ("GatherND", (), ((3, 4), (3, -1)), "input 1 has a size of -1"),
    ],
)
def test_numbers_that_onnx_does_not_survive_are_refused(
    op: str, attrs: tuple[tuple[str, int, int], ...], shapes: tuple[tuple[int, ...], ...], why: str
) -> None:
    """onnx 1.23.2 reads before the beginning of a list, or makes a list of as many entries as the number says."""
    kinds = (ir.DataType.FLOAT, ir.DataType.FLOAT if op == "LayerNormalization" else ir.DataType.INT64)
    inputs = tuple(TensorFact(kind, shape) for kind, shape in zip(kinds, shapes, strict=True))
    with pytest.raises(InvalidProgram, match=why):
        infer_call(CallKey("", op, 17, attrs, inputs, (True,)))


def test_a_size_below_zero_says_nothing() -> None:
    """Some exporters write -1 for an unknown size, and ONNX infers one where a kernel is larger than its input."""
    kinds = [("x", onnx.TensorProto.FLOAT, [3, 4]), ("i", onnx.TensorProto.INT64, [3, -1])]
    node = onnx.helper.make_node("GatherND", ["x", "i"], ["y"])
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info(*k) for k in kinds], [output])
    program = Program.from_proto(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    assert shape_of(program, "i") == (3, None)
    assert program.to_proto().graph.input[1] == graph.input[1]
    small, kernel = TensorFact(ir.DataType.FLOAT, (1, 1, 2, 2)), TensorFact(ir.DataType.FLOAT, (1, 1, 5, 5))
    (found,) = infer_call(CallKey("", "Conv", 17, (), (small, kernel), (True,)))
    assert all(size is None or size >= 0 for size in found.shape or ())  # type: ignore[union-attr]


@pytest.mark.parametrize("equation", ["i.j->ji", "i;j", "......", "...a...->a", "é", "i->j->k", "a-b", b"ij\xff->ji"])
def test_an_equation_that_is_none_is_refused(equation: str | bytes) -> None:
    """onnx 1.23.2 would never come back from some of them."""
    inputs = (TensorFact(ir.DataType.FLOAT, (2, 3)),)
    with pytest.raises(InvalidProgram, match="Einsum: equation"):
        infer_call(CallKey("", "Einsum", 17, (("equation", 3, equation),), inputs, (True,)))


@pytest.mark.parametrize("equation", ["ij->ji", " i j -> j i ", "...i", "i...->...", "ab"])
def test_an_equation_is_inferred(equation: str) -> None:
    inputs = (TensorFact(ir.DataType.FLOAT, (2, 3)),)
    assert infer_call(CallKey("", "Einsum", 17, (("equation", 3, equation),), inputs, (True,)))


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        ("y = Transpose<perm = 1>(x)", "'perm' is of type INT; expected INTS"),
        (
            "y = If<then_branch = 1, else_branch = t () => (z) {z = Neg(x)}>(b)",
            "'then_branch' is of type INT; expected",
        ),
        ("y = If<then_branch = t () => (z) {z = Neg(x)}, else_branch = e () => (z) {z = Abs(x)}>()", "0 inputs"),
        ("y = If<then_branch = t () => (z) {z = Neg(x)}, else_branch = e () => (z) {z = Abs(x)}>(b, b)", "2 inputs"),
        ('y = If<then_branch = t () => (z) {z = Neg(x)}, else_branch = e () => (z) {z = Abs(x)}>("")', "left out"),
    ],
)
def test_a_call_that_its_operator_does_not_take_is_refused(graph: str, why: str) -> None:
    model = parser.parse_model(HEAD + f"g (bool b, float[2] x) => (y) {{ {graph} }}")
    with pytest.raises(InvalidProgram, match=why):
        Program.from_proto(model)


def test_a_segment_is_no_tensor() -> None:
    """The field for parts of large tensors: one that is the whole tensor is read."""
    model = parser.parse_model(HEAD + "g (int64[1] x) => (y) { y = ConstantOfShape<value = int64[1] {7}>(x) }")
    tensor = model.graph.node[0].attribute[0].t
    tensor.segment.begin, tensor.segment.end = 0, 1
    given = TensorFact(ir.DataType.INT64, (1,), value=(2,))
    attrs = (("value", 4, model.graph.node[0].attribute[0].SerializeToString()),)
    (fact,) = infer_call(CallKey("", "ConstantOfShape", 17, attrs, (given,), (True,)))
    assert isinstance(fact, TensorFact)
    assert fact.value == (7, 7)
    Program.from_proto(model)
    tensor.segment.end = 2
    with pytest.raises(InvalidProgram, match="a segment of a larger tensor"):
        Program.from_proto(model)


@pytest.mark.parametrize(("ends", "axes"), [(1, (0, 1)), (2, (5, 0)), (2, (0, -3))])
def test_slices_with_lists_that_do_not_fit(ends: int, axes: tuple[int, ...]) -> None:
    """Where ONNX does not know the elements it says nothing, and neither do we."""
    lists = [TensorFact(ir.DataType.INT64, (2,)), TensorFact(ir.DataType.INT64, (ends,))]
    given = TensorFact(ir.DataType.INT64, (2,), value=axes)
    call = CallKey("", "Slice", 13, (), (TensorFact(ir.DataType.FLOAT, (3, 4)), *lists, given), (True,))
    (found,) = infer_call(call)
    assert isinstance(found, TensorFact)
    assert found.shape is None or found.shape == (None, None)


def test_what_reads_an_untyped_value_is_untyped() -> None:
    """ONNX's inference of Gemm raises where its input has no element type."""
    model = """<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
        g (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) { z = acme.Unknown (x) y = Gemm (z, w) }"""
    assert shape_of(program(model), "y") == (2, 4)


@pytest.mark.parametrize("outputs", [["y", ""], ["y", "z"], []])
def test_a_constant_with_another_number_of_outputs_is_refused(outputs: list[str]) -> None:
    proto = parser.parse_model(
        HEAD + "g (float[2] x) => (float[2] o) { y = Constant <value_float = 1.0> () o = Relu (x) }"
    )
    del proto.graph.node[0].output[:]
    proto.graph.node[0].output.extend(outputs)
    told = (
        f"Constant has {len(outputs)} outputs; expected one" if outputs else "it has no output; expected at least one"
    )
    with pytest.raises(InvalidProgram, match=told):
        Program.from_proto(proto)
