"""The features that a program shows, and how often each has been seen before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.value import fact_of
from irfuzz.spec import full_name, load_specs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

Feature: TypeAlias = tuple[Hashable, ...]
"""A named trait of a program, for example ``("dtype", "Relu", "FLOAT16")``."""

SMALL = 4
"""Nodes of a program in which an operator stands as good as alone."""

_LISTS = (ir.AttributeType.INTS, ir.AttributeType.FLOATS, ir.AttributeType.STRINGS)
_SCALARS = (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING)
_INPUT = "<input>"


def size_class(dim: object) -> object:
    """A size as what usually makes a difference: 0, 1, 2, 3, odd, even, a multiple of 16, or named.

    Returns:
        Numbers up to 3 as they are, else 16 for a multiple of 16, 4 for another even number and 5 for an odd one;
        ``"?"`` for a name and for an unknown size.
    """
    if type(dim) is not int:
        return "?"
    if dim <= 3:
        return dim
    if dim % 16 == 0:
        return 16
    return 4 + dim % 2


def attribute_bucket(value: object) -> Hashable:
    """An attribute's value as a class: itself if it is small, its sign and magnitude if it is a number.

    Whole numbers from -4 to 16 stand for themselves, others for their sign and number of bits. Floats below 4 in
    magnitude are rounded to one decimal, all others are ``"large"``. Of a list the first four items count, each by its
    own class.
    """
    if isinstance(value, bool | str | bytes) or value is None:
        return value
    if isinstance(value, int):
        return value if -4 <= value <= 16 else value.bit_length() * (1 if value > 0 else -1) + 100
    if isinstance(value, float):
        return round(value, 1) if abs(value) < 4 else "large"
    if isinstance(value, list | tuple):
        return tuple(attribute_bucket(item) for item in value[:4])
    return "other"


def features(program: Program, nodes: Iterable[ir.Node] | None = None) -> Iterator[Feature]:
    """Every feature of some nodes of a program (default: its main graph's), in their order and with repeats.

    For each operator: input dtype and rank, class of the input's sizes, each scalar or list attribute's bucket,
    and the pair with each operator that feeds it (COMET, equations 1 to 3; GraphFuzz's operator-level coverage).
    """
    small = len(program.graph) <= SMALL
    for node in program.nodes() if nodes is None else nodes:
        op = node.op_type if not node.domain else full_name(node.domain, node.op_type)
        yield ("operator", op)
        if small:
            yield from _alone(program, node)
        yield ("op", op, len(node.inputs), len(node.outputs))
        for index, value in enumerate(node.inputs):
            if value is None or index > 1:
                continue
            producer = value.producer()
            before = _INPUT if producer is None else producer.op_type
            if producer is not None and producer.domain:
                before = full_name(producer.domain, producer.op_type)
            yield ("edge", before, op)
            fact = fact_of(value)
            if isinstance(fact, TensorFact):
                shape = fact.shape
                yield ("dtype", op, index, fact.dtype.value)
                if shape is not None:
                    yield ("rank", op, index, len(shape))
                    yield ("shape", op, index, tuple(map(size_class, shape[-3:])))
        # UserDict.data: see irfuzz.ir.clone.
        for name, attr in entries(node.attributes).items():
            if attr.type in _SCALARS or attr.type in _LISTS:
                yield ("attr", op, name, attribute_bucket(attr.value))


def _alone(program: Program, node: ir.Node) -> Iterator[Feature]:
    """What stood where nothing hides what is wrong with it: an operator's version, the element type of its first
    input, the type to which its result is quantised.
    """
    op, spec = node.op_type, load_specs().get(node.op_type, program.opset, node.domain)
    if spec is None or node.domain:
        return
    yield ("alone", op, spec.since)
    first = node.inputs[0] if node.inputs else None
    fact = None if first is None else fact_of(first)
    if isinstance(fact, TensorFact):
        yield ("alone", op, spec.since, fact.dtype.value)
        if fact.shape == ():
            yield ("alone", op, "scalar")
        elif 0 in (fact.shape or ()):
            yield ("alone", op, "empty")
    if any(_is_special(program.const_array(v)) for v in node.inputs if v is not None):
        yield ("alone", op, "special")
    producer, made = None if first is None else first.producer(), fact_of(node.outputs[0])
    if producer is not None and "quantises" in spec.traits and isinstance(made, TensorFact):
        yield ("quantised", producer.op_type, made.dtype.value)


def _is_special(array: np.ndarray | None) -> bool:
    """Whether a constant has NaN or an infinity in it."""
    return array is not None and array.dtype.kind == "f" and not np.isfinite(array).all()


class FeatureCounts:
    """Counts of features over all programs that were added."""

    __slots__ = ("_counts", "_favours", "programs")

    def __init__(self) -> None:
        self._counts: dict[Feature, int] = {}
        self._favours: Mapping[Feature, float] = {}
        self.programs = 0

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, feature: Feature) -> int:
        """How often the feature occurred in what was added, repeats within one program included; 0 if it never did."""
        return self._counts.get(feature, 0)

    def weight(self, feature: Feature) -> float:
        """How much a draw that shows the feature is worth: less the more often it was seen, times its favour.

        It is ``favour / (1 + count)``; the favour is 1 unless ``favour`` has set another one, so an unseen feature is
        worth 1.
        """
        return self._favours.get(feature, 1.0) / (1 + self.count(feature))

    def favour(self, favours: Mapping[Feature, float]) -> None:
        """Weigh features by numbers above 0 from now on, in place of those before; what is not among them by 1.

        The mapping is kept and not copied: what its owner changes in it later takes effect at once.
        """
        self._favours = favours

    def add(self, feature: Feature) -> bool:
        """Count one feature, which need not be one that ``features`` finds; true if it is new. ``programs`` stays as it
        is.
        """
        counts = self._counts
        before = counts.get(feature, 0)
        counts[feature] = before + 1
        return before == 0

    def add_program(self, program: Program) -> int:
        """Count all features of a program's main graph, and the program itself; the answer is how many of them were
        new.
        """
        return self.add_features(features(program))

    def add_mutant(self, program: Program) -> int:
        """Count the features of what was edited since the program was cloned; the answer is how many were new.

        If the parent was added before, just as many are new as ``add_program`` would find.
        """
        return self.add_features(features(program, program.touched))

    def add_features(self, found: Iterable[Feature]) -> int:
        """Count the features of one more program; the answer is how many were new.

        Args:
            found: with repeats, as ``features`` gives them.
        """
        counts = self._counts
        before = len(counts)
        for feature in found:
            counts[feature] = counts.get(feature, 0) + 1
        self.programs += 1
        return len(counts) - before

    def state(self) -> list[list[Any]]:
        """Each feature and its count, as JSON-able data that ``recall`` takes."""
        return [[feature, count] for feature, count in self._counts.items()]

    def recall(self, state: Iterable[Sequence[Any]]) -> None:
        """Go on from the counts that ``state`` gave, on top of those that are there.

        Args:
            state: after JSON, so that tuples in it are lists.
        """
        for feature, count in state:
            known = _tuple(feature)
            self._counts[known] = self._counts.get(known, 0) + count


def _tuple(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([_tuple(item) if type(item) is list else item for item in items])
