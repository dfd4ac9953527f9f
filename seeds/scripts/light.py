"""onnx's own ``light_*`` models: their constant weights become random ones of reduced width, and values come alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import onnx.version_converter
from onnx import helper, numpy_helper

from . import images, weights
from .evaluator import reference
from .seed import DRAWN, IR_VERSION, OPSET, Input, Seed

FOLDER = Path(onnx.backend.test.__file__).parent / "data" / "light"
Arrays = dict[str, np.ndarray]
Width = Callable[[int], int]


def _over(divisor: int, given: Mapping[int, int]) -> Width:
    """Channels divided, but at least two; some as given. The 1000 classes become ten."""
    table = {1000: 10, **given}
    return lambda channels: table.get(channels, max(2, channels // divisor))


class _Narrow:
    """Rewrites one model node after node, with the values of one picture beside it, which tell the shapes.

    Args:
        model: opset 9, its weights made by ConstantOfShape from the shapes that are its initialisers.
        width: of a convolution or dense layer, from its width in the model.
        size: of the picture.
        seed: of the weights.
    """

    def __init__(self, model: onnx.ModelProto, width: Width, size: int, seed: int) -> None:
        self.width = width
        self.rng = np.random.default_rng(seed)
        self.model = model
        self.shapes = {t.name: numpy_helper.to_array(t).tolist() for t in model.graph.initializer}
        self.weights: Arrays = {}
        (self.input,) = [i.name for i in model.graph.input if i.name not in self.shapes]
        self.picture = images.gratings(1, (3, size, size), seed)[0]
        self.values: Arrays = {self.input: self.picture}
        self.constants: dict[str, list[int]] = {}
        self.nodes: list[onnx.NodeProto] = []

    def rewrite(self) -> onnx.ModelProto:
        """The narrow model at the opset of the seeds."""
        for node in self.model.graph.node:
            if node.op_type == "ConstantOfShape":
                self.constants[node.output[0]] = self.shapes[node.input[0]]
            elif node.op_type == "Unsqueeze" and node.input[0] in self.constants:
                self.constants[node.output[0]] = [*self.constants[node.input[0]], 1, 1]
            elif node.op_type == "Unsqueeze" and node.input[0] in self.shapes:
                self.constants[node.output[0]] = [len(self.shapes[node.input[0]]), 1, 1]
            elif node.op_type == "Reshape" and node.input[0] in self.constants:
                self.constants[node.output[0]] = self.shapes[node.input[1]]
            else:
                self._keep(node)
        output = self.model.graph.output[0].name
        graph = helper.make_graph(
            self.nodes,
            self.model.graph.name,
            [helper.make_tensor_value_info(self.input, onnx.TensorProto.FLOAT, self.picture.shape)],
            [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, self.values[output].shape)],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        narrow = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=IR_VERSION)
        narrow = onnx.version_converter.convert_version(narrow, OPSET)
        del narrow.graph.value_info[:]
        for index, node in enumerate(narrow.graph.node):
            node.name = f"{node.op_type}_{index}"
        narrow.ir_version = IR_VERSION
        narrow.producer_name = self.model.producer_name
        return narrow

    def _keep(self, node: onnx.NodeProto) -> None:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        x = self.values[node.input[0]].shape
        adapt = getattr(self, f"_{node.op_type.lower()}", None)
        if adapt is not None:
            adapt(node, x)
        self.nodes.append(node)
        graph = helper.make_graph(
            [node],
            "node",
            [helper.make_empty_tensor_value_info(n) for n in dict.fromkeys(node.input)],
            [helper.make_empty_tensor_value_info(n) for n in node.output],
        )
        run = reference(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)]))
        known = {**self.values, **self.weights}
        answers = run.run(None, {n: known[n] for n in run.input_names})
        self.values.update(zip(node.output, answers, strict=True))

    def _draw(self, name: str, shape: tuple[int, ...]) -> None:
        inputs = int(np.prod(shape[1:]))
        self.weights[name] = (self.rng.standard_normal(shape) / np.sqrt(inputs)).astype(np.float32)

    def _vector(self, name: str, shape: tuple[int, ...], around: float, deviation: float) -> None:
        self.weights[name] = (around + deviation * self.rng.uniform(-1, 1, shape)).astype(np.float32)

    def _conv(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        after, each, *kernel = self.constants[node.input[1]]
        group = next((a for a in node.attribute if a.name == "group"), None)
        groups = group.i if group else 1
        if each == 1 and groups > 1:
            # Depthwise: as many groups as there are channels now.
            assert group is not None
            group.i = groups = x[1]
            after = x[1]
        else:
            after = self.width(after) // groups * groups
        self._draw(node.input[1], (after, x[1] // groups, *kernel))
        if len(node.input) > 2:
            self._vector(node.input[2], (after,), 0.0, 0.3)

    def _gemm(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        after = self.width(self.constants[node.input[1]][0])
        self._draw(node.input[1], (after, x[1]))
        self._vector(node.input[2], (after,), 0.0, 0.3)

    def _batchnormalization(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        for name, around, deviation in zip(node.input[1:], (0.75, 0.0, 0.0, 1.0), (0.25, 0.8, 0.3, 0.25), strict=True):
            self._vector(name, (x[1],), around, deviation)

    def _mul(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        if node.input[1] in self.constants:
            self._vector(node.input[1], (x[1], 1, 1), 1.0, 0.25)

    def _add(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        if node.input[1] in self.constants:
            self._vector(node.input[1], (x[1], 1, 1), 0.0, 0.3)

    def _reshape(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        target = self.shapes[node.input[1]]
        if len(target) == 5:
            shape = [x[0], target[1], x[1] // target[1], *x[2:]]
        elif len(target) == 4:
            shape = [x[0], -1, *x[-2:]]
        else:
            shape = [x[0], -1]
        self.weights[node.input[1]] = np.array(shape, np.int64)

    def _averagepool(self, node: onnx.NodeProto, x: tuple[int, ...]) -> None:
        """Pools over the whole picture do so still, where it is smaller now."""
        attributes = {a.name: a for a in node.attribute}
        kernel, pads = attributes["kernel_shape"].ints, attributes["pads"].ints if "pads" in attributes else [0] * 4
        if kernel[0] > max(x[2], 3):
            kernel[:], pads[:] = x[2:], [0] * 4


def _build(name: str, title: str, paper: str, width: Width, size: int, seed: int) -> Seed:
    narrow = _Narrow(onnx.load(FOLDER / f"{name}.onnx"), width, size, seed).rewrite()
    samples = {narrow.graph.input[0].name: images.gratings(8, (3, size, size), seed)}
    return Seed(
        name=name,
        title=title,
        origin=f"{name} as onnx ships it for its backend tests (with constant weights, so that its output does not "
        "depend on its input), in reduced width, with weights drawn from a seeded generator and scaled so that values "
        f"stay alive, converted to opset {OPSET} by onnx.version_converter",
        reference=paper,
        model=weights.calibrate(narrow, samples),
        inputs=(Input(narrow.graph.input[0].name, 0.0, 1.0, "brightness of each pixel in each channel"),),
        output="score of each class" if name == "light_densenet121" else "probability of each class",
        samples={key: array[:3] for key, array in samples.items()},
        data=DRAWN,
        packages=("numpy", "onnx"),
    )


def alexnet() -> Seed:
    return _build(
        "light_bvlc_alexnet",
        "Caffe's AlexNet: convolutions in two groups, LRN, Dropout, Softmax",
        "Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional Neural Networks, 2012",
        _over(12, {4096: 64}),
        67,
        21,
    )


def densenet121() -> Seed:
    return _build(
        "light_densenet121",
        "Caffe's DenseNet-121: each BatchNormalization followed by a scale and a shift of its own",
        "Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks, 2017, table 1",
        _over(16, {}),
        32,
        22,
    )


def inception_v1() -> Seed:
    return _build(
        "light_inception_v1",
        "Caffe's GoogLeNet: nine inception modules of four branches, LRN, Softmax",
        "Szegedy et al.: Going Deeper with Convolutions, 2015, table 1",
        _over(12, {}),
        64,
        23,
    )


def inception_v2() -> Seed:
    return _build(
        "light_inception_v2",
        "Caffe's Inception with batch normalisation: ten modules, each normalisation with a scale and shift of its own",
        "Ioffe, Szegedy: Batch Normalization: Accelerating Deep Network Training, 2015, figure 5",
        _over(16, {}),
        64,
        24,
    )


def resnet50() -> Seed:
    return _build(
        "light_resnet50",
        "Caffe2's ResNet-50: bottlenecks strided in their first convolution, Sum, Softmax",
        "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016, table 1",
        _over(22, {}),
        64,
        25,
    )


def shufflenet() -> Seed:
    return _build(
        "light_shufflenet",
        "Caffe2's ShuffleNet: pointwise convolutions in groups, channel shuffle, Concat and Sum shortcuts",
        "Zhang, Zhou, Lin, Sun: ShuffleNet: An Extremely Efficient Convolutional Neural Network, 2018, table 1",
        _over(8, {24: 4, 112: 12, 136: 16, 272: 32, 544: 64}),
        64,
        26,
    )


def squeezenet() -> Seed:
    return _build(
        "light_squeezenet",
        "SqueezeNet: eight fire modules, convolution as classifier, Softmax over channels",
        "Iandola et al.: SqueezeNet: AlexNet-level Accuracy with 50x Fewer Parameters, 2016, table 1",
        _over(8, {}),
        64,
        27,
    )


def vgg19() -> Seed:
    return _build(
        "light_vgg19",
        "VGG-19: sixteen 3x3 convolutions in five stages, three dense layers, Dropout, Softmax",
        "Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition, 2015, table 1, E",
        _over(20, {4096: 48}),
        32,
        28,
    )


def zfnet512() -> Seed:
    return _build(
        "light_zfnet512",
        "Caffe2's ZFNet-512: AlexNet with smaller strides, LRN, Softmax",
        "Zeiler, Fergus: Visualizing and Understanding Convolutional Networks, 2014, figure 3",
        _over(16, {4096: 48}),
        75,
        29,
    )
