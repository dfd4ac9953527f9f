"""What Keras calls the window of a convolution or pooling node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from irfuzz.export.size_arithmetic.window_sizes import window_pads
from irfuzz.export.source.emitter_context import EmitterContext

Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """How a kernel moves.

    Attributes:
        kernel: its size along each inner axis.
        strides: of each inner axis.
        dilations: of each inner axis.
        pads: what stands before and behind each inner axis.
        same: these are what TensorFlow calls ``SAME``.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads
    same: bool

    def reach(self, axis: int) -> int:
        """Elements from the first to the last of the kernel, along an inner axis: a kernel of 3 with dilation 2 reaches
        over 5.

        Args:
            axis: from 0, batch and channels not counted.
        """
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def padding(self) -> dict[str, Any]:
        """``padding`` or ``pads`` as keyword arguments; nothing if nothing stands around.

        Returns:
            ``{"padding": "same"}`` if the pads are those of TensorFlow's ``SAME``, else ``{"pads": ((1, 0), ...)}``
                with (before, behind) of each inner axis.
        """
        if not any(map(any, self.pads)):
            return {}
        return {"padding": "same"} if self.same else {"pads": self.pads}


def window(ctx: EmitterContext, node: ir.Node, kernel: tuple[int, ...]) -> Window:
    """The window of a node whose first input has known sizes (batch, channels, and 1 to 3 inner axes).

    Args:
        ctx: of the program.
        node: a convolution or pool; ``strides``, ``dilations``, ``pads`` and ``auto_pad`` are read.
        kernel: its size along each inner axis.

    Raises:
        Unsupported: sizes are not known or 0, there are more inner axes, or a pad is negative.
    """
    x = ctx.input_value(node, 0)
    shape = None if x is None else ctx.shape(x)
    if shape is None:
        raise ctx.unsupported(node, "sizes of its input are not known")
    rank = len(kernel)
    if len(shape) != rank + 2 or not 1 <= rank <= 3:
        raise ctx.unsupported(node, f"Keras has layers for 1 to 3 inner axes, not for {len(shape) - 2}")
    if 0 in shape or 0 in kernel:
        raise ctx.unsupported(node, "a size of zero")
    strides, dilations = ctx.attr(node, "strides") or (1,) * rank, ctx.attr(node, "dilations") or (1,) * rank
    auto = ctx.attr(node, "auto_pad", "NOTSET")
    flat = ctx.attr(node, "pads") if auto == "NOTSET" else None
    same, pads = (
        tuple(window_pads(shape[2:], kernel, strides, dilations, flat, which)) for which in ("SAME_UPPER", auto)
    )
    if min(map(min, pads)) < 0:
        raise ctx.unsupported(node, "negative pads")
    return Window(kernel, tuple(strides), tuple(dilations), pads, pads == same)
