"""The best case so far and the budget for a better one: candidates enter, those that still fail are kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.verify import verify
from irfuzz.store.tensors import Value, pack

Still: TypeAlias = Callable[[Program, Mapping[str, Value]], bool]
"""True where a case still shows the fault."""

ValuesOf: TypeAlias = Callable[[Program, Mapping[str, Value]], Mapping[str, Value]]
"""Inner values of a program by name, as some trusted target computes them; those that it cannot tell are missing."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case made small."""

    program: Program
    inputs: dict[str, Value]


class OutOfBudget(Exception):
    """Time or tries are used up; the session holds the best case."""


class Session:
    """One reduction under way.

    Args:
        program: the failing program.
        inputs: what it fails on.
        still: the predicate; it runs real targets.
        values_of: gives inner values, for cutting a program in the middle.
        seconds: wall time for all candidates together.
        tries: most calls of ``still``.
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        still: Still,
        values_of: ValuesOf | None,
        seconds: float,
        tries: int,
    ) -> None:
        self.program = program
        self.inputs = dict(inputs)
        self.values_of = values_of
        self._still = still
        self._deadline = time.monotonic() + seconds
        self._left = tries
        self._tried: set[str] = set()

    def attempt(self, program: Program, inputs: Mapping[str, Value] | None = None) -> bool:
        """Keep a candidate where it is a valid program and still fails.

        Raises:
            OutOfBudget: before the candidate is tried.
        """
        wanted = {v.name: v for v in program.graph.inputs}
        source = self.inputs if inputs is None else inputs
        given = {name: source[name] for name in source if name in wanted}
        if not program.graph.outputs or verify(program):
            return False
        key = hashlib.sha256(program.to_bytes() + pack(given)).hexdigest()
        if key in self._tried:
            return False
        if self._left <= 0 or time.monotonic() >= self._deadline:
            raise OutOfBudget
        self._tried.add(key)
        self._left -= 1
        try:
            if not self._still(program, given):
                return False
        except InvalidProgram:
            return False
        self.program, self.inputs = program, given
        return True

    def inner_values(self) -> Mapping[str, Value]:
        """Inner values of the best case so far; empty where nobody can tell them."""
        if self.values_of is None:
            return {}
        return self.values_of(self.program, self.inputs)


def is_number(value: Value) -> bool:
    """True for a tensor of numbers or booleans."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "OUSV"
