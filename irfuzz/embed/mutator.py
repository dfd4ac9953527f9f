"""Mutates a model's bytes into those of a valid or loose mutant; other bytes are changed as bytes."""

from __future__ import annotations

import os
import random
from collections import Counter, OrderedDict
from collections.abc import Sequence

from irfuzz.choices import Choices
from irfuzz.embed.invalid_models.model_edits import loose
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.insertion.splice import Splice
from irfuzz.mutate.mutation_engine import AttemptCounts, Engine
from irfuzz.spec import load_specs

PARSED = 128
"""Parsed models that are kept: fuzzers mutate one parent many times."""

TRIES = 4
"""Mutants drawn before one that is small enough is given up."""


OTHER = "other"
"""What stands for the digest of the model that a crossing takes pieces from."""

LOOSE = 0.7
"""Share of loose mutants under a fuzzer."""

VARIABLE = "IRFUZZ_LOOSE"
"""Of the environment: another share."""


class ModelMutator:
    """Structure-aware mutation of bytes for any fuzzer.

    The result hangs on nothing but the arguments of a call: equal calls give equal bytes in every process. Nothing that
    the bytes hold makes it raise.

    Args:
        mutators: names of those to use (default: all of irfuzz's).
        max_nodes: no mutant gets more nodes than this.
        loose: share of the mutants that nobody says are valid (``irfuzz.embed.invalid_models.model_edits``):
            onnx's checker takes most of them, its inference often refuses them. Models that irfuzz finds invalid
            have no others.

    Attributes:
        counts: ``mutated``, ``spliced``, ``loose``, ``bytes`` (what is no model, changed as bytes), ``kept`` (no edit
            was possible within the size) and ``refused`` (edits that failed on a foreign model).

    Raises:
        UsageError: ``loose`` is no share.
    """

    def __init__(self, mutators: Sequence[str] | None = None, *, max_nodes: int = 64, loose: float = 0.0) -> None:
        if not 0.0 <= loose <= 1.0:
            raise UsageError(f"loose: expected a share from 0 to 1, got {loose}")
        self.loose = loose
        self.counts: Counter[str] = Counter()
        self._specs = load_specs()
        self._max_nodes = max_nodes
        self._engine = Engine(self._specs, mutators, max_nodes=max_nodes)
        self._other = _Other()
        self._splicer = Engine(self._specs, [Splice.name], max_nodes=max_nodes, donors=self._other)
        self._parsed: OrderedDict[bytes, Program | None] = OrderedDict()

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """A mutant of at most ``max_size`` bytes.

        Args:
            data: a model, or any other bytes, which are changed as bytes.
            max_size: if no mutant is small enough ``data`` is given as it is, or changed as bytes if it is too large.
            seed: of all draws.
        """
        if self._is_loose(seed):
            made = self._loosened(data, max_size, seed)
            if made is not None:
                return made
        program = self._program(data)
        if program is None:
            made = self._loosened(data, max_size, seed)
            return self._as_bytes(data, max_size, seed) if made is None else made
        for attempt in range(TRIES):
            made = self._edited(self._engine, program, f"{seed}:{attempt}")
            if made is not None and len(made) <= max_size:
                self.counts["mutated"] += 1
                return made
        return self._kept(data, max_size, seed)

    def cross(self, data: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        """A mutant with a piece of another model (``splice``), of at most ``max_size`` bytes.

        Args:
            data: the model that is mutated.
            other: the model that gives the piece.
            max_size: in bytes.
            seed: of all draws.

        Returns:
            A loose mutant if irfuzz cannot edit one of the two; what ``mutate`` gives if nothing of the other fits.
        """
        if self._is_loose(seed):
            made = self._loosened(data, max_size, seed, other)
            return self.mutate(data, max_size, seed) if made is None else made
        program, donor = self._program(data), self._program(other)
        if program is None or donor is None:
            made = self._loosened(data, max_size, seed, other)
            return self.mutate(data, max_size, seed) if made is None else made
        self._other.program = donor
        for attempt in range(TRIES):
            made = self._edited(self._splicer, program, f"{seed}:{attempt}")
            if made is not None and len(made) <= max_size:
                self.counts["spliced"] += 1
                return made
        return self.mutate(data, max_size, seed)

    def forget(self) -> None:
        """Drop the parsed models; nothing but time hangs on them."""
        self._parsed.clear()

    def _is_loose(self, seed: int) -> bool:
        return bool(self.loose) and random.Random(seed).random() < self.loose  # noqa: S311 - reproducible

    def _loosened(self, data: bytes, max_size: int, seed: int, other: bytes = b"") -> bytes | None:
        """A loose mutant; ``None`` if the bytes are no model, or none is small enough."""
        for attempt in range(TRIES):
            try:
                made = loose(data, Choices.from_seed(f"{seed}:loose:{attempt}"), self._max_nodes, other)
            except Exception:  # noqa: BLE001 - see ``_edited``; a name that is no text, for one
                self.counts["refused"] += 1
                return None
            if made is None:
                return None
            if len(made[0]) <= max_size:
                self.counts["loose"] += 1
                return made[0]
        return None

    def _edited(self, engine: Engine, program: Program, seed: str) -> bytes | None:
        try:
            mutant = engine.mutate(program, Choices.from_seed(seed))
            return None if mutant is None else mutant.to_bytes()
        except Exception:  # noqa: BLE001
            # A foreign model may be one that no code of ours, or of onnx's inference, was made for; the fuzzer that
            # embeds it must go on.
            self.counts["refused"] += 1
            return None
        finally:
            engine.counts = AttemptCounts()  # a night's fuzzing would fill the memory with messages

    def _program(self, data: bytes) -> Program | None:
        """The parsed model; ``None`` if the bytes are none that irfuzz can edit."""
        if data in self._parsed:
            self._parsed.move_to_end(data)
            return self._parsed[data]
        program: Program | None
        try:
            program = Program.from_bytes(data)
            if not len(program.graph):
                program = None
        except Exception:  # noqa: BLE001 - see ``_edited``
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


class _Other:
    """The one donor of a crossing."""

    program: Program

    def digests(self) -> Sequence[str]:
        return (OTHER,)

    def get(self, digest: str) -> Program:
        assert digest == OTHER
        return self.program


def for_fuzzer() -> ModelMutator:
    """What AFL++ and Atheris use: the share of loose mutants is ``LOOSE``, or what the environment says.

    Raises:
        UsageError: the environment says no share.
    """
    said = os.environ.get(VARIABLE, "")
    try:
        return ModelMutator(loose=float(said) if said else LOOSE)
    except (ValueError, UsageError):
        raise UsageError(f"{VARIABLE}: expected a share from 0 to 1, got {said!r}") from None
