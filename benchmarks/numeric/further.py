"""Twenty more faults and their mended twins, written after the analysis was finished with the others."""

# ruff: noqa: E501 - a program stands on one line

from __future__ import annotations

from benchmarks.numeric.case import Pair, pair

_X = "float[4,10] x"
_Y = "float[4,10] y"
_S = "float[4] y"
_AX = "int64[1] ax = {1}"
_EPS = "float eps = {1e-6}"
_ONE = "float one = {1.0}"
_WIDE = {"x": (-100.0, 100.0)}

FURTHER: tuple[Pair, ...] = (
    pair("wasserstein-penalty", _X, "float[4,1] y", "n = ReduceSumSquare<axes=[1]>(x) s = Sqrt(n) r = Reciprocal(s) d = Sub(s, one) y = Mul(d, r)",
         "n = ReduceSumSquare<axes=[1]>(x) m = Add(n, eps) s = Sqrt(m) r = Reciprocal(s) d = Sub(s, one) y = Mul(d, r)", _WIDE, "r", _ONE + ", " + _EPS),
    pair("discriminator-loss", "float[4] x", _S, "p = Sigmoid(x) q = Sub(one, p) y = Log(q)", "p = Sigmoid(x) q = Sub(one, p) r = Add(q, eps) y = Log(r)", _WIDE, "y", _ONE + ", " + _EPS),
    pair("softmax-complement", _X, _Y, "p = Softmax<axis=-1>(x) q = Sub(one, p) y = Log(q)", "p = Softmax<axis=-1>(x) q = Sub(one, p) r = Add(q, eps) y = Log(r)", _WIDE, "y", _ONE + ", " + _EPS),
    pair("squashed-action", "float[4] x", _S, "t = Tanh(x) u = Mul(t, t) v = Sub(one, u) y = Log(v)", "t = Tanh(x) u = Mul(t, t) v = Sub(one, u) w = Add(v, eps) y = Log(w)", _WIDE, "y", _ONE + ", " + _EPS),
    pair("angle-of-unit-vector", _X, _Y, "n = ReduceL2<axes=[1]>(x) m = Add(n, eps) h = Mul(m, half) d = Div(x, h) y = Acos(d)", "n = ReduceL2<axes=[1]>(x) m = Add(n, eps) d = Div(x, m) y = Acos(d)", _WIDE, "y", _EPS + ", float half = {0.5}"),
    pair("squash-of-capsules", _X, _Y, "n = ReduceSumSquare<axes=[1]>(x) s = Sqrt(n) u = Div(x, s) a = Add(n, one) b = Div(n, a) y = Mul(b, u)",
         "n = ReduceSumSquare<axes=[1]>(x) m = Add(n, eps) s = Sqrt(m) u = Div(x, s) a = Add(n, one) b = Div(n, a) y = Mul(b, u)", {"x": (-1, 1)}, "u", _ONE + ", " + _EPS),
    pair("triplet-distance", "float[4,10] a, float[4,10] b", "float[4,1] y", "d = Sub(a, b) s = ReduceSumSquare<axes=[1]>(d) r = Sqrt(s) y = Reciprocal(r)", "d = Sub(a, b) s = ReduceSumSquare<axes=[1]>(d) m = Max(s, eps) r = Sqrt(m) y = Reciprocal(r)", {"a": (-1, 1), "b": (-1, 1)}, "y", _EPS),
    pair("logit", "float[4] x", _S, "q = Sub(one, x) r = Div(x, q) y = Log(r)", "c = Clip(x, lo, hi) q = Sub(one, c) r = Div(c, q) y = Log(r)", {"x": (0, 1)}, "r y", _ONE + ", float lo = {0.001}, float hi = {0.999}"),
    pair("bernoulli-entropy", "float[4] x", _S, "p = Sigmoid(x) q = Sub(one, p) l = Log(q) y = Mul(q, l)", "p = Sigmoid(x) q = Sub(one, p) m = Max(q, eps) l = Log(m) y = Mul(q, l)", _WIDE, "l", _ONE + ", " + _EPS),
    pair("mixture-of-gaussians", "float[4,10] x, float[10] s", _Y, "v = Mul(s, s) q = Div(x, v) y = Exp(q)", "v = Mul(s, s) w = Add(v, one) q = Div(x, w) y = Exp(q)", {"x": (-10, 10), "s": (-1, 1)}, "q y", _ONE),
    pair("weighted-mean", "float[4,10] x, float[4,10] w", "float[4,1] y", "p = Mul(x, w) a = ReduceSum(p, ax) b = ReduceSum(w, ax) y = Div(a, b)", "e = Exp(w) p = Mul(x, e) a = ReduceSum(p, ax) b = ReduceSum(e, ax) y = Div(a, b)", {"x": (-1, 1), "w": (-1, 1)}, "y", _AX),
    pair("range-scaling", _X, _Y, "h = ReduceMax<axes=[1]>(x) l = ReduceMin<axes=[1]>(x) d = Sub(h, l) c = Sub(x, l) y = Div(c, d)", "h = ReduceMax<axes=[1]>(x) l = ReduceMin<axes=[1]>(x) d = Sub(h, l) m = Add(d, eps) c = Sub(x, l) y = Div(c, m)", _WIDE, "y", _EPS),
    pair("relu-denominator", "float[4] x", _S, "r = Relu(x) y = Div(one, r)", "r = Relu(x) s = Add(r, one) y = Div(one, s)", {"x": (-1, 1)}, "y", _ONE),
    pair("guard-by-product", "float[4] x", _S, "s = Abs(x) y = Pow(s, e)", "a = Abs(x) s = Max(a, least) y = Pow(s, e)", {"x": (-1, 1)}, "y", "float e = {-0.5}, float least = {0.0001}"),
    pair("attention-temperature", "float[2,4,4] q, float[2,4,4] k, float[1] t", "float[2,4,4] y", "s = MatMul(q, k) u = Mul(t, t) z = Div(s, u) y = Softmax<axis=-1>(z)", "s = MatMul(q, k) u = Mul(t, t) v = Add(u, least) z = Div(s, v) y = Softmax<axis=-1>(z)", {"q": (-1, 1), "k": (-1, 1), "t": (-1, 1)}, "z", "float least = {0.01}"),
    pair("log-of-batch-norm", "float[2,3,4] x, float[3] v", "float[2,3,4] y", "n = BatchNormalization<epsilon = 0.001>(x, s, b, m, v) y = Log(n)", "n = BatchNormalization<epsilon = 0.001>(x, s, b, m, v) p = Softplus(n) q = Add(p, eps) y = Log(q)", {"x": (-1, 1), "v": (0, 1)}, "y", _EPS + ", float[3] s = {1, 1, 1}, float[3] b = {0, 0, 0}, float[3] m = {0, 0, 0}"),
    pair("count-of-positives", _X, "float[4,1] y", "c = Greater(x, zero) f = Cast<to=1>(c) n = ReduceSum(f, ax) y = Reciprocal(n)", "c = Greater(x, zero) f = Cast<to=1>(c) s = ReduceSum(f, ax) n = Max(s, one) y = Reciprocal(n)", {"x": (-1, 1)}, "y", _AX + ", " + _ONE + ", float zero = {0.0}"),
    pair("power-of-norm", _X, "float[4,1] y", "n = ReduceL2<axes=[1]>(x) y = Log(n)", "n = ReduceL2<axes=[1]>(x) m = Add(n, eps) y = Log(m)", {"x": (-1, 1)}, "y", _EPS),
    pair("student-kernel", "float[4] x", _S, "q = Mul(x, x) d = Sub(q, one) y = Reciprocal(d)", "q = Mul(x, x) d = Add(q, one) y = Reciprocal(d)", _WIDE, "y", _ONE),
    pair("rounded-frequency", "float[4] x", _S, "f = Floor(x) y = Div(one, f)", "f = Floor(x) a = Abs(f) s = Add(a, one) y = Div(one, s)", {"x": (0.2, 5)}, "y", _ONE),
)  # fmt: skip
