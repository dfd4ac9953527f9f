"""Runtimes with one planted fault each, as one table: ONNX's reference evaluator with a wrong kernel or a wrong pass.

Name one as ``tests/planted_targets/wrong.py:epsilon_outside``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops._op_list import load_op

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

import wrong_elements as elements
import wrong_layers as layers
import wrong_models
import wrong_moves as moves
import wrong_passes as passes


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault.

    Attributes:
        wrong: the kernel, or the pass.
        operators: whose kernel it is; several, the row of nodes that the pass fuses.
        model: a seed, or one of ``wrong_models``, in which it shows.
        parameters: attributes that turn it on: with other values of any of them the operator is right.
    """

    wrong: Callable[..., Any]
    operators: tuple[str, ...]
    model: str
    parameters: tuple[str, ...] = ()
    given: Mapping[str, float] = field(default_factory=dict)
    """Attributes that the model's nodes of this operator are given first, where its own would hide the fault."""

    @property
    def name(self) -> str:
        """As a target is named."""
        return self.wrong.__name__


def _fault(wrong: Callable[..., Any], operators: str, model: str, parameters: str = "", **given: float) -> Fault:
    return Fault(wrong, tuple(operators.split()), model, tuple(parameters.split()), given)


FAULTS: tuple[Fault, ...] = (
    _fault(layers.epsilon_outside, "BatchNormalization", "resnet", "epsilon", epsilon=0.01),
    _fault(layers.epsilon_of_keras, "BatchNormalization", "resnet20", "epsilon"),
    _fault(layers.variance_is_deviation, "BatchNormalization", "film"),
    _fault(layers.drops_mean, "BatchNormalization", "shufflenetv2"),
    _fault(layers.first_channel_only, "Conv", "xception", "group"),
    _fault(layers.groups_reversed, "Conv", "light_bvlc_alexnet", "group"),
    _fault(layers.loses_last_group, "Conv", "convnext", "group"),
    _fault(layers.kernel_flipped, "Conv", "lenet5"),
    _fault(layers.same_shifted, "Conv", "pools", "auto_pad"),
    _fault(layers.pads_swapped, "Conv", "pools", "pads"),
    _fault(layers.dilation_ignored, "Conv", "tcn", "dilations"),
    _fault(layers.bias_dropped, "Conv", "alexnet"),
    _fault(layers.bias_of_first_channel, "Conv", "unet"),
    _fault(layers.strided_from_one, "Conv", "detector", "strides"),
    _fault(layers.wide_kernel_in_half, "Conv", "light_squeezenet"),
    _fault(layers.last_row_lost, "Conv", "vgg16"),
    _fault(layers.pads_of_transposed_ignored, "ConvTranspose", "vae", "pads"),
    _fault(layers.transposed_kernel_flipped, "ConvTranspose", "unet"),
    _fault(layers.counts_padding, "AveragePool", "inceptionresnetv2", "pads count_include_pad"),
    _fault(layers.leaves_padding_out, "AveragePool", "inceptionresnetv2", "pads count_include_pad",
           count_include_pad=1),
    _fault(layers.window_shifted, "AveragePool", "lenet5"),
    _fault(layers.pads_with_zero, "MaxPool", "pools", "pads"),
    _fault(layers.no_valid_cell, "MaxPool", "pools", "ceil_mode strides"),
    _fault(layers.ceil_counts_beyond, "AveragePool", "pools", "ceil_mode"),
    _fault(layers.window_dilation_ignored, "MaxPool", "pools", "dilations"),
    _fault(layers.mean_of_one_less, "GlobalAveragePool", "resnet"),
    _fault(layers.radius_off_by_one, "LRN", "light_zfnet512"),
    _fault(layers.bias_is_one, "LRN", "light_zfnet512", "bias"),
    _fault(layers.layer_epsilon_outside, "LayerNormalization", "mixer", "epsilon", epsilon=0.05),
    _fault(layers.unbiased_variance, "LayerNormalization", "convnext"),
    _fault(layers.layer_bias_dropped, "LayerNormalization", "vit"),
    _fault(layers.without_variance, "MeanVarianceNormalization", "audio"),
    _fault(layers.instance_over_batch, "InstanceNormalization", "odd"),
    _fault(layers.softmax_first_axis, "Softmax", "detector"),
    _fault(layers.softmax_flattened, "Softmax", "vit"),
    _fault(layers.softmax_overflows, "Softmax", "odd"),
    _fault(layers.log_softmax_of_two, "LogSoftmax", "odd"),
    _fault(elements.in_bfloat16, "MatMul", "mixer"),
    _fault(elements.in_half, "Gemm", "light_vgg19"),
    _fault(elements.first_of_the_batch, "MatMul", "time"),
    _fault(elements.repeats_first_row, "MatMul", "convnext"),
    _fault(elements.last_term_lost, "Gemm", "alexnet"),
    _fault(elements.c_forgotten, "Gemm", "lenet5"),
    _fault(elements.c_of_first_column, "Gemm", "recommender"),
    _fault(elements.einsum_keys_shifted, "Einsum", "vit"),
    _fault(elements.broadcasts_first_number, "Add", "mixer"),
    _fault(elements.broadcasts_from_the_left, "Mul", "time"),
    _fault(elements.operands_swapped, "Sub", "diabetes"),
    _fault(elements.coarse_reciprocal, "Div", "convnext"),
    _fault(elements.floors, "Div", "regions"),
    _fault(elements.exponent_is_two, "Pow", "vit"),
    _fault(elements.sign_of_the_divisor, "Mod", "odd", "fmod"),
    _fault(elements.fast_root, "Sqrt", "graph_network"),
    _fault(elements.one_newton_step, "Reciprocal", "graph_network"),
    _fault(elements.coarse_exp, "Exp", "vae"),
    _fault(elements.erf_by_tanh, "Erf", "mixer"),
    _fault(elements.hard_sigmoid, "Sigmoid", "recommender"),
    _fault(elements.tanh_saturates, "Tanh", "lenet5"),
    _fault(elements.relu_of_six, "Relu", "alexnet"),
    _fault(elements.relu_loses_nan, "Relu", "nan"),
    _fault(elements.maximum_loses_nan, "Max", "nan"),
    _fault(elements.clip_loses_nan, "Clip", "nan"),
    _fault(elements.reduced_maximum_loses_nan, "ReduceMax", "nan"),
    _fault(elements.lower_end_ignored, "Clip", "detector"),
    _fault(elements.default_slope, "LeakyRelu", "vae", "alpha"),
    _fault(elements.elu_slope, "Elu", "vae"),
    _fault(elements.selu_without_gamma, "Selu", "diabetes", "gamma"),
    _fault(elements.softplus_is_relu, "Softplus", "diabetes"),
    _fault(elements.hard_swish_of_five, "HardSwish", "film"),
    _fault(elements.keras_hard_sigmoid, "HardSigmoid", "odd", "alpha"),
    _fault(elements.slope_of_first_channel, "PRelu", "odd"),
    _fault(elements.threshold_of_zero, "ThresholdedRelu", "odd", "alpha"),
    _fault(elements.log_of_one_more, "Log", "audio"),
    _fault(elements.mean_of_all_but_one, "ReduceMean", "resnet20"),
    _fault(elements.maximum_from_zero, "ReduceMax", "film"),
    _fault(elements.sums_from_the_second, "ReduceSum", "vae"),
    _fault(elements.squares_unsquared, "ReduceSumSquare", "audio"),
    _fault(elements.exclusive, "CumSum", "time"),
    _fault(elements.last_of_equals, "ArgMax", "odd", "select_last_index"),
    _fault(elements.misses_the_last, "ArgMax", "crf"),
    _fault(elements.smallest, "TopK", "detector", "largest"),
    _fault(elements.ascending, "TopK", "odd"),
    _fault(elements.symmetric_window, "HannWindow", "audio", "periodic"),
    _fault(moves.copied_not_transposed, "Transpose", "mixer", "perm"),
    _fault(moves.column_major, "Reshape", "shufflenetv2"),
    _fault(moves.channels_last, "Flatten", "vae"),
    _fault(moves.joined_backwards, "Concat", "light_squeezenet"),
    _fault(moves.halves_swapped, "Split", "vit"),
    _fault(moves.starts_one_late, "Slice", "shufflenetv2"),
    _fault(moves.index_off_by_one, "Gather", "recommender"),
    _fault(moves.negative_is_zero, "Gather", "odd"),
    _fault(moves.elements_reversed, "GatherElements", "crf"),
    _fault(moves.last_update_wins, "ScatterND", "graph_network", "reduction"),
    _fault(moves.chooses_the_other, "Where", "odd"),
    _fault(moves.diagonal_lost, "Trilu", "odd"),
    _fault(moves.mirrors_the_edge, "Pad", "odd", "mode"),
    _fault(moves.pads_with_its_default, "Pad", "odd"),
    _fault(moves.channels_of_the_other_mode, "DepthToSpace", "odd", "mode blocksize"),
    _fault(moves.corners_aligned, "Resize", "odd", "coordinate_transformation_mode"),
    _fault(moves.rounds_up, "Resize", "odd", "nearest_mode mode"),
    _fault(moves.half_pixel_forgotten, "RoiAlign", "regions", "coordinate_transformation_mode"),
    _fault(moves.batch_major, "ReverseSequence", "time"),
    _fault(moves.time_reversed, "RNN", "time"),
    _fault(moves.gates_in_another_order, "LSTM", "lstm"),
    _fault(moves.initial_state_forgotten, "LSTM", "time"),
    _fault(moves.reset_before, "GRU", "time", "linear_before_reset"),
    _fault(moves.recurrent_bias_forgotten, "GRU", "crf"),
    _fault(moves.truncates, "QuantizeLinear", "quantised"),
    _fault(moves.zero_point_forgotten, "DequantizeLinear", "quantised"),
    _fault(moves.first_scale_for_all, "DequantizeLinear", "quantised"),
    _fault(moves.seven_bits, "MatMulInteger", "quantised"),
    _fault(moves.output_zero_forgotten, "QLinearMatMul", "quantised"),
    _fault(moves.through_half, "Cast", "quantised"),
    _fault(moves.scales_when_it_should_not, "Dropout", "light_bvlc_alexnet"),
    _fault(passes.relu_lost, "Conv Relu", "unet"),
    _fault(passes.relu_before_add, "Add Relu", "resnet20"),
    _fault(passes.normalisation_folded, "Conv BatchNormalization", "resnet"),
    _fault(passes.bias_added_twice, "MatMul Add", "mixer"),
    _fault(passes.gate_is_swish, "Sigmoid Mul", "tcn"),
    _fault(passes.gelu_by_tanh, "Erf Add", "convnext"),
    _fault(passes.shuffle_is_nothing, "Reshape Transpose Reshape", "shufflenetv2"),
    _fault(passes.scaled_before_shift, "Sub Div", "diabetes"),
    _fault(passes.joined_before_convolution, "Concat Conv", "unet"),
    _fault(passes.pooled_before_tanh, "Tanh AveragePool", "lenet5"),
    _fault(passes.flattened_channels_last, "Flatten Gemm", "regions"),
)  # fmt: skip
"""Kernels first, then passes."""

BY_NAME = {fault.name: fault for fault in FAULTS}


def model_of(fault: Fault) -> onnx.ModelProto:
    """The model in which it shows."""
    if fault.model in wrong_models.TEXTS:
        model = wrong_models.build(fault.model)
    else:
        model = onnx.load(Path(__file__).parents[2] / "seeds" / f"{fault.model}.onnx")
    for node in model.graph.node:
        if node.op_type == fault.operators[0]:
            for name, value in fault.given.items():
                kept = [a for a in node.attribute if a.name != name]
                del node.attribute[:]
                node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
    return model


def inputs_of(fault: Fault, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of its model: a real sample of a seed, or numbers drawn from the normal distribution."""
    if fault.model in wrong_models.TEXTS:
        rng = np.random.default_rng(seed)
        shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model_of(fault).graph.input}
        return {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    ranks = {i.name: len(i.type.tensor_type.shape.dim) for i in model_of(fault).graph.input}
    with np.load(Path(__file__).parents[2] / "seeds" / f"{fault.model}.inputs.npz") as arrays:
        rows = {n: arrays[n][seed : seed + 1] for n in ranks}
    return {n: a if a.ndim == ranks[n] else a[0] for n, a in rows.items()}


def outputs_of(model: onnx.ModelProto, inputs: dict[str, Any], fault: Fault) -> dict[str, Any]:
    """What the faulty runtime computes."""
    if len(fault.operators) > 1:
        passes.apply(model, fault.operators, fault.wrong)
        evaluator = ReferenceEvaluator(model)
    else:
        evaluator = ReferenceEvaluator(model, new_ops=[_kernel(model, fault, None)])
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def planted_in(model: onnx.ModelProto, inputs: dict[str, Any], fault: Fault) -> list[list[str]]:
    """Outputs of the nodes in which a fault shows on these inputs, computed without any localisation.

    Of a kernel one entry a node that computes something else on healthy inputs; of a pass one a row that it replaces.
    """
    if len(fault.operators) > 1:
        return passes.apply(model, fault.operators, fault.wrong)
    noted: list[list[str]] = []
    ReferenceEvaluator(model, new_ops=[_kernel(model, fault, noted)]).run(None, inputs)
    return noted


def _kernel(model: onnx.ModelProto, fault: Fault, noted: list[list[str]] | None) -> type[OpRun]:
    """The operator's healthy class with the wrong kernel around it; with ``noted`` it stays right and takes notes."""
    (op,) = fault.operators
    version = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    healthy = op not in _BODIES
    base: Any = load_op("", op, version=version) if healthy else OpRun
    taken = inspect.signature(base._run).parameters

    def _run(self: Any, *inputs: Any, **attrs: Any) -> Any:
        def right(*given: Any, **changed: Any) -> Any:
            if not healthy:
                return _by_its_body(self, given, version)
            before = {name: getattr(self, name) for name in changed}
            try:
                vars(self).update(changed)  # some classes read attributes here, others in what they are given
                return base._run(self, *given, **{n: v for n, v in changed.items() if n in taken})
            finally:
                vars(self).update(before)

        # Operators with one input are given their attributes by ``self`` alone.
        attrs = {**{name: getattr(self, name) for name in self.attributes_names_}, **attrs}
        if noted is None:
            return fault.wrong(right, inputs, attrs)
        expected = right(*inputs, **attrs)
        if not same(fault.wrong(right, inputs, attrs), expected):
            noted.append([o for o in self.onnx_node.output if o])
        return expected

    return type(op, (base,), {"_run": _run, "op_domain": "", "op_schema": onnx.defs.get_schema(op, version, "")})


_BODIES = frozenset({"HardSwish", "MeanVarianceNormalization"})
"""Operators that the evaluator computes by their function bodies, so that there is no healthy class of theirs."""


def _by_its_body(kernel: Any, given: tuple[Any, ...], version: int) -> tuple[Any, ...]:
    """The operator alone, as the evaluator computes it."""
    node = kernel.onnx_node
    infos = [onnx.helper.make_tensor_value_info(n, 1, None) for n in (*node.input, *node.output)]
    graph = onnx.helper.make_graph([node], "alone", infos[: len(node.input)], infos[len(node.input) :])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    return tuple(ReferenceEvaluator(model).run(None, dict(zip(node.input, given, strict=True))))


def same(a: Any, b: Any) -> bool:
    """Whether two lists of outputs are the same but for some rounding."""
    for x, y in zip(map(np.asarray, a), map(np.asarray, b), strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        if x.dtype.kind != "f":
            if not np.array_equal(x, y):
                return False
        elif not np.allclose(x, y, rtol=1e-4, atol=1e-4 * float(np.nanmax(np.abs(y), initial=0.0)), equal_nan=True):
            return False
    return True


class _Runtime:
    """A plug-in of ``irfuzz.execute.adapters.plugin``."""

    fault: Fault

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return outputs_of(onnx.load_model_from_string(model), inputs, self.fault)


def __getattr__(name: str) -> type[_Runtime]:
    """A target by the name of its fault."""
    if name not in BY_NAME:
        raise AttributeError(name)
    return type(name, (_Runtime,), {"fault": BY_NAME[name]})
