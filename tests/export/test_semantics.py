"""Corners of ONNX's semantics that its own cases leave out, against arithmetic done here by other means."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from irfuzz.ir.program import Program
from tests.export.frameworks import lower, lower_model

pytestmark = [pytest.mark.backend, pytest.mark.usefixtures("framework")]


def run(
    op: str, inputs: list[Any], outputs: int = 1, opset: int = 17, constants: tuple[int, ...] = (), **attrs: Any
) -> Any:
    """The outputs of one node; ``constants`` are inputs that become initializers."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    arrays = {n: np.asarray(x) for n, x in zip(names, inputs, strict=True) if n}
    kinds = {n: ir.DataType.from_numpy(a.dtype) for n, a in arrays.items()}
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attrs)
    fixed = {f"x{i}" for i in constants}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, kinds[n], a.shape) for n, a in arrays.items() if n not in fixed],
        [helper.make_empty_tensor_value_info(o) for o in node.output],
        [onnx.numpy_helper.from_array(arrays[n], n) for n in sorted(fixed)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    lowered = lower_model(ir.from_proto(model))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    found = module["run"](lowered.arrays, {n: a for n, a in arrays.items() if n not in fixed})
    values = [found[o] for o in node.output]
    return values[0] if outputs == 1 else values


def same(actual: np.ndarray, expected: Any, dtype: Any = None) -> None:
    """Equal in type, shape and value, NaN included."""
    expected = np.asarray(expected, dtype)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(actual, expected)


UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
SIGNED = [np.int8, np.int16, np.int32, np.int64]


@pytest.mark.parametrize("dtype", UNSIGNED + SIGNED)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Less", "GreaterOrEqual", "Equal"])
def test_integers_wrap_divide_and_compare_as_in_c(op: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, 0, 1, 2, 3, 7, info.max // 2, info.max // 2 + 1, info.max - 1, info.max]
    pairs = [(a, b) for a, b in itertools.product(numbers, numbers) if b or op not in ("Div", "Mod")]
    pairs = [(a, b) for a, b in pairs if not (op in ("Div", "Mod") and b == -1)]  # overflow of the least number

    def exact(a: int, b: int) -> int | bool:
        if op == "Div":
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return {
            "Add": a + b, "Sub": a - b, "Mul": a * b, "Mod": a % b if b else 0, "Max": max(a, b), "Min": min(a, b),
            "Less": a < b, "GreaterOrEqual": a >= b, "Equal": a == b,
        }[op]  # fmt: skip

    a, b = (np.array([p[i] for p in pairs], dtype) for i in (0, 1))
    expected = [exact(int(x), int(y)) for x, y in pairs]
    if op in ("Less", "GreaterOrEqual", "Equal"):
        same(run(op, [a, b]), expected, bool)
    else:
        wrapped = [int(e) & (2**info.bits - 1) for e in expected]
        same(run(op, [a, b]), np.array(wrapped, np.uint64).astype(f"u{info.bits // 8}").view(dtype))


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_unsigned_reductions_and_searches_order_large_numbers_last(dtype: Any) -> None:
    top = np.iinfo(dtype).max
    x = np.array([[1, top, 0], [top - 1, 2, top // 2 + 1]], dtype)
    same(run("ReduceMax", [x], axes=[1]), [[top], [top - 1]], dtype)
    same(run("ReduceMin", [x], axes=[0], keepdims=0), [1, 2, 0], dtype)
    same(run("ArgMax", [x], axis=1, keepdims=0), [1, 0], np.int64)
    values, places = run("TopK", [x, np.array([2])], outputs=2, constants=(1,))
    same(values, [[top, 1], [top - 1, top // 2 + 1]], dtype)
    same(places, [[1, 0], [0, 2]], np.int64)
    same(run("Clip", [x, np.array(1, dtype), np.array(top - 1, dtype)]), np.clip(x, 1, top - 1))
    same(run("ReduceSum", [x]), [[x.sum(dtype=dtype)]], dtype)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_are_logical_on_unsigned_types_and_end_at_the_width(bits: int) -> None:
    dtype = np.dtype(f"u{bits // 8}")
    x = np.array([2**bits - 1, 2 ** (bits - 1), 1], dtype)
    for amount in (0, 1, bits - 1, bits, bits + 3):
        by = np.full(3, amount, dtype)
        left = [int(v) << amount & (2**bits - 1) if amount < bits else 0 for v in x]
        same(run("BitShift", [x, by], direction="RIGHT"), [int(v) >> amount for v in x], dtype)
        same(run("BitShift", [x, by], direction="LEFT"), left, dtype)


def test_float64_and_integers_are_rounded_once_to_half_types() -> None:
    # Just above a tie of float16: a detour through float32 would lose the excess and round to even.
    x = np.array(
        [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, -(1 + 2.0**-11 + 2.0**-40), 1e300, np.nan, 2.0**-25 * (1 + 2.0**-30)]
    )
    with np.errstate(over="ignore"):
        same(run("Cast", [x], to=ir.DataType.FLOAT16), x.astype(np.float16))
    big = np.array([2**40 + 2**32 + 1, 2**40 + 2**32, -(2**62) - 2**54 - 1, 70000, 2049, 2**53 + 2**45 + 1])
    expected = [float(np.ldexp(float(round_to(int(v), 8)), 0)) for v in big]
    assert run("Cast", [big], to=ir.DataType.BFLOAT16).astype(np.float64).tolist() == expected
    assert run("Cast", [np.array([70000, 2049, -65520])], to=ir.DataType.FLOAT16).tolist() == [np.inf, 2048, -np.inf]


def round_to(number: int, digits: int) -> int:
    """An integer rounded to ``digits`` binary digits, ties to even."""
    sign, size = (-1 if number < 0 else 1), abs(number)
    drop = max(size.bit_length() - digits, 0)
    whole, rest = size >> drop, size & ((1 << drop) - 1)
    half = 1 << drop - 1 if drop else 1
    whole += rest > half or (rest == half and whole & 1)
    return sign * (whole << drop)


def test_nan_rules() -> None:
    x = np.array([np.nan, 1, -1, np.inf, -np.inf], np.float32)
    other = np.array([0, np.nan, 5, 5, 5], np.float32)
    same(run("Max", [x, other]), [np.nan, np.nan, 5, np.inf, 5], np.float32)
    same(run("Min", [x, other]), [np.nan, np.nan, -1, 5, -np.inf], np.float32)
    same(run("Relu", [x]), [np.nan, 1, 0, np.inf, 0], np.float32)
    same(run("Sign", [x]), [np.nan, 1, -1, 1, -1], np.float32)
    same(run("Clip", [x, np.float32(2), np.float32(0)]), [np.nan, 0, 0, 0, 0], np.float32)
    same(run("LeakyRelu", [x], alpha=0.5), [np.nan, 1, -0.5, np.inf, -np.inf], np.float32)
    same(run("ReduceMax", [x]), [np.nan], np.float32)
    same(run("ArgMin", [x]), [0], np.int64)
    same(run("Softplus", [np.array([800.0, -800.0, np.inf, -np.inf, np.nan])]), [800, 0, np.inf, 0, np.nan], np.float64)


def test_powers_follow_c_where_frameworks_take_shortcuts() -> None:
    x = np.array([-np.inf, -0.0, 4, -8], np.float32)
    same(run("Pow", [x, np.float32(0.5)]), [np.inf, 0, 2, np.nan], np.float32)
    same(run("Pow", [np.array([2, 3, -2]), np.array([3, 41, 63])]), [8, 3**41 % 2**64 - 2**64, -(2**63)], np.int64)
    same(run("Pow", [np.array([2, 9], np.int32), np.array([0.5, 0.5], np.float32)]), [1, 3], np.int32)


def test_reductions_of_nothing() -> None:
    x = np.zeros((2, 0), np.float32)
    for op, value in [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf),
                      ("ReduceL1", 0), ("ReduceLogSumExp", -np.inf), ("ReduceSumSquare", 0)]:  # fmt: skip
        axes = [np.array([1])]
        same(run(op, [x, *axes], opset=20, keepdims=0), [value, value], np.float32)
    same(run("ReduceMax", [np.zeros((0, 1), np.int8), np.array([0])], opset=20, keepdims=0), [-128], np.int8)
    y = np.array([[1, -2]], np.float32)
    same(run("ReduceSumSquare", [y], opset=20, noop_with_empty_axes=1), [[1, 4]], np.float32)
    same(run("ReduceSumSquare", [y, np.zeros(0, np.int64)], opset=20), [[5]], np.float32)


@pytest.mark.parametrize("constants", [(), (1, 2, 3, 4)])
def test_slices_are_clamped_like_pythons(constants: tuple[int, ...]) -> None:
    x = np.arange(60).reshape(3, 4, 5).astype(np.uint16)
    top = np.iinfo(np.int64).max
    for starts, ends, steps, index in [
        ([-1, 10], [-top, 0], [-2, -1], np.s_[::-2, 10:0:-1]),
        ([1, -3], [top, top], [1, 2], np.s_[1:, -3::2]),
        ([2, 3], [1, 3], [1, 1], np.s_[2:1, 3:3]),
        ([-100, 0], [100, -1], [3, 1], np.s_[::3, 0:-1]),
    ]:
        inputs = [x, *(np.array(v) for v in (starts, ends, [0, -2], steps))]
        same(run("Slice", inputs, constants=constants), x[index])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_padding_agrees_with_numpy_far_beyond_the_size(mode: str) -> None:
    x = np.arange(1, 7, dtype=np.uint32).reshape(2, 3)
    pads = np.array([3, 7, 1, 5])
    more = {"constant_values": 9} if mode == "constant" else {}
    expected = np.pad(x, [(3, 1), (7, 5)], mode=mode, **more)  # type: ignore[call-overload]
    value = np.array(9, np.uint32) if mode == "constant" else None
    same(run("Pad", [x, pads, value], opset=19, mode=mode), expected)
    same(run("Pad", [x, np.array([-1, 0, 1, -2])], opset=19), [[4], [0]], np.uint32)


def windows(size: int, kernel: int, stride: int, dilation: int, before: int, after: int, ceil: bool) -> list[list[int]]:
    """Positions of each window, from ONNX's text: positions outside the input are padding."""
    room = size + before + after - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    starts = [i * stride - before for i in range(count)]
    return [[s + j * dilation for j in range(kernel)] for s in starts if not (ceil and s >= size)]


@pytest.mark.parametrize("seed", range(12))
def test_pools_against_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(5, 9, 2)
    kernel, stride, dilation = rng.integers(1, 4, 2), rng.integers(1, 4, 2), rng.integers(1, 3, 2)
    pads = np.concatenate([rng.integers(0, kernel), rng.integers(0, kernel)])
    ceil, include = bool(seed % 2), seed % 3 == 0
    x = rng.standard_normal((1, 2, *size))
    grid = []
    for n, k, s, d, before, after in zip(size, kernel, stride, dilation, pads[:2], pads[2:], strict=True):
        grid.append(windows(int(n), int(k), int(s), int(d), int(before), int(after), ceil))
    maximum = np.full((1, 2, len(grid[0]), len(grid[1])), -np.inf)
    average, index = np.zeros_like(maximum), np.zeros(maximum.shape, np.int64)
    for c, (i, rows), (j, columns) in itertools.product(range(2), enumerate(grid[0]), enumerate(grid[1])):
        inside = [(a, b) for a in rows for b in columns if 0 <= a < size[0] and 0 <= b < size[1]]
        padded = [
            (a, b) for a in rows for b in columns
            if -pads[0] <= a < size[0] + pads[2] and -pads[1] <= b < size[1] + pads[3]
        ]  # fmt: skip
        best = max(inside, key=lambda at: x[0, c, at[0], at[1]])
        maximum[0, c, i, j] = x[0, c, best[0], best[1]]
        index[0, c, i, j] = (c * size[0] + best[0]) * size[1] + best[1]
        average[0, c, i, j] = sum(x[0, c, a, b] for a, b in inside) / len(padded if include else inside)
    attrs = {
        "kernel_shape": kernel.tolist(), "strides": stride.tolist(), "dilations": dilation.tolist(),
        "pads": pads.tolist(), "ceil_mode": int(ceil),
    }  # fmt: skip
    got, places = run("MaxPool", [x], outputs=2, opset=19, **attrs)
    same(got, maximum)
    same(places, index)
    same(run("MaxPool", [x], opset=19, **attrs), maximum)
    np.testing.assert_allclose(run("AveragePool", [x], opset=19, count_include_pad=int(include), **attrs), average)


@pytest.mark.parametrize("seed", range(6))
def test_transposed_convolution_against_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, kernel, stride, dilation, group = 4, 3, int(rng.integers(1, 4)), int(rng.integers(1, 3)), 2
    extra = int(rng.integers(0, stride))
    before, after = int(rng.integers(0, 3)), int(rng.integers(0, 3))
    x, w, b = rng.standard_normal((2, 4, size)), rng.standard_normal((4, 3, kernel)), rng.standard_normal(6)
    full = stride * (size - 1) + extra + (kernel - 1) * dilation + 1
    expected = np.zeros((2, 6, full))
    for n, c, t, m, k in itertools.product(range(2), range(4), range(size), range(3), range(kernel)):
        expected[n, c // 2 * 3 + m, t * stride + k * dilation] += x[n, c, t] * w[c, m, k]
    expected = expected[:, :, before : full - after] + b[:, None]
    attrs = {"strides": [stride], "dilations": [dilation], "group": group, "output_padding": [extra]}
    np.testing.assert_allclose(run("ConvTranspose", [x, w, b], pads=[before, after], **attrs), expected)
    total = before + after
    got = run("ConvTranspose", [x, w, b], output_shape=[full - total], auto_pad="SAME_UPPER", **attrs)
    assert got.shape == expected.shape


def test_same_padding_is_uneven_at_the_end_or_the_beginning() -> None:
    x, w = np.arange(1.0, 6).reshape(1, 1, 5), np.array([[[1.0, 10, 100, 1000]]])
    upper = np.convolve(np.pad(x[0, 0], (1, 2)), [1000, 100, 10, 1], "valid")
    lower = np.convolve(np.pad(x[0, 0], (2, 1)), [1000, 100, 10, 1], "valid")
    same(run("Conv", [x, w], auto_pad="SAME_UPPER"), upper.reshape(1, 1, 5))
    same(run("Conv", [x, w], auto_pad="SAME_LOWER"), lower.reshape(1, 1, 5))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("direction", "clip", "couple"), [("forward", 0.5, 0), ("reverse", None, 1), ("reverse", 0.25, 0)]
)
def test_lstm_with_lengths_peepholes_clip_and_coupled_gates_against_a_loop(
    direction: str, clip: Any, couple: int
) -> None:
    rng = np.random.default_rng(0)
    steps, batch, size, hidden = 4, 3, 2, 5
    x, w, r = (rng.standard_normal(s) for s in ((steps, batch, size), (1, 4 * hidden, size), (1, 4 * hidden, hidden)))
    b, h0, c0, p = (
        rng.standard_normal(s) for s in ((1, 8 * hidden), (1, batch, hidden), (1, batch, hidden), (1, 3 * hidden))
    )
    lengths = np.array([4, 1, 2], np.int32)

    def bound(v: np.ndarray) -> np.ndarray:
        return v if clip is None else np.clip(v, -clip, clip)

    y, last_h, last_c = np.zeros((steps, 1, batch, hidden)), h0.copy(), c0.copy()
    for n in range(batch):
        h, c = h0[0, n], c0[0, n]
        order = range(lengths[n]) if direction == "forward" else range(lengths[n] - 1, -1, -1)
        for t in order:
            gates = w[0] @ x[t, n] + r[0] @ h + b[0, : 4 * hidden] + b[0, 4 * hidden :]
            i, o, f, g = np.split(gates, 4)
            pi, po, pf = np.split(p[0], 3)
            i = sigmoid(bound(i + pi * c))
            f = 1 - i if couple else sigmoid(bound(f + pf * c))
            c = f * c + i * np.tanh(bound(g))
            h = sigmoid(bound(o + po * c)) * np.tanh(bound(c))
            y[t, 0, n] = h
        last_h[0, n], last_c[0, n] = h, c
    attrs: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "input_forget": couple}
    if clip is not None:
        attrs["clip"] = float(clip)
    got = run("LSTM", [x, w, r, b, lengths, h0, c0, p], outputs=3, **attrs)
    for actual, expected in zip(got, (y, last_h, last_c), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
    swapped = [x.swapaxes(0, 1), w, r, b, lengths, h0.swapaxes(0, 1), c0.swapaxes(0, 1), p]
    batched = run("LSTM", swapped, outputs=3, layout=1, **attrs)
    np.testing.assert_array_equal(batched[0], got[0].transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(batched[2], got[2].swapaxes(0, 1))


def test_quantisation_saturates_and_rounds_half_to_even() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, 300, -np.inf], np.float32)
    one = np.float32(1)
    same(run("QuantizeLinear", [x, one, np.int8(1)]), [1, 3, 3, 1, -1, 127, -128, 127, -128], np.int8)
    same(run("QuantizeLinear", [x, one]), [0, 2, 2, 0, 0, 255, 0, 255, 0], np.uint8)
    same(
        run("DequantizeLinear", [np.array([0, 255], np.uint8), np.float32(0.5), np.uint8(128)]), [-64, 63.5], np.float32
    )
    # Far from 0 the float16 scale's own type would overflow.
    same(
        run("QuantizeLinear", [np.array([60000, -60000], np.float16), np.float16(0.5), np.int16(0)], opset=21),
        [32767, -32768],
        np.int16,
    )
    # So would the difference, and 0 times infinity is NaN.
    x = np.array([-265850, 2**19, 3], np.int32)
    same(run("DequantizeLinear", [x, np.float16(0)], opset=19), [-0.0, 0, 0], np.float16)
    expected = (x.astype(np.float64) * float(np.float16(0.0625))).astype(np.float16)
    same(run("DequantizeLinear", [x, np.float16(0.0625)], opset=19), expected, np.float16)


def test_integer_products_wrap_at_32_bits_and_keep_absent_zero_points_apart() -> None:
    a, b = np.full((1, 40000), 255, np.uint8), np.full((40000, 1), 255, np.uint8)
    same(run("MatMulInteger", [a, b]), [[(255 * 255 * 40000 + 2**31) % 2**32 - 2**31]], np.int32)
    same(run("MatMulInteger", [np.array([[2]], np.int8), np.array([[3]], np.int8), None, np.int8(1)]), [[4]], np.int32)


@pytest.mark.parametrize("equation", ["...d,...", "i...,j...", "bA...", "...ii", "ba, b"])
def test_einsum_without_an_output_puts_the_ellipsis_first_and_sorts_letters(equation: str) -> None:
    shapes = {"...d,...": [(2, 3, 4), (2, 3)], "i...,j...": [(2, 5, 4), (3, 4)], "ba, b": [(2, 3), (2,)]}
    xs = [np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in shapes.get(equation, [(2, 3, 3)])]
    same(run("Einsum", xs, equation=equation), np.einsum(equation, *xs))


def test_half_types_sum_in_float32_and_round_once() -> None:
    x = np.full((1, 4096), 1.0009765625, np.float16)
    same(run("MatMul", [x, np.ones((4096, 1), np.float16)]), [[4100]], np.float16)
    same(run("ReduceMean", [x]), [[1.0009765625]], np.float16)
    y = np.array([1, 2], ml_dtypes.bfloat16)
    assert run("Softmax", [y]).dtype == ml_dtypes.bfloat16


def test_shapes_computed_at_run_time() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N, C, H] x) => (float[A, B] y)
        {
            s = Shape(x) zero = Constant<value_int = 0>() n = Gather(s, zero)
            axes = Constant<value_ints = [0]>() n1 = Unsqueeze(n, axes) rest = Constant<value_ints = [-1]>()
            target = Concat<axis = 0>(n1, rest) y = Reshape(x, target)
        }
    """)
    lowered = lower_model(ir.from_proto(model))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    for shape in ((2, 3, 4), (5, 1, 2), (1, 0, 3)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        same(module["run"]({}, {"x": x})["y"], x.reshape(shape[0], shape[1] * shape[2]))


def test_a_loop_may_swap_its_states() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2] a, float[2] b, int64 n) => (float[2] c, float[2] d, float[T, 2] e)
        {
            c, d, e = Loop (n, "", a, b) <body = inner (int64 i, bool k, float[2] p, float[2] q) =>
                (bool kept, float[2] q, float[2] p2, float[2] s) { kept = Identity(k) p2 = Identity(p) s = Add(p, q) }>
        }
    """)
    lowered = lower_model(ir.from_proto(model))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    for n in (0, 1, 3):
        out = module["run"]({}, {"a": a, "b": b, "n": np.array(n)})
        same(out["c"], b if n % 2 else a)
        same(out["e"], np.tile(a + b, (n, 1)).reshape(n, 2))


def test_no_turn_at_all_gives_the_type_that_is_inferred() -> None:
    """The body says nothing of its outputs."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (uint8[2] a, int64 n) => (uint8[2] c, uint8[T, 2, 1] e)
        {
            axes = Constant<value_ints = [1]>()
            c, e = Loop (n, "", a) <body = inner (int64 i, bool k, uint8[2] p) => (bool kept, uint8[2] q, uint8 s)
                { kept = Identity(k) q = Add(p, p) s = Unsqueeze(q, axes) }>
        }
    """)
    body = model.graph.node[1].attribute[0].g
    for value in body.output:
        value.ClearField("type")
    lowered = lower(Program.from_proto(model))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    a = np.array([1, 200], np.uint8)
    for n, last in ((0, a), (1, a * 2), (2, a * 4)):
        out = module["run"](lowered.arrays, {"a": a, "n": np.array(n)})
        same(out["c"], last)
        same(out["e"], np.array([a * 2, a * 4], np.uint8)[:n].reshape(n, 2, 1))


def test_functions_are_lowered_with_their_attributes_and_types() -> None:
    """A function calls another one from inside a branch, and hands an attribute on; another one has a default."""
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 17, "own" : 1]>
        g (uint16[3] x, bool c) => (uint16[3] y, float[3] z)
        {
            y = own.Pick <k = 2> (x, c)
            f = Cast <to = 1> (x)
            z = own.Leak (f)
        }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        Pick <k> (a, c) => (b)
        {
            b = If (c) <then_branch = t () => (uint16[3] p) { p = own.Shift <k : int = @k> (a) },
                        else_branch = e () => (uint16[3] q) { q = Identity(a) }>
        }
        <domain: "own", opset_import: ["" : 17]>
        Shift <k> (a) => (b) { i = Constant <value_int : int = @k> () j = CastLike(i, a) b = Sub(a, j) }
        <domain: "own", opset_import: ["" : 17]>
        Leak <alpha: float = 0.5> (a) => (b) { n = Neg(a) b = LeakyRelu <alpha : float = @alpha> (n) }
    """)
    lowered = lower(Program.from_proto(model))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    x = np.array([1, 2, 60000], np.uint16)
    for c in (True, False):
        out = module["run"](lowered.arrays, {"x": x, "c": np.array(c)})
        same(out["y"], [65535, 0, 59998] if c else x, np.uint16)
        same(out["z"], x.astype(np.float32) * np.float32(-0.5))


NUMBERS = np.linspace(-2, 2, 4000, dtype=np.float32).reshape(40, 100)


def test_drawn_numbers_follow_their_distribution() -> None:
    normal = run("RandomNormalLike", [NUMBERS], mean=3.0, scale=2.0, seed=1.0)
    assert (normal.dtype, normal.shape) == (np.float32, NUMBERS.shape)
    assert abs(normal.mean() - 3) < 0.2
    assert abs(normal.std() - 2) < 0.2
    uniform = run("RandomUniform", [], shape=[4000], low=-1.0, high=3.0, dtype=11)
    assert uniform.dtype == np.float64
    assert -1 <= uniform.min() < -0.9
    assert 2.9 < uniform.max() < 3
    assert run("RandomUniformLike", [NUMBERS.astype(np.int64)], dtype=10).dtype == np.float16
    same(run("RandomNormal", [], shape=[7], seed=2.5), run("RandomNormal", [], shape=[7], seed=2.5))
    assert not np.array_equal(
        run("RandomNormal", [], shape=[7], seed=2.5), run("RandomNormal", [], shape=[7], seed=2.0)
    )


def test_probabilities_are_those_of_a_one() -> None:
    chances = np.repeat(np.array([[0.0, 0.2, 0.9, 1.0]], np.float32), 4000, axis=0)
    drawn = run("Bernoulli", [chances], dtype=7)
    assert drawn.dtype == np.int64
    assert set(np.unique(drawn)) == {0, 1}
    np.testing.assert_allclose(drawn.mean(axis=0), chances[0], atol=0.05)
    assert drawn[:, 0].max() == 0
    assert drawn[:, 3].min() == 1


def test_classes_are_drawn_by_unnormalised_logarithms() -> None:
    logs = np.log(np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 2.0]]) * 5, where=[[True, True, False], [True, False, True]],
                  out=np.full((2, 3), -np.inf)).astype(np.float32)  # fmt: skip
    drawn = run("Multinomial", [logs], sample_size=4000)
    assert (drawn.dtype, drawn.shape) == (np.int32, (2, 4000))
    assert set(np.unique(drawn[0])) == {0, 1}
    assert abs((drawn[0] == 1).mean() - 0.75) < 0.05
    assert abs((drawn[1] == 2).mean() - 0.5) < 0.05


def test_training_drops_elements_and_scales_the_others() -> None:
    x = np.ones(8000, np.float32)
    ratio, yes, no = np.array(0.25, np.float32), np.array(True), np.array(False)
    y, mask = run("Dropout", [x, ratio, yes], outputs=2, constants=(1,))
    assert abs(mask.mean() - 0.75) < 0.05
    same(y, np.where(mask, np.float32(1) / np.float32(0.75), np.float32(0)), np.float32)
    same(run("Dropout", [x, ratio, no]), x)
    same(run("Dropout", [x, np.array(0.0, np.float32), yes]), x)


def test_a_product_of_two_quantised_vectors_is_a_scalar_with_scales_of_one_element_too() -> None:
    one, zero = np.array([0.5], np.float32), np.array([1], np.uint8)
    a, b = np.array([3, 5], np.uint8), np.array([2, 9], np.uint8)
    same(run("QLinearMatMul", [a, one, zero, b, one, zero, one, zero]), (2 * 1 + 4 * 8) * 0.5 + 1, np.uint8)
    same(run("MatMulInteger", [a, b, zero, zero]), 2 * 1 + 4 * 8, np.int32)


def test_the_weight_of_an_n_gram_is_the_one_at_its_place_in_the_pool() -> None:
    """TfIdfVectorizer-9: "The i-th element in weights is the weight of the i-th n-gram in pool"."""
    more = {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0]}
    x = np.array([7, 8, 8], np.int64)
    found = run("TfIdfVectorizer", [x], ngram_indexes=[2, 0], pool_int64s=[7, 8], weights=[10.0, 0.5], **more)
    same(found, [1.0, 0.0, 10.0], np.float32)
    nothing = run("TfIdfVectorizer", [x[:0]], ngram_indexes=[2, 0], pool_int64s=[7, 8], weights=[10.0, 0.5], **more)
    same(nothing, [0.0, 0.0, 0.0], np.float32)


def test_a_region_of_resize_moves_coordinates_but_has_no_part_in_the_size_that_scales_give() -> None:
    x = np.arange(5, dtype=np.float32)
    roi, scales = np.array([0.25, 0.75], np.float32), np.array([2.0], np.float32)
    attrs = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    # On [0, 1, 2, 3, 4] linear interpolation gives the coordinates themselves: from 1 to 3 in ten.
    found = run("Resize", [x, roi, scales], opset=13, constants=(1, 2), **attrs)
    np.testing.assert_allclose(found, np.linspace(1, 3, 10), rtol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(
    ("shape", "indices"), [((1, 0), (1, 0)), ((2, 3), (0, 0)), ((2, 3), (2, 0)), ((2,), (0,)), ((2, 3), (1,)),
                           ((2, 0), (1, 1)), ((2, 3), (0, 1)), ((0, 2), (0, 1)), ((2, 3), (0, 2))],
)  # fmt: skip
def test_scatternd_of_rows_without_an_index_and_of_no_rows(
    shape: tuple[int, ...], indices: tuple[int, ...], reduction: str
) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    updates = np.full((*indices[:-1], *shape[indices[-1] :]), 2, np.float32)
    expected = x.copy()
    combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for row in np.ndindex(indices[:-1]):
        own = (0,) * indices[-1]
        expected[own] = updates[row] if reduction == "none" else combine[reduction](expected[own], updates[row])
    same(run("ScatterND", [x, np.zeros(indices, np.int64), updates], opset=18, reduction=reduction), expected)
