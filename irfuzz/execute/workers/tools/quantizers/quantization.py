"""Quantises a model by onnxruntime.quantization, and holds what that computes to the quantisation's own bound.

What it promises is the model on numbers of 8 (or 4) bits: each tensor that is quantised moves by at most one step of
its scale, half a step of rounding and half a step by which the zero point is rounded. The scales are bounded from the
values themselves, not taken from the model that it made: calibrated by their least and greatest values on the very
inputs that run, a tensor has steps of at most twice its largest magnitude over the number of levels. These moves are
carried through the operators of ``MOVES``, each as a bound on how far its outputs can move; behind any other operator
nothing is said of numbers.
"""

from __future__ import annotations

import importlib.metadata
import logging
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

GAP = re.compile(
    r"(?i:not (currently |yet )?(supported|implemented)|unsupported|only (support|opset)|no implementation"
    r"|must be|should be 10 or|failed to find proper ai\.onnx domain|expected \S+ to be an initializer)"
)

ACTIVATION_LEVELS, WEIGHT_LEVELS, NBITS_LEVELS = 255, 126, 15
"""Steps between the least and the greatest number: of uint8; of int8 with the reduced range that its documentation
advises for processors whose products of bytes saturate; and of 4 bits."""

OF_SHARES = 1 / 256
"""Step of the outputs of Sigmoid and Softmax, whatever their values are."""

LEAST = float(np.finfo(np.float32).tiny)
"""A scale in single precision is coarse below this."""

SLACK = 1e-3
"""Share of a bound, and ``ROUNDING`` of the largest value, that rounding of single precision is given."""

ROUNDING = 1e-5


class QuantizationError(Exception):
    """The quantised model is not what quantisation makes of the model."""


def version() -> str:
    """Of the onnxruntime that brings it."""
    return next(importlib.metadata.version(n) for n in ("onnxruntime", "onnxruntime-gpu") if _there(n))


def _there(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def load(model: bytes, way: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What quantises the model, calibrated on the inputs that run, runs it, and checks the result.

    Args:
        model: ONNX bytes.
        way: ``qdq``, ``qdq-per-channel``, ``qoperator``, ``dynamic`` or ``matmul-nbits``.
    """
    logging.disable(logging.WARNING)
    return lambda inputs: _checked(model, inputs, way)


def _checked(model: bytes, inputs: dict[str, Any], way: str) -> dict[str, Any]:
    before = onnx.load_model_from_string(model)
    values = _values(before, inputs)
    if any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in values.values() if _is_array(array)):
        raise NotImplementedError("a scale is not supported for values with NaN or infinities")
    made = _quantised(before, inputs, way)
    names = [value.name for value in before.graph.output]
    try:
        found = _run(made, inputs, names)
    except Exception as error:  # noqa: BLE001 - ONNXRuntime's errors have no class of their own
        if re.search("NOT_IMPLEMENTED|NotImplemented", f"{type(error).__name__}: {error}"):
            raise NotImplementedError(f"onnxruntime lacks a kernel of the model that it made: {error}") from None
        raise QuantizationError(f"onnxruntime refuses the model that it made: {error}") from None
    bounds = Bounds(before, values, way).of_outputs()
    for name, value in found.items():
        _check(name, value, values[name], bounds.get(name))
    return found


def _alike(one: Any, other: Any) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f") if _is_array(one) else True


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _check(name: str, got: Any, exact: Any, bound: Any) -> None:
    """Raise if an output is further from the exact one than quantisation explains."""
    if bound is None or got.shape != exact.shape or not exact.size:
        return
    far = np.abs(got.astype(np.float64) - exact)
    allowed = bound * (1 + SLACK) + ROUNDING * np.abs(exact).max()
    over = ~(far <= allowed)
    if over.any():
        place = np.unravel_index(int(np.argmax(np.where(over, far - allowed, -np.inf))), far.shape)
        raise QuantizationError(
            f"output {name!r} at {list(map(int, place))}: {got[place]:g} instead of {exact[place]:g}; quantisation "
            f"explains a difference of {np.broadcast_to(allowed, far.shape)[place]:g}"
        )


def _quantised(before: onnx.ModelProto, inputs: dict[str, Any], way: str) -> bytes:
    copy = onnx.ModelProto.FromString(before.SerializeToString())
    if way == "matmul-nbits":
        quantizer: Any = MatMulNBitsQuantizer(copy, block_size=32)
        quantizer.process()
        return bytes(quantizer.model.model.SerializeToString())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "quantised.onnx")
        if way == "dynamic":
            quantize_dynamic(copy, place, reduce_range=True, weight_type=QuantType.QInt8)
        else:
            if not inputs:
                raise NotImplementedError("a model without inputs is not supported: there is nothing to calibrate on")
            quantize_static(
                copy, place, Once(inputs), reduce_range=True, per_channel=way == "qdq-per-channel",
                quant_format=QuantFormat.QOperator if way == "qoperator" else QuantFormat.QDQ,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            )  # fmt: skip
        return place.read_bytes()


class Once(CalibrationDataReader):
    """Calibrates on one sample."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self._rest = [inputs]

    def get_next(self) -> Any:
        return self._rest.pop() if self._rest else None


# ---- running --------------------------------------------------------------------------------


def _run(model: bytes, inputs: dict[str, Any], names: list[str]) -> dict[str, Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {value.name: inputs[value.name] for value in session.get_inputs() if value.name in inputs}
    return dict(zip(names, session.run(names, feeds)))  # noqa: B905 - Python 3.9


def _values(before: onnx.ModelProto, inputs: dict[str, Any]) -> dict[str, Any]:
    """All values of the main graph that are tensors, by name.

    Raises:
        NotImplementedError: the model itself does not run, so that nothing can be said.
    """
    tapped = onnx.ModelProto.FromString(before.SerializeToString())
    outputs = [value.name for value in tapped.graph.output]
    inner = [name for node in tapped.graph.node for name in node.output if name and name not in outputs]
    for name in inner:
        tapped.graph.output.add(name=name)
    try:
        found, again = (_run(tapped.SerializeToString(), inputs, outputs + inner) for _ in range(2))
        # An output is rounded to its type; where only a Cast reads a value ONNXRuntime leaves that out.
        plain = _run(before.SerializeToString(), inputs, outputs)
    except Exception as error:  # noqa: BLE001 - ONNXRuntime's errors have no class of their own
        raise NotImplementedError(
            f"onnxruntime without optimisation does not run the model before it: {error}"
        ) from None
    if any(not _alike(value, again[name]) for name, value in found.items()):
        raise NotImplementedError("what is drawn by chance is not supported")
    held = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tapped.graph.initializer}
    return {**held, **inputs, **found, **plain}


# ---- bounds ---------------------------------------------------------------------------------


class Bounds:
    """How far quantisation may move each value of a model.

    Args:
        before: the model.
        values: of its main graph, by name.
        way: to quantise.
    """

    def __init__(self, before: onnx.ModelProto, values: dict[str, Any], way: str) -> None:
        self._graph = before.graph
        self._opsets = before.opset_import
        self._ir = before.ir_version
        self._values = values
        self._way = way
        self._fixed = {tensor.name for tensor in before.graph.initializer}
        self._fixed |= {name for node in before.graph.node if not node.input for name in node.output}
        self._moves: dict[str, Any] = {}
        self._steps: dict[str, float] = {}

    def of_outputs(self) -> dict[str, Any]:
        """Bounds of the graph's outputs that are of single precision and stand behind operators with a rule."""
        for name in {*self._fixed, *(value.name for value in self._graph.input)}:
            self._enter(name, 0.0, [])
        for node in self._graph.node:
            if node.input:
                self._pass(node)
        return {value.name: self._moves.get(value.name) for value in self._graph.output if self._single(value.name)}

    def _single(self, name: str) -> bool:
        return _is_array(self._values.get(name)) and self._values[name].dtype == np.float32

    def _pass(self, node: onnx.NodeProto) -> None:
        """What a node makes of the moves of its inputs; unknown if one is unknown, or the operator has no rule."""
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
            return  # its bodies read more than its inputs
        given = [name for name in node.input if name]
        exact = all(name in self._moves and not np.any(self._moves[name]) for name in given)
        if exact and not any(self.of_blocks(name) for name in given if self._single(name)):
            moved: Any = 0.0  # as sizes are
        elif node.domain or node.op_type not in MOVES or any(name not in self._moves for name in given):
            return
        else:
            moved = MOVES[node.op_type](self, node)
        moves = MOVES.get(node.op_type) is _moved_along
        for name in node.output[:1]:
            if name:
                self._enter(name, moved, given if moves else [])

    def _enter(self, name: str, moved: Any, sources: list[str]) -> None:
        """Note how far a value moves, with its own quantisation; movers share the scale of what they move."""
        if not self._single(name):
            if _is_array(self._values.get(name)) and not np.any(moved):
                self._moves[name] = 0.0
            return
        value = self._values[name]
        shared = max((self._steps.get(source, 0.0) for source in sources), default=0.0)
        step = max(self._step(name, moved), shared)
        self._steps[name] = step
        # All zeros have a scale of 1: what moved away from zero is then rounded to an integer.
        self._moves[name] = np.broadcast_to(
            moved + step if np.any(value) else 2 * np.asarray(moved) + step, value.shape
        )

    def _step(self, name: str, moved: Any) -> float:
        value = self._values[name]
        largest = float(np.abs(value).max(initial=0.0))
        if self._way == "matmul-nbits":
            return 0.0  # nothing but weights of products of matrices, see ``of_blocks``
        if name in self._fixed:
            return _step_of(largest, WEIGHT_LEVELS)
        if self._way == "dynamic":  # its scales are those of the values that have moved
            largest += float(np.max(moved, initial=0.0))
        return _step_of(largest, ACTIVATION_LEVELS)

    # ---- the rules' tools -----------------------------------------------------------------------

    def value(self, name: str) -> Any:
        """The largest magnitude that an operand's elements have."""
        return np.abs(self._values[name])

    def move(self, name: str) -> Any:
        """How far the elements of an operand move."""
        return np.broadcast_to(self._moves[name], self._values[name].shape)

    def of_blocks(self, name: str) -> float:
        """How far the weights of a product of matrices move by being written in 4 bits."""
        if self._way != "matmul-nbits" or name not in self._fixed:
            return 0.0
        return 2 * float(self.value(name).max(initial=0.0)) / NBITS_LEVELS

    def step(self, name: str) -> float:
        """The step of an operand's scale."""
        return self._steps.get(name, 0.0)

    def applied(self, node: onnx.NodeProto, *given: Any, **attributes: float) -> Any:
        """What the node computes of other values in the place of its first inputs.

        Args:
            node: of the graph.
            given: arrays for its first inputs; behind them those inputs stay that are no floats.
            attributes: replace its own.
        """
        alone = onnx.NodeProto.FromString(node.SerializeToString())
        kept = [a for a in alone.attribute if a.name not in attributes]
        del alone.attribute[:]
        alone.attribute.extend([*kept, *(onnx.helper.make_attribute(k, v) for k, v in attributes.items())])
        fed = {f"in{k}": np.asarray(array, np.float32) for k, array in enumerate(given)}
        rest = {
            f"in{k}": self._values[n] for k, n in enumerate(node.input) if k >= len(given) and n and not self._single(n)
        }
        fed.update(rest)
        places = [f"in{k}" if f"in{k}" in fed else "" for k in range(len(node.input))]
        del alone.input[:], alone.output[:]
        while places and not places[-1]:
            places.pop()
        alone.input.extend(places)
        alone.output.extend(["out"])
        type_of = onnx.helper.np_dtype_to_tensor_dtype
        ends = [onnx.helper.make_tensor_value_info(n, type_of(a.dtype), a.shape) for n, a in fed.items()]
        graph = onnx.helper.make_graph([alone], "one", ends, [onnx.ValueInfoProto(name="out")])
        model = onnx.helper.make_model(graph, opset_imports=self._opsets, ir_version=self._ir)
        return _run(model.SerializeToString(), fed, ["out"])["out"].astype(np.float64)


def _step_of(largest: float, levels: int) -> float:
    return 2 * max(largest / levels, LEAST) if largest else 0.0


Rule = Callable[[Bounds, onnx.NodeProto], Any]


def _moved_along(b: Bounds, node: onnx.NodeProto) -> Any:
    """Elements go elsewhere, are averaged, or the greatest of them is taken: what holds of values holds of moves."""
    return np.maximum(b.applied(node, b.move(node.input[0])), 0.0)


def _joined(b: Bounds, node: onnx.NodeProto) -> Any:
    return b.applied(node, *(b.move(name) for name in node.input))


def _sum(b: Bounds, node: onnx.NodeProto) -> Any:
    return b.move(node.input[0]) + b.move(node.input[1])


def _product(b: Bounds, node: onnx.NodeProto) -> Any:
    x, y = node.input
    return b.value(x) * b.move(y) + b.move(x) * (b.value(y) + b.move(y))


def _products(b: Bounds, node: onnx.NodeProto, blocks: float = 0.0, **positive: float) -> Any:
    """Sums of products of two operands, the second of which moves by ``blocks``, too."""
    x, y = node.input[:2]
    moved = b.move(y) + blocks
    return b.applied(node, b.value(x), moved, **positive) + b.applied(node, b.move(x), b.value(y) + moved, **positive)


def _matmul(b: Bounds, node: onnx.NodeProto) -> Any:
    return _products(b, node, b.of_blocks(node.input[1]))


def _bias(b: Bounds, node: onnx.NodeProto) -> Any:
    """How far what is added to the products moves; its scale is the product of theirs."""
    if len(node.input) < 3 or not node.input[2]:
        return np.zeros(())
    return b.move(node.input[2]) + b.step(node.input[0]) * b.step(node.input[1])


def _gemm(b: Bounds, node: onnx.NodeProto) -> Any:
    own = {a.name: abs(a.f) for a in node.attribute if a.name in ("alpha", "beta")}
    return _products(b, node, alpha=own.get("alpha", 1.0)) + own.get("beta", 1.0) * _bias(b, node)


def _conv(b: Bounds, node: onnx.NodeProto) -> Any:
    found, bias = _products(b, node), _bias(b, node)
    return found + (bias.reshape(-1, *[1] * (found.ndim - 2)) if bias.ndim else bias)


def _slope(at_most: float) -> Rule:
    return lambda b, node: at_most * b.move(node.input[0])


def _leaky(b: Bounds, node: onnx.NodeProto) -> Any:
    slopes = [abs(a.f) for a in node.attribute if a.name == "alpha"]
    return max([1.0, *slopes]) * b.move(node.input[0])


def _sigmoid(b: Bounds, node: onnx.NodeProto) -> Any:
    return 0.25 * b.move(node.input[0]) + OF_SHARES


def _softmax(b: Bounds, node: onnx.NodeProto) -> Any:
    """Each share changes by a factor of at most exp(2 e) if no element moves by more than e."""
    return np.minimum(1.0, np.expm1(2 * np.minimum(np.max(b.move(node.input[0]), initial=0.0), 20.0))) + OF_SHARES


# How far outputs move is a matter of what each operator computes.
MOVES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Identity", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Gather", "Expand", "Tile",
         "DepthToSpace", "SpaceToDepth", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"),
        _moved_along,
    ),
    "Concat": _joined,
    **dict.fromkeys(("Add", "Sub"), _sum),
    "Mul": _product,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    **dict.fromkeys(("Relu", "Clip", "Abs", "Neg", "Tanh", "Sin", "Cos"), _slope(1.0)),
    "Sigmoid": _sigmoid,
    "LeakyRelu": _leaky,
    "Softmax": _softmax,
}  # fmt: skip
"""How far the first output of an operator moves at most if its operands move by what they do."""
