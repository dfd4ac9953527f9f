"""Why some runtime refuses a call that keeps ONNX's rules, or reads it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.spec import trait_values


def refusal(op: str, inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    """Why a valid call must not be made, ``None`` if nothing is known against it.

    Args:
        op: operator of the default domain.
        inputs: facts of static shape; if a size is named, nothing that hangs on it is looked at.
        attrs: plain Python values.
    """
    rule = trait_values("refused_for").get(op)
    return None if rule is None else RULES[rule](inputs, attrs)


def _rank(inputs: Sequence[TensorFact | None]) -> int | None:
    return None if not inputs or inputs[0] is None else inputs[0].rank


def _pools_nothing(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    rank = _rank(inputs)
    return "pooling without spatial axes" if rank is not None and rank < 3 else None


def _normalises_nothing(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    rank = _rank(inputs)
    return "normalising without spatial axes" if rank is not None and rank < 3 else None


def _no_image(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    return "LRN of another rank than 4" if inputs[0] is not None and inputs[0].rank != 4 else None


def _axis(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    rank = _rank(inputs)
    behind = rank is not None and attrs.get("axis", 0) >= rank
    return "an axis behind the last one, which versions below 13 allow" if behind else None


def _axes(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    rank = _rank(inputs)
    behind = rank is not None and any(axis >= rank for axis in attrs.get("axes", ()))
    return "an axis that the data does not have" if behind else None


def _blocks(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    scale = inputs[1] if len(inputs) > 1 else None
    if attrs.get("block_size") and scale is not None and (scale.size() or 0) == 1:
        return "blocks with one scale for the whole tensor"
    return None


def _pool(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    kernel = attrs.get("kernel_shape")
    data = inputs[0] if inputs else None
    padding = attrs.get("auto_pad", "NOTSET")
    if not kernel or data is None or data.shape is None or padding in ("SAME_UPPER", "SAME_LOWER"):
        return None
    count = len(kernel)
    pads = list(attrs.get("pads") or [0] * 2 * count) if padding == "NOTSET" else [0] * 2 * count
    strides = list(attrs.get("strides") or [1] * count)
    dilations = list(attrs.get("dilations") or [1] * count)
    if len(pads) != 2 * count or len(strides) != count or len(dilations) != count:
        return None
    if any(pad >= kernel[i % count] for i, pad in enumerate(pads)):
        return "a window of padding only"
    if _beyond(data, kernel, pads, dilations):
        return "a window that is larger than the input"
    if attrs.get("ceil_mode"):
        for axis, size in enumerate(data.shape[2:]):
            if type(size) is not int or axis >= count:
                continue
            reach = dilations[axis] * (kernel[axis] - 1) + 1
            windows = -(-(size + pads[axis] + pads[axis + count] - reach) // strides[axis]) + 1
            # ONNX's text ignores such a window (MaxPool-12, ceil_mode), its shape inference counts it.
            if (windows - 1) * strides[axis] >= size + pads[axis]:
                return "a last window that starts in the padding"
    return None


def _windows(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any], weights: int = 1) -> str | None:
    data = inputs[0] if inputs else None
    own = inputs[weights] if len(inputs) > weights else None
    if data is None or own is None or own.shape is None or attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    kernel = list(own.shape[2:])
    pads = list(attrs.get("pads") or [0] * 2 * len(kernel))
    dilations = list(attrs.get("dilations") or [1] * len(kernel))
    beyond = len(pads) == 2 * len(dilations) == 2 * len(kernel) and _beyond(data, kernel, pads, dilations)
    return "a window that is larger than the input" if beyond else None


def _beyond(data: TensorFact, kernel: Sequence[Any], pads: Sequence[int], dilations: Sequence[int]) -> bool:
    """ONNX's formula rounds down to no window, its own shape inference to one."""
    return any(
        type(size) is int
        and type(width) is int
        and size + pads[axis] + pads[axis + len(kernel)] < dilations[axis] * (width - 1) + 1
        for axis, (size, width) in enumerate(zip((data.shape or ())[2:], kernel, strict=False))
    )


def _pad(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    mode = attrs.get("mode", "constant")
    data = inputs[0] if inputs else None
    if mode == "constant" or data is None or data.shape is None:
        return None
    pads: Sequence[Any] | None = attrs.get("pads")
    if pads is None:
        given = inputs[1] if len(inputs) > 1 else None
        if given is None or not given.known or given.value is None:
            return "amounts of padding that are not known"
        pads = given.value
    axes = list(range(len(data.shape)))
    if len(inputs) > 3 and inputs[3] is not None:
        if inputs[3].value is None or not inputs[3].known:
            return "axes that are not known"
        axes = [int(axis) for axis in inputs[3].value]  # type: ignore[arg-type]
    for place, pad in enumerate(pads):
        size = data.shape[axes[place % len(axes)]]
        if type(size) is int and pad >= size:
            return f"mode {mode!r} beyond the size of its axis"
    return None


_SMALL_FLOATS = frozenset(
    {ir.DataType.FLOAT8E4M3FN, ir.DataType.FLOAT8E4M3FNUZ, ir.DataType.FLOAT8E5M2, ir.DataType.FLOAT8E5M2FNUZ}
)


def _saturation(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    if attrs.get("saturate", 1) == 1:
        return None
    # "It only applies for float 8 conversion" (Cast-19, saturate); ONNXRuntime refuses it for all others.
    like = inputs[1] if len(inputs) > 1 else None
    target = ir.DataType(attrs["to"]) if "to" in attrs else None if like is None else like.dtype
    return None if target in _SMALL_FLOATS else "saturation where the target is no float of eight bits"


def _elements(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    data, indices = inputs[0], inputs[1]
    if data is None or indices is None or data.shape is None or indices.shape is None:
        return None
    axis = int(attrs.get("axis", 0)) % max(1, len(data.shape))
    for place, (have, want) in enumerate(zip(data.shape, indices.shape, strict=False)):
        if place != axis and type(have) is int and type(want) is int and want > have:
            return "indices that are larger than the data"
    return None


def _recurrent(inputs: Sequence[TensorFact | None], attrs: Mapping[str, Any]) -> str | None:
    directions = 2 if attrs.get("direction", "forward") == "bidirectional" else 1
    place = 1 if attrs.get("layout", 0) else 0
    for state in inputs[5:7]:
        if state is None or state.shape is None or len(state.shape) != 3:
            continue
        if type(state.shape[place]) is int and state.shape[place] != directions:
            return "a state for another number of directions"
    return None


RULES: Mapping[str, Callable[[Sequence[TensorFact | None], Mapping[str, Any]], str | None]] = {
    "axes": _axes,
    "axis": _axis,
    "blocks": _blocks,
    "global_pool_rank": _pools_nothing,
    "indices": _elements,
    "instance_rank": _normalises_nothing,
    "pads": _pad,
    "pool_windows": _pool,
    "quantised_windows": partial(_windows, weights=3),
    "rank_4": _no_image,
    "saturation": _saturation,
    "states": _recurrent,
    "windows": _windows,
}
"""By the word that the trait ``refused_for`` gives an operator."""
