# pyright: basic
"""Exact wider or reinterpreted forms of element types that torch has little arithmetic for, and casts rounded once."""

from __future__ import annotations

import torch

SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}
INT64_MIN = -(2**63)


def bits(x):
    """``x``, or uint16/32/64 seen as the signed type of that width: moves and wrapping +, -, * have the same bits."""
    return x.view(SIGNED[x.dtype]) if x.dtype in SIGNED else x


def unbits(x, dtype):
    """Undo ``bits``."""
    return x.view(dtype) if dtype in SIGNED else x


def ordered(x):
    """Numbers that torch can compare, in the same order as ``x``; uint64 is shifted down by 2**63."""
    if x.dtype == torch.uint64:
        return x.view(torch.int64) ^ INT64_MIN
    return x.to(WIDER[x.dtype]) if x.dtype in WIDER else x


def unordered(x, dtype):
    """Undo ``ordered``."""
    if dtype == torch.uint64:
        return (x ^ INT64_MIN).view(torch.uint64)
    return x.to(dtype) if dtype in WIDER else x


def single(x):
    """``x``, or float16 and bfloat16 as float32."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def exact_int(x):
    """An integer tensor as int64, modulo 2**64."""
    return x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)


def lowest(dtype):
    """The least value of a type, -inf for floats."""
    if dtype == torch.bool:
        return False
    return -float("inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def highest(dtype):
    """The greatest value of a type, +inf for floats."""
    if dtype == torch.bool:
        return True
    return float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max


def divide_int(a, b):
    """Integer quotient rounded toward zero, wrapping (ONNX Div on integers)."""
    if a.dtype == torch.uint64:
        return divide_uint64(a, b)
    wide = WIDER.get(a.dtype, a.dtype)
    return torch.div(a.to(wide), b.to(wide), rounding_mode="trunc").to(a.dtype)


def divide_uint64(a, b):
    """Quotient of uint64 numbers by signed arithmetic: halve, divide, double, correct by at most one."""
    a, b = torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
    large = b < 0  # the divisor is at least 2**63, so the quotient is 0 or 1
    divisor = torch.where(large, 1, b)
    half = torch.div((a >> 1) & (2**63 - 1), divisor, rounding_mode="trunc")
    quotient = half << 1
    rest = a - quotient * divisor
    quotient = quotient + ((rest ^ INT64_MIN) >= (divisor ^ INT64_MIN)).to(torch.int64)
    whole = ((a ^ INT64_MIN) >= (b ^ INT64_MIN)).to(torch.int64)
    return torch.where(large, whole, quotient).view(torch.uint64)


HALVES = (torch.float16, torch.bfloat16)


def cast(x, dtype):
    """ONNX Cast: truncation from float to integer, wrapping between integers, one rounding to nearest even to float.

    Out-of-range float to integer is undefined in ONNX and left to torch.
    """
    if x.dtype == dtype:
        return x
    if dtype in HALVES and x.dtype != torch.bool and x.dtype not in HALVES and x.dtype != torch.float32:
        # torch goes through float32 and so rounds twice; make the first rounding harmless.
        return odd_single(x).to(dtype)
    if dtype == torch.bool:
        return x != 0
    return x.to(dtype)


def odd_single(x):
    """float64 or integers as float32 rounded to odd, so that a further rounding to a half type is right."""
    if not x.dtype.is_floating_point:
        x = sticky_double(x)
    nearest = x.float()
    back = nearest.double()
    low = nearest.view(torch.int32) & 1
    most = torch.finfo(
        torch.float32
    ).max  # whose own last bit is set; an infinity here would look like one of the program's
    toward = torch.where(x > back, most, -most).float()
    inexact = (back != x) & torch.isfinite(x) & (low == 0)
    odd = torch.nextafter(nearest, toward)
    return torch.where(inexact & torch.isfinite(nearest), odd, nearest)


def sticky_double(x):
    """Integers as float64; beyond 2**53 the lowest bit kept says whether lower ones were lost."""
    if x.dtype == torch.uint64:
        raw = x.view(torch.int64)
        upper = ((raw >> 11) & (2**53 - 1)) | ((raw & 2047) != 0).to(torch.int64)
        return torch.where(raw >= 0, sticky_double(raw & (2**63 - 1)), upper.double() * 2048)
    x = x.to(torch.int64)
    small = (x < 2**53) & (x > -(2**53))
    upper = (x >> 11) | ((x & 2047) != 0).to(torch.int64)
    return torch.where(small, x.double(), upper.double() * 2048)
