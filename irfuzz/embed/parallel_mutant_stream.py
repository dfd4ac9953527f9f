"""Mutants as what is written of them, made by one process or by several: the same bytes from any number.

Mutants become parents of later ones, so a stream of them cannot be cut in two. It is made in blocks instead, each of
which begins at the seeds again and draws from a seed of its own: the first is what ``irfuzz.mutate`` gives for the same
arguments, and how many there are depends on the seeds alone. Processes take blocks, and give them back in order.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.large_model_limits import weight_bytes
from irfuzz.execute.run_types import Value
from irfuzz.export.module_file_writing import npz_of
from irfuzz.garbage_collection import settle
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import linux
from irfuzz.mutate.traced_mutant_generation import TracedMutant, mutate_many
from irfuzz.store.blob_store import Blobs
from irfuzz.store.npz_tensors import pack
from irfuzz.store.shared_weight_serialization import SHARED, shared_bytes
from irfuzz.store.tensor_to_blob_replacement import with_blobs

LARGE = 64 << 20
"""Bytes of weights from which on those of a mutant stand beside it, shared with all others."""

LEFT = 1 << 16
"""Bytes of a tensor that stands elsewhere than among a model's initializers from which on it is shared too."""

BLOCK, BLOCK_LEAST = 256, 16
"""Mutants of a block of small programs, and of huge ones."""

BLOCK_NODES = 25_600
"""Nodes that the programs of a block have in all, about: a second or two of work."""

SCHEMA = 1
"""Version of ``MutantRecord.to_json``."""


@dataclass(frozen=True, slots=True)
class MutantPlan:
    """Which mutants are made, and what of them.

    Attributes:
        count: how many.
        seed: root of all randomness.
        options: more arguments of ``irfuzz.mutate``.
        inputs: make inputs for each.
        blobs: where weights go, and the name of that place from where the models are; ``None``: models are whole.
    """

    count: int
    seed: int = 0
    options: Mapping[str, Any] | None = None
    inputs: bool = False
    blobs: tuple[Blobs, str] | None = None


@dataclass(frozen=True, slots=True)
class MutantRecord:
    """A mutant as it is written.

    Attributes:
        model: ONNX; it names files for its weights if they are shared.
        trace: how it was made, of the whole model.
        digest: of the program, whatever its names and the order of its nodes.
        invalid: it breaks a rule on purpose.
        inputs: an npz; ``None`` if none were wanted or can be made.
        problem: why they cannot be made.
    """

    model: bytes
    trace: Mapping[str, Any]
    digest: str
    invalid: bool
    inputs: bytes | None = None
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """What the line about it contains, besides the paths of its files.

        Returns:
            ``schema``, ``digest``, ``sha256``, ``seed`` (a name), ``invalid`` and ``edits``, which make it again from
            its seed.
        """
        return {
            "schema": SCHEMA,
            "digest": self.digest,
            "sha256": self.trace["sha256"],
            "seed": self.trace["seed"]["name"],
            "invalid": self.invalid,
            "edits": self.trace["edits"],
        }


def is_large(program: Program) -> bool:
    """Whether a program's mutants share its weights, which is so from ``LARGE`` bytes (64 MiB) of initializers on."""
    return weight_bytes(program) >= LARGE


def written(program: Program, blobs: tuple[Blobs, str] | None) -> bytes:
    """A program as it is written: whole, or with weights that are in ``blobs``.

    Args:
        program: that is not changed.
        blobs: of the weights, with the path at which models name them; ``None`` for whole models.

    Returns:
        Bytes of an ONNX model.
    """
    if blobs is None:
        return program.to_bytes()
    data = shared_bytes(program, blobs[0], least=SHARED, folder=blobs[1])
    # What a mutator moved into a body or a Constant is still in it.
    return data if len(data) < LEFT else with_blobs(data, *blobs, least=LEFT)


def blocks_of(named: Sequence[tuple[str, Program]], count: int) -> list[int]:
    """How many mutants each block has.

    Args:
        named: the seeds; the more nodes they have on average, the smaller the blocks.
        count: of all mutants.

    Returns:
        Sizes that add up to ``count``, all equal but for the last; they do not depend on how many processes work.
    """
    nodes = max(1, sum(len(program.nodes()) for _, program in named) // max(1, len(named)))
    size = max(BLOCK_LEAST, min(BLOCK, BLOCK_NODES // nodes))
    return [min(size, count - first) for first in range(0, count, size)]


def block_seed(seed: int, number: int) -> int:
    """The seed at which a block's draws begin; that of the first block is ``seed`` itself.

    Args:
        seed: of the whole stream.
        number: of the block, from 0.

    Returns:
        Of later blocks 64 bits of a SHA-256 of both, so that blocks may be made in any order and process.
    """
    if number == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}:block:{number}".encode()).digest()[:8], "little")


def mutant_records(named: Sequence[tuple[str, Program]], plan: MutantPlan, *, jobs: int = 1) -> Iterator[MutantRecord]:
    """Mutants in their order; equal arguments but ``jobs`` give equal ones.

    Args:
        named: seeds, with the names that traces tell people.
        plan: which mutants.
        jobs: processes that make them.

    Yields:
        As many as are wanted; fewer only if no mutator applies to any seed.

    Raises:
        UsageError: a wrong argument of ``irfuzz.mutate``.
    """
    sizes = blocks_of(named, plan.count)
    jobs = min(jobs, len(sizes))
    if jobs <= 1:
        for number, size in enumerate(sizes):
            yield from _block(named, plan, number, size)
        return
    yield from _from_processes(named, plan, sizes, jobs)


def _from_processes(
    named: Sequence[tuple[str, Program]], plan: MutantPlan, sizes: Sequence[int], jobs: int
) -> Iterator[MutantRecord]:
    # Forked: each has the seeds and the specs at once. A block is made while an earlier one is being written.
    settle()
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(named, plan))
    waiting: deque[Future[list[MutantRecord]]] = deque()
    try:
        for number, size in enumerate(sizes):
            waiting.append(pool.submit(_made, number, size))
            if len(waiting) > jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_given: tuple[Sequence[tuple[str, Program]], MutantPlan] | None = None
"""What a process makes mutants of; set once, when it begins."""


def _begin(named: Sequence[tuple[str, Program]], plan: MutantPlan) -> None:
    global _given  # noqa: PLW0603 - a process of a pool has no other place for what all of its tasks share
    _given = (named, plan)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    linux.signal_at_parents_death(signal.SIGKILL)


def _made(number: int, size: int) -> list[MutantRecord]:
    assert _given is not None
    return list(_block(*_given, number, size))


def _block(named: Sequence[tuple[str, Program]], plan: MutantPlan, number: int, size: int) -> Iterator[MutantRecord]:
    options = dict(plan.options or {})
    for mutant in mutate_many(named, seed=block_seed(plan.seed, number), n=size, **options):
        yield _record(mutant, plan)


def _record(mutant: TracedMutant, plan: MutantPlan) -> MutantRecord:
    inputs, problem = _inputs(mutant.program, plan.seed) if plan.inputs else (None, "")
    model = mutant.to_bytes() if plan.blobs is None else written(mutant.program, plan.blobs)
    return MutantRecord(model, mutant.trace, mutant.program.digest, mutant.declared_invalid, inputs, problem)


def _inputs(program: Program, seed: int) -> tuple[bytes | None, str]:
    try:
        return _npz(make_inputs(program, seed)), ""
    except (Unsupported, InvalidProgram) as error:
        return None, str(error)


def _npz(values: Mapping[str, Value]) -> bytes:
    """Inputs for any reader if numpy has their types, else as ``store.npz_tensors`` packs them."""
    plain = {n: v for n, v in values.items() if isinstance(v, np.ndarray) and v.dtype.isbuiltin == 1}
    if len(plain) < len(values) or any(v.dtype.kind not in "biufc" for v in plain.values()):
        return pack(values)
    return npz_of(plain)
