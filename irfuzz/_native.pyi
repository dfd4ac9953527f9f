from collections.abc import Sequence
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
    """Compare two arrays in one pass, without the interpreter's lock where they are larger than 64 KiB.

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

DISTANCE: np.dtype[np.void]
"""What ``distances`` gives for each pair: the fields of ``Difference``, and

- ``low_a``, ``high_a``, ``low_b``, ``high_b``: smallest and largest finite element, NaN without any, never -0;
- ``beyond``: compared pairs with ``|a - b| > atol + rtol * |b|``, or above their bound; with ``mismatched`` those that
  ``np.isclose(equal_nan=True)`` calls not close;
- ``sum_abs``: sum of ``|a - b|`` over the compared pairs;
- ``max_ulp`` and ``ulp_histogram``, if asked for: the largest number of steps between the numbers of a finite pair, and
  how many pairs are 0, and 2**(k-1) to 2**k - 1 steps apart for k = 1 to 64; zeros for integers;
- ``max_rel``, if asked for; otherwise NaN;
- ``dot``, ``norm_a``, ``norm_b`` and ``cosine`` over the finite pairs, if asked for; otherwise NaN.
"""

def distances(
    a: Sequence[np.ndarray[Any, Any]],
    b: Sequence[np.ndarray[Any, Any]],
    /,
    *,
    atol: float = 0.0,
    rtol: float = 0.0,
    bounds: Sequence[np.ndarray[Any, np.dtype[np.float64]]] | None = None,
    ulp: bool = False,
    relative: bool = False,
    cosine: bool = False,
    threads: int = 1,
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Compare arrays pair by pair, as ``difference`` does: one record of dtype ``DISTANCE`` a pair.

    The records have the same bits for any number of threads and on every instruction set. ``sum_abs`` and ``mean_abs``
    are within 1e-14 of the exact ones, norms within 1e-13; ``dot`` within 1e-13 of the sum of ``|a * b|``.

    Args:
        a: arrays of any shapes and dtypes that ``difference`` takes.
        b: for each of ``a`` one of the same shape and dtype.
        atol: 0 or more.
        rtol: 0 or more.
        bounds: for each pair an array of its shape, taken instead of ``atol`` and ``rtol``; a NaN is never exceeded.
        ulp: fill ``max_ulp`` and ``ulp_histogram``.
        relative: fill ``max_rel``.
        cosine: fill ``dot``, ``norm_a``, ``norm_b`` and ``cosine``.
        threads: at most so many, 1 to 1024; they are started for this call and have ended when it returns.

    Raises:
        TypeError: as ``difference``; ``bounds`` of another dtype than float64.
        ValueError: different lengths or shapes, a negative tolerance, tolerances and bounds together, too few threads.
    """

def instruction_sets() -> tuple[str, ...]:
    """What this build has and this machine runs, the plainest (``baseline``) first."""

def instruction_set() -> str:
    """The one in use: the last of ``instruction_sets()``, or what ``IRFUZZ_INSTRUCTION_SET`` names."""

def use_instruction_set(name: str, /) -> None:
    """Use another one from now on, in the whole process; results are the same.

    Raises:
        ValueError: not one of ``instruction_sets()``.
    """
