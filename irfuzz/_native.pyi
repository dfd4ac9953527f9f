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
  how many pairs are 0, and 2**(k-1) to 2**k - 1 steps apart for k = 1 to 64; zeros for integers, and steps of float32
  for floating-point types of 8 bits and fewer;
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

def new_bits(seen: np.ndarray[Any, np.dtype[np.uint8]], found: np.ndarray[Any, np.dtype[np.uint8]], /) -> int:
    """Number of bits that ``found`` has and ``seen`` has not.

    Raises:
        TypeError: not arrays of uint8.
        ValueError: different sizes.
    """

def merge_bits(seen: np.ndarray[Any, np.dtype[np.uint8]], found: np.ndarray[Any, np.dtype[np.uint8]], /) -> int:
    """As ``new_bits``, and sets them in ``seen``, which must be writeable, row-major and aligned."""

# Activations below: a row a sample, a column a neuron, of a floating-point dtype. Bitmaps are written in place; bit i
# is bit i % 8 of byte i // 8, the lowest first (np.unpackbits with bitorder="little"). All raise TypeError for a wrong
# dtype and ValueError for a wrong shape, and give the number of bits that are new.

def cover_sections(
    values: np.ndarray[Any, Any],
    low: np.ndarray[Any, Any],
    high: np.ndarray[Any, Any],
    sections: int,
    covered: np.ndarray[Any, np.dtype[np.uint8]],
    /,
    *,
    threads: int = 1,
) -> int:
    """k-multisection neuron coverage (DeepGauge, section III.A): each neuron's range [low, high] in equal sections.

    A value in the range is in section ``min(floor((v - low) * (sections / (high - low))), sections - 1)``, in float64.
    NaN and bounds that are NaN cover nothing.

    Args:
        values: shape (samples, neurons).
        low: shape (neurons,), float64 if ``values`` are, otherwise float32.
        high: as ``low``.
        sections: 1 to 2**31 - 1.
        covered: shape (neurons, ceil(sections / 8)).
        threads: at most so many.
    """

def cover_boundaries(
    values: np.ndarray[Any, Any],
    low: np.ndarray[Any, Any],
    high: np.ndarray[Any, Any],
    below: np.ndarray[Any, np.dtype[np.uint8]] | None,
    above: np.ndarray[Any, np.dtype[np.uint8]],
    /,
) -> int:
    """Neuron boundary coverage (DeepGauge, section III.A): who went below ``low`` and above ``high``.

    Without ``below`` it is strong neuron activation coverage. Both bitmaps have shape (ceil(neurons / 8),).
    """

def cover_neurons(
    values: np.ndarray[Any, Any],
    threshold: float,
    covered: np.ndarray[Any, np.dtype[np.uint8]],
    /,
    *,
    scaled: bool = True,
) -> int:
    """Neuron coverage (DeepXplore, section 4.1): neurons above the threshold in a sample.

    Scaled, a sample's activations count from its smallest to its largest finite one:
    ``v - min > threshold * (max - min)``. ``covered`` has shape (ceil(neurons / 8),).
    """

def cover_top(values: np.ndarray[Any, Any], k: int, covered: np.ndarray[Any, np.dtype[np.uint8]], /) -> int:
    """Top-k neuron coverage (DeepGauge, section III.B): neurons that were in the ``top`` k of a sample."""

def top(values: np.ndarray[Any, Any], k: int, /) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The columns of each row's k largest values, the largest first, of equal ones the first.

    NaN is never among them; -1 stands where a row has fewer numbers.
    """

def ranks(
    values: np.ndarray[Any, Any], labels: np.ndarray[Any, np.dtype[np.int64]], /
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The place of each row's label among its values sorted as in ``top``, NaN last; the first is 1."""

def class_scores(
    values: np.ndarray[Any, Any], labels: np.ndarray[Any, np.dtype[np.int64]], /, *, k: int = 5
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """CRADLE's score of a classification (equation 1): ``2**(k - rank)`` for the first k ranks, else 0.

    Its class-based distance (equation 2) is the absolute difference of two of them.
    """

@final
class FeatureSet:
    """A set of 64-bit features (hashes or plain numbers) with counts; several threads may use one.

    Keys are arrays of uint64 with one dimension (TypeError, ValueError).
    """

    def is_new(self, keys: np.ndarray[Any, np.dtype[np.uint64]], /) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which keys are not in the set."""
    def add(self, keys: np.ndarray[Any, np.dtype[np.uint64]], /) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Count each key once more; which ones were neither in the set nor earlier in ``keys``."""
    def counts(self, keys: np.ndarray[Any, np.dtype[np.uint64]], /) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """How often each key was added."""
    def merge(self, other: FeatureSet, /) -> int:
        """Add the other's keys and counts; gives the number of new keys."""
    def reserve(self, keys: int, /) -> None:
        """Make room for so many keys, so that the set need not grow on the way."""
    def items(
        self,
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        """All keys, and their counts, in no particular order."""
    @property
    def nbytes(self) -> int:
        """Memory of the table."""
    def __len__(self) -> int: ...

@final
class Novelty:
    """Vectors that were seen, and how far others are from the nearest of them; several threads may use one.

    Distances are Euclidean and exact to float64's rounding, the same for any number of threads: a scan of codes of one
    byte a number tells which vectors can be the nearest at all, and those are compared in full. Vectors are float32
    arrays of shape (n, dimensions) with finite numbers (TypeError, ValueError).
    """

    def __init__(self, dimensions: int) -> None:
        """Take vectors of 1 to 100,000 numbers."""
    def nearest(
        self, vectors: np.ndarray[Any, np.dtype[np.float32]], /, *, threads: int = 1
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Distance to the nearest vector, and its index (of equally near ones the first); inf and -1 without any."""
    def add(self, vectors: np.ndarray[Any, np.dtype[np.float32]], /) -> None:
        """Add all of them; indices count on."""
    def add_novel(
        self, vectors: np.ndarray[Any, np.dtype[np.float32]], threshold: float, /, *, threads: int = 1
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """One after the other, add those farther than the threshold from all before (TensorFuzz, section 3.2).

        Gives their distances, and which ones were added.
        """
    @property
    def nbytes(self) -> int:
        """Memory of the vectors and their codes."""
    def __len__(self) -> int: ...
