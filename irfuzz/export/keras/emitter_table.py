"""The operators that a Keras model can express, and the emitter of each."""

from __future__ import annotations

from irfuzz.export.keras import elementwise, layer_emitters, recurrences, reshaping_slicing_reducing
from irfuzz.export.keras.elementwise import activation, binary, compared, merging, unary
from irfuzz.export.keras.node_checks import numbers_only
from irfuzz.export.source.emitter_context import Emitter

_LAYERS: dict[str, Emitter] = {
    "AveragePool": layer_emitters.average_pool,
    "BatchNormalization": layer_emitters.batch_norm,
    "Conv": layer_emitters.conv,
    "ConvTranspose": layer_emitters.conv_transpose,
    "Dropout": layer_emitters.dropout,
    "GRU": recurrences.gru,
    "Gather": layer_emitters.gather,
    "Gemm": layer_emitters.gemm,
    "GlobalAveragePool": layer_emitters.global_pool("global_average_pool"),
    "GlobalMaxPool": layer_emitters.global_pool("global_max_pool"),
    "GroupNormalization": layer_emitters.group_norm,
    "InstanceNormalization": layer_emitters.instance_norm,
    "LSTM": recurrences.lstm,
    "LayerNormalization": layer_emitters.layer_norm,
    "MatMul": layer_emitters.matmul,
    "MaxPool": layer_emitters.max_pool,
    "PRelu": layer_emitters.prelu,
    "RNN": recurrences.rnn,
    "Resize": layer_emitters.resize,
}

_ELEMENTWISE: dict[str, Emitter] = {
    **{
        op: unary(name)
        for op, name in {
            "Acos": "arccos",
            "Acosh": "arccosh",
            "Asin": "arcsin",
            "Asinh": "arcsinh",
            "Atan": "arctan",
            "Atanh": "arctanh",
            "Ceil": "ceil",
            "Cos": "cos",
            "Cosh": "cosh",
            "Erf": "erf",
            "Exp": "exp",
            "Floor": "floor",
            "IsNaN": "isnan",
            "Log": "log",
            "Reciprocal": "reciprocal",
            "Round": "round",
            "Sin": "sin",
            "Sinh": "sinh",
            "Sqrt": "sqrt",
            "Tan": "tan",
        }.items()
    },
    "Abs": unary("absolute", numbers_only),
    "Neg": unary("negative", numbers_only),
    "Sign": unary("sign", numbers_only),
    "Not": compared("logical_not"),
    **{
        op: activation(name)
        for op, name in {
            "Mish": "mish",
            "Relu": "relu",
            "Sigmoid": "sigmoid",
            "Softplus": "softplus",
            "Softsign": "softsign",
            "Tanh": "tanh",
        }.items()
    },
    "Clip": elementwise.clip,
    "Elu": elementwise.elu,
    "Gelu": elementwise.gelu,
    "HardSigmoid": elementwise.hard_sigmoid,
    "HardSwish": elementwise.hard_swish,
    "LeakyRelu": elementwise.leaky_relu,
    "LogSoftmax": elementwise.softmax,
    "Selu": elementwise.selu,
    "Softmax": elementwise.softmax,
    "Add": elementwise.add,
    "Div": binary("divide"),
    "Max": merging("Maximum", "maximum"),
    "Mean": merging("Average", ""),
    "Min": merging("Minimum", "minimum"),
    "Mul": merging("Multiply", "multiply"),
    "Pow": binary("power"),
    "Sub": merging("Subtract", "subtract"),
    "Sum": merging("Add", "add"),
    "And": compared("logical_and"),
    "Equal": compared("equal"),
    "Greater": compared("greater"),
    "GreaterOrEqual": compared("greater_equal"),
    "Less": compared("less"),
    "LessOrEqual": compared("less_equal"),
    "Or": compared("logical_or"),
    "Xor": compared("logical_xor"),
    "Where": compared("where"),
    "Cast": elementwise.cast,
}

_SHAPES: dict[str, Emitter] = {
    "ArgMax": reshaping_slicing_reducing.arg("argmax"),
    "ArgMin": reshaping_slicing_reducing.arg("argmin"),
    "Concat": reshaping_slicing_reducing.concat,
    "Constant": reshaping_slicing_reducing.constant,
    "ConstantOfShape": reshaping_slicing_reducing.constant_of_shape,
    "DepthToSpace": reshaping_slicing_reducing.depth_to_space,
    "Einsum": reshaping_slicing_reducing.einsum,
    "Expand": reshaping_slicing_reducing.expand,
    "Flatten": reshaping_slicing_reducing.flatten,
    "Identity": reshaping_slicing_reducing.identity,
    "Pad": reshaping_slicing_reducing.pad,
    "ReduceMax": reshaping_slicing_reducing.reduced("max"),
    "ReduceMean": reshaping_slicing_reducing.reduced("mean"),
    "ReduceMin": reshaping_slicing_reducing.reduced("min"),
    "ReduceProd": reshaping_slicing_reducing.reduced("prod"),
    "ReduceSum": reshaping_slicing_reducing.reduced("sum"),
    "Reshape": reshaping_slicing_reducing.reshape,
    "Slice": reshaping_slicing_reducing.slice_,
    "Split": reshaping_slicing_reducing.split,
    "Squeeze": reshaping_slicing_reducing.reshape,
    "Transpose": reshaping_slicing_reducing.transpose,
    "Trilu": reshaping_slicing_reducing.trilu,
    "Unsqueeze": reshaping_slicing_reducing.reshape,
}

EMITTERS: dict[tuple[str, str], Emitter] = {
    ("", op): emitter for op, emitter in {**_LAYERS, **_ELEMENTWISE, **_SHAPES}.items()
}
"""Emitter of each (domain, operator)."""
