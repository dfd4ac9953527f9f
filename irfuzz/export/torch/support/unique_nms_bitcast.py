# pyright: basic
"""Operators that select elements, boxes or bits."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import bits, ordered, unbits


def bit_cast(x, dtype):
    """ONNX BitCast to a type of the same width."""
    return x.contiguous().view(dtype)


def unique(x, axis=None, sort=1):
    """ONNX Unique: (elements or slices, first places, place of each in the result, counts)."""
    slices = x.reshape(-1) if axis is None else x
    axis = 0 if axis is None else axis
    _, inverse, counts = torch.unique(ordered(slices), return_inverse=True, return_counts=True, dim=axis)
    places = torch.arange(slices.shape[axis])
    first = torch.full((len(counts),), len(places)).scatter_reduce(0, inverse, places, "amin")
    if not sort:
        order = torch.argsort(first)
        first, counts, inverse = first[order], counts[order], torch.argsort(order)[inverse]
    return unbits(bits(slices).index_select(axis, first), x.dtype), first, inverse, counts


def box_ends(box, centered):
    """Lower and upper ends (y, x) of a box given by two opposite corners, or by center and size."""
    if centered:
        x, y, width, height = box
        return (y - height / 2, x - width / 2), (y + height / 2, x + width / 2)
    (y1, x1), (y2, x2) = box[:2], box[2:]
    return (min(y1, y2), min(x1, x2)), (max(y1, y2), max(x1, x2))


def overlap(a, b):
    """Intersection over union of two boxes."""
    shared = 1.0
    areas = [1.0, 1.0]
    for low_a, high_a, low_b, high_b in zip(*a, *b, strict=True):
        shared *= max(min(high_a, high_b) - max(low_a, low_b), 0.0)
        areas[0] *= high_a - low_a
        areas[1] *= high_b - low_b
    union = areas[0] + areas[1] - shared
    return shared / union if union > 0 else 0.0


def non_max_suppression(boxes, scores, most=None, iou=None, least=None, centered=0):
    """ONNX NonMaxSuppression: rows (batch, class, box), best score first within each class."""
    most = 0 if most is None else int(most)
    iou = 0.0 if iou is None else float(iou)
    rows = []
    for image in range(boxes.shape[0]):
        ends = [box_ends(box, centered) for box in boxes[image].double().tolist()]
        for which in range(scores.shape[1]):
            marks = scores[image, which]
            kept = []
            for box in torch.argsort(marks, descending=True, stable=True).tolist():
                if len(kept) >= most or (least is not None and not float(marks[box]) > float(least)):
                    break
                if all(overlap(ends[box], ends[other]) <= iou for other in kept):
                    kept.append(box)
            rows += [[image, which, box] for box in kept]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)
