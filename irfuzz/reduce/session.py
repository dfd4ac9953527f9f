"""The best case so far and the budget for a better one: candidates enter, those that still fail are kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.execute.types import Value
from irfuzz.ir.bodies import bodies_of
from irfuzz.ir.program import Program
from irfuzz.ir.types import declare, undeclare
from irfuzz.ir.verify import verify
from irfuzz.ir.view import known_operator

Still: TypeAlias = Callable[[Program, Mapping[str, Value]], bool]
"""True where a case still shows the fault."""

ValuesOf: TypeAlias = Callable[[Program, Mapping[str, Value]], Mapping[str, Value]]
"""Inner values of a program by name, as some trusted target computes them; those that it cannot tell are missing."""

Change: TypeAlias = Callable[[Program], "Mapping[str, Value] | None"]
"""Edits a candidate; returns inputs that it needs beside, or instead of, those of the best case."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case made small.

    Attributes:
        program: the smallest that was found.
        inputs: its inputs by name.
        tries: calls of the predicate.
        complete: no pass makes it smaller; otherwise the budget ended first.
    """

    program: Program
    inputs: dict[str, Value]
    tries: int = 0
    complete: bool = True


class OutOfBudget(Exception):
    """Time or tries are used up; the session holds the best case."""


class NotPossible(Exception):
    """A change that cannot be made here; the candidate is dropped."""


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
        self.tries = 0
        self._values_of = values_of
        self._still = still
        self._deadline = time.monotonic() + seconds
        self._most = tries
        self._tried: set[bytes] = set()
        self._inner: tuple[Program, Mapping[str, Value]] | None = None

    def edit(self, change: Change) -> bool:
        """Try the best case with a change, without what the change leaves unused.

        Returns:
            Whether it still fails, and so is the best case now.

        Raises:
            OutOfBudget: before the candidate is tried.
        """
        candidate = self.program.clone()
        try:
            inputs = change(candidate) or {}
            candidate.prune()
            drop_unused_inputs(candidate)
        except (InvalidProgram, NotPossible):
            return False
        return self.attempt(candidate, {**self.inputs, **inputs})

    def attempt(self, program: Program, inputs: Mapping[str, Value]) -> bool:
        """Keep a candidate where it is a valid program and still fails.

        Raises:
            OutOfBudget: before the candidate is tried.
        """
        if not len(program.graph) and len(self.program.graph):
            return False  # without a node there is no operator to look at
        names = [v.name or "" for v in program.graph.inputs]
        needed = [name for name in names if name not in program.graph.initializers]
        if not program.graph.outputs or any(name not in inputs for name in needed) or verify(program):
            return False
        given = {name: inputs[name] for name in names if name in inputs}
        key = _digest(program, given)
        if key in self._tried:
            return False
        if self.tries >= self._most or time.monotonic() >= self._deadline:
            raise OutOfBudget
        self._tried.add(key)
        self.tries += 1
        try:
            if not self._still(program, given):
                return False
        except InvalidProgram:
            return False
        self.program, self.inputs = program, given
        return True

    def inner_values(self) -> Mapping[str, Value]:
        """Inner values of the best case so far; empty where nobody can tell them."""
        if self._values_of is None:
            return {}
        if self._inner is None or self._inner[0] is not self.program:
            self._inner = self.program, self._values_of(self.program, self.inputs)
        return self._inner[1]

    def sites(self) -> list[str]:
        """Names of the nodes of the best case, in topological order."""
        return [self.program.site_of(node) for node in self.program.nodes()]


def drop_unused_inputs(program: Program) -> None:
    """Remove graph inputs that nothing reads."""
    for value in list(program.graph.inputs):
        if not value.uses() and not value.is_graph_output() and not value.is_initializer():
            program.graph.inputs.remove(value)
            program.forget(value)


def infer_anew(program: Program) -> None:
    """Infer everything from the inputs, whatever was declared or inferred behind them before.

    Raises:
        InvalidProgram: a node is ill-typed.
    """
    inside: list[ir.Value] = []
    for node in program.nodes():
        if known_operator(program, node):  # of others the declaration is all that is known
            for output in node.outputs:
                undeclare(output)
        for body in bodies_of(node):
            inside += _forget_shapes(body)
    program.infer()
    for value in inside:
        fact = program.tensor(value)
        value.shape = None if fact is None or fact.shape is None else ir.Shape(fact.shape)
    for value in program.graph.outputs:
        declare(value, program.fact(value))


def _forget_shapes(body: ir.Graph) -> list[ir.Value]:
    """Leave of declarations in a body, and of those inside of it, the element types; the values that had more."""
    found: list[ir.Value] = []
    for value in (*body.inputs, *(o for node in body for o in node.outputs)):
        if isinstance(value.type, ir.TensorType) and value.shape is not None:
            value.shape = None
            found.append(value)
    for node in body:
        for inner in bodies_of(node):
            found += _forget_shapes(inner)
    return found


def is_number(value: Value) -> TypeGuard[np.ndarray]:
    """True for a tensor of real numbers or booleans that numpy itself has."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.isbuiltin != 2  # ml_dtypes


def _digest(program: Program, inputs: Mapping[str, Value]) -> bytes:
    found = hashlib.sha256(program.to_bytes())

    def add(value: Value) -> None:
        if isinstance(value, list):
            found.update(f"[{len(value)}".encode())
            for item in value:
                add(item)
        elif value is None:
            found.update(b"nothing")
        else:
            found.update(f"{value.dtype} {value.shape}".encode())
            found.update(repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes())

    for name, value in inputs.items():
        found.update(name.encode())
        add(value)
    return found.digest()
