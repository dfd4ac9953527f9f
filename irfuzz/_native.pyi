from typing import Any, TypedDict, final

import numpy as np

class DifferenceFields(TypedDict):
    """What ``Difference.as_dict`` gives (it exists for type checkers only)."""

    count: int
    compared: int
    mismatched: int
    first_mismatch: int
    mean_abs: float
    max_abs: float
    argmax: int
    max_rel: float
    max_a: float
    max_b: float
    nan_a: int
    nan_b: int
    posinf_a: int
    posinf_b: int
    neginf_a: int
    neginf_b: int

@final
class Difference:
    """What two arrays differ in.

    "Compared" are the pairs of two finite numbers, of two NaNs, and of two infinities of one sign; the last two
    count as equal. Every other pair is mismatched and has no part in the figures marked (*).
    """

    @property
    def count(self) -> int:
        """Number of pairs: ``a.size``."""
    @property
    def compared(self) -> int:
        """Pairs that are not mismatched."""
    @property
    def mismatched(self) -> int:
        """Pairs whose class (finite, NaN, +Inf, -Inf) differs."""
    @property
    def first_mismatch(self) -> int:
        """Row-major flat index of the first mismatched pair, -1 without one."""
    @property
    def mean_abs(self) -> float:
        """(*) Mean of ``|a - b|``, 0 where nothing was compared; relative error below 1e-13."""
    @property
    def max_abs(self) -> float:
        """(*) Largest ``|a - b|``, 0 where nothing was compared, infinite where it exceeds a double."""
    @property
    def argmax(self) -> int:
        """(*) Row-major flat index of the first pair at ``max_abs``, -1 where nothing was compared."""
    @property
    def max_rel(self) -> float:
        """(*) Largest ``|a - b| / max(|a|, |b|)``, in [0, 2]; a pair of zeros counts 0."""
    @property
    def max_a(self) -> float:
        """Largest ``|a|`` over the finite elements of ``a``, 0 without any."""
    @property
    def max_b(self) -> float:
        """Largest ``|b|`` over the finite elements of ``b``, 0 without any."""
    @property
    def nan_a(self) -> int: ...
    @property
    def nan_b(self) -> int: ...
    @property
    def posinf_a(self) -> int: ...
    @property
    def posinf_b(self) -> int: ...
    @property
    def neginf_a(self) -> int: ...
    @property
    def neginf_b(self) -> int: ...
    def as_dict(self) -> DifferenceFields:
        """The fields by name, in the order above; JSON-able but for an infinite ``max_abs``."""

def difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], /) -> Difference:
    """Compare two arrays in one pass, without the interpreter's lock.

    Every ``|a - b|`` is the exact one rounded once to double, for every dtype; which is the largest is decided on exact
    values for integers (neighbours above 2**53 are told apart) and on rounded ones otherwise.

    Args:
        a: any shape; bool, an integer, a floating-point type of at most 64 bits, or a small type of ml_dtypes
            (bfloat16, float8, float6, float4, int4, uint4, ...). Not contiguous, misaligned or byte-swapped
            arrays are copied first.
        b: the same shape and dtype.

    Raises:
        TypeError: not arrays, different dtypes, or a dtype without a kernel (complex, strings, objects).
        ValueError: different shapes.
    """
