"""Each pass on a program made for it: what it removes, and what it leaves where the fault needs it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from irfuzz.ir.program import Program
from irfuzz.reduce.pass_loop import DATA, LOOKS, STRUCTURE
from irfuzz.reduce.passes.attribute_value_simplification import simplify_attributes
from irfuzz.reduce.passes.body_inlining import inline_calls, simplify_bodies, unwrap_bodies
from irfuzz.reduce.passes.cast_removal import drop_casts
from irfuzz.reduce.passes.computed_value_to_input import begin_later, cut_single_values
from irfuzz.reduce.passes.constant_folding import fold_known
from irfuzz.reduce.passes.data_simplification import simplify_inputs, simplify_weights
from irfuzz.reduce.passes.float32_conversion import compute_in_float
from irfuzz.reduce.passes.input_merging import feed_weights, merge_inputs
from irfuzz.reduce.passes.name_shortening import drop_texts, shorten_names
from irfuzz.reduce.passes.node_bypass import bypass_nodes, skip_nodes
from irfuzz.reduce.passes.opset_lowering import lower_opset
from irfuzz.reduce.passes.optional_part_removal import drop_attributes, drop_optional_inputs
from irfuzz.reduce.passes.output_removal import end_earlier, keep_one_output
from irfuzz.reduce.passes.size_shrinking import bind_names, shrink_sizes
from irfuzz.reduce.session import Session
from tests.reduce.conftest import after, checked, feeds, has, ops, parse, run

X = {"x": np.array([[-1.5, 2.25, 3], [4, 5, 6]], np.float32)}
CHAIN = "g (float[2,3] x) => (float[2,3] y) { a = Abs(x)  b = Neg(a)  c = Relu(b)  d = Exp(c)  y = Tanh(d) }"


def nothing(one: Any, program: Program, inputs: Any, still: Any) -> None:
    """The pass leaves the case as it was."""
    session = Session(program.clone(), inputs, still, None, 60, 500)
    assert not one(session)
    assert session.program.to_bytes() == program.to_bytes()


def test_keep_one_output() -> None:
    program = parse(
        "g (float[2,3] x) => (float[2,3] y, float[2,3] z, float[2,3] u) { y = Abs(x)  z = Neg(x)  u = Exp(z) }"
    )
    session = after(keep_one_output, program, X, has("Neg"))
    assert [v.name for v in session.program.graph.outputs] == ["z"]
    assert ops(session.program) == ["Neg"]
    nothing(keep_one_output, session.program, X, has("Neg"))


def test_end_earlier() -> None:
    session = after(end_earlier, parse(CHAIN), X, feeds("Abs", "Neg"))
    assert ops(session.program) == ["Abs", "Neg"]
    assert session.tries <= 3


def test_begin_later() -> None:
    session = after(begin_later, parse(CHAIN), X, has("Tanh"))
    assert ops(session.program) == ["Tanh"]
    assert session.tries <= 3
    (value,) = session.inputs.values()
    np.testing.assert_allclose(value, np.ones((2, 3)))  # exp(relu(-|x|))


def chain(*operators: str) -> Program:
    names = ["x", *(f"t{i}" for i in range(len(operators) - 1)), "y"]
    calls = " ".join(f"{names[i + 1]} = {op}({names[i]})" for i, op in enumerate(operators))
    return parse(f"g (float[2,3] x) => (float[2,3] y) {{ {calls} }}")


@pytest.mark.parametrize(("at", "most"), [(63, 1), (62, 8), (40, 8), (1, 8), (0, 13)])
def test_the_longest_prefix_is_found_by_bisection(at: int, most: int) -> None:
    """Of 64 nodes; where there is no such prefix, some lengths are tried once more."""
    program = chain(*("Sin" if i == at else "Relu" for i in range(64)))
    session = Session(program, X, lambda p, _: "Sin" in ops(p), run, 60, 500)
    assert begin_later(session) is (at > 0)
    assert ops(session.program) == ["Sin", *["Relu"] * (63 - at)]
    assert session.tries <= most


def test_a_prefix_that_only_a_long_cut_can_drop() -> None:
    """Half of the nodes cannot go, three quarters can."""
    program = chain(*["Relu"] * 5, "Sin", *["Relu"] * 2)

    def still(candidate: Program, _: Any) -> bool:
        return len(ops(candidate)) in (8, 2)

    session = Session(program, X, still, run, 60, 500)
    assert begin_later(session)
    assert ops(session.program) == ["Relu"] * 2


def test_cuts_take_ones_where_nobody_knows_a_value() -> None:
    session = after(begin_later, parse(CHAIN), X, has("Tanh"), None)
    assert next(iter(session.inputs.values())).tolist() == np.ones((2, 3)).tolist()  # type: ignore[union-attr]


def test_what_nobody_could_hold_is_not_cut() -> None:
    program = parse(
        "g (float[2,3] x) => (float[l,m,n] y) {"
        "s = Constant<value_ints=[67108864, 2, 3]>()  a = Expand(x, s)  y = Tanh(a) }"
    )
    session = after(begin_later, program, X, has("Tanh"), None)
    assert "Expand" in ops(session.program)


def test_a_prefix_that_a_subgraph_reads_is_cut_too() -> None:
    program = parse(
        "g (float[2,3] x, bool c) => (float[2,3] y) { a = Abs(x)  b = Neg(a)  y = If (c) <"
        "then_branch = t () => (float[2,3] p) { p = Exp(b) }, else_branch = e () => (float[2,3] q) { q = Neg(b) }> }"
    )
    session = after(begin_later, program, {**X, "c": np.array(True)}, has("If"))
    assert ops(session.program) == ["If"]
    assert sorted(v.shape for v in session.inputs.values()) == [(), (2, 3)]  # type: ignore[union-attr]


def test_cut_single_values() -> None:
    program = parse("g (float[2,3] x) => (float[2,3] y) { a = Abs(x)  b = Exp(x)  c = Neg(b)  y = Add(a, c) }")
    session = after(cut_single_values, program, X, feeds("Abs", "Add"))
    assert ops(session.program) == ["Abs", "Add"]


def test_bypass_takes_whole_stretches() -> None:
    session = after(bypass_nodes, parse(CHAIN), X, has("Tanh"))
    assert ops(session.program) == ["Tanh"]


def test_bypass_keeps_what_is_needed() -> None:
    still = checked(lambda program, inputs: ops(program).count("Neg") == 1)
    assert ops(after(bypass_nodes, parse(CHAIN), X, still).program) == ["Neg"]


def test_skip_nodes() -> None:
    program = parse(
        "g (float[2,3] x) => (float[n,2] y) { a = Exp(x)  s = Constant <value = int64[2] {3, 2}> ()"
        "  b = Reshape(a, s)  c = Constant <value = float[2,2] {1, 2, 3, 4}> ()  y = MatMul(b, c) }"
    )
    still = checked(lambda p, i: {"Exp", "MatMul"} <= set(ops(p)))
    nothing(skip_nodes, program, X, still)  # of [2,3] and [2,2] there is no product
    program = parse(
        "g (float[2,3] x) => (float[n] y) { a = Exp(x)  s = Constant <value = int64[1] {6}> ()  b = Reshape(a, s)"
        "  y = Neg(b) }"
    )
    assert ops(after(skip_nodes, program, X, feeds("Exp", "Neg")).program) == ["Exp", "Neg"]


def test_casts_that_depend_on_each_other_go_together() -> None:
    program = parse(
        "g (float[2,3] x) => (float[2,3] y)"
        " { a = Cast<to = 11>(x)  b = Selu(a)  c = Exp(b)  d = Cast<to = 1>(c)  y = Neg(d) }"
    )
    session = after(drop_casts, program, X, checked(lambda p, i: {"Selu", "Exp", "Neg"} <= set(ops(p))))
    assert ops(session.program) == ["Selu", "Exp", "Neg"]
    assert session.tries == 1
    assert run(session.program, X)["y"].dtype == np.float32


def test_a_cast_that_is_needed_stays() -> None:
    program = parse("g (float[2,3] x) => (float[2,3] y) { a = Cast<to = 11>(x)  b = Selu(a)  y = Cast<to = 1>(b) }")
    still = checked(lambda p, i: any(n.op_type == "Selu" and p.tensor(n.inputs[0]).dtype == 11 for n in p.nodes()))  # type: ignore[union-attr]
    assert ops(after(drop_casts, program, X, still).program) == ["Cast", "Selu"]


def test_casts_that_types_need_are_not_even_tried() -> None:
    program = parse("g (float[2,3] x, double[3] w) => (double[2,3] y) { a = Cast<to = 11>(x)  y = Add(a, w) }")
    nothing(drop_casts, program, {**X, "w": np.ones(3)}, checked(lambda p, i: pytest.fail("tried")))


def test_fold_known() -> None:
    program = parse(
        "g (float[2,3] x) => (float[3,2] y) { s = Shape(x)  i = Constant<value = int64[2] {1, 0}>()  t = Gather(s, i)"
        "  y = Reshape(x, t) }"
    )
    session = after(fold_known, program, X, has("Reshape"))
    assert ops(session.program) == ["Reshape"]
    assert [v.const_value.numpy().tolist() for v in session.program.graph.initializers.values()] == [[3, 2]]  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", [onnx.TensorProto.BFLOAT16, onnx.TensorProto.STRING, onnx.TensorProto.INT4])
def test_constants_of_every_type_become_initializers(dtype: int) -> None:
    data = [b"a", b"b"] if dtype == onnx.TensorProto.STRING else [1, 2]
    proto = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }", 21).to_proto()
    constant = onnx.helper.make_node("Constant", [], ["c"], value=onnx.helper.make_tensor("c", dtype, [2], data))
    proto.graph.node.extend([constant, onnx.helper.make_node("Identity", ["c"], ["z"])])
    proto.graph.output.append(onnx.helper.make_tensor_value_info("z", dtype, [2]))
    session = after(fold_known, Program.from_proto(proto), {"x": np.ones(2, np.float32)}, has("Identity"))
    assert "Constant" not in ops(session.program)
    (tensor,) = session.program.to_proto().graph.initializer
    assert (tensor.data_type, list(tensor.dims)) == (dtype, [2])


def test_optional_inputs_and_attributes() -> None:
    program = parse(
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,1,3,3] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1},"
        " float[2] b = {1,2}>"
        " { y = Conv<group = 2, pads = [1,1,1,1], kernel_shape = [3,3], dilations = [1,1]>(x, w, b) }"
    )
    inputs = {"x": np.ones((1, 2, 4, 4), np.float32)}
    session = after(drop_optional_inputs, program, inputs, has("Conv"))
    assert len(session.program.nodes()[0].inputs) == 2
    session = after(drop_attributes, session.program, inputs, has("Conv"))
    assert list(session.program.nodes()[0].attributes) == ["group"]  # the weights demand it


def test_parameters_without_default_are_given() -> None:
    """A call that leaves one out is another program, or none."""
    program = parse("g (float[2,3] x) => (float[2,3] y) { y = own.Twice <k = 0.5> (x) }", functions=CALLS)
    nothing(drop_attributes, program, X, has("Twice"))


def test_inputs_in_the_middle_and_variadic_ones() -> None:
    program = parse(
        "g (float[2,3] x, float low, float high) => (float[6,3] y)"
        " { a = Clip(x, low, high)  y = Concat<axis = 0>(a, x, x) }"
    )
    inputs = {**X, "low": np.array(0, np.float32), "high": np.array(1, np.float32)}
    still = checked(lambda p, i: "high" in i and "Concat" in ops(p))
    session = after(drop_optional_inputs, program, inputs, still)
    clip, concat = session.program.nodes()
    assert [v and v.name for v in clip.inputs] == ["x", None, "high"]
    assert len(concat.inputs) == 1


def test_names_of_sizes_are_bound() -> None:
    program = parse("g (float[N,3] x, float[N,M] z) => (float[N,M] y) { a = ReduceSum(x)  y = Add(a, z) }")
    inputs = {**X, "z": np.ones((2, 4), np.float32)}
    session = after(bind_names, program, inputs, has("Add"))
    assert [session.program.tensor(v).shape for v in session.program.graph.inputs] == [(2, 3), (2, 4)]  # type: ignore[union-attr]
    assert session.program.tensor(session.program.graph.outputs[0]).shape == (2, 4)  # type: ignore[union-attr]
    nothing(bind_names, session.program, inputs, has("Add"))


def test_sizes_shrink_wherever_they_occur() -> None:
    w = ",".join(["1"] * (6 * 4 * 9))
    program = parse(
        f"g (float[2,4,8,8] x) => (float[2,6,8,8] y) <float[6,4,3,3] w = {{{w}}}, float[6] b = {{1,2,3,4,5,6}}>"
        " { y = Conv<pads = [1,1,1,1]>(x, w, b) }"
    )
    inputs = {"x": np.arange(512, dtype=np.float32).reshape(2, 4, 8, 8)}
    session = after(shrink_sizes, program, inputs, has("Conv"))
    assert session.inputs["x"].shape == (1, 1, 1, 1)  # type: ignore[union-attr]
    assert [v.shape.numpy() for v in session.program.graph.initializers.values()] == [(1, 1, 1, 1), (1,)]  # type: ignore[union-attr]
    assert session.tries < 20


def test_sizes_keep_the_part_that_shows_the_fault() -> None:
    program = parse("g (float[4,6] x) => (float[4,6] y) { y = Neg(x) }")
    inputs = {"x": np.zeros((4, 6), np.float32)}
    inputs["x"][3, 4] = 5
    still = checked(lambda p, i: bool((run(p, i)["y"] == -5).any()))
    session = after(shrink_sizes, program, inputs, still)
    assert session.inputs["x"].shape == (1, 2)  # type: ignore[union-attr]
    assert session.program.tensor(session.program.graph.outputs[0]).shape == (1, 2)  # type: ignore[union-attr]


def test_sizes_that_do_not_fit_are_not_tried() -> None:
    program = parse("g (float[4,6] x) => (float[3,8] y) <int64[2] s = {3, 8}> { y = Reshape(x, s) }")
    nothing(shrink_sizes, program, {"x": np.zeros((4, 6), np.float32)}, checked(lambda p, i: pytest.fail("tried")))


def test_named_sizes_stay_named() -> None:
    program = parse("g (float[N,6] x) => (float[N,6] y) { y = Neg(x) }")
    inputs = {"x": np.zeros((4, 6), np.float32)}
    session = after(shrink_sizes, program, inputs, checked(lambda p, i: p.tensor(p.graph.inputs[0]).shape[0] == "N"))  # type: ignore[union-attr,index]
    assert session.inputs["x"].shape == (1, 1)  # type: ignore[union-attr]


def test_plainer_inputs() -> None:
    program = parse("g (float[2,3] x, int64[2] i) => (float[2,3] y) { y = Gather(x, i) }")
    inputs = {**X, "i": np.array([1, 1])}
    still = checked(lambda p, i: bool(run(p, i)["y"].max() > 3))
    session = after(simplify_inputs, program, inputs, still)
    assert session.inputs["x"].tolist() == [[0, 1, 2], [3, 4, 5]]  # type: ignore[union-attr]
    assert session.inputs["i"].tolist() in ([1, 1], [0, 1])  # type: ignore[union-attr]


def test_integers_stay_legal_positions() -> None:
    program = parse("g (float[2,3] x, int64[4] i) => (float[4,3] y) { y = Gather(x, i) }")
    inputs = {**X, "i": np.array([0, 0, 0, -1])}
    seen: list[np.ndarray] = []
    still = checked(lambda p, i: bool(seen.append(i["i"])) or run(p, i)["y"].max() >= 0)  # type: ignore[arg-type]
    after(simplify_inputs, program, inputs, still)
    assert min(i.min() for i in seen) >= -1
    assert max(i.max() for i in seen) <= 0


def test_plainer_weights() -> None:
    program = parse(
        "g (float[1,2] x) => (float[1,2] y) <float[2] a = {0.123456, 7.7}, float[2] b = {3.14159, 2.5}>"
        " { s = Add(x, a)  y = Mul(s, b) }"
    )
    inputs = {"x": np.zeros((1, 2), np.float32)}
    session = after(simplify_weights, program, inputs, checked(lambda p, i: run(p, i)["y"][0, 0] > 0))
    found = {n: v.const_value.numpy().tolist() for n, v in session.program.graph.initializers.items()}  # type: ignore[union-attr]
    assert found == {"a": [1, 1], "b": [1, 1]}
    nothing(simplify_weights, session.program, inputs, checked(lambda p, i: run(p, i)["y"][0, 0] > 0))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3, 2)])
def test_plain_data_keeps_dtype_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    name = onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    dims = ",".join(map(str, shape))
    program = parse(f"g ({name}[{dims}] x) => ({name}[{dims}] y) {{ y = Identity(x) }}".replace("[]", ""))
    seen: list[Any] = []
    still = checked(lambda p, i: bool(seen.append(i["x"])))
    session = Session(program, {"x": np.ones(shape, dtype)}, still, None, 9, 99)
    assert not simplify_inputs(session)
    assert len(seen) == (1 if np.prod(shape) else 0)
    assert all((a.dtype, a.shape) == (dtype, shape) for a in seen)


def test_data_of_other_kinds_are_left_alone() -> None:
    program = parse(
        "g (bfloat16[2] x, string[1] s) => (bfloat16[2] y, string[1] t) { y = Identity(x)  t = Identity(s) }"
    )
    inputs = {"x": np.ones(2, ml_dtypes.bfloat16), "s": np.array(["long text"], object)}
    nothing(simplify_inputs, program, inputs, checked(lambda p, i: pytest.fail("tried")))


def test_drop_texts() -> None:
    proto = parse(CHAIN).to_proto()
    proto.producer_name, proto.doc_string, proto.graph.doc_string, proto.domain = "me", "long", "longer", "d"
    proto.metadata_props.add(key="k", value="v")
    for node in proto.graph.node:
        node.name, node.doc_string = f"/very/long/{node.output[0]}", "stack trace"
    session = after(drop_texts, Program.from_proto(proto), X, has("Tanh"))
    small = session.program.to_proto()
    assert (small.producer_name, small.doc_string, small.graph.doc_string, small.domain) == ("", "", "", "")
    assert not small.metadata_props
    assert {(n.name, n.doc_string) for n in small.graph.node} == {("", "")}
    nothing(drop_texts, session.program, X, has("Tanh"))


def test_shorten_names() -> None:
    program = parse(
        'g (float[2,3] "/a/b", float[2,3] q) => (float[2,3] "/out") <float[3] "w.1" = {1,2,3}>'
        ' { "/mid" = Add("/a/b", "w.1")  "/out" = Mul("/mid", q) }'
    )
    inputs = {"/a/b": X["x"], "q": 2 * X["x"]}
    want = run(program, inputs)["/out"]
    session = after(shorten_names, program, inputs, has("Add"))
    assert [v.name for v in session.program.graph.inputs] == ["x0", "x1"]
    assert [v.name for v in session.program.graph.outputs] == ["y"]
    assert list(session.program.graph.initializers) == ["w0"]
    assert [n.outputs[0].name for n in session.program.nodes()] == ["v0", "y"]
    np.testing.assert_array_equal(run(session.program, session.inputs)["y"], want)
    nothing(shorten_names, session.program, session.inputs, has("Add"))


def test_names_inside_of_subgraphs_hide_nothing() -> None:
    program = parse(
        "g (float[2,3] input, bool c) => (float[2,3] out) { mid = Abs(input)  out = If (c) <"
        "then_branch = t () => (float[2,3] x0) { v0 = Neg(mid)  x0 = Add(v0, input) },"
        " else_branch = e () => (float[2,3] mid2) { mid2 = Exp(mid) }> }"
    )
    inputs = {"input": X["x"], "c": np.array(True)}
    session = after(shorten_names, program, inputs, has("If"))
    assert [v.name for v in session.program.graph.inputs] == ["x0_", "x1"]
    for c in (True, False):
        want = run(program, {**inputs, "c": np.array(c)})["out"]
        np.testing.assert_array_equal(run(session.program, {"x0_": X["x"], "x1": np.array(c)})["y"], want)


def test_names_that_the_fault_needs_stay() -> None:
    still = checked(lambda p, i: "x/y" in i)
    program = parse('g (float[2] "x/y") => (float[2] out) { out = Neg("x/y") }')
    nothing(shorten_names, program, {"x/y": np.ones(2, np.float32)}, still)


def attribute(program: Program, name: str) -> Any:
    (value,) = [n.attributes[name].value for n in program.nodes() if name in n.attributes]
    return list(value) if isinstance(value, tuple) else value


def test_simplify_attributes() -> None:
    program = parse(
        "g (float[1,2,6,6] x, float[4,1,3,3] w) => (float[1,4,n,m] y)"
        " { y = Conv <group = 2, pads = [1, 2, 1, 0], strides = [3, 2]> (x, w) }"
    )
    inputs = {"x": np.ones((1, 2, 6, 6), np.float32), "w": np.ones((4, 1, 3, 3), np.float32)}
    still = checked(lambda p, i: attribute(p, "group") == 2 and attribute(p, "pads")[1] > 0)
    session = after(simplify_attributes, program, inputs, still)
    assert attribute(session.program, "pads") == [0, 1, 0, 0]
    assert attribute(session.program, "strides") == [1, 1]
    nothing(simplify_attributes, parse("g (float[2,3] x) => (float[2,3] y) { y = Elu <alpha = 2.0> (x) }"), X,
            checked(lambda p, i: attribute(p, "alpha") == 2))  # fmt: skip


def test_compute_in_float() -> None:
    program = parse(
        "g (float16[2,3] x) => (double[2,3] y) <double[3] w = {1, 2, 3}> { a = Cast <to = 11> (x)  y = Add(a, w) }"
    )
    session = after(compute_in_float, program, {"x": X["x"].astype(np.float16)}, has("Add"))
    assert [v.dtype for v in session.inputs.values()] == [np.float32]  # type: ignore[union-attr]
    assert run(session.program, session.inputs)["y"].dtype == np.float32
    nothing(compute_in_float, session.program, session.inputs, has("Add"))


def test_merge_inputs() -> None:
    program = parse(
        "g (float[2,3] a, float[2,3] b, float[2,3] c, float[3] d) => (float[2,3] y)"
        " { u = Add(a, b)  v = Mul(u, c)  y = Sub(v, d) }"
    )
    inputs = {"a": X["x"], "b": 2 * X["x"], "c": 3 * X["x"], "d": np.ones(3, np.float32)}
    session = after(merge_inputs, program, inputs, has("Mul"))
    assert list(session.inputs) == ["a", "d"]
    assert session.tries == 1
    still = checked(lambda p, i: any(n.op_type == "Add" and n.inputs[0] is not n.inputs[1] for n in p.nodes()))
    assert list(after(merge_inputs, program, inputs, still).inputs) in (["a", "b", "d"], ["a", "c", "d"])


def test_feed_weights() -> None:
    program = parse("g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }")
    session = after(feed_weights, program, {"x": np.ones(3, np.float32)}, has("Add"))
    assert not session.program.graph.initializers
    still = checked(lambda p, i: bool(p.graph.initializers))
    nothing(feed_weights, program, {"x": np.ones(3, np.float32)}, still)


def test_lower_opset() -> None:
    program = parse("g (float[2,3] x) => (float[2,3] y) { a = Exp(x)  y = Relu(a) }")
    assert after(lower_opset, program, X, has("Relu")).program.opset == 7
    still = checked(lambda p, i: p.opset >= 13)  # Exp-13, Relu-13
    session = after(lower_opset, program, X, still)
    assert (session.program.opset, session.tries) == (13, 2)
    # The default of Softmax's axis is another one before 13, the axes of ReduceSum an attribute.
    for text in ("y = Softmax(x)", "a = Constant <value = int64[1] {1}> ()  y = ReduceSum(x, a)"):
        other = parse(f"g (float[2,3] x) => (float[2,n] y) {{ {text} }}")
        assert after(lower_opset, other, X, checked(lambda p, i: True)).program.opset == 13


def test_every_pass_is_tested_here() -> None:
    assert {one.__name__ for one in (*STRUCTURE, *DATA, *LOOKS)} <= set(globals())


CALLS = """
<domain: "own", opset_import: ["" : 17]>
Twice <k> (a) => (c) { b = Neg(a)  c = LeakyRelu <alpha : float = @k> (b) }
"""


def test_inline_calls() -> None:
    program = parse(
        "g (float[2,3] x) => (float[2,3] y) { a = own.Twice <k = 0.5> (x)  y = own.Twice <k = 0.25> (a) }",
        functions=CALLS,
    )
    session = after(inline_calls, program, X, has("LeakyRelu"))
    assert ops(session.program) == ["Neg", "LeakyRelu", "Neg", "LeakyRelu"]
    assert not session.program.model.functions
    assert session.tries == 1
    nothing(inline_calls, session.program, X, has("LeakyRelu"))


def test_inline_one_of_two_calls() -> None:
    """A fault that needs a call keeps one."""
    program = parse(
        "g (float[2,3] x) => (float[2,3] y) { a = own.Twice <k = 0.5> (x)  y = own.Twice <k = 0.25> (a) }",
        functions=CALLS,
    )
    session = after(inline_calls, program, X, has("Twice"))
    assert sorted(ops(session.program)) == ["LeakyRelu", "Neg", "Twice"]


BRANCHES = """
g (float[2,3] x, bool c) => (float[2,3] y) {
  z = If (c) <then_branch = a () => (float[2,3] t) { u = Abs(x)  t = Exp(u) },
              else_branch = b () => (float[2,3] e) { v = Neg(x)  w = Sin(x)  e = Tanh(v) }>
  y = Relu(z)
}
"""


def test_unwrap_bodies_takes_the_branch_that_is_needed() -> None:
    given = {**X, "c": np.array(True)}
    session = after(unwrap_bodies, parse(BRANCHES), given, has("Tanh"))
    assert ops(session.program) == ["Neg", "Tanh", "Relu"]
    assert set(session.inputs) == {"x"}


def test_unwrap_bodies_writes_out_a_loop() -> None:
    program = parse(
        """
g (float[2,3] x) => (float[2,3] y, float[2,2,3] s) <int64 trips = {2}, bool cond = {1}> {
  y, s = Loop (trips, cond, x) <body = b (int64 i, bool k, float[2,3] v) => (bool d, float[2,3] u, float[2,3] o) {
    d = Identity(k)  u = Sin(v)  o = Neg(u)
  }>
}
"""
    )
    session = after(unwrap_bodies, program, X, has("Sin"))
    assert "Loop" not in ops(session.program)
    assert ops(session.program).count("Sin") == 2
    now, once = run(session.program, session.inputs), np.sin(X["x"])
    np.testing.assert_allclose(now["y"], np.sin(once), rtol=1e-6)
    np.testing.assert_allclose(now["s"], np.stack([-once, -np.sin(once)]), rtol=1e-6)


def test_simplify_bodies() -> None:
    given = {**X, "c": np.array(True)}
    session = after(simplify_bodies, parse(BRANCHES), given, has("If"))
    inside = [n.op_type for n in session.program.graph.all_nodes()]
    assert sorted(inside) == ["Constant", "Constant", "If", "Relu"]
    nothing(simplify_bodies, session.program, session.inputs, has("If"))


def test_sizes_in_bodies_shrink() -> None:
    """What a body declares does not hold its sizes."""
    given = {"x": np.ones((4, 6), np.float32), "c": np.array(True)}
    program = parse(BRANCHES.replace("[2,3]", "[4,6]"))
    session = after(shrink_sizes, program, given, has("If"))
    value = session.inputs["x"]
    assert isinstance(value, np.ndarray)
    assert value.size == 1
