"""The rules by the names that ``ops/`` gives them in the trait ``decided``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from irfuzz.oracle.onnx_rules import comparison_selection_rules, nan_inf_arithmetic
from irfuzz.oracle.onnx_rules.cast_rules import cast, quantise
from irfuzz.oracle.onnx_rules.comparison_selection_rules import elementwise, extreme, place, reduced_extreme
from irfuzz.oracle.onnx_rules.element_movement import moved, split, trilu, where
from irfuzz.oracle.onnx_rules.integer_resize import interpolated
from irfuzz.oracle.onnx_rules.known_elements import Rule
from irfuzz.oracle.onnx_rules.max_pooling import over_places, over_windows
from irfuzz.oracle.onnx_rules.nan_inf_arithmetic import binary, function, only_nan, reduced, softmax

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
        "clip": comparison_selection_rules.clip,
        "cosh": function(np.abs),
        "div": binary(np.divide),
        "elu": nan_inf_arithmetic.elu,
        "equal": elementwise(np.equal),
        "floor": elementwise(np.floor),
        "global_max_pool": over_places,
        "greater": elementwise(np.greater),
        "greater_or_equal": elementwise(np.greater_equal),
        "hardmax": comparison_selection_rules.hardmax,
        "isinf": comparison_selection_rules.is_infinite,
        "isnan": elementwise(np.isnan),
        "joined": moved(None),
        "leaky_relu": nan_inf_arithmetic.leaky,
        "less": elementwise(np.less),
        "less_or_equal": elementwise(np.less_equal),
        "log": function(np.log),
        "log_softmax": softmax(log=True),
        "max": extreme(np.fmax),
        "max_pool": over_windows,
        "min": extreme(np.fmin),
        "mod": nan_inf_arithmetic.remainder,
        "moved": moved(),
        "mul": binary(np.multiply),
        "neg": elementwise(np.negative),
        "non_zero": comparison_selection_rules.nonzero,
        "not": elementwise(np.logical_not),
        "only_nan": only_nan,
        "or": elementwise(np.logical_or),
        "prelu": nan_inf_arithmetic.sloped,
        "quantize_linear": quantise,
        "reciprocal": function(nan_inf_arithmetic.vanishing_afar),
        "reduce_log_sum": reduced(then=nan_inf_arithmetic.logarithm, empty=-np.inf),
        "reduce_log_sum_exp": nan_inf_arithmetic.log_sum_exp,
        "reduce_max": reduced_extreme(np.fmax, -np.inf),
        "reduce_mean": reduced(empty=None),
        "reduce_min": reduced_extreme(np.fmin, np.inf),
        "reduce_sum": reduced(),
        "reduce_sum_square": reduced(np.square),
        "reduced_magnitudes": reduced(np.abs),
        "relu": comparison_selection_rules.rectified,
        "resize": interpolated,
        "rising": function(nan_inf_arithmetic.rising),
        "round": elementwise(np.rint),
        "sigmoid": function(nan_inf_arithmetic.logistic),
        "sign": elementwise(np.sign, nan=False),
        "sign_of": function(nan_inf_arithmetic.sign_of),
        "softmax": softmax(log=False),
        "split": split,
        "sqrt": function(np.sqrt),
        "sub": binary(np.subtract),
        "sum": nan_inf_arithmetic.total,
        "topk": comparison_selection_rules.top,
        "trilu": trilu,
        "unbounded": function(nan_inf_arithmetic.itself),
        "where": where,
        "without_limit": function(nan_inf_arithmetic.without_limit),
        "xor": elementwise(np.logical_xor),
    }
)
"""Of functions of which only NaN is decided, formulas have a choice at infinities, or none that has a limit."""
