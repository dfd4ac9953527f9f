"""MaxPool and GlobalMaxPool: maxima of windows, in which padding is no number at all."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from irfuzz.oracle.onnx_rules.comparison_selection_rules import extreme_along
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, RuleCall, need


def over_places(_call: RuleCall, given: Given) -> Elements | None:
    """GlobalMaxPool: the maximum over all axes behind the second.

    Returns:
        These axes stay with a size of one; ``None`` if there are none, or no elements. With NaN among them it is open:
        NaN, or the maximum of the others.
    """
    x = need(given[0])
    axes = tuple(range(2, x.values.ndim))
    return extreme_along(x, np.fmax, axes, keep=True, empty=-np.inf) if axes and x.values.size else None


def over_windows(call: RuleCall, given: Given) -> Elements | None:
    """MaxPool of floats with pads that are given; which of equal maxima the second output tells is open.

    Returns:
        The first output alone. ``None`` for ``auto_pad``, ``ceil_mode``, elements other than floats, and pads as large
        as the kernel, with which a window may lie in padding alone.
    """
    x, kernel = need(given[0]), [int(k) for k in call.attrs["kernel_shape"]]
    if call.text("auto_pad", "NOTSET") != "NOTSET" or call.attrs.get("ceil_mode", 0) or not x.of_floats:
        return None
    rank = len(kernel)
    strides, dilations = (call.attrs.get(name) or [1] * rank for name in ("strides", "dilations"))
    pads = call.attrs.get("pads") or [0] * (2 * rank)
    if any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
        return None  # a window of padding alone has no maximum
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    places = tuple(slice(None, None, stride) for stride in strides)
    inside = tuple(slice(None, None, dilation) for dilation in dilations)

    def windows(array: np.ndarray, padding: float) -> np.ndarray:
        padded: np.ndarray = np.pad(array, widths, constant_values=padding)
        found = sliding_window_view(padded, reach, tuple(range(2, 2 + rank)))
        return found[(slice(None), slice(None), *places, *inside)]

    parts = Elements(windows(x.values, -np.inf), windows(x.decided, 1.0))
    return extreme_along(parts, np.fmax, tuple(range(-rank, 0)), keep=False, empty=-np.inf)
