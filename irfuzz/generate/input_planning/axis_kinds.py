"""What an open axis is (a batch, a side of an image, samples of a signal, ...) and the sizes that such axes have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning.element_flow import Flow
from irfuzz.ir.program import Program
from irfuzz.spec import has_trait, trait_values


class Kind(StrEnum):
    """What an axis counts."""

    BATCH = "batch"
    CHANNEL = "channel"
    IMAGE = "image"
    """A side of an image."""
    SIGNAL = "signal"
    """Samples of a sound."""
    FRAMES = "frames"
    """Rows of features over time."""
    SEQUENCE = "sequence"
    """Tokens."""
    PAST = "past"
    """Tokens of a cache."""
    OTHER = "other"


SIZES: Mapping[Kind, tuple[int, ...]] = {
    Kind.BATCH: (1, 2, 3),
    Kind.CHANNEL: (3, 1, 4),
    Kind.IMAGE: (64, 160, 32, 48, 96, 224, 320, 416, 512, 640),
    Kind.SIGNAL: (512, 1024, 16000, 4096, 8000, 256, 576, 1536, 32000, 48000, 160000),
    Kind.FRAMES: (64, 128, 100, 256, 512, 16, 32, 300, 1000, 3000),
    Kind.SEQUENCE: (16, 8, 32, 128, 64, 512, 24, 1),
    Kind.PAST: (8, 16, 4, 24, 1, 32),
    Kind.OTHER: (16, 1, 8, 32, 64, 128, 512, 3, 4, 2),
}
"""The sizes of each kind, those that are tried first in front."""

NAMES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.PAST, re.compile(r"past|cache|kv_len", re.IGNORECASE)),
    (Kind.BATCH, re.compile(r"batch|^bs$|^[nb]$|num_samples$", re.IGNORECASE)),
    (Kind.IMAGE, re.compile(r"height|width|^[hw]$|^img|image|rows|cols|columns", re.IGNORECASE)),
    (Kind.SIGNAL, re.compile(r"samples|audio|wave|signal|speech", re.IGNORECASE)),
    (Kind.CHANNEL, re.compile(r"channel", re.IGNORECASE)),
    (Kind.FRAMES, re.compile(r"frame|time|steps", re.IGNORECASE)),
    (Kind.SEQUENCE, re.compile(r"seq|len|token|word|^[tlsq]$", re.IGNORECASE)),
)
"""Names of axes that say what they count."""

SOUNDS = re.compile(r"audio|wav|speech|signal|sound|waveform|pcm", re.IGNORECASE)
"""Names of inputs that are sounds."""

MOST_FOLLOWED = 120
"""Calls that are looked at from an input on, until one says what the input is."""


@dataclass(frozen=True, slots=True)
class AxisReader:
    """The first call behind an input that says what the input is.

    Attributes:
        op: its operator.
        rank: of its first input or of its weights, which have the same in a convolution; 0 if neither is known.
    """

    op: str
    rank: int


def first_reader(program: Program, flow: Flow, value: ir.Value) -> AxisReader | None:
    """The nearest call that does more than pass an input on, also inside bodies; ``None`` if there is none among the
    first ``MOST_FOLLOWED`` calls.
    """
    for node, _ in flow.calls(value, lambda node, index: has_trait(node, "keeps_kind"), MOST_FOLLOWED):
        if not has_trait(node, "keeps_kind"):
            facts = [program.tensor(given) for given in node.inputs[:2]]
            return AxisReader(node.op_type, max((fact.rank or 0 for fact in facts if fact is not None), default=0))
    return None


def _counted(reader: AxisReader) -> Kind | None:
    """What the first input of an operator counts, of the largest rank that is not above the reader's."""
    kinds = trait_values("counted_by_rank").get(reader.op, {})
    least = max((rank for rank in map(int, kinds) if rank <= reader.rank), default=None)
    return None if least is None else Kind(kinds[str(least)])


def kind_of(program: Program, flow: Flow, value: ir.Value, axis: int, name: str) -> Kind:
    """What one axis of an input counts: its name says it, or its place and what reads the input.

    Args:
        program: it has the input.
        flow: of the program.
        value: the input.
        axis: of it.
        name: of the axis; empty if it has none.
    """
    fact = program.tensor(value)
    rank = (fact.rank or 0) if fact is not None else 0
    told = next((kind for kind, pattern in NAMES if pattern.search(name)), None)
    if told is Kind.BATCH and axis and len(name) == 1:
        told = None
    whole = fact is not None and fact.dtype.is_integer()
    reader = None if whole or rank < 2 else first_reader(program, flow, value)
    read = None if reader is None else _counted(reader)
    if SOUNDS.search(value.name or "") and rank <= 3:
        read = Kind.SIGNAL
    if told is not None and told not in (Kind.SEQUENCE, Kind.FRAMES):
        return told
    if axis == 0 and rank >= 2 and told is None:
        return Kind.BATCH
    if read is Kind.SIGNAL:
        # With features beside it, an axis holds frames, not samples.
        features = (
            fact is not None and rank == 3 and max((d for d in fact.shape or () if type(d) is int), default=1) > 2
        )
        return Kind.FRAMES if features else Kind.SIGNAL
    if read is Kind.IMAGE and rank >= 4:
        return Kind.CHANNEL if axis == 1 and _channels_first(fact) else Kind.IMAGE
    if told is not None:
        return told
    return Kind.SEQUENCE if whole and rank >= 2 else read or Kind.OTHER


def _channels_first(fact: TensorFact | None) -> bool:
    """True unless the last size is one of channels."""
    return fact is None or not fact.shape or fact.shape[-1] not in (1, 3, 4)
