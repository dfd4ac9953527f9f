"""What a case of conformance is: a model, values for its inputs, and what is known of its outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program

SEVERAL = "(several)"
"""Stands for the operator of a model in which no single one is meant."""


class CaseSource(StrEnum):
    """Where a case comes from."""

    NODE = "node"
    """``onnx.backend.test``: the cases that ONNX publishes for its operators, with expected values."""
    BUG = "bug"
    """The model of a bug that irfuzz found in some component."""
    SEED = "seed"
    """A shipped seed model."""
    DRAWN = "drawn"
    """A call of one operator, drawn from its description."""


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What is run.

    Attributes:
        program: the model.
        inputs: values by graph input name.
        expected: outputs by name as ONNX publishes them; ``None`` if nobody has written them down.
    """

    program: Program
    inputs: Mapping[str, Value]
    expected: Mapping[str, Value] | None = None

    def digest(self) -> str:
        """What is the same for the same model, inputs and expected values alone."""
        digest = hashlib.blake2b(self.program.to_bytes(), digest_size=8)
        for name, value in (*sorted(self.inputs.items()), *sorted((self.expected or {}).items())):
            digest.update(name.encode())
            for part in _bytes_of(value):
                digest.update(part)
        return digest.hexdigest()

    def types(self) -> tuple[str, ...]:
        """The element types of the program's values, as ONNX calls them; sorted."""
        facts = (self.program.fact(value) for node in self.program.nodes() for value in (*node.inputs, *node.outputs)
                 if value is not None)  # fmt: skip
        return tuple(sorted({fact.dtype.name for fact in facts if isinstance(fact, TensorFact)} - {"UNDEFINED"}))


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """A case that is made when it is run.

    Attributes:
        name: unique, ``SOURCE/...``.
        source: of which kind it is.
        operator: the one that it is about, with its domain in front if that is not ONNX's default one; ``SEVERAL``.
        make: makes what is run; raises ``InvalidProgram`` or ``Unsupported`` if irfuzz cannot take the model in or feed
            it.
    """

    name: str
    source: CaseSource
    operator: str
    make: Callable[[], CaseRun]


def operator_of(program: Program) -> str:
    """The only operator of a program's main graph beside constants; ``SEVERAL`` if there are others."""
    nodes = program.nodes()
    # What has no inputs is a constant that feeds the call.
    calls = [node for node in nodes if node.inputs] or nodes
    found = {f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in calls}
    return found.pop() if len(found) == 1 else SEVERAL


def _bytes_of(value: Value) -> Iterator[bytes]:
    if isinstance(value, list):
        yield b"["
        for item in value:
            yield from _bytes_of(item)
        yield b"]"
    elif value is None:
        yield b"none"
    else:
        array = np.asarray(value)
        yield f"{array.dtype}{array.shape}".encode()
        yield repr(array.tolist()).encode() if array.dtype.kind in "OUS" else array.tobytes()
