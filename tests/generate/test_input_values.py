"""Inputs fit the types, ranges and uses of a program, are the same in every process, and run where inputs matter."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto as T
from onnx import helper

from irfuzz.errors import Unsupported
from irfuzz.generate.input_values import SIZES, make_inputs
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def program(body: str, opset: int = 17, functions: str = "", domains: str = "") -> Program:
    text = f'<ir_version: 9, opset_import: ["" : {opset}{domains}]> {body} {functions}'
    return Program.from_proto(onnx.parser.parse_model(text))


def many(of: Program, count: int = 40, **options: object) -> list[dict]:
    return [make_inputs(of, seed, **options) for seed in range(count)]


def test_seeds_decide_and_names_separate() -> None:
    p = program("g (float[4] a, float[4] b) => (float[4] y) { y = Add(a, b) }")
    first, again, other = make_inputs(p, 1), make_inputs(p, 1), make_inputs(p, 2)
    for name in "ab":
        np.testing.assert_array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])
    assert not np.array_equal(first["a"], first["b"])


def test_an_input_survives_edits_elsewhere() -> None:
    few = program("g (float[4] a) => (float[4] y) { y = Neg(a) }")
    more = program("g (int64[9] c, float[4] a) => (float[4] y, int64[9] z) { y = Neg(a) z = Neg(c) }")
    np.testing.assert_array_equal(make_inputs(few, 5)["a"], make_inputs(more, 5)["a"])


def test_same_in_another_process(root: Path) -> None:
    code = (
        "import hashlib; from pathlib import Path; from irfuzz.ir.program import Program\n"
        "from irfuzz.generate.input_values import make_inputs\n"
        "p = Program.from_bytes(Path('seeds/transformer.onnx').read_bytes())\n"
        "print(hashlib.sha256(b''.join(v.tobytes() for v in make_inputs(p, 7, numbers='edges').values())).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=root, capture_output=True, text=True, check=True)
    here = make_inputs(Program.from_bytes((root / "seeds/transformer.onnx").read_bytes()), 7, numbers="edges")
    assert done.stdout.strip() == hashlib.sha256(b"".join(v.tobytes() for v in here.values())).hexdigest()


@pytest.mark.parametrize("kind", [k for k in T.DataType.values() if k not in (0, T.STRING, T.FLOAT6E2M3, T.FLOAT6E3M2)])
def test_every_dtype(kind: int) -> None:
    info = [helper.make_tensor_value_info(name, kind, [3, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", info[:1], info[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=13)
    found = [v["x"] for v in many(Program.from_proto(proto), 8, numbers="edges")]
    assert {v.dtype for v in found} == {np.dtype(helper.tensor_dtype_to_np_dtype(kind))}
    assert {v.shape for v in found} == {(3, 2)}
    assert len({v.tobytes() for v in found}) > 1


def test_dims_of_one_name_are_one_size() -> None:
    p = program("g (float[n, m] a, float[m, n] b, float[2, n] c) => (y, z) { y = MatMul(a, b) z = Neg(c) }")
    sizes = set()
    for made in many(p):
        n, m = made["a"].shape
        assert made["b"].shape == (m, n)
        assert made["c"].shape == (2, n)
        sizes.add(n)
    assert sizes == set(SIZES)
    assert make_inputs(p, 0, dims={"n": 9})["c"].shape == (2, 9)


def test_unknown_sizes_fit_each_other() -> None:
    p = program("g (float[?, 3] a, float[?, 3] b) => (y) { y = Add(a, b) }")
    made = make_inputs(p, 0)
    assert made["a"].shape == made["b"].shape == (1, 3)


def test_ranges_are_kept_also_with_specials() -> None:
    p = program("g (float[50] a, int32[50] b) => (y, z) { y = Sqrt(a) z = Neg(b) }")
    values = many(p, 40, ranges={"a": (0.5, 2.0), "b": (3, 5)}, numbers="nan")
    a, b = (np.stack([v[name] for v in values]) for name in "ab")
    assert (a.min() >= 0.5, a.max() <= 2.0) == (True, True)
    assert 1.0 in a
    assert a.max() > 1.9
    assert set(np.unique(b)) == {3, 4, 5}


def test_specials() -> None:
    p = program("g (float[30] a, float16[30] h) => (y, z) { y = Neg(a) z = Neg(h) }")
    plain = np.stack([v["a"] for v in many(p)])
    assert np.isfinite(plain).all()
    whole = [(row == np.round(row)).all() for row in plain]
    assert 0 < sum(whole) < len(whole) / 4  # now and then many are equal, and else none is a whole number
    assert not (plain[~np.array(whole)] == 0).any()
    finite = np.stack([v["a"] for v in many(p, numbers="edges")])
    assert np.isfinite(finite).all()
    for wanted in (0.0, np.finfo(np.float32).max, np.finfo(np.float32).min, np.finfo(np.float32).smallest_subnormal):
        assert wanted in finite
    assert (np.signbit(finite) & (finite == 0)).any()
    half = np.stack([v["h"] for v in many(p, 200, numbers="nan")])
    assert half.dtype == np.float16
    assert np.isnan(half).any()
    assert np.isposinf(half).any()
    assert np.isneginf(half).any()
    assert np.float16(65504) in half


@pytest.mark.parametrize("kind", ["int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_wide_integers_of_every_magnitude(kind: str) -> None:
    p = program(f"g ({kind}[12] a) => (y) {{ y = Identity(a) }}")
    values = {int(x) for made in many(p, 200, numbers="wide") for x in made["a"]}
    limits = np.iinfo(kind)
    for bits in (16, 24, 31, 53, 62):
        near = {sign * 2**bits + d for d in (-1, 0, 1) for sign in (1, -1)}
        assert near & values == {n for n in near if limits.min <= n <= limits.max}
    assert len({x for x in values if abs(x) > limits.max // 2}) > 100
    small = sum(abs(x) <= 10 for made in many(p, 200, numbers="wide") for x in made["a"].tolist())
    assert 400 < small < 1600


@pytest.mark.parametrize("kind", ["float", "float16", "double", "bfloat16"])
def test_wide_floats_are_finite_and_of_all_kinds(kind: str) -> None:
    p = program(f"g ({kind}[16] a) => (y) {{ y = Identity(a) }}")
    rows = [made["a"].astype(np.float64) for made in many(p, 300, numbers="wide")]
    values = np.stack(rows)
    assert np.isfinite(values).all()
    assert np.abs(values).max() > (1e4 if kind == "float16" else 1e30)
    assert 0 < np.abs(values[values != 0]).min() < (1e-4 if kind == "float16" else 1e-20)
    assert any(set(row) <= set(range(256)) and row.max() > 100 for row in rows)
    assert any((row == row[0]).all() for row in rows)
    assert any(np.abs(row).max() > 16 and abs(row.sum()) < 0.1 * np.abs(row).sum() for row in rows)
    resolution = {"float": 2**-23, "float16": 2**-10, "double": 2**-52, "bfloat16": 2**-7}[kind]
    near = [np.abs(np.diff(np.unique(np.abs(row)))).min(initial=np.inf) / np.abs(row).max() for row in rows]
    assert any(0 < step <= 2 * resolution for step in near)
    ordinary = sum(np.abs(row).max() < 1e5 for row in rows)
    assert ordinary > 0.6 * len(rows)


@pytest.mark.parametrize(
    "body",
    [
        "y = ReduceSum(a)",
        "y = ReduceProd(a)",
        "y = ReduceL1(a)",
        "y = ReduceSumSquare(a)",
        "b = Mul(a, a) y = ReduceSum(b)",
        "y = Pow(a, three)",
        "y = MatMul(a, a)",
    ],
)
def test_most_wide_integers_are_as_large_as_the_exact_result_allows(body: str) -> None:
    p = program(f"g (int64[3] a) => (y) <int64 three = {{3}}> {{ {body} }}")
    fits = [ExactIntegers(p, made) for made in many(p, 100, numbers="wide")]
    assert sum(run.fit for run in fits) > 80
    ends = [run.of(p.graph.outputs[0]) for run in fits if run.fit]
    assert sum(end is not None and max(map(abs, end.ravel().tolist())) > 2**53 for end in ends) > 25


def test_what_is_limited_is_not_wide() -> None:
    p = program("g (float[4] d, int64[40] i, float[4] e) => (y, z) { y = Gather(d, i) z = Identity(e) }")
    made = many(p, 40, ranges={"e": (0, 1)}, numbers="wide")
    assert {int(x) for one in made for x in one["i"]} == {0, 1, 2, 3}
    assert all(0 <= one["e"].min() <= one["e"].max() <= 1 for one in made)
    assert max(float(np.abs(one["d"]).max()) for one in made) > 1e3


def test_divisors_have_signs_where_edges_are_drawn() -> None:
    p = program("g (int32[40] a, int32[40] i, uint32[40] b, uint32[40] u) => (y, z) { y = Div(a, i) z = Mod(b, u) }")
    made = many(p, numbers="edges")
    assert any((one["a"][one["i"] == -1] == -(2**31)).any() for one in made)
    assert min(int(one["i"].min()) for one in made) == -8
    assert {int(x) for one in made for x in one["u"]} == set(range(1, 9))
    assert {int(x) for one in many(p) for x in one["i"]} == set(range(1, 9))


def test_strings_sequences_optionals() -> None:
    tensor = helper.make_tensor_type_proto(T.FLOAT, ["n", 2])
    kinds = {
        "words": helper.make_tensor_type_proto(T.STRING, [4]),
        "list": helper.make_sequence_type_proto(tensor),
        "maybe": helper.make_optional_type_proto(tensor),
        "lists": helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor)),
    }
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], [name + "_out"]) for name in kinds],
        "g",
        [helper.make_value_info(name, kind) for name, kind in kinds.items()],
        [helper.make_value_info(name + "_out", kind) for name, kind in kinds.items()],
    )
    p = Program.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    found = many(p)
    assert all(isinstance(s, str) for v in found for s in v["words"])
    assert len({s for v in found for s in v["words"]}) > 5
    assert {len(v["list"]) for v in found} == {1, 2, 3}
    assert {type(v["maybe"]) for v in found} == {type(None), np.ndarray}
    assert {type(v["lists"]) for v in found} == {type(None), list}
    assert all(len({t.shape for t in v["list"]}) == 1 for v in found)


def test_defaults_are_left_alone() -> None:
    p = program("g (float[2] a, float[2] w = {1, 2}) => (y) { y = Add(a, w) }")
    assert list(make_inputs(p, 0)) == ["a"]


def test_maps_are_refused_by_name() -> None:
    value = helper.make_value_info("m", helper.make_map_type_proto(T.INT64, helper.make_tensor_type_proto(T.FLOAT, [])))
    out = helper.make_tensor_value_info("y", T.FLOAT, None)
    graph = helper.make_graph([helper.make_node("CastMap", ["m"], ["y"], domain="ai.onnx.ml")], "g", [value], [out])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    p = Program.from_proto(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    with pytest.raises(Unsupported, match="'m'"):
        make_inputs(p, 0)


def test_inputs_beyond_memory_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"'x': 1152921504606846976 elements; at most 67108864"):
        make_inputs(program(f"g (float[{1 << 40},{1 << 20}] x) => (y) {{ y = Relu(x) }}"), 0)


# Uses that limit an input: body, input, lowest and highest element allowed (also what must be reached).
USES = {
    "gather": ("g (float[5,3] d, int64[40] i) => (y) { y = Gather(d, i) }", "i", 0, 4),
    "gather, last axis": ("g (float[5,3] d, int64[40] i) => (y) { y = Gather<axis=-1>(d, i) }", "i", 0, 2),
    "gather from a constant table": (
        "g (int32[40] i) => (y) <float[3] t = {1, 2, 3}> { y = Gather(t, i) }", "i", 0, 2),
    "gather elements": ("g (float[4,40] d, int64[3,40] i) => (y) { y = GatherElements(d, i) }", "i", 0, 3),
    "gather nd": ("g (float[4,6] d, int64[40,2] i) => (y) { y = GatherND(d, i) }", "i", 0, 3),
    "one hot": ("g (int64[40] i) => (y) <int64 d = {5}, float[2] v = {0, 1}> { y = OneHot(i, d, v) }", "i", 0, 4),
    "cast, reshape and gather": (
        "g (float[4] d, int32[40] i) => (y) <int64[2] s = {8,5}> {a = Cast<to=7>(i) b = Reshape(a,s) y = Gather(d,b)}",
        "i", 0, 3),
    "float that becomes an index": (
        "g (float[4] d, float[40] i) => (y) { a = Cast<to=7>(i) y = Gather(d, a) }", "i", 0, 3),
    "sum that becomes an index": (
        "g (float[9] d, int64[40] i) => (y) <int64 c = {4}> { a = Add(i, c) y = Gather(d, a) }", "i", -4, 4),
    "difference that becomes an index": (
        "g (float[9] d, int64[40] i) => (y) <int64 c = {4}> { a = Sub(i, c) y = Gather(d, a) }", "i", 4, 12),
    "product that becomes an index": (
        "g (float[9] d, int64[40] i) => (y) <int64 c = {2}> { a = Mul(i, c) y = Gather(d, a) }", "i", 0, 4),
    "two tables": (
        "g (float[9] d, float[4] e, int64[40] i) => (y, z) { y = Gather(d, i) z = Gather(e, i) }", "i", 0, 3),
    "divisor": ("g (int32[40] a, int32[40] i) => (y) { y = Div(a, i) }", "i", 1, 8),
    "lengths": (
        'g (float[5,40,2] x, float[1,12,2] w, float[1,12,3] r, int32[40] i) => (y) {y=LSTM<hidden_size=3>(x,w,r,"",i)}',
        "i", 1, 5),
    "top k": ("g (float[6] d, int64[1] i) => (y, z) { y, z = TopK(d, i) }", "i", 1, 6),
    "classes": (
        "g (float[40,3] d, int64[40] i) => (y) { y = NegativeLogLikelihoodLoss(d, i) }", "i", 0, 2),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("special", [False, True])
def test_use_limits_an_input(use: str, special: bool) -> None:
    body, name, low, high = USES[use]
    p = program(body)
    evaluator = onnx.reference.ReferenceEvaluator(p.to_proto())
    found = []
    for inputs in many(p, numbers="nan" if special else "ordinary"):
        found.append(inputs[name])
        with np.errstate(all="ignore"):
            evaluator.run(None, inputs)
    values = np.stack(found).astype(int)
    if special and use == "divisor":
        assert 0 not in values
        low = -high
    assert (values.min(), values.max()) == (low, high)


@pytest.mark.parametrize("given", [(0.5, 0.6), (1.5, 2.5), (-0.9, -0.1), (7.0, 9.0)], ids=str)
def test_a_range_without_a_whole_number_leaves_indices_be(given: tuple[float, float]) -> None:
    """What is used as an index is whole and within its limit, whatever range it is given."""
    p = program("g (float[4] d, float[40] i) => (y) { a = Cast<to=7>(i) y = Gather(d, a) }")
    values = np.stack([v["i"] for v in many(p, 40, ranges={"i": given})])
    assert np.array_equal(values, np.rint(values))
    assert set(np.unique(values)) == ({2} if given == (1.5, 2.5) else {0, 1, 2, 3})


def test_limit_reaches_through_a_function_and_a_loop() -> None:
    p = program(
        "g (float[4] d, int64[40] i) => (y) { y = l.take(d, i) }",
        domains=', "l" : 1',
        functions='<domain: "l", opset_import: ["" : 17]> take (d, i) => (y) { j = Identity(i) y = Gather(d, j) }',
    )
    # The table's size is not known inside a function, so only its first element is safe.
    assert {int(x) for v in many(p) for x in v["i"]} == {0}
    p = program(
        "g (int64[40] i) => (y) <int64 m = {2}, bool c = {1}, float[4] t = {1, 2, 3, 4}> {"
        " last, y = Loop<body = b (int64 n, bool k, int64[40] v) => (bool ko, int64[40] vo, float[40] e)"
        " { ko = Identity(k) vo = Identity(v) e = Gather(t, v) }>(m, c, i) }"
    )
    assert {int(x) for v in many(p) for x in v["i"]} == {0, 1, 2, 3}


@pytest.mark.parametrize("times", [9, 8, 20])
def test_limit_ends_behind_factors_that_come_to_nothing(times: int) -> None:
    """A small factor takes the limit beyond all floats, a smaller one is 0: then every input will do."""
    chain = "".join(f" v{n + 1} = Mul(v{n}, s)" for n in range(times))
    p = program(
        f"g (float[3] v0) => (y) <float s = {{1e-38}}, float[4] t = {{1, 2, 3, 4}}> {{{chain}"
        f" i = Cast<to = 7>(v{times}) y = Gather(t, i) }}"
    )
    evaluator = onnx.reference.ReferenceEvaluator(p.to_proto())
    for inputs in many(p):
        with np.errstate(all="ignore"):
            evaluator.run(None, inputs)


def test_scatter_indices_do_not_repeat() -> None:
    p = program("g (float[6,2] d, int64[4,2] i, float[4,2] u) => (y) { y = ScatterElements(d, i, u) }")
    for made in many(p):
        assert all(len(set(column)) == 4 and 0 <= min(column) <= max(column) < 6 for column in made["i"].T)
    p = program("g (float[3,4] d, int64[5,2] i, float[5] u) => (y) { y = ScatterND(d, i, u) }")
    seen = set()
    for made in many(p):
        rows = {tuple(row) for row in made["i"].tolist()}
        assert len(rows) == 5
        seen |= rows
    assert seen == {(a, b) for a in range(3) for b in range(4)}


def test_shapes_as_inputs_are_exact() -> None:
    p = program("g (float[2,6] d, int64[2] s) => (float[3,4] y) { t = Identity(s) y = Reshape(d, t) }")
    evaluator = onnx.reference.ReferenceEvaluator(p.to_proto())
    for made in many(p, 5):
        assert evaluator.run(None, made)[0].size == 12
    p = program("g (float[2,6] d, int64[2] s) => (y, z) { y, z = Split<axis=1>(d, s) }")
    for made in many(p, 5):
        assert made["s"].sum() == 6


def test_axes_are_different_and_in_range() -> None:
    p = program("g (float[2,3,4] d, int64[2] a) => (y) { y = ReduceSum(d, a) }")
    for made in many(p, 5):
        assert len(set(made["a"].tolist())) == 2
        assert set(made["a"].tolist()) <= {0, 1, 2}


def test_extended_types_hold_their_range() -> None:
    p = program("g (bfloat16[200] a) => (bfloat16[200] y) { y = Neg(a) }")
    made = np.concatenate([v["a"] for v in many(p)])
    assert made.dtype == ml_dtypes.bfloat16
    assert 0.5 < np.median(np.abs(made.astype(np.float32))) < 1.0
