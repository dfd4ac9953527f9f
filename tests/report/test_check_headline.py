"""The first line of a check whose targets differ where ONNX leaves open what is right."""

from __future__ import annotations

import pytest

from irfuzz.execute.run_types import Target
from irfuzz.localize.check_result import CheckResult
from irfuzz.localize.disagreement_grouping import Divergence
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.check_text import headline

pytestmark = pytest.mark.unit

TARGETS = tuple(Target(f"{c}:{v}", c) for c, v in (("ort", "a"), ("ort", "b"), ("torch", "e")))


def undecided(*names: str, samples: tuple[int, ...]) -> Divergence:
    return Divergence(
        names,
        names[0].split(":")[0],
        "ort:a",
        Symptom.DIFFERENCE,
        "y",
        samples,
        1.0,
        0.1,
        "",
        undecided=True,
    )


def first_line(farthest: dict[str, float], *found: Divergence) -> str:
    ran = tuple(t for t in TARGETS if t.name == "ort:a" or t.name in farthest)
    report = CheckResult(
        targets=ran,
        absent={},
        samples=2,
        wanted=2,
        disagreements=(),
        divergences=found,
        inconsistencies=(),
        located=(),
        farthest=farthest,
        base="ort:a",
        outputs={},
    )
    return headline(report)


OPEN = "; UNDECIDED on 2 of them (up to 1), where ONNX leaves open what is right"


def test_who_is_undecided_on_every_input_agrees_with_nobody() -> None:
    told = first_line({"ort:b": 0.0, "torch:e": 1.0}, undecided("torch:e", samples=(0, 1)))
    assert told == f"2 of 3 targets agree exactly on 2 inputs (all of them ort){OPEN}"


def test_who_is_decided_on_one_input_agrees() -> None:
    told = first_line({"ort:b": 0.0, "torch:e": 1.0}, undecided("torch:e", samples=(0,)))
    assert told.startswith("3 targets agree to 1 on 2 inputs; UNDECIDED on 1 of them")


def test_the_inputs_of_several_divergences_count_together() -> None:
    each = [undecided("torch:e", samples=(n,)) for n in range(2)]
    assert first_line({"ort:b": 0.0, "torch:e": 1.0}, *each).startswith("2 of 3 targets agree exactly")


def test_two_that_differ_everywhere_do_not_agree() -> None:
    told = first_line({"torch:e": 1.0}, undecided("torch:e", samples=(0, 1)))
    assert told == f"2 targets differ on 2 inputs{OPEN}"


def test_distances_to_a_base_that_is_undecided_are_not_those_of_the_others() -> None:
    told = first_line({"ort:b": 1.0, "torch:e": 1.0}, undecided("ort:a", samples=(0, 1)))
    assert told.startswith("2 of 3 targets agree on 2 inputs; UNDECIDED")
