"""Shapes that ONNX's own inference does not find, from partly known shape values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, Element, Fact, TensorFact

Shape: TypeAlias = tuple[Dim, ...]
Inputs: TypeAlias = tuple[Fact | None, ...]
ShapeRule: TypeAlias = Callable[[Mapping[str, Any], Inputs, int], "Shape | None"]
"""``(attributes, input facts, opset) -> shape of output 0``, or ``None`` if nothing is known. It raises
``InvalidProgram`` for attributes that no input fits and that ONNX lets pass."""

LARGEST_SIZE = (1 << 63) - 1
"""Of a dimension: ONNX counts in 64 bits with a sign."""


def tensor(inputs: Inputs, index: int) -> TensorFact | None:
    """The fact of input ``index`` if it is there and a tensor; ``None`` if it is omitted or anything else."""
    fact = inputs[index] if index < len(inputs) else None
    return fact if isinstance(fact, TensorFact) else None


def elements(fact: TensorFact | None) -> tuple[Element, ...] | None:
    """The elements of a one-dimensional shape value; all unknown if only their number is known.

    ``None`` if not even that is, or if there are more than 64 that are not spelled out.
    """
    if fact is None:
        return None
    if fact.value is not None:
        return fact.value
    if fact.shape is not None and len(fact.shape) == 1 and type(fact.shape[0]) is int and fact.shape[0] <= 64:
        return (None,) * fact.shape[0]
    return None


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape of an operator with multidirectional broadcasting (ONNX Broadcasting.md).

    A number other than 1 decides an axis, whatever named or unknown sizes stand beside it; two such numbers, or two
    names alone, leave it unknown: nothing is raised.

    Args:
        shapes: at least one; if one of them is ``None``, so is the result.
    """
    if any(s is None for s in shapes):
        return None
    rank = max(len(s) for s in shapes if s is not None)
    out: list[Dim] = []
    for axis in range(-rank, 0):
        dims = [s[axis] for s in shapes if s is not None and len(s) >= -axis]
        numbers = {d for d in dims if type(d) is int and d != 1}
        names = {d for d in dims if isinstance(d, str)}
        if numbers:
            out.append(numbers.pop() if len(numbers) == 1 else None)
        elif None in dims:
            out.append(None)
        elif names:
            out.append(names.pop() if len(names) == 1 else None)
        else:
            out.append(1)
    return tuple(out)


def as_size(element: Element) -> Dim:
    """A shape element as a size: an integer from 0 on, or a name.

    Negative or non-integer ones are unknown (``None``).
    """
    if isinstance(element, str):
        return element
    return element if type(element) is int and element >= 0 else None


def product(dims: Sequence[Element]) -> tuple[int, Counter[str]] | None:
    """Product of sizes as ``(integer factor, named factors)``; ``None`` if one is unknown.

    ``[2, "N", 3, "N"]`` gives ``(6, Counter({"N": 2}))``, and no sizes at all give ``(1, Counter())``.
    """
    factor, names = 1, Counter[str]()
    for d in dims:
        if d is None:
            return None
        if isinstance(d, str):
            names[d] += 1
        else:
            factor *= int(d)
    return factor, names


def reshape(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    """The shape that the second input of Reshape, or the attribute of Reshape-1, asks for.

    A 0 takes the size of the input (unless ``allowzero``), and -1 what is left, if known sizes or one name say what
    that is.

    Args:
        attrs: of the call.
        inputs: a fact for each.
        opset: below 5 the shape is an attribute.

    Returns:
        The shape, in which ``None`` is an unknown size; ``None`` if not even its rank is known.
    """
    data, wanted = tensor(inputs, 0), elements(tensor(inputs, 1))
    if opset < 5:
        wanted = attrs.get("shape")
    if data is None or wanted is None:
        return None
    source = data.shape
    out: list[Element] = []
    for axis, d in enumerate(wanted):
        if d == 0 and not isinstance(d, str) and not attrs.get("allowzero", 0):
            out.append(source[axis] if source is not None and axis < len(source) else None)
        elif isinstance(d, str) and not attrs.get("allowzero", 0) and not _has(source, axis, d):
            out.append(None)  # of a named size that is 0 at run time the input's own size is taken
        else:
            out.append(d)
    if -1 not in out:
        # A single unknown element may be -1 at run time, so it stays unknown.
        return tuple(as_size(d) for d in out)
    hole = out.index(-1)
    rest = product(out[:hole] + out[hole + 1 :])
    total = product(source) if source is not None else None
    sizes = [as_size(d) for d in out]
    if rest is not None and total is not None:
        left = total[1] - rest[1]
        covered = not (rest[1] - total[1])
        if covered and rest[0] > 0 and total[0] % rest[0] == 0:
            quotient = total[0] // rest[0]
            if not left:
                sizes[hole] = quotient
            elif quotient == 1 and sum(left.values()) == 1:
                sizes[hole] = next(iter(left))
    return tuple(sizes)


def _has(shape: Shape | None, axis: int, size: str) -> bool:
    """The axis has that size, or there is none to copy: such a call is invalid if the size is 0."""
    return shape is not None and (axis >= len(shape) or shape[axis] == size)


def _expand(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data, wanted = tensor(inputs, 0), elements(tensor(inputs, 1))
    if data is None or wanted is None:
        return None
    return broadcast([data.shape, tuple(as_size(d) for d in wanted)])


def _constant_of_shape(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    wanted = elements(tensor(inputs, 0))
    return None if wanted is None else tuple(as_size(d) for d in wanted)


def tile(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    """Each size times its repeats, the elements of the second input; a size is unknown if its repeats are.

    Args:
        attrs: not looked at.
        inputs: facts of data and repeats.
        opset: below 6 Tile has other inputs, and nothing is known.
    """
    data, repeats = tensor(inputs, 0), elements(tensor(inputs, 1))
    if data is None or data.shape is None or opset < 6:
        return None
    if repeats is None or len(repeats) != len(data.shape):
        return (None,) * len(data.shape)
    return tuple(_times(d, r) for d, r in zip(data.shape, repeats, strict=True))


def _times(size: Dim, factor: Element) -> Dim:
    if factor == 1 and not isinstance(factor, str):
        return size
    if size == 1 and type(size) is int:
        return as_size(factor)
    return size * factor if type(size) is int and type(factor) is int else None


def pad(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    """Each size with what is added before and behind it; negative pads take away.

    Args:
        attrs: of the call.
        inputs: facts of data, pads, value and axes (since opset 18).
        opset: below 11 pads are an attribute.

    Returns:
        The shape; all sizes are unknown if the pads or axes are, and it is ``None`` if the rank of the data is.
    """
    data = tensor(inputs, 0)
    if data is None or data.shape is None:
        return None
    rank = len(data.shape)
    pads = attrs.get("pads") if opset < 11 else elements(tensor(inputs, 1))
    axes: Sequence[Element] | None = tuple(range(rank))
    if len(inputs) > 3 and inputs[3] is not None:
        axes = elements(tensor(inputs, 3))
    if pads is None or axes is None or any(type(a) is not int for a in axes) or len(pads) != 2 * len(axes):
        return (None,) * rank
    out = list(data.shape)
    for i, axis in enumerate(axes):
        out[axis] = _plus(out[axis], pads[i], pads[len(axes) + i])  # type: ignore[index,call-overload]
    return tuple(out)


def _plus(size: Dim, before: Element, after: Element) -> Dim:
    if type(before) is not int or type(after) is not int:
        return None
    if before + after == 0:
        return size
    return size + before + after if type(size) is int else None


def _range(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    start, limit, delta = (elements(tensor(inputs, i)) for i in range(3))
    if start is None or limit is None or delta is None:
        return (None,)
    if start[0] == 0 and delta[0] == 1 and isinstance(limit[0], str):
        return (limit[0],)
    first, last, step = start[0], limit[0], delta[0]
    if type(first) is int and type(last) is int and type(step) is int and step:
        size = max(0, -((first - last) // step))  # a range of Python's may be too long for ``len``
        return (size,) if size <= LARGEST_SIZE else None
    return None


def _resize(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data, sizes = tensor(inputs, 0), elements(tensor(inputs, 3))
    if data is None or data.shape is None or attrs.get("axes") is not None:
        return None
    if attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return (None,) * len(data.shape)
    if sizes is not None and len(sizes) == len(data.shape):
        return tuple(as_size(d) for d in sizes)
    return None


def slice_(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    """How many elements Slice takes along each axis; the other sizes stay.

    Args:
        attrs: not looked at.
        inputs: facts of data, starts, ends, axes and steps.
        opset: below 10 these are attributes, and nothing is known.

    Returns:
        The shape; all sizes are unknown if the axes are. ``None`` if the rank of the data is unknown, if an axis is
        beyond
        it or if the lists are not of one length.
    """
    data = tensor(inputs, 0)
    if data is None or data.shape is None or opset < 10:
        return None
    axes = elements(tensor(inputs, 3)) if len(inputs) > 3 and inputs[3] is not None else None
    starts = elements(tensor(inputs, 1))
    if axes is None and starts is not None and not (len(inputs) > 3 and inputs[3] is not None):
        axes = tuple(range(len(starts)))
    rank = len(data.shape)
    if axes is None or any(type(a) is not int for a in axes):
        return (None,) * rank
    ends = elements(tensor(inputs, 2))
    steps = elements(tensor(inputs, 4)) if len(inputs) > 4 and inputs[4] is not None else (1,) * len(axes)
    if any(given is not None and len(given) != len(axes) for given in (starts, ends, steps)):
        return None  # ONNX says what it makes of it
    if any(not -rank <= axis < rank for axis in axes):  # type: ignore[operator]
        return None
    out = list(data.shape)
    for i, axis in enumerate(axes):
        begin = starts[i] if starts is not None else None
        end = ends[i] if ends is not None else None
        step = steps[i] if steps is not None else None
        out[axis] = _slice_size(out[axis], begin, end, step)  # type: ignore[index,call-overload]
    return tuple(out)


def _slice_size(size: Dim, begin: Element, end: Element, step: Element) -> Dim:
    if begin == 0 and step == 1 and isinstance(size, str) and (end == size or (type(end) is int and end >= 2**31 - 1)):
        return size
    if type(size) is int and type(begin) is int and type(end) is int and type(step) is int and step != 0:
        return len(slice_positions(size, begin, end, step))
    return None


def slice_positions(size: int, begin: int, end: int, step: int) -> range:
    """The positions along an axis that a slice takes (Slice-13).

    Backwards ONNX clamps a beginning before the first position to it; Python takes nothing then.

    Args:
        size: of the axis.
        begin: negative counts from the end.
        end: not included; negative counts from the end.
        step: not 0.
    """
    if step > 0 or not size:
        return range(*slice(begin, end, step).indices(size))
    begin = max(0, min(begin + size if begin < 0 else begin, size - 1))
    end = max(-1, min(end + size if end < 0 else end, size - 1))
    return range(begin, end, step)


def _one_hot(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    indices, depth = tensor(inputs, 0), tensor(inputs, 1)
    if indices is None or indices.shape is None:
        return None
    axis = attrs.get("axis", -1)
    rank = len(indices.shape) + 1
    axis = axis + rank if axis < 0 else axis
    element = depth.value[0] if depth is not None and depth.value else None
    # depth may be of any numeric type, and a whole float is a size like an integer; half floats are not read at all
    if isinstance(element, float):
        whole = depth is not None and depth.dtype is not ir.DataType.FLOAT16 and element == int(element)
        element = int(element) if whole else None
    size = as_size(element)
    return (*indices.shape[:axis], size, *indices.shape[axis:])


def _transpose(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data, order = tensor(inputs, 0), attrs.get("perm")
    if data is None or data.shape is None:
        return None
    if order is None:
        return data.shape[::-1]
    if sorted(order) != list(range(len(data.shape))):
        raise InvalidProgram(f"Transpose: perm is {list(order)}; expected each of the {len(data.shape)} axes once")
    return tuple(data.shape[axis] for axis in order)


def _as_first(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data = tensor(inputs, 0)
    return None if data is None else data.shape


def _compress(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data, condition = tensor(inputs, 0), tensor(inputs, 1)
    known = condition is not None and condition.known and condition.value is not None
    count = sum(bool(e) for e in condition.value) if condition is not None and known and condition.value else None
    axis = attrs.get("axis")
    if axis is None:
        return (count,)
    if data is None or data.shape is None or not -len(data.shape) <= axis < len(data.shape):
        return None
    axis %= len(data.shape)
    return (*data.shape[:axis], count, *data.shape[axis + 1 :])


def _max_unpool(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    data, wanted = tensor(inputs, 0), elements(tensor(inputs, 2))
    if data is None or data.shape is None or len(inputs) < 3 or inputs[2] is None:
        return None
    if wanted is None or len(wanted) != len(data.shape):
        return (None,) * len(data.shape)
    return tuple(as_size(d) for d in wanted)


def _stft(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    """ONNX infers the frequencies as if ``onesided`` were 0 if it is left out."""
    signal, window = tensor(inputs, 0), tensor(inputs, 2)
    if signal is None or signal.shape is None or len(signal.shape) != 3:
        return None
    batch, length, _ = signal.shape
    step, frame = elements(tensor(inputs, 1)), elements(tensor(inputs, 3))
    size: Element = frame[0] if frame else None
    if len(inputs) < 4 or inputs[3] is None:
        size = window.shape[0] if window is not None and window.shape else None
        if len(inputs) < 3 or inputs[2] is None:
            size = length
    frames: Dim = None
    if type(length) is int and type(size) is int and step and type(step[0]) is int and step[0] > 0:
        frames = max(0, (length - size) // step[0] + 1)
    bins = as_size(size // 2 + 1 if type(size) is int else None) if attrs.get("onesided", 1) else as_size(size)
    return batch, frames, bins, 2


# Each operator's own arithmetic on sizes, for which ONNX's inference needs known elements.
SHAPE_RULES: Mapping[str, ShapeRule] = {
    "Reshape": reshape,
    "Expand": _expand,
    "ConstantOfShape": _constant_of_shape,
    "Tile": tile,
    "Pad": pad,
    "Range": _range,
    "Resize": _resize,
    "Slice": slice_,
    "OneHot": _one_hot,
    "Compress": _compress,
    "MaxUnpool": _max_unpool,
    "STFT": _stft,
    "Transpose": _transpose,
    **dict.fromkeys(("MeanVarianceNormalization", "GroupNormalization"), _as_first),
}


def refine(inferred: Shape | None, ours: Shape | None) -> Shape | None:
    """ONNX's answer if it is an integer, else ours, in which a negative size says that no such call can run.

    Args:
        inferred: by ONNX; ``None`` if it leaves the rank open. It is taken as a whole if the ranks differ.
        ours: of a ``ShapeRule``; negative sizes count as unknown.
    """
    if ours is not None and any(type(d) is int and d < 0 for d in ours):
        ours = tuple(None if type(d) is int and d < 0 else d for d in ours)
    if ours is None or inferred is None:
        return ours if inferred is None else inferred
    if len(ours) != len(inferred):
        return inferred
    return tuple(a if type(a) is int else (b if b is not None else a) for a, b in zip(inferred, ours, strict=True))
