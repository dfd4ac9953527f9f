# pyright: basic
"""Paddings, window counts and crops of convolutions and pools."""

from __future__ import annotations


def window_pads(sizes, kernel, strides, dilations, pads, auto_pad):
    """Padding of each spatial axis as (before, after), from ``pads`` or ``auto_pad``.

    SAME_UPPER and SAME_LOWER give ceil(size / stride) windows; an odd pad falls at the end or the beginning.
    """
    rank = len(sizes)
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        result = []
        for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            small, large = total // 2, total - total // 2
            result.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        return result
    return [(pads[i], pads[i + rank]) for i in range(rank)] if pads else [(0, 0)] * rank


def pool_count(size, before, after, kernel, stride, dilation, ceil_mode):
    """How many windows fit along one axis; with ``ceil_mode`` one that starts inside the input or its front padding may
    overhang.

    Args:
        size: of the axis.
        before: padding in front of it.
        after: padding behind it.
        kernel: elements of a window.
        stride: from one window to the next.
        dilation: from one element of a window to the next.
        ceil_mode: as ONNX has it.
    """
    room = size + before + after - (dilation * (kernel - 1) + 1)
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def pool_geometry(sizes, kernel, strides, dilations, pads, auto_pad, ceil_mode):
    """Strides, dilations, paddings and window counts of a pool with every default filled in.

    All of them are of the spatial axes; paddings are (before, after). ``ceil_mode`` has an effect only with
    ``auto_pad`` NOTSET.
    """
    rank = len(kernel)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around = window_pads(sizes, kernel, strides, dilations, pads, auto_pad)
    ceil_mode = ceil_mode and auto_pad == "NOTSET"
    counts = [
        pool_count(sizes[i], before, after, kernel[i], strides[i], dilations[i], ceil_mode)
        for i, (before, after) in enumerate(around)
    ]
    return strides, dilations, around, counts


def window_room(sizes, kernel, strides, dilations, pads, counts):
    """What stands before and after each axis if ``counts`` windows begin at the padding: as far as the last reaches.

    The second number is negative if the last window ends before the axis does.
    """
    room = []
    for i, size in enumerate(sizes):
        reach = (counts[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1
        room.append((pads[i][0], reach - size - pads[i][0]))
    return room


def transposed_crops(full, sizes, strides, pads, auto_pad, extra, output_shape):
    """What to add (negative: to cut off) before and after each axis of a full transposed convolution of ``sizes``.

    Args:
        full: sizes of the full convolution.
        sizes: spatial sizes of its input.
        strides: of each spatial axis.
        pads: all beginnings, then all ends; ``None`` for none.
        auto_pad: as ONNX has it.
        extra: ``output_padding`` of each axis.
        output_shape: wanted sizes, of which the last ones count; ``None`` if pads decide.
    """
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    rank = len(sizes)
    crops = []
    for i, size in enumerate(full):
        if output_shape is not None:
            total = size + extra[i] - output_shape[-rank + i]
            before = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            after = total - before
        else:
            before, after = (pads[i], pads[i + rank]) if pads and auto_pad == "NOTSET" else (0, 0)
        crops.append((-before, extra[i] - after))
    return crops


def unpooled_sizes(sizes, kernel, strides, pads):
    """Spatial sizes that a pool without dilations made ``sizes`` of, if these divide.

    Strides and pads that are ``None`` or empty are 1 and 0; pads are all beginnings, then all ends.
    """
    rank = len(sizes)
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    return [(sizes[i] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank] for i in range(rank)]


def column_plan(image, block, strides, dilations, pads):
    """For Col2Im: strides, dilations, padded sizes, counts of blocks, and where the image is in the padded one.

    The last is a tuple of slices, of which two whole ones stand for batch and channels. Strides, dilations and pads
    that are ``None`` or empty are 1, 1 and 0.
    """
    rank = len(image)
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    padded = [image[i] + pads[i] + pads[i + rank] for i in range(rank)]
    counts = [(padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    inside = (slice(None), slice(None), *(slice(pads[i], pads[i] + image[i]) for i in range(rank)))
    return strides, dilations, padded, counts, inside
