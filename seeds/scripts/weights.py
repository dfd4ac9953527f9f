"""Gives a model random weights under which values stay alive through any depth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

from .evaluator import reference

Arrays = dict[str, np.ndarray]

_SCALED = {"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
"""Where the weight of a linear operator stands among its inputs."""


def draw(model: nn.Module, seed: int) -> nn.Module:
    """Draw all parameters of a PyTorch module with NumPy's generator, in the order of their names.

    Weights are normal with He's deviation (He et al. 2015, equation 10, without the factor 2 that ``calibrate`` finds),
    scales of normalisations uniform in [0.5, 1], biases and everything else normal and small.

    Returns:
        The module in evaluation mode.
    """
    rng = np.random.default_rng(seed)
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.InstanceNorm2d, nn.GroupNorm)
    for _, module in sorted(model.named_modules()):
        for name, parameter in sorted(module.named_parameters(recurse=False)):
            shape = tuple(parameter.shape)
            if isinstance(module, norms) and name == "weight":
                array = rng.uniform(0.5, 1, shape)
            elif isinstance(module, norms):
                # Wide enough that small differences, those of rounding among them, do not grow from layer to layer.
                array = 0.5 * rng.standard_normal(shape)
            elif isinstance(module, nn.Embedding):
                array = rng.standard_normal(shape)
            elif parameter.ndim >= 2:
                transposed = isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d)
                inputs = shape[0] if transposed else int(np.prod(shape[1:]))
                array = rng.standard_normal(shape) / np.sqrt(inputs)
            else:
                array = 0.2 * rng.standard_normal(shape)
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(array.astype(np.float32)))
        for name, buffer in sorted(module.named_buffers(recurse=False)):
            if name in ("running_mean", "running_var"):
                # The exporter would share what is equal, behind an Identity.
                buffer.copy_(torch.from_numpy(rng.uniform(0.5, 1.5, tuple(buffer.shape)).astype(np.float32)))
    return model.eval()


def calibrate(model: onnx.ModelProto, samples: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """Fit the scale of every linear operator, its bias and the statistics of BatchNormalization to samples.

    Mishkin, Matas: All you need is a good init, 2016 (weights are scaled, layer after layer, to outputs of deviation
    one), with biases that centre each channel (Krähenbühl et al.: Data-dependent Initializations, 2016) up to what they
    were drawn as. What is normalised and then added to a shortcut is quartered: deep sums of equals amplify rounding.
    All is computed in float64, factors are powers of two and statistics have eight significant bits, so that the last
    bits of a processor's sums do not reach the weights.

    Args:
        model: with random initialisers; subgraphs stay as they are.
        samples: one array an input, whose first axis counts samples.

    Returns:
        A copy with other initialisers, of the same names, types and shapes.
    """
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    weights = {t.name: _wide(numpy_helper.to_array(t)) for t in graph.initializer}
    count = len(next(iter(samples.values())))
    runs: list[Arrays] = [{name: _wide(array[i]) for name, array in samples.items()} for i in range(count)]
    fitted: set[str] = set()
    added = {name for node in graph.node if node.op_type in ("Add", "Sum") for name in node.input}
    for node in graph.node:
        runner = reference(_alone(node, model))
        if node.op_type == "BatchNormalization" and not fitted & set(node.input):
            found = _statistics(node, np.stack([run[node.input[0]] for run in runs]))
            weights.update({name: _wide(array) for name, array in found.items()})
            fitted.update(node.input[3:5])
            if added & set(node.output):
                weights[node.input[1]] = weights[node.input[1]] / 4
        position = _SCALED.get(node.op_type)
        weight = node.input[position] if position is not None else ""
        if weight in weights and weight not in fitted:
            outputs = np.stack([_run(runner, node, weights, run)[0] for run in runs])
            found = _linear(node, weights, weight, outputs)
            weights.update({name: _wide(array) for name, array in found.items()})
            fitted.add(weight)
        for run in runs:
            run.update(zip(node.output, _run(runner, node, weights, run), strict=True))
    for tensor in graph.initializer:
        array = weights[tensor.name]
        narrow = array.astype(np.float32) if tensor.data_type == onnx.TensorProto.FLOAT else array
        tensor.CopyFrom(numpy_helper.from_array(narrow, tensor.name))
    return model


def _linear(node: onnx.NodeProto, weights: Arrays, weight: str, outputs: np.ndarray) -> Arrays:
    """The weight scaled, and the bias moved, so that outputs [samples, N, C, ...] have deviation about one."""
    channels = -1 if node.op_type == "MatMul" else 2
    axes = tuple(a for a in range(outputs.ndim) if a != channels % outputs.ndim)
    mean = outputs.mean(axis=axes, dtype=np.float64)
    centred = outputs - np.expand_dims(mean, axes)
    # What is left after a large common part is gone must not be blown up: it holds that part's rounding.
    deviation = max(float(centred.std()), 0.25 * float(np.sqrt(np.mean(np.square(outputs, dtype=np.float64)))), 1e-6)
    factor = 2.0 ** -np.rint(np.log2(deviation))
    changed = {weight: (weights[weight] * factor).astype(np.float32)}
    bias = node.input[2] if len(node.input) > 2 else ""
    if bias in weights and weights[bias].shape == mean.shape and node.op_type != "MatMul":
        # The mean holds the old bias already: what is left after it is gone is the bias that was drawn.
        changed[bias] = (weights[bias] - _short((mean - weights[bias]) * factor)).astype(np.float32)
    return changed


def _statistics(node: onnx.NodeProto, inputs: np.ndarray) -> Arrays:
    """Mean and variance of each channel of inputs [samples, N, C, ...]."""
    axes = tuple(a for a in range(inputs.ndim) if a != 2)
    mean, variance = inputs.mean(axis=axes, dtype=np.float64), inputs.var(axis=axes, dtype=np.float64)
    floor = np.maximum(0.05 * np.square(mean), max(0.25 * float(variance.mean()), 1e-3))
    return {node.input[3]: _short(mean), node.input[4]: _short(np.maximum(variance, floor))}


def _short(array: np.ndarray) -> np.ndarray:
    """Rounded to eight significant bits, float32."""
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.rint(mantissa * 256) / 256, exponent).astype(np.float32)


def _alone(node: onnx.NodeProto, model: onnx.ModelProto) -> onnx.ModelProto:
    names = sorted({*filter(None, node.input), *_captured(node)})
    graph = helper.make_graph(
        [node],
        "node",
        [helper.make_empty_tensor_value_info(n) for n in names],
        [helper.make_empty_tensor_value_info(n) for n in node.output],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _captured(node: onnx.NodeProto) -> set[str]:
    """Names that the subgraphs of a node read from outside."""
    found: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            known = {v.name for v in (*graph.input, *graph.initializer)}
            for inner in graph.node:
                found |= {n for n in (*inner.input, *_captured(inner)) if n and n not in known}
                known |= set(inner.output)
            found |= {v.name for v in graph.output} - known
    return found


def _run(runner: ReferenceEvaluator, node: onnx.NodeProto, weights: Arrays, run: Arrays) -> list[np.ndarray]:
    given = {n: weights[n] if n in weights else run[n] for n in map(str, runner.input_names)}
    if node.op_type == "MeanVarianceNormalization":
        # Its function body holds a float32 constant, which mixes with nothing wider.
        given = {n: array.astype(np.float32) for n, array in given.items()}
    return [_wide(value) for value in runner.run(None, given)]


def _wide(value: np.ndarray) -> np.ndarray:
    """Float32 as float64; anything else, sequences too, as it is."""
    return value.astype(np.float64) if getattr(value, "dtype", None) == np.float32 else value
