"""A frequent fault is not made small again each time it shows, and another one behind it still comes to light."""

from __future__ import annotations

from dataclasses import replace

import onnx
import pytest

from irfuzz.campaign.triage.known_fault_filter import KnownFaultFilter, SuspectGroupFilter, has_turn
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.fault_marks import OperatorsKey

pytestmark = pytest.mark.unit


def program(*operators: str) -> Program:
    names = ["x", *(f"v{i}" for i in range(len(operators) - 1)), "y"]
    lines = " ".join(f"{b} = {op} ({a})" for op, a, b in zip(operators, names, names[1:], strict=False))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {lines} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def verdict(target: str = "a", symptom: Symptom = Symptom.DIFFERENCE) -> Verdict:
    return Verdict("numeric", symptom, target, ("b", "c"), output="y")


def test_what_was_never_seen_is_looked_at() -> None:
    likely = KnownFaultFilter()
    assert not likely.again(verdict(), program("Relu", "Tanh"), "")
    likely.add(verdict(), "", verdict(), program("Tanh"))
    assert not likely.again(verdict(), program("Relu", "Sigmoid"), "")


def test_repeats_are_looked_at_ever_more_rarely() -> None:
    likely = KnownFaultFilter()
    likely.add(verdict(), "", verdict(), program("Tanh"))
    looked = [n for n in range(1, 20) if not likely.again(verdict(), program("Relu", "Tanh"), "")]
    assert looked == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("other", "words"),
    [(verdict("b"), ""), (verdict(symptom=Symptom.NAN_INF), ""), (verdict(), "something else")],
    ids=["target", "symptom", "message"],
)
def test_other_targets_symptoms_and_messages_are_others(other: Verdict, words: str) -> None:
    likely = KnownFaultFilter()
    likely.add(verdict(), "", verdict(), program("Tanh"))
    assert not any(likely.again(other, program("Tanh"), words) for _ in range(6))


def test_suspects_that_are_alike_are_looked_at_ever_more_rarely() -> None:
    tried = SuspectGroupFilter()
    assert not any(tried.again("a") for _ in range(6)), "while none was looked into, all may be"
    tried.add("a")
    assert [n for n in range(1, 20) if not tried.again("a")] == [1, 2, 4, 8, 16]
    tried.add("a")
    assert tried.again("a"), "their number goes on"
    assert (tried.knows("a"), tried.knows("b")) == (True, False)


def test_powers_of_two_have_a_turn() -> None:
    assert [times for times in range(18) if has_turn(times)] == [0, 1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("operators", "known"),
    [(("Tanh", "Relu"), True), (("Relu", "Tanh", "Exp"), True), (("Tanh",), False), (("Exp", "Tanh"), False)],
)
def test_a_case_with_all_operators_of_a_finding_is_known(operators: tuple[str, ...], known: bool) -> None:
    likely = KnownFaultFilter()
    assert not likely.knows(verdict(), program(*operators), "")
    likely.add(verdict(), "", verdict(), program("Relu", "Tanh"))
    assert likely.knows(verdict(), program(*operators), "") is known
    assert not likely.knows(verdict(), program(*operators), "other words")


def test_a_finding_of_no_operators_explains_nothing() -> None:
    likely = KnownFaultFilter()
    likely.add(verdict(), "", replace(verdict(), output="x"), program("Tanh"))
    assert not likely.knows(verdict(), program("Tanh"), "")


def test_a_finding_that_is_added_again_keeps_its_count_and_others_have_their_own() -> None:
    likely = KnownFaultFilter()
    likely.add(verdict(), "", verdict(), program("Tanh"))
    assert [likely.again(verdict(), program("Tanh"), "") for _ in range(3)] == [False, False, True]
    likely.add(verdict(), "", verdict(), program("Tanh"))
    assert [likely.again(verdict(), program("Tanh"), "") for _ in range(2)] == [False, True], "the 4th and the 5th"
    likely.add(verdict(), "", verdict(), program("Relu"))
    assert not likely.again(verdict(), program("Relu"), "")
    assert likely.again(verdict(), program("Tanh", "Relu"), ""), "the 6th of one, though the 2nd of the other"


def test_what_another_job_has_made_small_has_fewer_turns() -> None:
    likely = KnownFaultFilter()
    likely.learn(OperatorsKey("difference", "a", "no", frozenset({"Tanh"})), 0)
    assert likely.knows(verdict(), program("Relu", "Tanh"), "no")
    assert not likely.knows(verdict(), program("Relu", "Tanh"), "yes")
    assert [n for n in range(1, 30) if not likely.again(verdict(), program("Tanh"), "no")] == [8, 24]
    likely.add(verdict(), "no", verdict(), program("Tanh"))
    assert likely.again(verdict(), program("Tanh"), "no"), "counting goes on"
    assert likely.counted() == {(("difference", "a", "no"), frozenset({"Tanh"})): 30}
    assert likely.counted() == {}


def test_counting_goes_on_in_the_next_life() -> None:
    likely, tried = KnownFaultFilter(), SuspectGroupFilter()
    likely.learn(OperatorsKey("difference", "a", "", frozenset({"Tanh"})), 5)
    tried.learn("g", 6)
    assert [n for n in range(1, 9) if not likely.again(verdict(), program("Tanh"), "")] == [3]
    assert [n for n in range(1, 9) if not tried.again("g")] == [2]
    assert tried.counted() == {"g": 8}
