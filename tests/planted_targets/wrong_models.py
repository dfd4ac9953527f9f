"""Small models that have what the shipped seeds lack: odd padding, ties, time, NaN."""

from __future__ import annotations

import numpy as np
import onnx

POOLS = """<ir_version: 8, opset_import: ["" : 17]> pools (float[1, 4, 15, 15] x) => (float[1, 5] y)
<float[4, 4, 4, 4] w1, float[4] b1, float[4, 2, 3, 3] w2, float[4] b2 = {-2.0, -3.0, -2.5, -2.0},
 float[4, 4, 3, 3] w3, float[4, 5] w4> {
    c1 = Conv<auto_pad = "SAME_UPPER", kernel_shape = [4, 4]>(x, w1, b1)
    t1 = Tanh(c1)
    c2 = Conv<group = 2, pads = [0, 0, 1, 2], strides = [2, 2], kernel_shape = [3, 3]>(t1, w2, b2)
    p2 = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(c2)
    a2 = Add(p2, c2)
    c3 = Conv<dilations = [2, 2], pads = [2, 2, 2, 2], kernel_shape = [3, 3]>(a2, w3)
    t3 = Tanh(c3)
    p3 = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(t3)
    d3 = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(p3)
    p4 = AveragePool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(d3)
    p5 = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(p4)
    g5 = GlobalAveragePool(p5)
    f5 = Flatten(g5)
    y = Gemm(f5, w4)
}"""

TIME = """<ir_version: 8, opset_import: ["" : 17]> time (float[6, 4, 5] x, float[1, 4, 4] h0, float[1, 4, 4] s0)
    => (float[6, 4, 4] y)
<int64[4] lengths = {4, 6, 1, 3}, float[1, 16, 5] w1, float[1, 16, 4] r1, float[1, 32] b1, float[1, 12, 4] w2,
 float[1, 12, 4] r2, float[1, 24] b2, float[1, 4, 4] w3, float[1, 4, 4] r3, float[1, 8] b3, int64[1] one = {1},
 int64 zero = {0}, float[4] scale, float[4] shift> {
    t = Tanh(x)
    v = ReverseSequence<time_axis = 0, batch_axis = 1>(t, lengths)
    l, lh, ls = LSTM<hidden_size = 4>(v, w1, r1, b1, , h0, s0)
    l3 = Squeeze(l, one)
    n = LayerNormalization<axis = -1>(l3, scale, shift)
    g, gh = GRU<hidden_size = 4, linear_before_reset = 1>(n, w2, r2, b2, , h0)
    g3 = Squeeze(g, one)
    c = CumSum(g3, zero)
    r, rh = RNN<hidden_size = 4>(c, w3, r3, b3, , h0)
    q = Squeeze(r, one)
    m = Mul(q, scale)
    k = Transpose<perm = [0, 2, 1]>(m)
    s = MatMul(q, k)
    p = Softmax(s)
    o = MatMul(p, m)
    y = Add(o, n)
}"""

ODD = """<ir_version: 8, opset_import: ["" : 17]> odd (float[2, 8, 6, 6] x) => (float[2, 4] y)
<float[8] scale, float[8] shift, float[8, 1, 1] slope, int64[8] pads = {0, 0, 2, 1, 0, 0, 1, 2}, float value = {0.75},
 float[4] scales = {1.0, 1.0, 1.7, 1.7}, float[4] nearest = {1.0, 1.0, 1.3, 1.3}, int64[3] picked = {-1, 0, -2},
 float[39, 4] w, int64[2] flat = {2, -1}, float three = {1.5}, int64 k = {1}, int64[1] five = {5},
 float big = {60.0}, float tie = {-0.261},
 int64[1] from0 = {0}, int64[1] to21 = {21}, int64[1] step = {1}, int64[1] to6 = {6}, int64[1] axis2 = {2}> {
    n = InstanceNormalization(x, scale, shift)
    e = PRelu(n, slope)
    g = Greater(n, three)
    wh = Where(g, big, e)
    d = DepthToSpace<blocksize = 2, mode = "CRD">(wh)
    p = Pad<mode = "reflect">(d, pads)
    q = Pad(p, pads, value)
    z = Resize<mode = "linear">(q, , scales)
    u = Resize<mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">(z, , nearest)
    t = ThresholdedRelu<alpha = 0.4>(u)
    s = HardSigmoid<alpha = 0.3>(t)
    j = Selu(s)
    o = Mod<fmod = 1>(n, three)
    i = Gather<axis = 2>(o, picked)
    tri = Trilu(o, k)
    l = LogSoftmax<axis = 1>(tri)
    h = Mul(l, big)
    hs = Softmax<axis = 1>(h)
    fewer = Slice(j, from0, to6, axis2)
    f1 = Reshape(fewer, flat)
    f2 = Reshape(i, flat)
    f3 = Reshape(hs, flat)
    a1, x1 = TopK<axis = 1, sorted = 1>(f1, five)
    a2, x2 = TopK<axis = 1>(f2, five)
    a3, x3 = TopK<axis = 1>(f3, five)
    c = Concat<axis = 1>(a1, a2, a3)
    b = Slice(f2, from0, to21, step)
    ties = Min(b, tie)
    am = ArgMax<axis = 1>(ties)
    af = Cast<to = 1>(am)
    rm = ReduceMean<axes = [1]>(f1)
    f4 = Reshape(l, flat)
    rl = ReduceMean<axes = [1]>(f4)
    m = Concat<axis = 1>(c, b, af, rm, rl)
    y = MatMul(m, w)
}"""

NAN = """<ir_version: 8, opset_import: ["" : 17]> nan (float[2, 6] x) => (float[2, 4] y, float[2, 1] top)
<float[6, 4] w2, float[6] w3, float zero = {0.0}, float one = {1.0}, float half = {0.5}> {
    r = Relu(x)
    q = Div(r, r)
    f = Relu(q)
    t = Tanh(f)
    m = Max(t, zero)
    c = Clip(m, zero, one)
    s = Sigmoid(c)
    top = ReduceMax<axes = [1]>(s)
    d = Sub(s, top)
    e = Mul(d, w3)
    n = Neg(e)
    k = Mul(n, half)
    y = MatMul(k, w2)
}"""

QUANTISED = """<ir_version: 10, opset_import: ["" : 21]> quantised (float[4, 8] x) => (float[4, 3] y)
<float sx = {0.02}, uint8 zx = {110}, float s1 = {0.01}, uint8 z1 = {100}, float s2 = {0.05}, uint8 z2 = {90},
 float[8, 8] w1, float[8] sw = {0.01, 0.02, 0.015, 0.03, 0.01, 0.012, 0.02, 0.025},
 int8[8] zw = {0, 0, 0, 0, 0, 0, 0, 0}, float[8, 6] w2, float[6, 3] w3, float si = {0.01}, int8 zi = {3}> {
    q = QuantizeLinear(x, sx, zx)
    d = DequantizeLinear(q, sx, zx)
    qw = QuantizeLinear<axis = 1>(w1, sw, zw)
    dw = DequantizeLinear<axis = 1>(qw, sw, zw)
    m = MatMul(d, dw)
    r = Tanh(m)
    a = QuantizeLinear(r, s1, z1)
    b = QuantizeLinear(w2, si, zi)
    l = QLinearMatMul(a, s1, z1, b, si, zi, s2, z2)
    f = DequantizeLinear(l, s2, z2)
    e = Softmax(f)
    v = QuantizeLinear(e, si, zi)
    u = QuantizeLinear(w3, si, zi)
    i = MatMulInteger(v, u, zi, zi)
    c = Cast<to = 1>(i)
    y = Mul(c, si)
}"""

TEXTS = {"pools": POOLS, "time": TIME, "odd": ODD, "nan": NAN, "quantised": QUANTISED}
"""By name."""


def build(name: str) -> onnx.ModelProto:
    """The model with drawn weights, always the same."""
    rng = np.random.default_rng(7)
    model = onnx.parser.parse_model(TEXTS[name])
    for info in model.graph.value_info:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        fan = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
        values = rng.normal(0, 1.5 / np.sqrt(fan), shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, info.name))
    del model.graph.value_info[:]
    return model
