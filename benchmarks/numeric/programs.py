"""Small programs with faults as studies of TensorFlow bugs, DEBAR and GRIST describe them, and their mended twins."""

# ruff: noqa: E501 - a program stands on one line

from __future__ import annotations

from benchmarks.numeric.case import Case, Pair, pair
from benchmarks.numeric.further import FURTHER

_X = "float[4,10] x"
_Y = "float[4,10] y"
_S = "float[4] y"
_LOGITS = {"x": (-200.0, 200.0)}
_UNIT = {"x": (0.0, 1.0)}
_EPS = "float eps = {1e-6}"
_ONE = "float one = {1.0}"
_AX = "int64[1] ax = {1}"

ARCHITECTURES: tuple[Pair, ...] = (
    # DEBAR's first data set: eight programs of questions and repositories about TensorFlow, and TensorFuzz's network.
    pair(
        "spatial-transformer",
        "float[2,1,8,8] x, float[2,8,8,2] grid, float[64,10] w, float[10] b, float[2,10] t", "float[2] y",
        "g = GridSample(x, grid) f = Flatten(g) z = Gemm(f, w, b) p = Softmax<axis=-1>(z) l = Log(p) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        "g = GridSample(x, grid) f = Flatten(g) z = Gemm(f, w, b) l = LogSoftmax<axis=-1>(z) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        {"x": (0, 1), "grid": (-1, 1), "w": (-2, 2), "b": (-1, 1), "t": (0, 1)}, "l", _AX,
    ),
    pair(
        "logistic-regression",
        "float[4,3] x, float[3,1] w, float[1] b, float[4,1] t", "float[4,1] y",
        "z = Gemm(x, w, b) p = Sigmoid(z) lp = Log(p) a = Mul(t, lp) q = Sub(one, p) lq = Log(q) u = Sub(one, t) c = Mul(u, lq) s = Add(a, c) y = Neg(s)",
        "z = Gemm(x, w, b) r = Sigmoid(z) p = Clip(r, lo, hi) lp = Log(p) a = Mul(t, lp) q = Sub(one, p) lq = Log(q) u = Sub(one, t) c = Mul(u, lq) s = Add(a, c) y = Neg(s)",
        {"x": (-10, 10), "w": (-5, 5), "b": (-1, 1), "t": (0, 1)}, "lp lq", "float one = {1.0}, float lo = {1e-6}, float hi = {0.999999}",
    ),
    pair(
        "softmax-regression",
        "float[4,16] x, float[16,10] w, float[10] b, float[4,10] t", "float[4] y",
        "z = Gemm(x, w, b) p = Softmax<axis=-1>(z) l = Log(p) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        "z = Gemm(x, w, b) r = Softmax<axis=-1>(z) p = Clip(r, lo, hi) l = Log(p) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        {"x": (0, 1), "w": (-10, 10), "b": (-10, 10), "t": (0, 1)}, "l", _AX + ", float lo = {1e-10}, float hi = {1.0}",
    ),
    pair(
        "cnn-dropout-log-softmax",
        "float[2,1,8,8] x, float[4,1,3,3] k, float[144,10] w, float[2,10] t", "float[2] y",
        "c = Conv(x, k) r = Relu(c) d = Dropout(r) f = Flatten(d) z = MatMul(f, w) p = Softmax<axis=-1>(z) l = Log(p) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        "c = Conv(x, k) r = Relu(c) d = Dropout(r) f = Flatten(d) z = MatMul(f, w) l = LogSoftmax<axis=-1>(z) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        {"x": (0, 1), "k": (-1, 1), "w": (-1, 1), "t": (0, 1)}, "l", _AX,
    ),
    pair(
        "cnn-dropout-log-softmax-mean",
        "float[2,1,8,8] x, float[4,1,3,3] k, float[144,10] w, float[2,10] t", "float y",
        "c = Conv(x, k) r = Relu(c) d = Dropout(r) f = Flatten(d) z = MatMul(f, w) p = Softmax<axis=-1>(z) l = Log(p) m = Mul(t, l) n = Neg(m) y = ReduceMean<keepdims=0>(n)",
        "c = Conv(x, k) r = Relu(c) d = Dropout(r) f = Flatten(d) z = MatMul(f, w) p = Softmax<axis=-1>(z) q = Add(p, eps) l = Log(q) m = Mul(t, l) n = Neg(m) y = ReduceMean<keepdims=0>(n)",
        {"x": (0, 1), "k": (-1, 1), "w": (-1, 1), "t": (0, 1)}, "l", _EPS,
    ),
    pair(
        "cnn-log-softmax-two-layers",
        "float[2,1,10,10] x, float[4,1,3,3] k1, float[4,4,3,3] k2, float[144,10] w, float[2,10] t", "float[2] y",
        "c = Conv(x, k1) r = Relu(c) c2 = Conv(r, k2) r2 = Relu(c2) f = Flatten(r2) z = MatMul(f, w) p = Softmax<axis=-1>(z) l = Log(p) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        "c = Conv(x, k1) r = Relu(c) c2 = Conv(r, k2) r2 = Relu(c2) f = Flatten(r2) z = MatMul(f, w) p = Softmax<axis=-1>(z) q = Max(p, eps) l = Log(q) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        {"x": (0, 1), "k1": (-1, 1), "k2": (-1, 1), "w": (-1, 1), "t": (0, 1)}, "l", _AX + ", " + _EPS,
    ),
    pair(
        "mlp-log-of-matmul",
        "float[4,8] x, float[8,16] w1, float[16,10] w2, float[4,10] t", "float[4] y",
        "a = MatMul(x, w1) h = Relu(a) z = MatMul(h, w2) l = Log(z) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        "a = MatMul(x, w1) h = Relu(a) z = MatMul(h, w2) l = LogSoftmax<axis=-1>(z) m = Mul(t, l) s = ReduceSum<keepdims=0>(m, ax) y = Neg(s)",
        {"x": (-1, 1), "w1": (-1, 1), "w2": (-1, 1), "t": (0, 1)}, "l", _AX,
    ),
    pair(
        "mlp-sigmoid-cross-entropy",
        "float[4,8] x, float[8,2] w, float[4,2] t", "float[4,2] y",
        "z = MatMul(x, w) p = Sigmoid(z) q = Sub(one, p) l = Log(q) y = Mul(t, l)",
        "z = MatMul(x, w) p = Sigmoid(z) c = Clip(p, lo, hi) q = Sub(one, c) l = Log(q) y = Mul(t, l)",
        {"x": (-10, 10), "w": (-10, 10), "t": (0, 1)}, "l", "float one = {1.0}, float lo = {0.0}, float hi = {0.9999}",
    ),
    pair(
        "tensorfuzz",
        "float[4,10] x, float[10,10] w, float[4,10] t", "float[4] y",
        "z = MatMul(x, w) e = Exp(z) s = ReduceSum<keepdims=1>(e, ax) p = Div(e, s) l = Log(p) m = Mul(t, l) r = ReduceSum<keepdims=0>(m, ax) y = Neg(r)",
        "z = MatMul(x, w) mx = ReduceMax<axes=[1], keepdims=1>(z) d = Sub(z, mx) e = Exp(d) s = ReduceSum<keepdims=1>(e, ax) p = Div(e, s) q = Add(p, eps) l = Log(q) m = Mul(t, l) r = ReduceSum<keepdims=0>(m, ax) y = Neg(r)",
        {"x": (-100, 100), "w": (-1, 1), "t": (0, 1)}, "e p l", _AX + ", " + _EPS,
    ),
)  # fmt: skip
"""The nine buggy architectures of DEBAR's first data set, rebuilt from their public descriptions, and mended."""

OTHERS: tuple[Pair, ...] = (
    pair("log-softmax", _X, _Y, "p = Softmax<axis=-1>(x) y = Log(p)", "y = LogSoftmax<axis=-1>(x)", _LOGITS, "y"),
    pair("entropy", _X, _Y, "p = Softmax<axis=-1>(x) l = Log(p) y = Mul(p, l)", "p = Softmax<axis=-1>(x) q = Add(p, eps) l = Log(q) y = Mul(p, l)", _LOGITS, "l", _EPS),
    pair("kl-divergence", "float[4] p, float[4] q", _S, "r = Div(p, q) l = Log(r) y = Mul(p, l)",
         "a = Add(p, eps) b = Add(q, eps) r = Div(a, b) l = Log(r) y = Mul(p, l)", {"p": (0, 1), "q": (0, 1)}, "r l", _EPS),
    pair("focal-loss", "float[4] x", _S, "p = Sigmoid(x) l = Log(p) q = Sub(one, p) w = Mul(q, q) y = Mul(w, l)",
         "p = Sigmoid(x) c = Max(p, eps) l = Log(c) q = Sub(one, p) w = Mul(q, q) y = Mul(w, l)", _LOGITS, "l", _ONE + ", " + _EPS),
    pair("log1p", "float[4] x", _S, "s = Add(x, one) y = Log(s)", "a = Abs(x) s = Add(a, one) y = Log(s)", {"x": (-1, 1)}, "y", _ONE),
    pair("poisson-loss", "float[4] x, float[4] t", _S, "e = Exp(x) m = Mul(t, x) y = Sub(e, m)",
         "c = Clip(x, lo, hi) e = Exp(c) m = Mul(t, x) y = Sub(e, m)", {"x": (-200, 200), "t": (0, 9)}, "e", "float lo = {-50.0}, float hi = {50.0}"),
    pair("gaussian-loss", "float[4] x, float[4] s", _S, "v = Mul(s, s) l = Log(v) q = Mul(x, x) r = Div(q, v) y = Add(l, r)",
         "w = Mul(s, s) v = Add(w, eps) l = Log(v) q = Mul(x, x) r = Div(q, v) y = Add(l, r)", {"x": (-1, 1), "s": (-1, 1)}, "l r", _EPS),
    pair("variational", "float[4] m, float[4] v, float[4] n", _S, "h = Mul(v, half) s = Exp(h) p = Mul(s, n) y = Add(m, p)",
         "c = Tanh(v) s = Exp(c) p = Mul(s, n) y = Add(m, p)", {"m": (-1, 1), "v": (-300, 300), "n": (-4, 4)}, "s", "float half = {0.5}"),
    pair("softplus", "float[4] x", _S, "e = Exp(x) s = Add(e, one) y = Log(s)", "y = Softplus(x)", _LOGITS, "e", _ONE),
    pair("log-sum-exp", _X, "float[4,1] y", "e = Exp(x) s = ReduceSum<keepdims=1>(e, ax) y = Log(s)",
         "m = ReduceMax<axes=[1], keepdims=1>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum<keepdims=1>(e, ax) l = Log(s) y = Add(l, m)", _LOGITS, "e y", _AX),
    pair("sigmoid", "float[4] x", _S, "n = Neg(x) e = Exp(n) s = Add(e, one) y = Reciprocal(s)", "y = Sigmoid(x)", _LOGITS, "e", _ONE),
    pair("tanh", "float[4] x", _S, "a = Exp(x) n = Neg(x) b = Exp(n) u = Sub(a, b) v = Add(a, b) y = Div(u, v)", "y = Tanh(x)", _LOGITS, "a b y"),
    pair("naive-softmax", _X, _Y, "e = Exp(x) s = ReduceSum<keepdims=1>(e, ax) y = Div(e, s)",
         "m = ReduceMax<axes=[1], keepdims=1>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum<keepdims=1>(e, ax) y = Div(e, s)", _LOGITS, "e y", _AX),
    pair("unit-vector", _X, _Y, "n = ReduceL2<axes=[1], keepdims=1>(x) y = Div(x, n)", "n = ReduceL2<axes=[1], keepdims=1>(x) m = Add(n, eps) y = Div(x, m)", {"x": (-1, 1)}, "y", _EPS),
    pair("lp-normalization", _X, _Y, "y = LpNormalization(x)", "s = Abs(x) a = Add(s, eps) y = LpNormalization(a)", {"x": (-1, 1)}, "y", _EPS),
    pair("reciprocal", "float[4] x", _S, "y = Reciprocal(x)", "m = Max(x, eps) y = Reciprocal(m)", _UNIT, "y", _EPS),
    pair("standardise", _X, _Y, "m = ReduceMean<axes=[1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes=[1]>(q) s = Sqrt(v) y = Div(d, s)",
         "m = ReduceMean<axes=[1]>(x) d = Sub(x, m) q = Mul(d, d) w = ReduceMean<axes=[1]>(q) v = Add(w, eps) s = Sqrt(v) y = Div(d, s)", {"x": (-1, 1)}, "y", _EPS),
    pair("variance-of-moments", _X, "float[4,1] y", "q = Mul(x, x) a = ReduceMean<axes=[1]>(q) m = ReduceMean<axes=[1]>(x) b = Mul(m, m) v = Sub(a, b) y = Sqrt(v)",
         "q = Mul(x, x) a = ReduceMean<axes=[1]>(q) m = ReduceMean<axes=[1]>(x) b = Mul(m, m) w = Sub(a, b) v = Relu(w) y = Sqrt(v)", {"x": (-1000, 1000)}, "y"),
    pair("masked-mean", "float[4,10] x, float[4,10] mask", "float[4,1] y", "p = Mul(x, mask) s = ReduceSum<keepdims=1>(p, ax) n = ReduceSum<keepdims=1>(mask, ax) y = Div(s, n)",
         "p = Mul(x, mask) s = ReduceSum<keepdims=1>(p, ax) n = ReduceSum<keepdims=1>(mask, ax) m = Max(n, one) y = Div(s, m)", {"x": (-1, 1), "mask": (0, 1)}, "y", _AX + ", " + _ONE),
    pair("cosine", "float[4,10] a, float[4,10] b", "float[4,1] y",
         "p = Mul(a, b) d = ReduceSum<keepdims=1>(p, ax) u = ReduceL2<axes=[1]>(a) v = ReduceL2<axes=[1]>(b) n = Mul(u, v) y = Div(d, n)",
         "p = Mul(a, b) d = ReduceSum<keepdims=1>(p, ax) u = ReduceL2<axes=[1]>(a) v = ReduceL2<axes=[1]>(b) m = Mul(u, v) n = Add(m, eps) y = Div(d, n)", {"a": (-1, 1), "b": (-1, 1)}, "y", _AX + ", " + _EPS),
    pair("angle", "float[4] a, float[4] b", _S, "p = Mul(a, b) y = Acos(p)", "p = Mul(a, b) c = Clip(p, lo, hi) y = Acos(c)", {"a": (-1.5, 1.5), "b": (-1, 1)}, "y", "float lo = {-1.0}, float hi = {1.0}"),
    pair("arcsine", "float[4] x", _S, "d = Add(x, x) y = Asin(d)", "s = Sin(x) c = Clip(s, lo, hi) y = Asin(c)", {"x": (-1, 1)}, "y", "float lo = {-1.0}, float hi = {1.0}"),
    pair("fisher", "float[4] x", _S, "y = Atanh(x)", "c = Clip(x, lo, hi) y = Atanh(c)", {"x": (-1, 1)}, "y", "float lo = {-0.999}, float hi = {0.999}"),
    pair("hyperbolic-distance", "float[4] x", _S, "y = Acosh(x)", "a = Abs(x) s = Add(a, one) y = Acosh(s)", {"x": (0, 2)}, "y", _ONE),
    pair("root", "float[4] x", _S, "y = Pow(x, half)", "a = Abs(x) y = Pow(a, half)", {"x": (-1, 1)}, "y", "float half = {0.5}"),
    pair("inverse-power", "float[4] x", _S, "y = Pow(x, e)", "m = Add(x, one) y = Pow(m, e)", _UNIT, "y", _ONE + ", float e = {-2.0}"),
    pair("power-overflow", "float[4] x", _S, "y = Pow(x, e)", "c = Clip(x, lo, hi) y = Pow(c, e)", {"x": (0, 1e6)}, "y", "float e = {8.0}, float lo = {0.0}, float hi = {1000.0}"),
    pair("square-root", "float[4] x", _S, "y = Sqrt(x)", "r = Relu(x) y = Sqrt(r)", {"x": (-1, 1)}, "y"),
    pair("geometric-mean", _X, "float[4,1] y", "l = Log(x) m = ReduceMean<axes=[1]>(l) y = Exp(m)", "p = Add(x, eps) l = Log(p) m = ReduceMean<axes=[1]>(l) y = Exp(m)", _UNIT, "l", _EPS),
    pair("harmonic-mean", _X, "float[4,1] y", "r = Reciprocal(x) m = ReduceMean<axes=[1]>(r) y = Reciprocal(m)", "p = Add(x, eps) r = Reciprocal(p) m = ReduceMean<axes=[1]>(r) y = Reciprocal(m)", _UNIT, "r", _EPS),
    pair("overlap", "float[4] a, float[4] b", _S, "i = Min(a, b) u = Max(a, b) y = Div(i, u)", "i = Min(a, b) v = Max(a, b) u = Add(v, eps) y = Div(i, u)", {"a": (0, 1), "b": (0, 1)}, "y", _EPS),
    pair("box-area", "float[2,4] center, float[2,4] offset", "float[1,4] y",
         "bl = Sub(center, offset) tr = Add(center, offset) rect = Concat<axis=0>(bl, tr) b, l, t, r = Split<axis=0>(rect) w = Sub(r, l) h = Sub(t, b) area = Mul(w, h) y = Reciprocal(area)",
         "bl = Sub(center, offset) tr = Add(center, offset) rect = Concat<axis=0>(bl, tr) b, l, t, r = Split<axis=0>(rect) w = Sub(r, l) h = Sub(t, b) area = Mul(w, h) y = Reciprocal(area)",
         {"center": (-1, 1), "offset": (0, 2)}, "y", mended_ranges={"center": (-1, 1), "offset": (1, 2)}),
    pair("box-size", "float[4] x", _S, "y = Exp(x)", "c = Clip(x, lo, hi) y = Exp(c)", {"x": (-1000, 1000)}, "y", "float lo = {-8.0}, float hi = {8.0}"),
    pair("perplexity", _X, "float[4,1] y", "s = ReduceSum<keepdims=1>(x, ax) y = Exp(s)", "s = ReduceMean<axes=[1]>(x) y = Exp(s)", {"x": (0, 30)}, "y", _AX),
    pair("temperature", "float[4,10] x, float[1] t", _Y, "z = Div(x, t) y = Softmax<axis=-1>(z)", "u = Max(t, least) z = Div(x, u) y = Softmax<axis=-1>(z)", {"x": (-9, 9), "t": (0, 1)}, "z", "float least = {0.01}"),
    pair("attention-mask", "float[4,10] x, bool[4,10] keep", _Y, "m = Where(keep, x, none) y = Softmax<axis=-1>(m)", "m = Where(keep, x, small) y = Softmax<axis=-1>(m)", {"x": (-9, 9)}, "y",
         "float none = {-inf}, float small = {-10000.0}"),
    pair("integer-division", "int64[4] a, int64[4] b", "int64[4] y", "y = Div(a, b)", "m = Max(b, one) y = Div(a, m)", {"a": (0, 100), "b": (0, 9)}, "y", "int64 one = {1}"),
    pair("integer-remainder", "int64[4] a, int64[4] b", "int64[4] y", "y = Mod(a, b)", "m = Add(b, one) y = Mod(a, m)", {"a": (0, 100), "b": (0, 9)}, "y", "int64 one = {1}"),
    pair("cast-to-integer", "float[4] x", "int32[4] y", "y = Cast<to=6>(x)", "c = Clip(x, lo, hi) y = Cast<to=6>(c)", {"x": (-1e12, 1e12)}, "y", "float lo = {-1000.0}, float hi = {1000.0}"),
    pair("half-square", "float16[4] x", "float16[4] y", "y = Mul(x, x)", "p = Cast<to=10>(part) s = Mul(x, p) y = Mul(s, s)", {"x": (-1000, 1000)}, "y", "float part = {0.1}"),
    pair("half-exponential", "float16[4] x", "float16[4] y", "y = Exp(x)", "m = Cast<to=10>(most) c = Min(x, m) y = Exp(c)", {"x": (-12, 12)}, "y", "float most = {11.0}"),
    pair("half-sum", "float16[2048] x", "float16[1] y", "y = ReduceSum(x)", "w = Cast<to=1>(x) s = ReduceMean(w) y = Cast<to=10>(s)", {"x": (0, 100)}, "y"),
    pair("narrowing", "float[4] x", "float16[4] y", "y = Cast<to=10>(x)", "c = Clip(x, lo, hi) y = Cast<to=10>(c)", {"x": (-1e6, 1e6)}, "y", "float lo = {-1000.0}, float hi = {1000.0}"),
    pair("product-overflow", "float[4] a, float[4] b", _S, "y = Mul(a, b)", "c = Clip(a, lo, hi) y = Mul(c, b)", {"a": (0, 1e30), "b": (0, 1e20)}, "y", "float lo = {0.0}, float hi = {1000.0}"),
    pair("matmul-overflow", "float[2,64] a, float[64,2] b", "float[2,2] y", "y = MatMul(a, b)", "c = Tanh(a) y = MatMul(c, b)", {"a": (-1e20, 1e20), "b": (-1e20, 1e20)}, "y"),
    pair("batch-norm-variance", "float[2,3,4] x, float[3] v", "float[2,3,4] y", "y = BatchNormalization<epsilon = 0.0>(x, s, b, m, v)", "y = BatchNormalization<epsilon = 0.001>(x, s, b, m, v)",
         {"x": (-1, 1), "v": (0, 1)}, "y", "float[3] s = {1, 1, 1}, float[3] b = {0, 0, 0}, float[3] m = {0, 0, 0}"),
    pair("layer-norm-epsilon", _X, _Y, "y = LayerNormalization<epsilon = 0.0>(x, s)", "y = LayerNormalization<epsilon = 0.001>(x, s)", {"x": (-1, 1)}, "y", "float[10] s = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}"),
    pair("quantisation-scale", "float[4] x", "uint8[4] y", "a = Abs(x) m = ReduceMax<keepdims=0>(a) s = Div(m, most) y = QuantizeLinear(x, s)",
         "a = Abs(x) m = ReduceMax<keepdims=0>(a) n = Max(m, eps) s = Div(n, most) y = QuantizeLinear(x, s)", {"x": (-1, 1)}, "y", "float most = {255.0}, float eps = {0.001}"),
    pair("log-of-sum", _X, "float[4,1] y", "y = ReduceLogSum<axes=[1]>(x)", "p = Add(x, eps) y = ReduceLogSum<axes=[1]>(p)", _UNIT, "y", _EPS),
    pair("reduce-log-sum-exp", _X, "float[4,1] y", "l = ReduceLogSumExp<axes=[1]>(x) y = Exp(l)", "l = ReduceLogSumExp<axes=[1]>(x) t = Tanh(l) y = Exp(t)", _LOGITS, "y"),
    pair("degree", "float[4,4] a, float[4,4] eye", "float[4,1] y", "d = ReduceSum<keepdims=1>(a, ax) s = Sqrt(d) y = Reciprocal(s)",
         "d = ReduceSum<keepdims=1>(a, ax) e = Add(d, one) s = Sqrt(e) y = Reciprocal(s)", {"a": (0, 1), "eye": (0, 1)}, "y", _AX + ", " + _ONE),
    pair("half-guard", "float[4] x", _S, "l = Log(x) c = Greater(x, zero) y = Where(c, l, zero)", "c = Greater(x, zero) s = Where(c, x, one) l = Log(s) y = Where(c, l, zero)", {"x": (-1, 1)}, "l", _ONE + ", float zero = {0.0}"),
    pair("divide-guard", "float[4] x", _S, "y = Div(one, x)", "c = Less(x, eps) s = Where(c, one, x) y = Div(one, s)", {"x": (-1, 1)}, "y", _ONE + ", " + _EPS),
    pair("negative-guard", "float[4] x", _S, "y = Sqrt(x)", "c = Less(x, zero) s = Where(c, zero, x) y = Sqrt(s)", {"x": (-1, 1)}, "y", "float zero = {0.0}"),
    pair("gap", "float[4] a, float[4] b", _S, "d = Sub(a, b) y = Log(d)", "d = Sub(a, b) q = Abs(d) s = Add(q, one) y = Log(s)", {"a": (0, 1), "b": (0, 1)}, "y", _ONE),
    pair("branch", "bool c, float[4] x", _S, "y = If(c) <then_branch = t () => (float[4] a) { a = Log(x) }, else_branch = e () => (float[4] b) { b = Exp(x) }>",
         "y = If(c) <then_branch = t () => (float[4] a) { p = Add(x, one) a = Log(p) }, else_branch = e () => (float[4] b) { b = Exp(x) }>", _UNIT, "a", _ONE),
    pair("symmetric-difference", "float[4] x", _S, "a = Sub(x, one) b = Sub(one, x) s = Add(a, b) y = Reciprocal(s)", "a = Add(x, one) b = Sub(one, x) s = Add(a, b) y = Reciprocal(s)", {"x": (0, 4)}, "y", _ONE),
    pair("step-of-range", "float d", "float[N] y", "y = Range(zero, one, d)", "m = Max(d, least) y = Range(zero, one, m)", {"d": (0, 1)}, "y", _ONE + ", float zero = {0.0}, float least = {0.1}"),
)  # fmt: skip

PAIRS = ARCHITECTURES + OTHERS + FURTHER

__all__ = ["ARCHITECTURES", "FURTHER", "OTHERS", "PAIRS", "Case", "Pair"]
