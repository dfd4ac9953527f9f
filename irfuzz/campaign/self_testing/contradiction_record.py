"""What a test of targets against themselves gives: contradictions, and what became of all forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irfuzz.execute.adapters.alternative_runs import OtherWay
from irfuzz.execute.run_types import RunResult, Value
from irfuzz.oracle.equivalent_form_comparison import FormComparison
from irfuzz.rewrite.rewrite_rule import RewriteStep

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A target that computes something else for a program and for another form of it, in fresh processes too.

    Attributes:
        model: the model's name.
        target: the target's name.
        step: the rewrite from which on the forms differ, or the way to run.
        chain: all rewrites up to it, itself included: the fewest that were found.
        comparison: what differs.
        program: as it was.
        form: the rewritten program.
        inputs: of the form, which has all inputs of the original.
        other: the way in which the form was run, if it was not the target's own.
        results: of the program and of the form.
    """

    model: str
    target: str
    step: RewriteStep
    chain: tuple[RewriteStep, ...]
    comparison: FormComparison
    program: Program
    form: Program
    inputs: Mapping[str, Value]
    other: OtherWay | None
    results: tuple[RunResult, RunResult]

    def form_bytes(self) -> bytes:
        """What was run in the other way."""
        data = self.form.to_bytes()
        return data if self.other is None or self.other.way.model is None else self.other.way.model(data) or data


@dataclass(slots=True)
class FormCounts:
    """What became of the forms, by rewrite (the last of a chain) or target.

    Attributes:
        forms: forms that were made, by the rewrites in their chains, and runs by the ways in which they were made.
        answers: comparisons by target and answer.
        refused: forms that a target does not take, by target and last rewrite, or way.
        undecided: forms that differ though that may be right, by target, last rewrite (or way) and reason.
        unusable: targets that do not run an original, with their reasons, by model and target.
    """

    forms: Counter[str] = field(default_factory=Counter[str])
    answers: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    undecided: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    unusable: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
