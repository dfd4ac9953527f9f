"""AFL++'s Python custom mutator for ONNX models.

Use: ``AFL_PYTHON_MODULE=irfuzz.embed.aflpp AFL_CUSTOM_MUTATOR_ONLY=1 afl-fuzz ...``. AFL++ calls the functions below by
name (its docs/custom_mutators.md); one process has one mutator, so its state is the module's.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass, field

from irfuzz.embed.model_trimming import Trimmer
from irfuzz.embed.mutator import ModelMutator, for_fuzzer

ENERGY = 64
"""Mutants of one queue entry."""

CROSSED = 0.15
"""Share of calls that splice with the other buffer."""

SENT = 64
"""Answers of ``post_process`` that are kept alive."""


@dataclass
class _State:
    """What lies between two calls."""

    mutator: ModelMutator = field(default_factory=for_fuzzer)
    rng: random.Random = field(default_factory=random.Random)
    trimmer: Trimmer | None = None
    said: str = "start"
    sent: OrderedDict[bytes, bytearray] = field(default_factory=OrderedDict)


_STATE: list[_State] = []


def _state() -> _State:
    if not _STATE:
        _STATE.append(_State())
    return _STATE[0]


def init(seed: int) -> None:
    """Begin; equal seeds and calls give equal mutants.

    Args:
        seed: from AFL++. Whatever an earlier ``init`` left, counts and an unfinished trim among them, is dropped.
    """
    deinit()
    _state().rng = random.Random(seed)  # noqa: S311 - reproducibility is wanted, not secrecy


def deinit() -> None:
    """End, with what was being trimmed."""
    for state in _STATE:
        if state.trimmer is not None:
            state.trimmer.close()
    _STATE.clear()


def fuzz_count(buf: bytearray) -> int:
    """How many mutants of a queue entry are wanted: ``ENERGY``, whatever the entry is.

    Args:
        buf: the entry; not looked at.
    """
    return ENERGY


def fuzz(buf: bytearray, add_buf: bytearray | None, max_size: int) -> bytearray:
    """A mutant of at most ``max_size`` bytes, empty only if that is 0.

    AFL++'s documentation has it skip what is empty; for mutators in Python its C code ends the whole run instead.
    """
    state = _state()
    seed = state.rng.getrandbits(63)
    before = state.mutator.counts.copy()
    if add_buf and state.rng.random() < CROSSED:
        made = state.mutator.cross(bytes(buf), bytes(add_buf), max_size, seed)
    else:
        made = state.mutator.mutate(bytes(buf), max_size, seed)
    state.said = ",".join((state.mutator.counts - before).keys()) or "nothing"
    return bytearray(made) or bytearray(buf[:max_size]) or bytearray(min(1, max_size))


def describe(max_description_length: int) -> bytes:
    """What the last call did; part of the names of saved files.

    Bytes, though AFL++'s documentation has a string: its C code takes nothing else, and what it meets instead makes
    the next call fail.
    """
    return f"irfuzz-{_state().said}"[:max_description_length].encode()


def introspection() -> bytes:
    """Counts for the introspection file; bytes, as ``describe``."""
    return " ".join(f"{name}={count}" for name, count in sorted(_state().mutator.counts.items())).encode()


def post_process(buf: bytearray) -> bytearray:
    """What the target gets: the buffer as it is.

    AFL++ gives its references up before it reads the answer, and reads it until a new queue entry is calibrated, for
    which it calls this several times: copies of the last ones remain here, and equal buffers have one.
    """
    sent, data = _state().sent, bytes(buf)
    made = sent.setdefault(data, bytearray(data))
    sent.move_to_end(data)
    if len(sent) > SENT:
        sent.popitem(last=False)
    return made


def init_trim(buf: bytearray) -> int:
    """Begin to trim a queue entry; how many steps there may be.

    Args:
        buf: bytes of the entry. What is no model, or cannot be made smaller, has 0 steps.
    """
    state = _state()
    if state.trimmer is not None:
        state.trimmer.close()
    state.trimmer = Trimmer(bytes(buf))
    return state.trimmer.steps


def trim() -> bytearray:
    """The next candidate."""
    trimmer = _state().trimmer
    assert trimmer is not None
    return bytearray(trimmer.candidate())


def post_trim(success: bool) -> int:
    """Whether the last candidate showed the same; the number of the next step, ``steps`` if there is none.

    Args:
        success: AFL++'s answer on what ``trim`` gave; a candidate that showed the same is the base of the next ones.
    """
    trimmer = _state().trimmer
    assert trimmer is not None
    return trimmer.answer(success)
