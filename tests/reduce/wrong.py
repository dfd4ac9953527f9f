"""Components with one fault each, planted behind onnx's evaluator."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator


class Right:
    def run(self, model, inputs):
        evaluator = ReferenceEvaluator(onnx.load_from_string(model))
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class FusesAddRelu(Right):
    """Where an Add feeds a Relu, computes the absolute value of the sum instead."""

    def run(self, model, inputs):
        proto = onnx.load_from_string(model)
        sums = {name for node in proto.graph.node if node.op_type == "Add" for name in node.output}
        for node in proto.graph.node:
            if node.op_type == "Relu" and node.input[0] in sums:
                node.op_type = "Abs"
        return super().run(proto.SerializeToString(), inputs)


class NoStridedConv(Right):
    """Refuses convolutions with strides."""

    def run(self, model, inputs):
        for node in onnx.load_from_string(model).graph.node:
            if any(a.name == "strides" and max(a.ints) > 1 for a in node.attribute) and node.op_type == "Conv":
                raise RuntimeError(f"cannot plan {node.name}")
        return super().run(model, inputs)


class OverflowsSums(Right):
    """Wrong for outputs above 1/4 only."""

    def run(self, model, inputs):
        return {k: np.where(v > 0.25, v - 10, v).astype(v.dtype) for k, v in super().run(model, inputs).items()}
