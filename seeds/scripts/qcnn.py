"""A quantised CNN: trained in float32, calibrated on its training images, written with both forms of quantisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from . import digits, quantization, training
from .seed import IR_VERSION, OPSET, Input, Seed


class SeparableCNN(nn.Module):
    """Two convolutions, then a depthwise-separable one as in MobileNet (Howard et al. 2017, section 3.1)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, 1, 1)
        self.conv = nn.Conv2d(16, 32, 3, 1, 1)
        self.depthwise = nn.Conv2d(32, 32, 3, 2, 1, groups=32)
        self.pointwise = nn.Conv2d(32, 64, 1)
        self.dense = nn.Linear(64, 10)

    def stages(self, image: torch.Tensor) -> list[torch.Tensor]:
        """float32[N, 1, 16, 16] -> every value that gets a quantisation of its own, in order."""
        stem = torch.relu(self.stem(image))
        conv = torch.relu(self.conv(nn.functional.max_pool2d(stem, 2)))
        depthwise = torch.relu(self.depthwise(conv))
        pointwise = torch.relu(self.pointwise(depthwise))
        pooled = pointwise.mean((2, 3))
        return [image, stem, conv, depthwise, pointwise, pooled, self.dense(pooled)]

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 1, 16, 16] -> class scores, float32[N, 10]."""
        return self.stages(image)[-1]


class _Writer:
    """Collects the nodes and initialisers of one graph; values are named after the node that makes them."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, array: np.ndarray) -> str:
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def node(self, op: str, name: str, inputs: Sequence[str], output: str | None = None, **attrs: Any) -> str:
        output = output or f"{name}_output"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attrs))
        return output

    def scale(self, name: str, scale: np.ndarray, zero_point: int) -> tuple[str, str]:
        """Scale and uint8 zero point of one value."""
        return (
            self.constant(f"{name}.scale", scale),
            self.constant(f"{name}.zero_point", np.array(zero_point, np.uint8)),
        )

    def quantize(self, name: str, x: str, q: tuple[str, str]) -> str:
        return self.node("QuantizeLinear", f"{name}/QuantizeLinear", [x, *q])

    def dequantize(self, name: str, x: str, q: tuple[str, str]) -> str:
        return self.node("DequantizeLinear", f"{name}/DequantizeLinear", [x, *q])

    def weights(self, name: str, layer: nn.Module, input_scale: np.ndarray, *, per_channel: bool) -> list[str]:
        """Names of a layer's integer weight, its scales and zero points, and its integer bias."""
        real = {key: p.detach().numpy() for key, p in layer.named_parameters()}
        weight = quantization.weight(real["weight"], per_channel=per_channel)
        bias = quantization.bias(real["bias"], input_scale, weight.scale)
        return [
            self.constant(f"{name}.weight", weight.integers),
            self.constant(f"{name}.weight.scale", weight.scale),
            self.constant(f"{name}.weight.zero_point", np.zeros(weight.scale.shape, np.int8)),
            self.constant(f"{name}.bias", bias),
        ]

    def real_weights(self, name: str, layer: nn.Module, input_scale: np.ndarray, *, per_channel: bool) -> list[str]:
        """Names of a layer's weight and bias as real values, each from integers through DequantizeLinear."""
        weight, scale, zero_point, bias = self.weights(name, layer, input_scale, per_channel=per_channel)
        bias_scale = self.constant(f"{name}.bias.scale", input_scale * numpy_helper.to_array(self.initializers[scale]))
        on_axis: dict[str, Any] = {"axis": 0} if per_channel else {}
        return [
            self.node("DequantizeLinear", f"{name}.weight/DequantizeLinear", [weight, scale, zero_point], **on_axis),
            self.node("DequantizeLinear", f"{name}.bias/DequantizeLinear", [bias, bias_scale], **on_axis),
        ]

    def qlinear_conv(
        self, name: str, layer: nn.Module, x: str, q: tuple[str, str], scale: np.ndarray, to: tuple[str, str], pad: int
    ) -> str:
        """Convolution and ReLU on integers: the output is unsigned with zero point 0, so negative sums saturate."""
        weight, weight_scale, zero_point, bias = self.weights(name, layer, scale, per_channel=True)
        inputs = [x, *q, weight, weight_scale, zero_point, *to, bias]
        return self.node("QLinearConv", f"{name}/QLinearConv", inputs, pads=[pad] * 4)


def convert(model: SeparableCNN, calibration: np.ndarray) -> onnx.ModelProto:
    """Write a trained network with integer weights.

    Args:
        model: in evaluation mode.
        calibration: float32[N, 1, 16, 16] in [-1, 1], images whose activations set the scales.
    """
    with torch.no_grad():
        largest = [float(stage.abs().max()) for stage in model.stages(torch.from_numpy(calibration))]
    # The image is signed around its zero point; what follows is not negative.
    scales = [quantization.scale_for(largest[0], 128), *(quantization.scale_for(v, 255) for v in largest[1:-1])]
    names = ["image", "stem", "conv", "depthwise", "pointwise", "pool"]
    w = _Writer()
    q = [w.scale(n, s, 128 if n == "image" else 0) for n, s in zip(names, scales, strict=True)]

    x = w.dequantize("image", w.quantize("image", "image", q[0]), q[0])
    stem = w.real_weights("stem", model.stem, scales[0], per_channel=True)
    x = w.node("Conv", "stem/Conv", [x, *stem], kernel_shape=[3, 3], pads=[1] * 4)
    x = w.dequantize("stem", w.quantize("stem", w.node("Relu", "stem/Relu", [x]), q[1]), q[1])
    x = w.node("MaxPool", "stem/MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = w.quantize("stem/MaxPool", x, q[1])
    x = w.qlinear_conv("conv", model.conv, x, q[1], scales[1], q[2], pad=1)
    x = w.dequantize("conv", x, q[2])
    depthwise = w.real_weights("depthwise", model.depthwise, scales[2], per_channel=True)
    x = w.node(
        "Conv",
        "depthwise/Conv",
        [x, *depthwise],
        group=model.depthwise.groups,
        kernel_shape=[3, 3],
        pads=[1] * 4,
        strides=[2, 2],
    )
    x = w.quantize("depthwise", w.node("Relu", "depthwise/Relu", [x]), q[3])
    x = w.qlinear_conv("pointwise", model.pointwise, x, q[3], scales[3], q[4], pad=0)
    x = w.node("GlobalAveragePool", "pool/GlobalAveragePool", [w.dequantize("pointwise", x, q[4])])
    x = w.dequantize("pool", w.quantize("pool", x, q[5]), q[5])
    x = w.node("Flatten", "pool/Flatten", [x])
    dense = w.real_weights("dense", model.dense, scales[5], per_channel=False)
    w.node("Gemm", "dense/Gemm", [x, *dense], output="scores", transB=1)

    graph = helper.make_graph(
        w.nodes,
        "qcnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 16, 16])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        list(w.initializers.values()),
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="irfuzz-seeds"
    )


def build() -> Seed:
    """Train, quantise and describe."""
    data = digits.load()
    images = 2 * digits.enlarge(data.train, 2, 0) - 1
    model = training.fit(SeparableCNN, [images], data.train_labels, epochs=25, rate=6e-3)
    assert isinstance(model, SeparableCNN)
    samples = 2 * digits.enlarge(data.test, 2, 0) - 1
    return Seed(
        name="qcnn",
        title="Quantised CNN: 8-bit activations, per-channel weights; Q/DQ pairs, QLinearConv, a depthwise convolution",
        origin="defined and trained in PyTorch on scikit-learn's digits (enlarged to 16x16), quantised after training "
        "by its script with power-of-two scales, so that every correct runtime gives the same integers",
        reference="Jacob et al.: Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only "
        "Inference, 2018, section 2; Howard et al.: MobileNets, 2017, section 3.1",
        model=convert(model, images),
        inputs=(Input("image", -1.0, 1.0, "ink, -1 is paper and 1 is full"),),
        output="score of each digit, before softmax",
        samples={"image": samples},
        labels=data.test_labels,
    )
