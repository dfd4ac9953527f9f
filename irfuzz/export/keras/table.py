"""The operators that a Keras model can express, and the emitter of each."""

from __future__ import annotations

from irfuzz.export.keras import elementwise, layers, recurrent, shapes
from irfuzz.export.keras.checks import numbers_only
from irfuzz.export.keras.elementwise import activation, binary, compared, merging, unary
from irfuzz.export.source.context import Emitter

_LAYERS: dict[str, Emitter] = {
    "AveragePool": layers.average_pool,
    "BatchNormalization": layers.batch_norm,
    "Conv": layers.conv,
    "ConvTranspose": layers.conv_transpose,
    "Dropout": layers.dropout,
    "GRU": recurrent.gru,
    "Gather": layers.gather,
    "Gemm": layers.gemm,
    "GlobalAveragePool": layers.global_pool("global_average_pool"),
    "GlobalMaxPool": layers.global_pool("global_max_pool"),
    "GroupNormalization": layers.group_norm,
    "InstanceNormalization": layers.instance_norm,
    "LSTM": recurrent.lstm,
    "LayerNormalization": layers.layer_norm,
    "MatMul": layers.matmul,
    "MaxPool": layers.max_pool,
    "PRelu": layers.prelu,
    "RNN": recurrent.rnn,
    "Resize": layers.resize,
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
    "ArgMax": shapes.arg("argmax"),
    "ArgMin": shapes.arg("argmin"),
    "Concat": shapes.concat,
    "Constant": shapes.constant,
    "ConstantOfShape": shapes.constant_of_shape,
    "DepthToSpace": shapes.depth_to_space,
    "Einsum": shapes.einsum,
    "Expand": shapes.expand,
    "Flatten": shapes.flatten,
    "Identity": shapes.identity,
    "Pad": shapes.pad,
    "ReduceMax": shapes.reduced("max"),
    "ReduceMean": shapes.reduced("mean"),
    "ReduceMin": shapes.reduced("min"),
    "ReduceProd": shapes.reduced("prod"),
    "ReduceSum": shapes.reduced("sum"),
    "Reshape": shapes.reshape,
    "Slice": shapes.slice_,
    "Split": shapes.split,
    "Squeeze": shapes.reshape,
    "Transpose": shapes.transpose,
    "Trilu": shapes.trilu,
    "Unsqueeze": shapes.reshape,
}

EMITTERS: dict[tuple[str, str], Emitter] = {
    ("", op): emitter for op, emitter in {**_LAYERS, **_ELEMENTWISE, **_SHAPES}.items()
}
"""Emitter of each (domain, operator)."""
