"""The cause of a finding, as far as a small program tells it, and which findings have one cause.

One optimiser pass breaks several programs, one attribute several reductions. ``Cause.explains`` holds only if the
evidence says so: two causes in one group hide a bug, one cause in two groups costs a look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onnx import defs

from irfuzz.ir.program import Program
from irfuzz.oracle.details import floats_of, odd_attributes, sees_empty
from irfuzz.oracle.message import names_of, normalise_message
from irfuzz.oracle.signature import operators_of
from irfuzz.oracle.types import Symptom, Verdict

SMALL = 12
"""Of a program with more nodes most have no part in the fault, and say nothing of its cause."""

BY_MESSAGE = frozenset({Symptom.CRASH, Symptom.PROTOCOL, Symptom.REJECTION})
"""Symptoms whose message belongs to the cause."""

VALUES = frozenset({Symptom.DIFFERENCE, Symptom.NAN_INF})
"""Symptoms that one cause may have both of."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a small program tells of a cause.

    Attributes:
        target: that is blamed; of passes, which several levels run, the component.
        symptom: what is wrong.
        by: optimiser passes that make it, or ``kernel``, ``compilation``, ``tool``; empty if it was not looked for.
        passes: ``by`` names passes.
        words: what the component said, normalised; empty for wrong outputs.
        kinds: the wrong and the right element type, if that is what is wrong.
        operators: that the wrong output depends on.
        attributes: of them that are not at their defaults.
        floats: odd floating-point types among their values.
        empty: a value of them has no elements.
        nodes: of the program.
    """

    target: str
    symptom: Symptom
    by: str = ""
    passes: bool = False
    words: str = ""
    kinds: str = ""
    operators: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    empty: bool = False
    nodes: int = 0

    @classmethod
    def of(cls, verdict: Verdict, program: Program) -> Cause:
        """What a reduced program and the verdict on it tell."""
        told = verdict.symptom in BY_MESSAGE
        return cls(
            target=verdict.target.partition(":")[0] if verdict.passes else verdict.target,
            symptom=verdict.symptom,
            by=verdict.pass_text or verdict.place,
            passes=bool(verdict.passes),
            words=normalise_message(verdict.message, names_of(program)) if told else "",
            kinds=_kinds(verdict),
            operators=tuple(operators_of(verdict, program)),
            attributes=tuple(odd_attributes(verdict, program)),
            floats=tuple(floats_of(verdict, program)),
            empty=sees_empty(verdict, program),
            nodes=len(program.graph),
        )

    def to_json(self) -> dict[str, Any]:
        """As rows and ``finding.json`` have it."""
        return {**asdict(self), "symptom": self.symptom.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cause:
        """The inverse of ``to_json``.

        Raises:
            KeyError, ValueError, TypeError: it is none.
        """
        return cls(
            target=str(data["target"]),
            symptom=Symptom(data["symptom"]),
            by=str(data["by"]),
            passes=bool(data["passes"]),
            words=str(data["words"]),
            kinds=str(data["kinds"]),
            operators=tuple(map(str, data["operators"])),
            attributes=tuple(map(str, data["attributes"])),
            floats=tuple(map(str, data["floats"])),
            empty=bool(data["empty"]),
            nodes=int(data["nodes"]),
        )

    def explains(self, other: Cause) -> bool:
        """Whether another finding is of this cause, which was found before."""
        if self.target != other.target or (self.by and other.by and self.by != other.by):
            return False
        if self.symptom == other.symptom and self.symptom in BY_MESSAGE:
            return self.words == other.words and (self.operators == other.operators or (self.passes and other.passes))
        if (self.kinds, self.floats, self.empty) != (other.kinds, other.floats, other.empty):
            return False
        if self.symptom != other.symptom:
            # A kernel whose values are wrong gives NaN on other inputs; without an attribute too much is alike.
            both = self.symptom in VALUES and other.symptom in VALUES
            return both and bool(self.attributes) and self._place == other._place
        if self.operators == other.operators:
            # What shows with fewer attributes does not need the others.
            return set(self.attributes) <= set(other.attributes)
        return self._is_sibling_of(other)

    @property
    def _place(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.operators, self.attributes

    def _is_sibling_of(self, other: Cause) -> bool:
        """One operator each, of one family, and the same attributes: ``ReduceSum.axes`` is ``ReduceMax.axes``."""
        if len(self.operators) != 1 or len(other.operators) != 1 or not self.attributes:
            return False
        names, others = ([name.partition(".")[2] for name in one.attributes] for one in (self, other))
        return names == others and _family(self.operators[0]) == _family(other.operators[0])


def _kinds(verdict: Verdict) -> str:
    if verdict.symptom is not Symptom.WRONG_DTYPE:
        return ""
    return "->".join(kind.partition("[")[0] for kind in (verdict.expected, verdict.got))


def _family(operator: str) -> object:
    """What operators have in common that one kernel template computes: their inputs, outputs and attributes.

    An operator of another domain is a family by itself, and so is one without attributes.
    """
    if "." in operator or not defs.has(operator):
        return operator
    schema = defs.get_schema(operator)
    if not schema.attributes:
        return operator
    parts = [[formal.name for formal in row] for row in (schema.inputs, schema.outputs)]
    return parts, sorted(schema.attributes)


def groups(causes: Sequence[Cause | None]) -> list[list[int]]:
    """Places of the findings of one cause, together; the first of each is what explains the others.

    Those of which no cause is known stand alone.
    """
    found: list[list[int]] = []
    for place, cause in enumerate(causes):
        heads = [causes[row[0]] for row in found]
        for row, head in zip(found, heads, strict=True):
            if cause is not None and head is not None and head.explains(cause):
                row.append(place)
                break
        else:
            found.append([place])
    return found
