"""Every built-in rewrite on small programs in float64: what onnx's reference evaluator computes stays what it was."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from irfuzz.choices import Choices
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_chain import rewrite_once
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rewrite_table import BUILTIN, STRUCTURAL
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import Specs, load_specs

pytestmark = pytest.mark.property

IMAGES = "g (double[3, 4, 7, 6] x) => (double[N, C, H, W] y)"
GRAPHS = {
    "layers": """g (double[4, 6] x, double[6, 3] w) => (double[A, B] y, bool[C, D] z)
        <double two = {2}, double four = {4}, int64[2] s = {3, 4}> {
        a = MatMul(x, w) b = Tanh(a) c = Transpose <perm = [1, 0]> (b) d = Sub(c, four) e = Mul(d, c) f = Div(e, four)
        h = Pow(f, two) i = Add(h, c) j = Add(i, d) k = Concat <axis = 0> (j, c) y = Sigmoid(k)
        l = Less(j, c) m = Greater(d, four) n = And(l, m) z = Not(n) }""",
    "gemm": """g (double[3, 5] x, double[4, 5] w, double[4] b) => (double[A, B] y) {
        a = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) c = Relu(a) d = Flatten(c) e = Softmax(d)
        f = ReduceMean <axes = [1], keepdims = 1> (e) h = Neg(f) y = Sum(h, c, a) }""",
    "grouped": IMAGES + """ <double[4, 2, 3, 2] w = {1, 2, 3, -1, 0.5, 1, 2, 0, 1, 3, 1, 1, 0, 2, 1, 1, 2, 1, -3, 1, 2,
        1, 1, 4, 1, 2, 3, -1, 0.5, 1, 2, 0, 1, 3, 1, 1, 0, 2, 1, 1, 2, 1, -3, 1, 2, 1, 1, 4},
        double[4] b = {1, 2, 3, 4}>
        { y = Conv <group = 2, dilations = [2, 1], pads = [1, 0, 2, 1], strides = [1, 2]> (x, w, b) }""",
    "same": IMAGES + """ <double[2, 4, 1, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 9}, double[2] s = {1, 2},
        double[2] b = {0, 1}, double[2] m = {0.5, 1}, double[2] v = {1, 2}> {
        a = Conv <auto_pad = "SAME_LOWER", strides = [2, 1]> (x, w) c = BatchNormalization(a, s, b, m, v)
        d = Relu(c) e = MaxPool <kernel_shape = [2, 3], pads = [0, 1, 1, 1]> (d) y = GlobalAveragePool(e) }""",
    "pointwise": IMAGES + """ <double[2, 4, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
        a = Conv(x, w) b = LeakyRelu(a) y = GlobalMaxPool(b) }""",
    "choice": """g (double[2, 5] x, bool[2, 5] p) => (double[A, B] y, double[C, D] z) <double c = {0.5}> {
        a = Where(p, x, c) b = Abs(a) y = Identity(b) d = HardSwish(x) z = Clip(d, c) }""",
    "eight": """g (uint8[2, 5] x, int32[2, 3] i, int32[2, 3] j) => (uint8[A, B] y, bool[C, D] z) {
        y = Transpose <perm = [1, 0]> (x) z = Less(i, j) }""",
    "narrow": """g (float[2, 5] x, float[5] b) => (float[A, B] y, bool[C, D] z) {
        a = Add(x, b) c = Abs(a) y = Floor(c) z = GreaterOrEqual(a, b) }""",
    "sequence": """g (double[4, 2, 3] x, double[1, 5, 3] w, double[1, 5, 5] r) => (double[T, D, B, H] y) {
        y = RNN <hidden_size = 5> (x, w, r) }""",
    "both": """g (float[4, 2, 3] x, float[2, 20, 3] w, float[2, 20, 5] r, float[2, 40] b, float[2, 2, 5] h) =>
        (float[T, D, B, H] y) { y = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w, r, b, "", h) }""",
    "separable": IMAGES + """ <double[8, 1, 2, 2] d = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, -1, 2, 5, 1, 0, 1, 2, 3, 4, 5,
        6, 7, 8, 1, 2, 3, -1, 2, 5, 1, 0}, double[2, 8, 1, 1] p = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, -1}>
        { a = Conv <group = 4, pads = [1, 0, 0, 1]> (x, d) y = Conv(a, p) }""",
    "dense": IMAGES + """ <double[2, 4, 2, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, -1},
        double[2] b = {1, 2}> { y = Conv <strides = [1, 2]> (x, w, b) }""",
    "bytes": """g (uint8[1, 2, 5, 4] x) => (uint8[A, B, C, D] y) {
        a = MaxPool <kernel_shape = [2, 2]> (x) y = Transpose <perm = [0, 2, 1, 3]> (a) }""",
    "whole": """g (int64[2, 5] x, int64[2, 5] z) => (int64[A, B] y, int64[A, B] u) <int64 c = {7}> {
        y = Mod(x, c) u = Mod <fmod = 1> (z, c) }""",
    "norm": """g (float[2, 3] x, float[3] s) => (float[A, B] y) { y = LayerNormalization(x, s) }""",
    "moved": """g (double[2, 3] x) => (double[A, B] y) { a = Transpose <perm = [1, 0]> (x) y = Exp(a) }""",
    "sums": """g (double[3, 4] x, double[3, 4] z, double[4, 2] w) => (double[A, B] y, double[C] u, double v)
        <double[3, 4] c = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, -3}, double k = {0.5}> {
        a = Add(x, z) b = Mul(a, c) d = Mul(x, c) e = Sub(b, d) f = MatMul(a, w) h = Mul(x, k) i = MatMul(h, w)
        y = Add(f, i) u = ReduceSumSquare <axes = [0], keepdims = 0> (e) v = ReduceMax <keepdims = 0> (b) }""",
    "sizes": """g (double[3, 4] x, int64[2, 3] i, int64[2, 3] j) => (double[A, B] y, int64[C, D] z) <int64[1] one = {1},
        int64[1] m = {3}, int64[2, 3] k = {5, 6, 7, 8, 9, 10}> { s = Shape(x) a = Gather(s, one)
        t = Concat <axis = 0> (a, m) y = Reshape(x, t) l = Add(i, j) z = Mul(k, l) }""",
    "branch": """g (double[2, 3] x) => (double[A, B] y) <bool t = {1}> {
        y = If(t) <then_branch = a () => (double[2, 3] p) { p = Relu(x) }, else_branch = b () => (double[2, 3] q)
        { q = Neg(x) }> }""",
    "pools": IMAGES + """ <double[4] s = {1, 2, 3, -1}, double[4] t = {0, 1, 0.5, 2}> {
        a = AveragePool <kernel_shape = [2, 2], pads = [1, 0, 1, 1], count_include_pad = 1> (x)
        b = MaxPool <kernel_shape = [2, 2], pads = [0, 1, 1, 0]> (a) y = InstanceNormalization(b, s, t) }""",
    "transposed": IMAGES + """ <double[4, 2, 1, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, -1}> {
        y = ConvTranspose <strides = [2, 1], pads = [1, 0, 0, 1]> (x, w) }""",
    "computed": """g (double[1, 4, 7, 6] x, double[2, 4, 2, 2] w) => (double[N, C, H, W] y) {
        v = Neg(w) y = Conv <dilations = [2, 1]> (x, v) }""",
    "places": """g (float[2, 5] x, float[5, 3] t) => (float[A, B] y, int64[C] z) {
        z = ArgMax <axis = 1, keepdims = 0> (x) y = Gather(t, z) }""",
    "few": """g (float[2, 5] x) => (int64[A, B] y) { z = ArgMax <axis = 1> (x) y = Add(z, z) }""",
}  # fmt: skip

TRIES = 3
UNREFERENCED = frozenset(
    {"outline-function", "inline-function", "wrap-loop", "decode-encode", "directions-apart", "pool-one-dimension-more"}
)
"""The reference evaluator stumbles over their results, or the programs below have no site; ONNXRuntime judges them."""


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {
        name: Program.from_proto(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}'))
        for name, text in GRAPHS.items()
    }


def evaluate(program: Program, inputs: dict) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(ReferenceEvaluator(program.to_proto()).run(None, inputs))


def forms(rewrite: Rewrite, program: Program, specs: Specs, name: str):
    choices = Choices.from_seed(f"{rewrite.name}:{name}")
    sites = rewrite.sites(program, specs)
    for _ in range(TRIES if sites else 0):
        made = rewrite_once(program, specs, rewrite, choices.pick(sites), choices)
        if not isinstance(made, Skipped):
            yield made


@pytest.mark.parametrize("rewrite", [r for r in BUILTIN if r.name not in UNREFERENCED], ids=lambda r: r.name)
def test_a_rewrite_keeps_the_meaning(rewrite: Rewrite, specs: Specs, programs: dict[str, Program]) -> None:
    made = 0
    for name, program in programs.items():
        before = program.to_bytes()
        inputs = make_inputs(program, 1)
        wanted = None
        for step, form in forms(rewrite, program, specs, name):
            if wanted is None:
                wanted = evaluate(program, inputs)
            onnx.checker.check_model(form.to_proto(), full_check=True)
            assert form.digest != program.digest, step
            got = evaluate(form, {**make_inputs(form, 1), **inputs})
            for a, b in zip(wanted, got, strict=True):
                assert a.dtype == b.dtype
                if rewrite.exactness is Exactness.BITWISE and rewrite not in STRUCTURAL:
                    np.testing.assert_array_equal(a, b, err_msg=step.detail)
                else:
                    tolerance = 1e-12 if a.dtype == np.float64 else 1e-6
                    np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance, err_msg=step.detail)
            made += 1
        assert program.to_bytes() == before
    assert made, "no program of the test has a site for it"


SEEDS = ("lenet5", "lstm", "qcnn")


@pytest.mark.backend
@pytest.mark.parametrize("name", sorted(UNREFERENCED))
def test_a_rewrite_keeps_the_meaning_on_onnxruntime(name: str, specs: Specs, programs: dict[str, Program]) -> None:
    ort = pytest.importorskip("onnxruntime")
    rewrite = next(r for r in BUILTIN if r.name == name)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL

    def run(program: Program, inputs: dict) -> list[np.ndarray]:
        session = ort.InferenceSession(program.to_bytes(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)

    seeds = {s: Program.from_bytes((seeds_dir() / f"{s}.onnx").read_bytes()) for s in SEEDS}
    made = 0
    for seed, program in {**seeds, "eight": programs["eight"], "both": programs["both"]}.items():
        inputs = make_inputs(program, 1)
        start = program
        if name == "inline-function":  # it undoes what another rewrite does
            other = next(r for r in BUILTIN if r.name == "outline-function")
            start = next((form for _, form in forms(other, program, specs, seed)), program)
        for step, form in forms(rewrite, start, specs, seed):
            got = run(form, {**make_inputs(form, 1), **inputs})
            for a, b in zip(run(program, inputs), got, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=step.detail)
            made += 1
    assert made
