"""The rules by the names that ``ops/`` gives them in the trait ``decided``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from irfuzz.oracle.decided import choosing, special_values
from irfuzz.oracle.decided.choosing import elementwise, extreme, place, reduced_extreme
from irfuzz.oracle.decided.converting import cast, quantise
from irfuzz.oracle.decided.elements import Rule
from irfuzz.oracle.decided.moving import moved, split, trilu, where
from irfuzz.oracle.decided.pooling import over_places, over_windows
from irfuzz.oracle.decided.resampling import interpolated
from irfuzz.oracle.decided.special_values import binary, function, only_nan, reduced, softmax

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "abs": elementwise(np.abs),
        "acos": function(np.arccos),
        "acosh": function(np.arccosh),
        "add": binary(np.add),
        "and": elementwise(np.logical_and),
        "arg_max": place(np.argmax),
        "arg_min": place(np.argmin),
        "asin": function(np.arcsin),
        "cast": cast,
        "ceil": elementwise(np.ceil),
        "clip": choosing.clip,
        "cosh": function(np.abs),
        "div": binary(np.divide),
        "elu": special_values.elu,
        "equal": elementwise(np.equal),
        "floor": elementwise(np.floor),
        "global_max_pool": over_places,
        "greater": elementwise(np.greater),
        "greater_or_equal": elementwise(np.greater_equal),
        "hardmax": choosing.hardmax,
        "isinf": choosing.is_infinite,
        "isnan": elementwise(np.isnan),
        "joined": moved(None),
        "leaky_relu": special_values.leaky,
        "less": elementwise(np.less),
        "less_or_equal": elementwise(np.less_equal),
        "log": function(np.log),
        "log_softmax": softmax(log=True),
        "max": extreme(np.fmax),
        "max_pool": over_windows,
        "min": extreme(np.fmin),
        "mod": special_values.remainder,
        "moved": moved(),
        "mul": binary(np.multiply),
        "neg": elementwise(np.negative),
        "non_zero": choosing.nonzero,
        "not": elementwise(np.logical_not),
        "only_nan": only_nan,
        "or": elementwise(np.logical_or),
        "prelu": special_values.sloped,
        "quantize_linear": quantise,
        "reciprocal": function(special_values.vanishing_afar),
        "reduce_log_sum": reduced(then=special_values.logarithm, empty=-np.inf),
        "reduce_log_sum_exp": special_values.log_sum_exp,
        "reduce_max": reduced_extreme(np.fmax, -np.inf),
        "reduce_mean": reduced(empty=None),
        "reduce_min": reduced_extreme(np.fmin, np.inf),
        "reduce_sum": reduced(),
        "reduce_sum_square": reduced(np.square),
        "reduced_magnitudes": reduced(np.abs),
        "relu": choosing.rectified,
        "resize": interpolated,
        "rising": function(special_values.rising),
        "round": elementwise(np.rint),
        "sigmoid": function(special_values.logistic),
        "sign": elementwise(np.sign, nan=False),
        "sign_of": function(special_values.sign_of),
        "softmax": softmax(log=False),
        "split": split,
        "sqrt": function(np.sqrt),
        "sub": binary(np.subtract),
        "sum": special_values.total,
        "topk": choosing.top,
        "trilu": trilu,
        "unbounded": function(special_values.itself),
        "where": where,
        "without_limit": function(special_values.without_limit),
        "xor": elementwise(np.logical_xor),
    }
)
"""Of functions of which only NaN is decided, formulas have a choice at infinities, or none that has a limit."""
