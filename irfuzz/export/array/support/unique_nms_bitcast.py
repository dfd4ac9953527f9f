# pyright: basic
"""Elements, boxes and bits that are picked out by what they are."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import doubled, number, wide


def bit_cast(x, dtype):
    """ONNX BitCast to a type of the same width."""
    return np.array(x).view(dtype)


def unique(x, axis=None, sort=1):
    """ONNX Unique: (elements or slices, first places, place of each in the result, counts)."""
    rows = x.reshape((-1, 1)) if axis is None else np.moveaxis(x, axis, 0).reshape((x.shape[axis], -1))
    kinds, places = {}, []
    for place, row in enumerate(wide(rows).tolist()):
        places.append(kinds.setdefault(tuple(row), [place, 0, len(kinds)])[2])
        kinds[tuple(row)][1] += 1
    order = sorted(range(len(kinds)), key=list(kinds).__getitem__) if sort else list(range(len(kinds)))
    seen = list(kinds.values())
    first = np.array([seen[kind][0] for kind in order], np.int64)
    counts = np.array([seen[kind][1] for kind in order], np.int64)
    rank = {kind: at for at, kind in enumerate(order)}
    inverse = np.array([rank[kind] for kind in places], np.int64)
    return np.take(x.reshape(-1) if axis is None else x, first, axis or 0), first, inverse, counts


def corners(boxes, centered):
    """Least and greatest corner of boxes (..., 4) given by two opposite corners, or by center and size."""
    a, b = boxes[..., :2], boxes[..., 2:]
    return (a - b / 2, a + b / 2) if centered else (np.minimum(a, b), np.maximum(a, b))


def shared_part(low, high, box, others):
    """Intersection over union of a box with others, an array of their numbers."""
    sides = np.maximum(np.minimum(high[box], high[others]) - np.maximum(low[box], low[others]), 0)
    common = np.prod(sides, -1)
    union = np.prod(high[box] - low[box]) + np.prod(high[others] - low[others], -1) - common
    return np.where(union > 0, common / union, 0.0)


def non_max_suppression(boxes, scores, most=None, iou=None, least=None, center_point_box=0):
    """ONNX NonMaxSuppression: rows (batch, class, box), best score first within each class."""
    room, limit = 0 if most is None else number(most), 0.0 if iou is None else number(iou)
    rows = []
    for image, class_ in np.ndindex(*scores.shape[:2]):
        low, high = corners(doubled(boxes[image]), center_point_box)
        marks = doubled(scores[image, class_])
        kept = []
        for box in np.argsort(-marks, kind="stable").tolist():
            good = least is None or marks[box] > number(least)
            if good and len(kept) < room and not (kept and np.any(shared_part(low, high, box, np.array(kept)) > limit)):
                kept.append(box)
        rows += [(image, class_, box) for box in kept]
    return np.array(rows, np.int64).reshape((-1, 3))
