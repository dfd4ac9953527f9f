"""Disagreements of single inputs become one divergence for each cause."""

from __future__ import annotations

import math

import pytest

from irfuzz.execute.run_types import Target
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.localize.disagreement_grouping import Divergence, ExplainingIssue, divergences_of
from irfuzz.oracle.verdict import Symptom

pytestmark = pytest.mark.unit

TARGETS = [Target(f"{c}:{v}", c) for c, v in (("ort", "a"), ("ort", "b"), ("ort", "c"), ("torch", "e"))]


def one(sample: int, target: str, base: str, **more: object) -> Disagreement:
    values: dict[str, object] = {"output": "y", "distance": 1.0, "bound": 0.1, "what": f"{sample}", **more}
    return Disagreement(sample, target, base, **values)  # type: ignore[arg-type]


def test_targets_of_a_component_and_inputs_are_put_together() -> None:
    found = divergences_of(
        [one(0, "ort:c", "ort:a"), one(1, "ort:b", "ort:a", also=("ort:c",), distance=3.0), one(4, "ort:c", "ort:a")],
        TARGETS,
    )
    (d,) = found
    assert (d.targets, d.samples, d.distance, d.what) == (("ort:b", "ort:c"), (0, 1, 4), 3.0, "1")


@pytest.mark.parametrize(
    "other",
    [
        {"output": "z"}, {"symptom": Symptom.NAN_INF}, {"message": "no"}, {"undecided": True}, {"limit": "time"},
    ],
)  # fmt: skip
def test_what_differs_in_kind_stays_apart(other: dict[str, object]) -> None:
    assert len(divergences_of([one(0, "ort:c", "ort:a"), one(1, "ort:c", "ort:a", **other)], TARGETS)) == 2
    assert len(divergences_of([one(0, "ort:c", "ort:a"), one(1, "torch:e", "ort:a")], TARGETS)) == 2


def test_what_counts_comes_first_and_the_worst_first_among_it() -> None:
    found = divergences_of(
        [one(0, "ort:a", "torch:e", undecided=True, distance=math.inf), one(0, "ort:b", "ort:a", output="w"),
         one(0, "ort:c", "ort:a", distance=2.0)],
        TARGETS,
    )  # fmt: skip
    assert [(d.output, d.undecided) for d in found] == [("y", False), ("w", False), ("y", True)]


def test_a_convention_gives_way_to_what_another_input_decided() -> None:
    firm = one(0, "ort:a", "torch:e", also=("ort:b",))
    (d,) = divergences_of([firm, one(1, "torch:e", "ort:a", firm=False)], TARGETS)
    assert (d.targets, d.samples) == (("ort:a", "ort:b"), (0, 1))
    assert len(divergences_of([firm, one(1, "torch:e", "ort:a")], TARGETS)) == 2


@pytest.mark.parametrize(
    ("component", "targets", "known", "excused"),
    [
        ("reference", ("reference",), True, True),
        ("reference", ("reference",), False, False),
        ("reference", ("reference", "ort:a"), True, False),
        ("ort", ("ort:a",), True, False),
    ],
)
def test_only_known_faults_of_the_reference_alone_are_excused(
    component: str, targets: tuple[str, ...], known: bool, excused: bool
) -> None:
    issues = (ExplainingIssue("1", "one"),) if known else ()
    d = Divergence(targets, component, "torch:e", Symptom.DIFFERENCE, "y", (0,), 1.0, 0.1, "", known=issues)
    assert (d.excused, d.counts) == (excused, not excused)


@pytest.mark.parametrize(
    ("more", "witness"), [({}, True), ({"firm": False}, False), ({"also": ("ort:a",)}, False), ({"output": ""}, True)]
)
def test_a_witness_alone_against_others_does_not_count(more: dict[str, object], witness: bool) -> None:
    (d,) = divergences_of([one(0, "torch:e", "ort:a", **more)], TARGETS, ["torch:e"])
    assert (d.witness, d.counts) == (witness, not witness)
    (named,) = divergences_of([one(0, "torch:e", "ort:a", **more)], TARGETS)
    assert named.counts
