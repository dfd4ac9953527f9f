"""Resize of whole numbers: the weighted sums are decided, and how they are rounded is open, but only that."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from irfuzz.export.array.support import resizing
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, OpenElements, RuleCall, known, need

_SLACK = 0.5
"""Of a step: onnxruntime has weights of ten bits where channels come last."""

_BY_LENGTH = frozenset({"align_corners", "pytorch_half_pixel", "tf_crop_and_resize"})
"""Transformations of which ONNX does not say whether the length of an axis is whole.

``oracle/dataflow/ambiguous_resize_coordinates.py`` has them all.
"""


def interpolated(call: RuleCall, given: Given) -> Elements | None:
    """Linear and cubic sums lie between the whole numbers beside them, and within the range of the type.

    ONNX does not say whether they are rounded or cut off. Antialiased ones are left out: some round between the axes.
    """
    x, to, mode = need(given[0]), call.dtypes[0], call.text("mode", "nearest")
    coordinates = call.text("coordinate_transformation_mode", "half_pixel")
    if to is None or to.kind not in "iu" or to.itemsize > 4 or mode == "nearest" or not x.known or call.version < 11:
        return None
    if call.attrs.get("antialias", 0) or coordinates == "tf_crop_and_resize":
        return None
    scales, sizes = (known(e) if e is not None and e.values.size else None for e in (*given[2:], None, None)[:2])
    if scales is not None and coordinates in _BY_LENGTH:
        return None
    resize = cast("Callable[..., np.ndarray]", resizing.resize)  # pyright: ignore[reportUnknownMemberType]
    real = resize(
        x.values.astype(np.float64),
        scales=scales,
        sizes=sizes,
        axes=call.attrs.get("axes"),
        mode=mode,
        coordinate_transformation_mode=coordinates,
        cubic_coeff_a=call.attrs.get("cubic_coeff_a", -0.75),
        exclude_outside=call.attrs.get("exclude_outside", 0),
        keep_aspect_ratio_policy=call.text("keep_aspect_ratio_policy", "stretch"),
    )
    info = np.iinfo(to)
    low, high = (np.clip(edge, info.min, info.max) for edge in (np.floor(real - _SLACK), np.ceil(real + _SLACK)))
    nothing = np.zeros(real.shape, bool)
    return Elements(low.astype(to), nothing, OpenElements(low, high, nothing))
