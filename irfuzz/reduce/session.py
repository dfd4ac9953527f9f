"""One reduction under way: its best case, and the budget for a better one."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare, undeclare
from irfuzz.ir.program import Program
from irfuzz.ir.program_view import known_operator
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.verifier import verify

Still: TypeAlias = Callable[[Program, Mapping[str, Value]], bool]
"""True where a case still shows the fault."""

ValuesOf: TypeAlias = Callable[[Program, Mapping[str, Value]], Mapping[str, Value]]
"""Inner values of a program by name, as some trusted target computes them; those that it cannot tell are missing."""

Change: TypeAlias = Callable[[Program], "Mapping[str, Value] | None"]
"""Edits a candidate; returns inputs that it needs beside, or instead of, those of the best case."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case made small, or the best case of a reduction under way.

    Attributes:
        program: the smallest that was found.
        inputs: its inputs by name.
        tries: calls of the predicate by then.
        complete: no pass makes it smaller; otherwise the budget ended first.
        settled: no pass could remove a node any more, though values may not be as plain as they get.
    """

    program: Program
    inputs: dict[str, Value]
    tries: int = 0
    complete: bool = True
    settled: bool = True


LATE = 0.1
"""Part of its time by which a reduction may end late, so that one that needs nearly all of it is tried."""

OnTry: TypeAlias = Callable[[bytes, "Reduced | None"], None]
"""Told of a candidate's digest, and of the best case if the candidate is that now, since it still fails."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    program: Program
    inputs: Mapping[str, Value]
    key: bytes


class OutOfBudget(Exception):
    """Time or tries are used up; the session holds the best case."""


class NotPossible(Exception):
    """A change that cannot be made here; the candidate is dropped."""


class Session:
    """One reduction under way.

    Args:
        program: the failing program. The rules that it breaks on purpose every candidate breaks, too, and no others.
        inputs: what it fails on.
        still: the predicate; it runs real targets. With several ``jobs`` it is called from as many threads.
        values_of: gives inner values, for cutting a program in the middle.
        seconds: wall time for all candidates together.
        tries: most calls of ``still``.
        each: seconds that a candidate takes which still fails, as far as that is known; what such a one takes later on
            counts instead. None is begun that would end more than ``LATE`` of the time too late.
        jobs: candidates that are tried at once. The result is the same for any number, as long as time does not end
            it: of those that still fail the first one is kept.
        skip: digests of candidates that are known not to fail.
        on_try: told of every candidate, from the thread that reduces.
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        still: Still,
        values_of: ValuesOf | None,
        seconds: float,
        tries: int,
        *,
        each: float = 0.0,
        jobs: int = 1,
        skip: Collection[bytes] = (),
        on_try: OnTry | None = None,
    ) -> None:
        _declare_outputs(program)
        self._broken = {*map(str, verify(program))}
        self.program = program
        self.inputs = dict(inputs)
        self.tries = 0
        self._values_of = values_of
        self._still = still
        self._deadline = time.monotonic() + seconds
        self._latest = self._deadline + LATE * seconds
        self._each = each
        self._most = tries
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
        self._on_try = on_try
        self._tried: set[bytes] = set(skip)
        self._inner: tuple[Program, Mapping[str, Value]] | None = None

    def close(self) -> None:
        """End its threads, after those that still try a candidate are done.

        The best case can be read from the session afterwards.
        """
        if self._pool is not None:
            self._pool.shutdown()

    def edit(self, change: Change) -> bool:
        """Try the best case with a change, without what the change leaves unused.

        Returns:
            Whether it still fails, and so is the best case now.

        Raises:
            OutOfBudget: before the candidate is tried.
        """
        return self.first((change,))

    def first(self, changes: Iterable[Change]) -> bool:
        """Try changes until one is kept; see ``edit``.

        Args:
            changes: are taken lazily, and tried in this order, several at once if there are several jobs.

        Returns:
            Whether one was kept.

        Raises:
            OutOfBudget: time or tries are used up; the best case is kept.
        """
        return self._work(changes, once=True)

    def each(self, changes: Iterable[Change]) -> bool:
        """Try every change, each on what those before it have left; whether any was kept. See ``edit``.

        Args:
            changes: are taken lazily, so that what makes them may look at the best case of the moment.

        Raises:
            OutOfBudget: time or tries are used up; what was kept by then stays.
        """
        return self._work(changes, once=False)

    def _work(self, changes: Iterable[Change], *, once: bool) -> bool:
        waiting, again = iter(changes), deque[Change]()
        found = False
        while True:
            batch: list[tuple[Change, _Candidate]] = []
            while len(batch) < self._jobs:
                change = again.popleft() if again else next(waiting, None)
                if change is None:
                    break
                made = self._made(change)
                if made is not None and all(made.key != other.key for _, other in batch):
                    batch.append((change, made))
            if not batch:
                return found
            kept = self._ask([made for _, made in batch])
            if kept is None:
                continue
            if once:
                return True
            found = True
            again.extendleft(reversed([change for change, _ in batch[kept + 1 :]]))

    def attempt(self, program: Program, inputs: Mapping[str, Value]) -> bool:
        """Keep a candidate if it is as valid as the first program and still fails; nothing is tried twice.

        Args:
            program: the whole candidate; it is not copied.
            inputs: of it, by name; those that it does not have are left out.

        Raises:
            OutOfBudget: before the candidate is tried.
        """
        candidate = self._candidate(program, inputs)
        return candidate is not None and self._ask([candidate]) is not None

    def _made(self, change: Change) -> _Candidate | None:
        """The best case with a change."""
        candidate = self.program.clone()
        try:
            inputs = change(candidate) or {}
            candidate.prune()
            drop_unused_inputs(candidate)
        except (InvalidProgram, NotPossible):
            return None
        return self._candidate(candidate, {**self.inputs, **inputs})

    def _candidate(self, program: Program, inputs: Mapping[str, Value]) -> _Candidate | None:
        """A candidate, if it breaks no more and no fewer rules than the first program and was not tried yet."""
        if not len(program.graph) and len(self.program.graph):
            return None  # without a node there is no operator to look at
        names = [v.name or "" for v in program.graph.inputs]
        needed = [name for name in names if name not in program.graph.initializers]
        if not program.graph.outputs or any(name not in inputs for name in needed):
            return None
        if {*map(str, verify(program))} != self._broken:
            return None
        _declare_outputs(program)
        if _of_no_rank(program) and not _of_no_rank(self.program):
            return None
        given = {name: inputs[name] for name in names if name in inputs}
        key = digest_of(program, given)
        return None if key in self._tried else _Candidate(program, given, key)

    def _ask(self, candidates: Sequence[_Candidate]) -> int | None:
        """Keep the first candidate that still fails, and say which; ``None`` if none does."""
        now = time.monotonic()
        if self.tries >= self._most or now >= self._deadline or now + self._each > self._latest:
            raise OutOfBudget
        candidates = candidates[: self._most - self.tries]
        if self._pool is None or len(candidates) == 1:
            answers = [self._fails(c) for c in candidates]
        else:
            futures = [self._pool.submit(self._fails, c) for c in candidates]
            answers = [f.result() for f in futures]
        kept = answers.index(True) if any(answers) else None
        for place, candidate in enumerate(candidates):
            if place == kept:
                self.program, self.inputs = candidate.program, dict(candidate.inputs)
            self.tries += 1
            if answers[place] and place != kept:
                continue  # it fails, too: its change has its turn on what is kept now
            self._tried.add(candidate.key)
            if self._on_try is not None:
                self._on_try(candidate.key, self.best() if place == kept else None)
        return kept

    def best(self, *, complete: bool = False, settled: bool = False) -> Reduced:
        """The best case so far, without a copy; the session goes on as before.

        Args:
            complete: what the result says of whether no pass makes it smaller.
            settled: what it says of whether one could remove a node.
        """
        return Reduced(self.program, self.inputs, self.tries, complete, settled)

    def _fails(self, candidate: _Candidate) -> bool:
        began = time.monotonic()
        try:
            fails = self._still(candidate.program, candidate.inputs)
        except InvalidProgram:
            return False
        if fails:
            self._each = time.monotonic() - began
        return fails

    def inner_values(self) -> Mapping[str, Value]:
        """Inner values of the best case so far, by name; empty if nobody can tell them.

        They are computed once for each best case, by running a target.
        """
        if self._values_of is None:
            return {}
        if self._inner is None or self._inner[0] is not self.program:
            self._inner = self.program, self._values_of(self.program, self.inputs)
        return self._inner[1]

    def sites(self) -> list[str]:
        """Names of the nodes of the best case, in topological order.

        ``Program.node`` finds each of them again, also in a copy, as long as it is there.
        """
        return [self.program.site_of(node) for node in self.program.nodes()]


def drop_unused_inputs(program: Program) -> None:
    """Remove graph inputs that nothing reads, unless they are outputs, too, or have an initializer.

    Args:
        program: is edited in place.
    """
    for value in list(program.graph.inputs):
        if not value.uses() and not value.is_graph_output() and not value.is_initializer():
            program.graph.inputs.remove(value)
            program.forget(value)


def infer_anew(program: Program) -> None:
    """Infer everything from the inputs, whatever was declared or inferred behind them before.

    Outputs are declared as what is inferred. Operators that ONNX does not define keep their declarations, and bodies
    the element types of theirs.

    Args:
        program: is edited in place.

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
    """True for a tensor of real numbers or booleans that numpy itself has.

    False for sequences, ``None``, strings, complex numbers, and the types of ``ml_dtypes`` such as bfloat16.
    """
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.isbuiltin != 2  # ml_dtypes


def digest_of(program: Program, inputs: Mapping[str, Value]) -> bytes:
    """SHA-256 of a case: of the serialised program, and of names, types, shapes and elements of its inputs.

    Args:
        program: names and the order of its nodes count.
        inputs: by name; their order counts, too.
    """
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


def _declare_outputs(program: Program) -> None:
    """State what is known of outputs that are stated without a shape: ONNX's checker refuses those."""
    for value in program.graph.outputs:
        fact = program.fact(value)
        if value.shape is None and isinstance(fact, TensorFact) and fact.shape is not None:
            declare(value, fact)


def _of_no_rank(program: Program) -> bool:
    """Whether nothing is known of the shape of an output."""
    facts = [program.fact(value) for value in program.graph.outputs]
    return any(isinstance(fact, TensorFact) and fact.shape is None for fact in facts)
