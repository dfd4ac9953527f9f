"""Programs as rows of a database hold them: small ones whole, of large ones what is their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irfuzz.errors import InvalidProgram
from irfuzz.execute.large_model_limits import weight_bytes, wire_bytes
from irfuzz.facts import Fact
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import serde
from irfuzz.ir.serialization.external_tensor_references import ExternalLocation, byte_size
from irfuzz.store.blob_store import SUFFIX, Blobs
from irfuzz.store.model_blob_packing import (
    LARGE_PROGRAM,
    blobs_named,
    is_packed,
    packed,
    put_into,
    unpacked,
    without_tensors,
)
from irfuzz.store.model_compression import compressed, expanded
from irfuzz.store.shared_weight_serialization import SHARED, blob_digest, shared_bytes, shared_program

if TYPE_CHECKING:
    import onnx_ir as ir

INNER = 64 << 10
"""A model without its initializers that still has so many bytes is searched for other tensors."""

BULKY = 1 << 20
"""The same for what is not kept for long: the search takes as long as a mutation."""

OWN = 8 << 10
"""Bytes of new weights that a mutant may bring along; of the others it keeps their digests, and its edits make them."""


def _no_seed(digest: str) -> bytes:
    raise InvalidProgram(f"a stored model refers to its seed {digest}: expected a database that has it")


@dataclass(frozen=True, slots=True)
class StoredPrograms:
    """Writes programs as bytes and reads them, with the large weights of seeds in a store of blobs.

    A mutant shares the weights of its seed. Weights that its edits made are not kept if they are many: noise on all
    elements of a weight is as large as the weight, and the edits make it again.

    Attributes:
        blobs: of the campaign.
    """

    blobs: Blobs

    def seed(self, program: Program) -> bytes:
        """A program with all of its weights: a large one packed, its large weights in the blobs; a small one
        compressed.

        It can be read without any edits.
        """
        if not is_large(program):
            return compressed(program.to_bytes())
        return packed(_less(shared_bytes(program, self.blobs), put_into(self.blobs)))

    def whole(self, program: Program) -> bytes:
        """A program whose new weights, however large, stand in these bytes; quick, for what is not kept for long.

        Weights that the blobs have are named there; no blob is added and nothing compressed.
        """
        if not is_large(program):
            return program.to_bytes()
        data = shared_bytes(program, self.blobs, keep=lambda tensor: False)
        if len(data) > BULKY:
            data = without_tensors(data, SHARED, lambda digest, raw: not self.blobs.has(digest))
        return packed(data, quickly=True)

    def mutant(self, program: Program) -> bytes:
        """A program that its edits can make again: of new weights above ``OWN`` bytes in all only digests are kept, and
        no blob is added.

        A small program is stored whole.
        """
        if not is_large(program):
            return program.to_bytes()
        left = OWN

        def stays(digest: str, size: int) -> bool:
            nonlocal left
            if size > left or self.blobs.has(digest):
                return False
            left -= size
            return True

        def place(tensor: ir.TensorProtocol) -> ExternalLocation | None:
            size = byte_size(tensor)
            if size < SHARED or stays(digest := blob_digest(tensor), size):
                return None
            return ExternalLocation(f"{digest}{SUFFIX}", 0, size)

        data = serde.encode_bytes(program.model, program.residue, place)
        return packed(_less(data, lambda digest, raw: stays(digest, len(raw))))

    def is_whole(self, data: bytes) -> bool:
        """Whether stored bytes and the blobs hold all weights, so that no edits have to make them again.

        Args:
            data: what one of the methods above gave, or a whole model.
        """
        return not is_packed(data) or all(map(self.blobs.has, blobs_named(unpacked(data))))

    def small_mutant(self, model: bytes, digest: str, seed: bytes) -> bytes:
        """A mutant that is not large, compressed, without what it has in common with its seed.

        Args:
            model: its bytes, as ``whole`` gives them.
            digest: of the seed.
            seed: its stored bytes; nothing is left out if they are empty or those of a large program.
        """
        plain = b"" if is_packed(seed) else expanded(seed, lambda _: b"")
        return compressed(model, digest, plain)

    def read(
        self,
        data: bytes,
        rebuild: Callable[[], Program],
        seed: Callable[[str], bytes] = _no_seed,
        recorded: Mapping[str, Fact] | None = None,
    ) -> Program:
        """The program of stored bytes, in the form of any version of irfuzz.

        Args:
            data: what one of the methods above gave, or a whole model.
            rebuild: makes it again from its edits; asked if weights were not kept.
            seed: gives the stored bytes of the program with a digest; asked about the seed of a small mutant.
            recorded: see ``Program.infer``.

        Raises:
            InvalidProgram: it is no program, or its edits do not make it.
        """
        if not is_packed(data):
            return Program.from_bytes(expanded(data, seed), recorded)
        return shared_program(unpacked(data), self.blobs, recorded) if self.is_whole(data) else rebuild()


def _less(data: bytes, stays: Callable[[str, bytes], bool]) -> bytes:
    """A model without the large tensors of its bodies, functions and attributes, if it has any."""
    return without_tensors(data, SHARED, stays) if len(data) > INNER else data


def is_large(program: Program) -> bool:
    """Whether the weights of a program are stored by digest: whether those of its main graph have at least
    ``LARGE_PROGRAM`` bytes together.
    """
    return wire_bytes(program) >= LARGE_PROGRAM and weight_bytes(program) >= LARGE_PROGRAM
