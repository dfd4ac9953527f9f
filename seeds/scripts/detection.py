"""Heads of object detection: anchors, non-maximum suppression and the best of what is left; regions by RoiAlign."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from . import images, untrained
from .graph import Graph
from .seed import Input, Seed

SIZE = 32
CLASSES = 4
ANCHORS = 2
DETECTIONS = 10


def _priors() -> np.ndarray:
    """Centre and size of the anchors of both maps, float32[1, 160, 4], in units of the picture."""
    made: list[list[float]] = []
    for cells, scales in ((8, (0.15, 0.25)), (4, (0.4, 0.6))):
        made += [
            [(column + 0.5) / cells, (row + 0.5) / cells, scale, scale]
            for row in range(cells)
            for column in range(cells)
            for scale in scales
        ]
    return np.array([made], np.float32)


def _maps(g: Graph, image: str) -> list[str]:
    """Two maps of features, float32[1, 16, 8, 8] and [1, 24, 4, 4]."""
    x = g.node("Relu", "stem/Relu", [g.conv("stem", image, 3, 8, 3, strides=[2, 2])])
    fine = g.node("Relu", "fine/Relu", [g.conv("fine", x, 8, 16, 3, strides=[2, 2])])
    coarse = g.node("Relu", "coarse/Relu", [g.conv("coarse", fine, 16, 24, 3, strides=[2, 2])])
    return [fine, coarse]


def _heads(g: Graph, maps: list[str], name: str, each: int) -> str:
    """Predictions for every anchor of every map, float32[1, 160, each]."""
    made: list[str] = []
    for index, (x, width) in enumerate(zip(maps, (16, 24), strict=True)):
        here = f"{name}{index}"
        x = g.conv(here, x, width, ANCHORS * each, 3)
        x = g.node("Transpose", f"{here}/Transpose", [x], perm=[0, 2, 3, 1])
        made.append(g.node("Reshape", f"{here}/Reshape", [x, g.constant(f"{name}.shape", np.array([1, -1, each]))]))
    return g.node("Concat", f"{name}/Concat", made, axis=1)


def _decode(g: Graph, offsets: str) -> str:
    """Corners of boxes from offsets to anchors (Liu et al. 2016, section 2.2), float32[1, 160, 4]."""
    two = g.constant("two", np.array([2, 2]))
    centre, size = g.many("Split", "offsets/Split", [offsets, two], ["offset_centre", "offset_size"], axis=2)
    priors = _priors()
    prior_centre, prior_size = (
        g.constant("prior.centre", 1 * priors[..., :2]),
        g.constant("prior.size", 1 * priors[..., 2:]),
    )
    moved = g.node("Mul", "centre/Mul", [centre, g.constant("centre.step", 0.1 * priors[..., 2:])])
    centre = g.node("Add", "centre/Add", [moved, prior_centre])
    grown = g.node("Mul", "size/Mul", [size, g.constant("size.step", np.array(0.2))])
    size = g.node("Mul", "size/Mul_1", [g.node("Exp", "size/Exp", [grown]), prior_size])
    half = g.node("Mul", "size/Mul_2", [size, g.constant("half", np.array(0.5))])
    corners = [g.node("Sub", "corner/Sub", [centre, half]), g.node("Add", "corner/Add", [centre, half])]
    x = g.node("Concat", "corner/Concat", corners, axis=2)
    return g.node("Clip", "corner/Clip", [x, g.constant("zero", np.array(0.0)), g.constant("one", np.array(1.0))])


def detector() -> Seed:
    g = Graph("detector", 40)
    maps = _maps(g, g.input("image", np.float32, [1, 3, SIZE, SIZE]))
    boxes = _decode(g, _heads(g, maps, "offsets", 4))
    shares = g.node("Softmax", "scores/Softmax", [_heads(g, maps, "scores", CLASSES)], axis=2)
    ends = [g.constant("scores.start", np.array([1])), g.constant("scores.end", np.array([CLASSES]))]
    shares = g.node("Slice", "scores/Slice", [shares, *ends, g.constant("scores.axis", np.array([2]))])
    scores = g.node("Transpose", "scores/Transpose", [shares], perm=[0, 2, 1])
    limits = [
        g.constant("nms.most", np.array([8])),
        g.constant("nms.overlap", np.array([0.45])),
        g.constant("nms.least", np.array([0.2])),
    ]
    chosen = g.node("NonMaxSuppression", "nms/NonMaxSuppression", [boxes, scores, *limits])
    found = g.node("GatherND", "found/GatherND", [scores, chosen])
    count = g.node("Shape", "found/Shape", [found])
    most = g.node("Min", "found/Min", [count, g.constant("found.most", np.array([DETECTIONS]))])
    _, order = g.many("TopK", "best/TopK", [found, most], ["best_scores", "best_order"], axis=0)
    rows = g.node("Gather", "best/Gather", [chosen, order], axis=0)
    classes = g.node("Gather", "classes/Gather", [rows, g.constant("class.column", np.array(1))], "classes", axis=1)
    places = g.node("Gather", "boxes/Gather", [rows, g.constant("box.columns", np.array([0, 2]))], axis=1)
    best = g.node("GatherND", "boxes/GatherND", [boxes, places], "boxes")
    g.output("best_scores", np.float32, ["detections"])
    g.output(best, np.float32, ["detections", 4])
    g.output(classes, np.int64, ["detections"])
    return untrained.by_hand(
        "detector",
        "Single-shot detector: two maps of anchors, box decoding, NonMaxSuppression, TopK, GatherND",
        "Liu et al.: SSD: Single Shot MultiBox Detector, 2016, sections 2.1 and 2.2",
        g.model(),
        {"image": images.gratings(8, (3, SIZE, SIZE), 40)},
        [Input("image", 0.0, 1.0, "brightness of each pixel in each channel")],
        ["score of each detection, best first", "left, upper, right and lower edge, 0 to 1", "class of each, from 0"],
    )


def regions() -> Seed:
    g = Graph("regions", 41)
    image = g.input("image", np.float32, [1, 3, SIZE, SIZE])
    given = g.input("regions", np.float32, ["regions", 4])
    fine, _ = _maps(g, image)
    del g.nodes[-2:]
    for name in ("coarse.weight", "coarse.bias"):
        del g.initializers[name]
    two = g.constant("two", np.array([2, 2]))
    centre, size = g.many("Split", "regions/Split", [given, two], ["region_centre", "region_size"], axis=1)
    half = g.node("Div", "regions/Div", [size, g.constant("halves", np.array(2.0))])
    corners = [g.node("Sub", "regions/Sub", [centre, half]), g.node("Add", "regions/Add", [centre, half])]
    boxes = g.node("Concat", "regions/Concat", corners, axis=1)
    count = g.node("Shape", "regions/Shape", [boxes], end=1)
    batch = g.node(
        "ConstantOfShape", "batch/ConstantOfShape", [count], value=numpy_helper.from_array(np.zeros(1, np.int64))
    )
    x = g.node(
        "RoiAlign",
        "pool/RoiAlign",
        [fine, boxes, batch],
        output_height=4,
        output_width=4,
        sampling_ratio=2,
        spatial_scale=0.25,
        coordinate_transformation_mode="half_pixel",
    )
    x = g.node("Flatten", "pool/Flatten", [x])
    x = g.dense("hidden", x, 16 * 16, 32, "Relu")
    classes = g.node("Softmax", "classes/Softmax", [g.dense("classes", x, 32, CLASSES)], "classes", axis=1)
    refined = g.dense("refine", x, 32, 4)
    scaled = g.node("Mul", "refine/Mul", [refined, g.constant("refine.step", np.full((1, 4), 2.0))])
    better = g.node("Add", "refine/Add", [boxes, scaled], "boxes")
    g.output(classes, np.float32, ["regions", CLASSES])
    g.output(better, np.float32, ["regions", 4])
    drawn = np.random.default_rng(41).uniform(4, 28, (8, 5, 4))
    return untrained.by_hand(
        "regions",
        "Region head: RoiAlign on a map of features, classes and refined boxes, named number of regions",
        "He, Gkioxari, Dollár, Girshick: Mask R-CNN, 2017, section 3; Girshick: Fast R-CNN, 2015, section 2",
        g.model(),
        {"image": images.gratings(8, (3, SIZE, SIZE), 41), "regions": np.rint(4 * drawn).astype(np.float32) / 4},
        [
            Input("image", 0.0, 1.0, "brightness of each pixel in each channel"),
            Input("regions", 4.0, 28.0, "centre, width and height of each region, in pixels"),
        ],
        ["probability of each class", "left, upper, right and lower edge, in pixels"],
    )
