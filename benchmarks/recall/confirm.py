"""Runs a bug's model on the versions that are said to have it and not.

No oracle is asked: the right answer stands in the list, and the faulty version must not give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from irfuzz.errors import IrfuzzError
from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

from .bugs import Bug

RTOL, ATOL = 1e-3, 2e-2
"""Right answers are written with few digits; no bug here is a matter of rounding."""


def told(bug: Bug, result: RunResult) -> tuple[bool, str]:
    """Whether an answer is right, and its text."""
    if result.exit is not Exit.OK:
        return False, f"{result.exit.value} at {result.stage.value}: {' '.join(result.error.split())[:300]}"
    right = bug.answers()
    texts, fine = [], True
    for name, wanted in right.items():
        if name not in result.outputs:
            return True, "types agree"
        got = np.asarray(result.outputs[name])
        texts.append(f"{name}: {got.dtype}{list(got.shape)} {' '.join(str(got).split())[:160]}")
        same = (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        exact = wanted.dtype.kind not in "fc"
        fine = (
            fine
            and same
            and bool(np.array_equal(got, wanted) if exact else np.allclose(got, wanted, RTOL, ATOL, equal_nan=True))
        )
    return fine, "; ".join(texts)


def answers(bug: Bug, versions: Iterable[str]) -> dict[str, list[tuple[bool, str]]]:
    """What each version says, by version; those that cannot be run are left out."""
    found: dict[str, list[tuple[bool, str]]] = {}
    program = Program.from_proto(bug.model())
    for version in versions:
        try:
            targets = resolve(bug.targets(version))
        except IrfuzzError as error:
            found[version] = [(False, f"no such target: {error}")]
            continue
        with Runner(targets) as runner:
            found[version] = [told(bug, r) for r in runner.run(program, bug.arrays())]
    return found


def confirmed(bug: Bug, shows: list[tuple[bool, str]], fixed: list[tuple[bool, str]]) -> str:
    """What is not as the list says; empty if all is."""
    wrong = [text for fine, text in shows if not fine]
    if not wrong:
        return f"{bug.shows} answers right: {shows[0][1]}"
    if bug.got and not any(re.search(bug.got, text) for text in wrong):
        return f"{bug.shows} gives something else than {bug.got!r}: {wrong[0]}"
    still = [text for fine, text in fixed if not fine]
    return f"{bug.fixed} is wrong, too: {still[0]}" if still else ""
