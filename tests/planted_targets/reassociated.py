"""Targets that compute the same program in PyTorch: as written, with its sums in another order, with one operator off.

``Reassociated`` does what the standard of floating-point arithmetic leaves to a compiler or a kernel: sums run
backwards or in blocks as threads would share them, products and sums are fused with one rounding (fused multiply-add),
divisions become products with a reciprocal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from irfuzz.errors import Unsupported
from irfuzz.export.torch import lower
from irfuzz.ir.program import Program


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<generated>", "exec")


@lru_cache(maxsize=4)
def _lowered(model: bytes) -> tuple[dict[str, Any], Any]:
    """The generated module and its weights; the oracle asks for one model on many inputs."""
    try:
        source = lower(Program.from_bytes(model))
    except Unsupported as error:
        raise NotImplementedError(str(error)) from error
    module: dict[str, Any] = {}
    for text in source.source.split("\n\n\n"):
        exec(_compiled(text), module)
    return module, source.arrays


class Plain:
    """The lowering as it is."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        module, arrays = _lowered(model)
        with torch.no_grad():
            outputs = self.computed(module["forward"], *module["tensors"](arrays, inputs))
        return {name: module["to_array"](value) for name, value in outputs.items()}

    def computed(self, forward: Callable[..., Any], *tensors: Any) -> dict[str, Any]:
        return forward(*tensors)


class Reassociated(Plain):
    """Sums backwards, multiply-add fused, divisions by reciprocals."""

    blocks = 1

    def computed(self, forward: Callable[..., Any], *tensors: Any) -> dict[str, Any]:
        with _Reordered(self.blocks):
            return forward(*tensors)


class Blocked(Reassociated):
    """The same with sums in three parts, as threads would share them."""

    blocks = 3


class _Reordered(TorchDispatchMode):
    """Rewrites the sums inside every operator on float32 and float64."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self._blocks = blocks
        self._product: tuple[Any, Any, Any] | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        product, self._product = self._product, None
        first = args[0] if args else None
        if not isinstance(first, torch.Tensor) or first.dtype not in (torch.float32, torch.float64):
            return func(*args, **kwargs)
        if name in ("mm", "bmm"):
            return self._parts(func, args[0], args[1], -1, -2)
        if name == "addmm" and not kwargs:
            return self._parts(torch.mm, args[1], args[2], -1, -2) + args[0]
        if name == "convolution" and not args[6] and args[8] == 1 and args[1].shape[1] > 0:
            return self._convolved(func, args)
        if name in ("sum", "mean") and not kwargs.get("dtype") and first.numel():
            return self._summed(func, args, kwargs)
        if name in ("_softmax", "_log_softmax", "cumsum"):
            return self._other_way(func, args, kwargs)
        result = func(*args, **kwargs)
        if name == "mul" and isinstance(args[1], torch.Tensor) and result.dtype == torch.float32:
            self._product = (result, first, args[1])
        if (
            name == "add"
            and product is not None
            and not kwargs
            and product[0] is first
            and result.dtype == torch.float32
        ):
            # One rounding instead of two.
            return (product[1].double() * product[2].double() + args[1]).float()
        if name == "div" and not kwargs and result.dtype == torch.float32 and isinstance(args[1], torch.Tensor):
            quotient = first * torch.reciprocal(args[1])
            return torch.where(torch.isfinite(quotient) == torch.isfinite(result), quotient, result)
        return result

    def _cuts(self, size: int) -> list[slice]:
        edges = np.linspace(0, size, min(self._blocks, max(1, size)) + 1).astype(int)
        return [slice(int(a), int(b)) for a, b in pairwise(edges)][::-1]

    def _parts(self, func: Any, a: Any, b: Any, of_a: int, of_b: int) -> Any:
        result = None
        for cut in self._cuts(a.shape[of_a]):
            one = a.narrow(of_a, cut.start, cut.stop - cut.start).flip(of_a)
            two = b.narrow(of_b, cut.start, cut.stop - cut.start).flip(of_b)
            part = func(one, two)
            result = part if result is None else result + part
        return result

    def _convolved(self, func: Any, args: Any) -> Any:
        x, w, bias = args[:3]
        result = None
        for cut in self._cuts(w.shape[1]):
            size = cut.stop - cut.start
            part = func(x.narrow(1, cut.start, size).flip(1), w.narrow(1, cut.start, size).flip(1), None, *args[3:])
            result = part if result is None else result + part
        return result if bias is None else result + bias.reshape(-1, *(1,) * (x.dim() - 2))

    def _summed(self, func: Any, args: Any, kwargs: Any) -> Any:
        x = args[0]
        axes = args[1] if len(args) > 1 and args[1] is not None else None
        axes = tuple(range(x.dim())) if axes is None or axes == [] else tuple(axes)
        turned = x.flip(axes) if axes else x
        if not axes or self._blocks == 1 or func.overloadpacket.__name__ == "mean":
            return func(turned, *args[1:], **kwargs)
        result = None
        for cut in self._cuts(x.shape[axes[0]]):
            part = func(turned.narrow(axes[0], cut.start, cut.stop - cut.start), *args[1:], **kwargs)
            result = part if result is None else result + part
        return result

    def _other_way(self, func: Any, args: Any, kwargs: Any) -> Any:
        x, axis = args[:2]
        if func.overloadpacket.__name__ == "cumsum":
            return torch.cumsum(x.double(), axis).to(x.dtype) if x.dim() else func(*args, **kwargs)
        return func(x.flip(axis), *args[1:], **kwargs).flip(axis) if x.dim() else func(*args, **kwargs)
