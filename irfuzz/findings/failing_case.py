"""A program with the inputs on which it fails, as objects and as the bytes that are stored."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.store.npz_tensors import pack, unpack


class FailingCase:
    """A program and its inputs; each form is made from the other once, when it is first asked for.

    Nobody edits what it gives.

    Args:
        model: bytes of the program, or the program itself.
        inputs: as ``store.tensors.pack`` gives them, or values by name.
        settled: false if time ended before all nodes were removed that have no part in the failure; not stored.

    Attributes:
        settled: the same.
    """

    __slots__ = ("_inputs", "_model", "_packed", "_program", "_proto", "_stored", "settled")

    def __init__(self, model: bytes | Program, inputs: bytes | Mapping[str, Value], *, settled: bool = True) -> None:
        self.settled = settled
        self._model = model if isinstance(model, bytes) else None
        self._program = model if isinstance(model, Program) else None
        self._stored: Program | None = None
        self._proto: onnx.ModelProto | None = None
        self._packed = inputs if isinstance(inputs, bytes) else None
        self._inputs = None if isinstance(inputs, bytes) else inputs

    @property
    def model(self) -> bytes:
        """The program's bytes."""
        if self._model is None:
            assert self._program is not None
            self._model = self._program.to_bytes()
        return self._model

    @property
    def program(self) -> Program:
        """The program that was given.

        Raises:
            InvalidProgram: bytes were given that are none.
        """
        return self._program if self._program is not None else self.stored

    @property
    def stored(self) -> Program:
        """The program as its bytes say it: with a wrong declaration it is none.

        Raises:
            InvalidProgram: it is none.
        """
        if self._stored is None:
            self._stored = Program.from_bytes(self.model)
        return self._stored

    @property
    def proto(self) -> onnx.ModelProto:
        """The program as protobuf.

        Raises:
            DecodeError: the bytes are no model.
        """
        if self._proto is None:
            self._proto = onnx.load_model_from_string(self.model)
        return self._proto

    @property
    def packed(self) -> bytes:
        """The inputs as bytes."""
        if self._packed is None:
            assert self._inputs is not None
            self._packed = pack(self._inputs)
        return self._packed

    @property
    def inputs(self) -> Mapping[str, Value]:
        """Values by graph input name.

        Raises:
            InvalidProgram: the bytes are no inputs.
        """
        if self._inputs is None:
            assert self._packed is not None
            self._inputs = unpack(self._packed)
        return self._inputs
