"""Targets with planted faults, run in workers: onnx's evaluator, and something wrong behind it."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator


class Right:
    """An independent component that computes as the reference does."""

    def run(self, model, inputs):
        evaluator = ReferenceEvaluator(onnx.load_from_string(model))
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class WrongRelu(Right):
    """Computes every Relu as an Abs."""

    def run(self, model, inputs):
        proto = onnx.load_from_string(model)
        for node in proto.graph.node:
            if node.op_type == "Relu":
                node.op_type = "Abs"
        return super().run(proto.SerializeToString(), inputs)


class SinglePass(Right):
    """Right but for what rounding excuses: sums in another order and with other intermediate rounding."""

    def run(self, model, inputs):
        proto = onnx.load_from_string(model)
        for tensor in proto.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                array = onnx.numpy_helper.to_array(tensor)
                noise = np.random.default_rng(1).uniform(-0.5, 0.5, array.shape) * 2.0**-23
                tensor.CopyFrom(onnx.numpy_helper.from_array((array * (1 + noise)).astype(np.float32), tensor.name))
        return super().run(proto.SerializeToString(), inputs)


class WrongDtype(Right):
    """Gives doubles."""

    def run(self, model, inputs):
        return {k: v.astype(np.float64) for k, v in super().run(model, inputs).items()}


class Refusing(Right):
    """Knows no Relu and calls that an error."""

    def run(self, model, inputs):
        for node in onnx.load_from_string(model).graph.node:
            if node.op_type == "Relu":
                raise ValueError(f"node {node.name!r}: Relu is wrong")
        return super().run(model, inputs)


class Flaky(Right):
    """Adds what is left in memory of the last run."""

    def __init__(self):
        self.count = 0

    def run(self, model, inputs):
        self.count += 1
        return {k: np.asarray(v) + np.float32(self.count) for k, v in super().run(model, inputs).items()}
