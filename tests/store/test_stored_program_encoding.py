"""Programs as rows hold them: the weights of seeds once, those that edits made not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.model_blob_packing import LARGE_PROGRAM, is_packed
from irfuzz.store.stored_program_encoding import BULKY, OWN, StoredPrograms, is_large
from tests.large_weights import model

pytestmark = pytest.mark.unit


def never() -> Program:
    raise AssertionError("made again though nothing is missing")


def changed(program: Program, size: int) -> Program:
    """A mutant with a new constant of so many bytes."""
    mutant = program.clone()
    mutant.add_output(mutant.constant(np.arange(size // 4, dtype=np.float32)))
    return mutant


def test_a_small_program_is_stored_whole(tmp_path: Path) -> None:
    programs = StoredPrograms(FolderBlobs(tmp_path))
    program = Program.from_proto(model(LARGE_PROGRAM - 4))
    assert not is_large(program)
    for data in (programs.whole(program), programs.mutant(program)):
        assert data == program.to_bytes()
    for data in (programs.seed(program), programs.whole(program)):
        assert programs.read(data, never).to_bytes() == program.to_bytes()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("large", [False, True])
def test_a_small_mutant_is_stored_without_what_its_seed_has(tmp_path: Path, *, large: bool) -> None:
    programs = StoredPrograms(FolderBlobs(tmp_path))
    seed = Program.from_proto(model(LARGE_PROGRAM if large else LARGE_PROGRAM - 4))
    stored, mutant = programs.seed(seed), changed(Program.from_proto(model(LARGE_PROGRAM - 4)), OWN)
    data = programs.small_mutant(mutant.to_bytes(), seed.digest, stored)
    asked: list[str] = []

    def read(digest: str) -> bytes:
        asked.append(digest)
        return stored

    assert programs.read(data, never, read).to_bytes() == mutant.to_bytes()
    assert asked == [seed.digest] * (not large)
    if not large:
        assert len(data) < 2 * OWN
        with pytest.raises(InvalidProgram, match=seed.digest):
            programs.read(data, never)


@pytest.mark.parametrize("inner", [0, 2 * BULKY])
def test_a_seed_is_stored_once(tmp_path: Path, inner: int) -> None:
    blobs = FolderBlobs(tmp_path)
    programs = StoredPrograms(blobs)
    program = Program.from_proto(model(LARGE_PROGRAM, inner=inner))
    seed = programs.seed(program)
    assert is_packed(seed)
    assert len(seed) < 1000
    assert len(list(blobs.digests())) == 1 + (inner > 0)
    for data in (seed, programs.whole(program), programs.mutant(program)):
        assert len(data) < 1000
        assert programs.read(data, never).digest == program.digest
        assert programs.read(data, never).to_bytes() == program.to_bytes()
    assert len(list(blobs.digests())) == 1 + (inner > 0)


@pytest.mark.parametrize(("size", "made_again"), [(OWN, False), (OWN + 4, True)])
def test_a_mutant_brings_few_new_weights_along(tmp_path: Path, size: int, *, made_again: bool) -> None:
    programs = StoredPrograms(FolderBlobs(tmp_path))
    program = Program.from_proto(model(LARGE_PROGRAM))
    programs.seed(program)
    mutant = changed(program, size)
    asked: list[int] = []

    def rebuild() -> Program:
        asked.append(1)
        return mutant.clone()

    assert programs.read(programs.mutant(mutant), rebuild).digest == mutant.digest
    assert len(asked) == made_again
    assert programs.read(programs.whole(mutant), never).digest == mutant.digest
    assert len(list(FolderBlobs(tmp_path).digests())) == 1


def test_weights_in_attributes_count_as_new_ones_too(tmp_path: Path) -> None:
    programs = StoredPrograms(FolderBlobs(tmp_path))
    program = Program.from_proto(model(LARGE_PROGRAM))
    programs.seed(program)
    mutant = program.clone()
    noise = np.random.default_rng(0).random(BULKY, np.float32)
    mutant.set_attr(next(n for n in mutant.nodes() if n.op_type == "Constant"), "value", array_tensor(noise))
    assert len(programs.mutant(mutant)) < 1000 < len(noise) < len(programs.whole(mutant))
    assert programs.read(programs.whole(mutant), never).digest == mutant.digest
