"""Which operator has which rule."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from irfuzz.oracle.decided.choosing import (
    clip,
    elementwise,
    extreme,
    hardmax,
    is_infinite,
    nonzero,
    place,
    rectified,
    reduced_extreme,
    top,
)
from irfuzz.oracle.decided.converting import cast, quantise
from irfuzz.oracle.decided.elements import Rule
from irfuzz.oracle.decided.moving import moved, split, trilu, where
from irfuzz.oracle.decided.pooling import over_places, over_windows
from irfuzz.oracle.decided.resampling import interpolated
from irfuzz.oracle.decided.special_values import (
    FUNCTIONS,
    KEEP_NAN,
    binary,
    elu,
    function,
    leaky,
    only_nan,
    reduced,
    remainder,
    sloped,
    softmax,
    total,
)

_MOVING = ("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze")

_SUMS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{op: moved(op) for op in _MOVING},
        **dict.fromkeys(KEEP_NAN, only_nan),
        **{op: function(of) for op, of in FUNCTIONS.items()},
        **{op: reduced(op) for op in _SUMS},
        "Abs": elementwise(np.abs),
        "Add": binary(np.add),
        "And": elementwise(np.logical_and),
        "ArgMax": place("ArgMax"),
        "ArgMin": place("ArgMin"),
        "Cast": cast,
        "CastLike": cast,
        "Ceil": elementwise(np.ceil),
        "Clip": clip,
        "Concat": moved("Concat", None),
        "Div": binary(np.divide),
        "Elu": elu,
        "Equal": elementwise(np.equal),
        "Floor": elementwise(np.floor),
        "GlobalMaxPool": over_places,
        "Greater": elementwise(np.greater),
        "GreaterOrEqual": elementwise(np.greater_equal),
        "Hardmax": hardmax,
        "IsInf": is_infinite,
        "IsNaN": elementwise(np.isnan),
        "Less": elementwise(np.less),
        "LessOrEqual": elementwise(np.less_equal),
        "LeakyRelu": leaky,
        "LogSoftmax": softmax(log=True),
        "Max": extreme(np.fmax),
        "MaxPool": over_windows,
        "Mean": total,
        "Min": extreme(np.fmin),
        "Mod": remainder,
        "Mul": binary(np.multiply),
        "Neg": elementwise(np.negative),
        "NonZero": nonzero,
        "Not": elementwise(np.logical_not),
        "Or": elementwise(np.logical_or),
        "PRelu": sloped,
        "QuantizeLinear": quantise,
        "ReduceMax": reduced_extreme(np.fmax, -np.inf),
        "ReduceMin": reduced_extreme(np.fmin, np.inf),
        "Relu": rectified,
        "Resize": interpolated,
        "Round": elementwise(np.rint),
        "Sign": elementwise(np.sign, nan=False),
        "Softmax": softmax(log=False),
        "Split": split,
        "Sub": binary(np.subtract),
        "Sum": total,
        "TopK": top,
        "Trilu": trilu,
        "Where": where,
        "Xor": elementwise(np.logical_xor),
    }
)
"""Rules of operators of ONNX's own domain."""
