"""The oracles: the built-in ones are listed here, those of other packages are found by entry point."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from irfuzz.errors import UsageError
from irfuzz.oracle.numeric.shadow_comparison import judge_numeric
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.symptoms.crash import judge_crash
from irfuzz.oracle.symptoms.dtype_shape import judge_type
from irfuzz.oracle.symptoms.exact_equality import judge_exact
from irfuzz.oracle.symptoms.hang_and_memory import judge_hang, judge_memory
from irfuzz.oracle.symptoms.leniency import judge_leniency
from irfuzz.oracle.symptoms.nan_inf import judge_special
from irfuzz.oracle.symptoms.rejection import judge_rejection
from irfuzz.oracle.verdict import Symptom, Verdict

GROUP = "irfuzz.oracles"
"""Entry points of other distributions: name = a function from a ``Case`` to verdicts."""

Oracle: TypeAlias = Callable[[Case], Iterable[Verdict]]

BUILT_IN: Mapping[str, Oracle] = MappingProxyType(
    {
        "crash": judge_crash,
        "hang": judge_hang,
        "memory": judge_memory,
        "rejection": judge_rejection,
        "type": judge_type,
        "nan-inf": judge_special,
        "numeric": judge_numeric,
        "exact": judge_exact,
        "leniency": judge_leniency,
    }
)


_OF_NUMBERS = frozenset({"nan-inf", "numeric", "exact"})
"""What these say is ``nan-inf`` or ``difference``, and takes reruns and a run in float64."""


def oracles_of(symptom: Symptom) -> Mapping[str, Oracle]:
    """Those that may say that a symptom shows.

    Args:
        symptom: if it is ``NAN_INF`` or ``DIFFERENCE`` all oracles are given; for others those that look at numbers are
            left out, which need reruns and a run in float64.

    Raises:
        UsageError: as ``oracles``.
    """
    if symptom in (Symptom.NAN_INF, Symptom.DIFFERENCE):
        return oracles()
    return MappingProxyType({name: oracle for name, oracle in oracles().items() if name not in _OF_NUMBERS})


@cache
def oracles() -> Mapping[str, Oracle]:
    """All oracles by name, ours first; looked up once.

    Raises:
        UsageError: two distributions claim one name, or what an entry point names is no function.
    """
    known = dict(BUILT_IN)
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        owner = entry.dist.name if entry.dist is not None else "a distribution"
        if entry.name in known:
            raise UsageError(
                f"oracle name {entry.name!r} of {owner} ({entry.value}) is taken; uninstall one of the two"
            )
        try:
            oracle: Any = entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(f"oracle {entry.name!r} of {owner} ({entry.value}) cannot be loaded: {error}") from error
        if not callable(oracle):
            raise UsageError(
                f"oracle {entry.name!r} of {owner} ({entry.value}) is {type(oracle).__name__}, not a function"
            )
        known[entry.name] = cast("Oracle", oracle)
    return MappingProxyType(known)
