"""Which of the given models can be mutated, and which mutators are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import select, why_not_mutated
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.spec import load_specs


def refuse_unmutable(programs: Mapping[Path | str, Program], observer: Observer = unobserved) -> None:
    """Remark on the models that stay as they are, with the reason.

    Raises:
        UsageError: none can be mutated.
    """
    reasons = {path: why for path, program in programs.items() if (why := why_not_mutated(program))}
    told = [f"{path}: it cannot be mutated: {why}" for path, why in reasons.items()]
    if told and len(told) == len(programs):
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        raise UsageError(told[0] + more)
    for line in told:
        observer(Update(remark=line))


def known_mutators(wanted: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names, which are known; ``None`` stands for all.

    Raises:
        UsageError: one is not; the line lists those that are.
    """
    if wanted is None:
        return None
    try:
        return select(wanted, build_mutators(Context(load_specs())))
    except UsageError as error:
        raise UsageError(f"mutators: {error}") from None
