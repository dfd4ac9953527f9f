"""A verdict keeps its fields through JSON, under the names that finding.json documents."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

FULL = Verdict(
    "numeric", Symptom.DIFFERENCE, "a:x", ("b", "c"), suspect=True, output="y", distance=1.5, bound=0.5,
    evidence={"spread": 0.25, "elements": 3}, doubt="why", excuse="alone", also=("a:y", "a:z"),
    element="y[0]", got="1", expected="2", exit="crash", stage="run", message="no", operator="Add", rule="shadow",
    passes=("A", "B"), together=False, place="optimiser", invalid=True, cut_out=True, runs=3, limit=1024,
)  # fmt: skip


@pytest.mark.parametrize("verdict", [FULL, Verdict("o", Symptom.CRASH, "t")])
def test_what_is_written_is_read(verdict: Verdict) -> None:
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_no_field_is_left_out() -> None:
    plain = Verdict("o", Symptom.CRASH, "t")
    assert [f.name for f in fields(Verdict) if getattr(FULL, f.name) == getattr(plain, f.name)] == []


def test_names_are_those_of_the_docs() -> None:
    told = FULL.to_json()["evidence"]
    assert (told["also"], told["suspect"], told["pass"]) == ("a:y, a:z", "why", "A / B")
    assert {"element", "got", "expected", "spread", "invalid", "cut out", "place", "runs", "limit"} <= set(told)


def test_what_was_not_seen_is_not_told() -> None:
    assert Verdict("o", Symptom.CRASH, "t").told() == {}
    # Of two texts that are compared one may be empty.
    assert Verdict("o", Symptom.DIFFERENCE, "t", got="", expected="b").told() == {"got": "", "expected": "b"}


@pytest.mark.parametrize(("text", "passes", "together"), [("A + B", ("A", "B"), True), ("A / B", ("A", "B"), False)])
def test_passes_are_read_from_their_text(text: str, passes: tuple[str, ...], together: bool) -> None:
    data = {**FULL.to_json(), "evidence": {"pass": text}}
    found = Verdict.from_json(data)
    assert (found.passes, found.together, found.pass_text) == (passes, together, text)


def test_numbers_that_json_lacks_are_read_from_text() -> None:
    assert Verdict.from_json({**FULL.to_json(), "distance": "inf"}).distance == float("inf")
