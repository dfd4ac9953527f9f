"""Bytes of a model enter, those of a valid mutant of it leave; what is no model is changed as bytes."""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Sequence

from irfuzz.choices import Choices
from irfuzz.errors import IrfuzzError
from irfuzz.ir.program import Program
from irfuzz.mutate.engine import Engine
from irfuzz.mutate.splice import Splice
from irfuzz.mutate.trace import FixedDonors
from irfuzz.spec import load_specs

PARSED = 128
"""Parsed models that are kept: fuzzers mutate one parent many times."""

TRIES = 4
"""Mutants drawn before one that is small enough is given up."""


class ModelMutator:
    """Structure-aware mutation of bytes for any fuzzer.

    The result hangs on nothing but the arguments of a call: equal calls give equal bytes in every process. Nothing that
    the bytes hold makes it raise.

    Args:
        mutators: names of those to use (default: all of irfuzz's).
        max_nodes: no mutant gets more nodes than this.

    Attributes:
        counts: ``mutated``, ``spliced``, ``bytes`` (what is no model, changed as bytes), ``kept`` (no edit was possible
            within the size) and ``refused`` (edits that failed on a foreign model).
    """

    def __init__(self, mutators: Sequence[str] | None = None, *, max_nodes: int = 64) -> None:
        self.counts: Counter[str] = Counter()
        self._specs = load_specs()
        self._max_nodes = max_nodes
        self._engine = Engine(self._specs, mutators, max_nodes=max_nodes)
        self._parsed: OrderedDict[bytes, Program | None] = OrderedDict()

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """A mutant of at most ``max_size`` bytes."""
        program = self._program(data)
        if program is None:
            return self._as_bytes(data, max_size, seed)
        for attempt in range(TRIES):
            made = self._edited(self._engine, program, f"{seed}:{attempt}")
            if made is not None and len(made) <= max_size:
                self.counts["mutated"] += 1
                return made
        return self._kept(data, max_size, seed)

    def cross(self, data: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        """A mutant with a piece of another model (``splice``), of at most ``max_size`` bytes."""
        program, donor = self._program(data), self._program(other)
        if program is None or donor is None:
            return self.mutate(data, max_size, seed)
        engine = Engine(
            self._specs, [Splice.name], max_nodes=self._max_nodes, donors=FixedDonors({donor.digest: donor})
        )
        for attempt in range(TRIES):
            made = self._edited(engine, program, f"{seed}:{attempt}")
            if made is not None and len(made) <= max_size:
                self.counts["spliced"] += 1
                return made
        return self.mutate(data, max_size, seed)

    def forget(self) -> None:
        """Drop the parsed models; nothing but time hangs on them."""
        self._parsed.clear()

    def _edited(self, engine: Engine, program: Program, seed: str) -> bytes | None:
        try:
            mutant = engine.mutate(program, Choices.from_seed(seed))
            return None if mutant is None else mutant.to_bytes()
        except (IrfuzzError, ValueError, RecursionError, MemoryError):
            # A foreign model may be one that no code of ours was made for; the fuzzer that embeds it must go on.
            self.counts["refused"] += 1
            return None

    def _program(self, data: bytes) -> Program | None:
        """The parsed model; ``None`` where the bytes are none that irfuzz can edit."""
        if data in self._parsed:
            self._parsed.move_to_end(data)
            return self._parsed[data]
        program: Program | None
        try:
            program = Program.from_bytes(data)
            if not len(program.graph):
                program = None
        except (IrfuzzError, ValueError, RecursionError, MemoryError, OverflowError):
            program = None
        self._parsed[data] = program
        if len(self._parsed) > PARSED:
            self._parsed.popitem(last=False)
        return program

    def _kept(self, data: bytes, max_size: int, seed: int) -> bytes:
        if len(data) <= max_size:
            self.counts["kept"] += 1
            return data
        return self._as_bytes(data, max_size, seed)

    def _as_bytes(self, data: bytes, max_size: int, seed: int) -> bytes:
        """A few bytes replaced, inserted or removed, as any fuzzer does."""
        self.counts["bytes"] += 1
        rng = random.Random(f"{seed}:{len(data)}")  # noqa: S311 - reproducibility is wanted, not secrecy
        made = bytearray(data[:max_size])
        for _ in range(rng.randint(1, 4)):
            kind = rng.randrange(3)
            place = rng.randint(0, len(made)) if made else 0
            if kind == 0 and place < len(made):
                made[place] = rng.randrange(256)
            elif kind == 1 and len(made) < max_size:
                made.insert(place, rng.randrange(256))
            elif made:
                del made[min(place, len(made) - 1)]
        return bytes(made[:max_size])
