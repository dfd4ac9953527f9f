"""Faults that a campaign has met, and what is drawn less for it, so that they are not found first every time.

A fault that shows in every twentieth program hides those that show in every thousandth: each program that trips over it
tells nothing else. What a disagreement hangs on is read from the program that shows it
(``findings.causes.cause_grouping``), as it was
run: what triage makes of it later is more exact, but when that is depends on the clock, and what is drawn must not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import onnx_ir as ir
from onnx import defs, helper

from irfuzz.findings.causes.cause_grouping import SMALL, Cause
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.fused_operator_pairs import pairs
from irfuzz.mutate.feature_counts import Feature, attribute_bucket
from irfuzz.mutate.patterns.insert_pattern import feature_of
from irfuzz.mutate.patterns.pattern_file_reader import patterns
from irfuzz.oracle.verdict import Symptom, Verdict

SCHEMA = 1

LEAST = 0.2
"""What is drawn least is drawn so often beside what it would be: another fault may want the same operator."""

MOST_OPERATORS = 3
"""A program in which more of them have a part says too little of what it is that is wrong."""

BY_CLOCK = frozenset({Symptom.HANG, Symptom.MEMORY})
"""Symptoms that depend on what else a machine is busy with."""

_INPUT = "<input>"


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a fault hangs on.

    Attributes:
        component: that is blamed.
        symptom: what is wrong.
        operators: that take part.
        attributes: of them that are not at their defaults, ``ReduceSum.noop_with_empty_axes``.
        floats: odd floating-point types.
    """

    component: str
    symptom: str
    operators: tuple[str, ...]
    attributes: tuple[str, ...]
    floats: tuple[str, ...]

    @classmethod
    def of(cls, cause: Cause) -> Trigger:
        """The trigger of what a program tells of its cause.

        Args:
            cause: of a verdict on the program as it was run. Of the target's name the part before the colon counts, so
                that variants of one component have the same triggers.
        """
        component = cause.target.partition(":")[0]
        return cls(component, cause.symptom.value, cause.operators, cause.attributes, cause.floats)

    def shows_in(self, other: Trigger) -> bool:
        """Whether another program has all that this fault hangs on, and goes wrong in the same way.

        Args:
            other: of that program; it may have more operators, attributes and types, but must have the same component
                and symptom.
        """
        return (
            (self.component, self.symptom) == (other.component, other.symptom)
            and set(self.operators) <= set(other.operators)
            and set(self.attributes) <= set(other.attributes)
            and set(self.floats) <= set(other.floats)
        )


class FaultTriggers:
    """Counts triggers; what draws are worth for it counts from ``settle`` on."""

    def __init__(self) -> None:
        self._times: Counter[Trigger] = Counter()
        self._patterns: Counter[str] = Counter()
        self._favours: dict[Feature, float] = {}

    def __len__(self) -> int:
        return len(self._times) + len(self._patterns)

    def add(
        self, verdicts: Iterable[Verdict], program: Program, inserted: Sequence[str], slow: Collection[str]
    ) -> None:
        """Take note of what is said against a program.

        Args:
            verdicts: on the program; what is in doubt, declared invalid, or hangs on the clock does not count.
            program: as it was run.
            inserted: patterns that its last edits inserted.
            slow: names of targets that run when the clock lets them.
        """
        for verdict in verdicts:
            if verdict.suspect or verdict.invalid or verdict.symptom in BY_CLOCK or verdict.target in slow:
                continue
            shown = Trigger.of(Cause.of(verdict, program))
            known = [trigger for trigger in self._times if trigger.shows_in(shown)]
            if known:
                self._times.update(known)
            elif len(program.graph) <= SMALL and 0 < len(shown.operators) <= MOST_OPERATORS:
                self._times[shown] += 1
            else:
                self._patterns.update(set(inserted))

    def settle(self) -> None:
        """Let all that was noted since the last time count.

        ``favours`` gives a new table from here on. A feature that is to be drawn less often for several triggers gets
        the least of their shares.
        """
        found: dict[Feature, float] = {}
        for trigger, times in self._times.items():
            share = _share(times)
            for feature, less in _features(trigger):
                if less:
                    found[feature] = min(found.get(feature, 1.0), share)
                else:
                    found[feature] = max(found.get(feature, 1.0), 1.0 / share)
        for name, times in self._patterns.items():
            found["pattern", name] = min(found.get(("pattern", name), 1.0), _share(times))
        self._favours = found

    def favours(self) -> Mapping[Feature, float]:
        """What a draw that shows a feature is worth beside what it would be; 1 if it is left out."""
        return self._favours

    def state(self) -> dict[str, Any]:
        """As JSON-able data that ``recall`` takes."""
        rows = [
            [t.component, t.symptom, t.operators, t.attributes, t.floats, times] for t, times in self._times.items()
        ]
        return {"schema": SCHEMA, "triggers": rows, "patterns": self._patterns}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state`` gave; what is of another schema is left out.

        Args:
            state: read from JSON; an empty mapping changes nothing. What it holds is settled at once.
        """
        if state.get("schema") != SCHEMA:
            return
        for component, symptom, operators, attributes, floats, times in state["triggers"]:
            trigger = Trigger(component, symptom, tuple(operators), tuple(attributes), tuple(floats))
            self._times[trigger] = times
        self._patterns = Counter(state["patterns"])
        self.settle()


def _share(times: int) -> float:
    return max(LEAST, 1.0 / (1.0 + times))


@cache
def _features(trigger: Trigger) -> tuple[tuple[Feature, bool], ...]:
    """``_told_features``, once a trigger: draws are settled after every few programs."""
    return tuple(_told_features(trigger))


def _told_features(trigger: Trigger) -> Iterable[tuple[Feature, bool]]:
    """Features of draws, with whether they are drawn less; what stands in place of the trigger is drawn more.

    What is most special decides: an operator whose only fault is one attribute is itself as good as any.
    """
    if trigger.attributes:
        yield from filter(None, map(_attribute, trigger.attributes))
    elif trigger.floats:
        for op in trigger.operators:
            for name in trigger.floats:
                yield ("dtype", op, 0, ir.DataType[name.upper()].value), True
    elif len(trigger.operators) == 1:
        (op,) = trigger.operators
        yield ("operator", op), True
        for pair in pairs()[0]:
            if op in pair:
                yield ("edge", *pair), True
        yield ("edge", _INPUT, op), True
    if len(trigger.operators) > 1:
        for pair in permutations(trigger.operators, 2):
            yield ("edge", *pair), True
    if len(trigger.operators) > 1 or not (trigger.attributes or trigger.floats):
        for pattern in patterns():
            if set(trigger.operators) <= {node.op for node in pattern.nodes}:
                yield feature_of(pattern), True


@cache
def _attribute(text: str) -> tuple[Feature, bool] | None:
    """``Resize.mode=cubic``: that text less; ``ReduceSum.noop_with_empty_axes``: the default more."""
    place, equals, value = text.partition("=")
    op, _, name = place.partition(".")
    if equals:
        return ("attr", op, name, value), True
    if not defs.has(op):
        return None
    about = defs.get_schema(op).attributes.get(name)
    if about is None or not about.default_value.name:
        return None
    return ("attr", op, name, attribute_bucket(helper.get_attribute_value(about.default_value))), False
