"""The cause of a finding, as far as a small program shows it, and which findings have one cause.

One optimiser pass breaks several programs, one attribute several reductions. ``Cause.explains`` holds only if the
evidence says so: two causes in one group hide a bug, one cause in two groups costs a look.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onnx import defs

from irfuzz.findings.causes.wrong_dtype_shape_relation import IN_A_SEQUENCE, KINDS, OUT_OF_SEQUENCE, relation_of
from irfuzz.ir.program import Program
from irfuzz.oracle.fault_signature import operators_of
from irfuzz.oracle.message_normalization import names_of, normalise_message
from irfuzz.oracle.signature_details import floats_of, odd_attributes, sees_empty
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.spec import trait_values, with_trait

SMALL = 12
"""Of a program with more nodes most have no part in the fault, and say nothing of its cause."""

BY_MESSAGE = frozenset({Symptom.CRASH, Symptom.PROTOCOL, Symptom.REJECTION})
"""Symptoms whose message belongs to the cause."""

VALUES = frozenset({Symptom.DIFFERENCE, Symptom.NAN_INF})
"""Symptoms that one cause may have both of."""

_INFERENCE = "ShapeInferenceError"
"""What onnxruntime says where onnx's inference refuses a node; the words behind it are that node's."""

_WRAPPED = frozenset({IN_A_SEQUENCE, OUT_OF_SEQUENCE})


@dataclass(frozen=True, slots=True)
class Cause:
    """What a small program tells of a cause.

    Attributes:
        target: that is blamed; of passes, which several levels run, the component.
        symptom: what is wrong.
        by: optimiser passes that make it, or ``kernel``, ``compilation``, ``tool``; empty if it was not looked for.
        passes: ``by`` names passes.
        words: what the component said, normalised; the rule that is broken by what it should have refused; empty for
            wrong outputs.
        kinds: how a wrong type or shape stands to the right one (``kind_relation``).
        operators: that the wrong output depends on.
        attributes: of them that are not at their defaults.
        floats: odd floating-point types among their values.
        empty: a value of them has no elements.
        needs: what alone makes the fault go away if it is changed (``conditions``); empty if nothing does, or nothing
            was tried.
        nodes: of the program.
        settled: all nodes were removed that have no part in the fault; otherwise time ended first.
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
    needs: tuple[str, ...] = ()
    nodes: int = 0
    settled: bool = True

    @classmethod
    def of(cls, verdict: Verdict, program: Program, needs: Sequence[str] = (), *, settled: bool = True) -> Cause:
        """What a reduced program, the verdict on it and its conditions tell.

        Args:
            verdict: on the program. If passes are to blame the variant of the target does not count.
            program: best made small, for all that computes the output counts as taking part.
            needs: conditions without which the fault does not show.
            settled: all nodes were removed that have no part in it.
        """
        lenient = verdict.symptom is Symptom.LENIENCY
        rule = verdict.rule if lenient else ""
        told = verdict.symptom in BY_MESSAGE
        operators, attributes = operators_of(verdict, program), odd_attributes(verdict, program)
        if lenient:  # others have no part in it, though the program is not always made smaller than them
            operators = [verdict.operator]
            attributes = [name for name in attributes if name.startswith(f"{verdict.operator}.")]
        return cls(
            target=verdict.target.partition(":")[0] if verdict.passes else verdict.target,
            symptom=verdict.symptom,
            by=verdict.pass_text or verdict.place,
            passes=bool(verdict.passes),
            words=normalise_message(verdict.message, names_of(program)) if told else rule,
            kinds=relation_of(verdict),
            operators=tuple(operators),
            attributes=tuple(attributes),
            floats=tuple(floats_of(verdict, program)),
            empty=sees_empty(verdict, program),
            needs=tuple(needs),
            nodes=len(program.graph),
            settled=settled,
        )

    def to_json(self) -> dict[str, Any]:
        """As rows and ``finding.json`` have it."""
        return {**asdict(self), "symptom": self.symptom.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cause:
        """The inverse of ``to_json``.

        Args:
            data: read from JSON; only ``needs`` and ``settled`` may be missing.

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
            needs=tuple(map(str, data.get("needs", ()))),
            nodes=int(data["nodes"]),
            settled=bool(data.get("settled", True)),
        )

    def explains(self, other: Cause) -> bool:
        """Whether another finding is of this cause, which was found before.

        It must blame the same target, and the same passes or place as far as both are known. Crashes and rejections
        are of one cause by their messages and operators; of types, shapes and values operators, attributes and
        conditions decide.

        Args:
            other: the cause of that finding. The answer may differ if the two are turned around.
        """
        if self.target != other.target or (self.by and other.by and self.by != other.by):
            return False
        if self.needs and other.needs and not {*self.needs} & {*other.needs}:
            return False  # what makes one go away is not what makes the other go away
        if not other.settled and self._is_part_of(other):
            return True
        if max(self.nodes, other.nodes) > SMALL:
            return False
        if self.symptom == other.symptom and self.symptom in BY_MESSAGE:
            if self.passes and other.passes:
                return self.words == other.words or self._breaks_inference_as(other)
            return self.words == other.words and self.operators == other.operators
        if self.symptom in BY_MESSAGE or other.symptom in BY_MESSAGE:
            return False
        if other.symptom is Symptom.LENIENCY and self.symptom in VALUES | KINDS:
            return self._misreads_what_breaks(other)
        if {self.symptom, other.symptom} == {Symptom.LENIENCY}:
            same = self.words == other.words or bool(self._parameters & other._parameters)
            return same and self.operators == other.operators
        if {self.symptom, other.symptom} <= KINDS and self.kinds == other.kinds and self.kinds in _WRAPPED:
            # Hardly anything makes a sequence of a value; one operator that both have may only give it.
            few, many = sorted(({*self.operators}, {*other.operators}), key=len)
            return few <= many or len(few & many) > 1
        if not self._is_alike(other):
            return False
        if self.symptom != other.symptom:
            # A kernel whose values are wrong gives NaN on other inputs; without any evidence too much is alike.
            both = {self.symptom, other.symptom} <= VALUES or self._needs_the_same(other)
            shared = both and (bool(self.attributes) or self._needs_the_same(other))
            return self._place == other._place and (shared or self._puts_elements_wrong_as(other))
        if self.operators == other.operators:
            # What shows with fewer attributes does not need the others.
            return {*self.attributes} <= {*other.attributes} or self._needs_the_same(other)
        return self._is_sibling_of(other) or self._is_same_rewrite_as(other)

    @property
    def _place(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.operators, self.attributes

    def _is_part_of(self, other: Cause) -> bool:
        """Whether a program that could not be made small in time has all of this cause: it likely is what is left."""
        symptoms = {self.symptom, other.symptom}
        same = (len(symptoms) == 1 or symptoms <= VALUES) and self.words == other.words
        whole = {*self.operators} <= {*other.operators} and {*self.attributes} <= {*other.attributes}
        return same and whole and self.settled and bool(self.operators) and self.nodes < other.nodes

    def _misreads_what_breaks(self, other: Cause) -> bool:
        """Whether what is wrong with an attribute runs what breaks a rule of that attribute: it does not look at it."""
        names = {name.partition(".")[2] for name in self.attributes}
        known = bool(names) and self.operators == other.operators and {*self.attributes} <= {*other.attributes}
        return known and bool(names & {*re.findall(r"\w+", other.words)})

    @property
    def _parameters(self) -> set[str]:
        """Attributes and inputs that a broken rule names: what lets too low an axis pass does not look at it."""
        names: set[str] = set()
        for operator in filter(defs.has, self.operators):
            schema = defs.get_schema(operator)
            names |= {*schema.attributes, *(formal.name for formal in schema.inputs)}
        return names & {*re.findall(r"\w+", self.words)}

    def _needs_the_same(self, other: Cause) -> bool:
        return bool(self.needs) and self.needs == other.needs

    def _puts_elements_wrong_as(self, other: Cause) -> bool:
        """Whether attributes alone say where the elements go, as of Transpose: sizes decide whether the shape shows it.

        If sizes are equal the shape is right and values are wrong, NaN among them.
        """
        placed = with_trait("moves") - {*trait_values("exact_inputs")}
        return {*self.operators} <= placed and {self.symptom, other.symptom} <= VALUES | {Symptom.WRONG_SHAPE}

    def _is_alike(self, other: Cause) -> bool:
        """Whether types, shapes and their relations are, as far as they matter."""
        shapes = {self.symptom, other.symptom} == {Symptom.WRONG_SHAPE}
        if self.empty != other.empty and (self.empty or not (shapes or self.attributes)):
            return False  # what is wrong with elements does not need their absence; without evidence too much is alike
        if shapes:
            # A shape does not depend on the type; older campaigns have no relation of shapes.
            return self.kinds == other.kinds or not self.kinds or not other.kinds
        kinds = self.kinds == other.kinds or self.symptom != other.symptom
        return kinds and self.floats == other.floats

    def _breaks_inference_as(self, other: Cause) -> bool:
        """Whether a pass left a value behind that inference refuses, in whatever words of whoever reads it."""
        refused = _INFERENCE in self.words and _INFERENCE in other.words
        return refused and bool({*self.operators} & {*other.operators})

    def _is_sibling_of(self, other: Cause) -> bool:
        """One operator each, of one family, and the same attributes: ``ReduceSum.axes`` is ``ReduceMax.axes``.

        If both need the same, the other may have more attributes.
        """
        if len(self.operators) != 1 or len(other.operators) != 1:
            return False
        names, others = ([name.partition(".")[2] for name in one.attributes] for one in (self, other))
        alike = {*names} <= {*others} if self._needs_the_same(other) else bool(names) and names == others
        return alike and _family(self.operators[0]) == _family(other.operators[0])

    def _is_same_rewrite_as(self, other: Cause) -> bool:
        """One pass each, which takes the same operators past others that only move elements.

        A DequantizeLinear that is taken past a Transpose or a Reshape is the same DequantizeLinear, and past a MaxPool
        if both need the same.
        """
        if not (self.passes and other.passes):
            return False
        handing = with_trait("copies" if self._needs_the_same(other) else "moves")
        core, others = ({*one.operators} - handing for one in (self, other))
        own = {name for name in self.attributes if name.partition(".")[0] in core}
        return bool(core) and core == others and own <= {*other.attributes}


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
        known = None if cause is None else explaining(cause, [causes[row[0]] for row in found])
        if known is None:
            found.append([place])
        elif known[1]:
            found[known[0]].insert(0, place)
        else:
            found[known[0]].append(place)
    return found


def explaining(cause: Cause, heads: Sequence[Cause | None]) -> tuple[int, bool] | None:
    """The place of the first cause that explains another, or of the only one that it explains, and whether it is that.

    What shows with fewer attributes than one finding is the same, though it comes later; what is simpler than two may
    be the cause of either.
    """
    for place, head in enumerate(heads):
        if head is not None and head.explains(cause):
            return place, False
    simpler = [place for place, head in enumerate(heads) if head is not None and cause.explains(head)]
    return (simpler[0], True) if len(simpler) == 1 else None
