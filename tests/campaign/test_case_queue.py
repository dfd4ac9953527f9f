"""What waits for triage: news come first, small programs before large ones, and few witnesses are asked at first."""

from __future__ import annotations

from dataclasses import replace

import onnx
import pytest

from irfuzz.campaign.triage.case_queue import DOUBTED, EACH, LARGE, MOST, TriageCase, TriageQueue
from irfuzz.execute.run_types import Target, TargetRole
from irfuzz.findings.confirming_targets import heard, jury
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
CASE = FailingCase(Program.from_proto(onnx.parser.parse_model(TEXT)), {})


def item(
    target: str, *operators: str, size: int = 3, words: str = "", symptom: Symptom = Symptom.DIFFERENCE
) -> TriageCase:
    return TriageCase(Finding(Verdict("o", symptom, target), CASE, CASE), words, frozenset(operators), size)


def order(waiting: TriageQueue) -> list[TriageCase]:
    found: list[TriageCase] = []
    while (one := waiting.take(lambda _: True)) is not None:
        found.append(one)
    return found


def test_each_target_and_symptom_has_its_turn() -> None:
    waiting = TriageQueue()
    rows = [item("a", "X"), item("a", "Y"), item("a", "Z"), item("b", "X"), item("a", "X", symptom=Symptom.CRASH)]
    for one in rows:
        waiting.add(one)
    assert len(waiting) == 5
    turns = [(one.finding.verdict.target, one.finding.verdict.symptom) for one in order(waiting)]
    assert set(turns[:3]) == {("a", Symptom.DIFFERENCE), ("a", Symptom.CRASH), ("b", Symptom.DIFFERENCE)}
    assert len(waiting) == 0


def test_variants_of_a_version_share_their_turns() -> None:
    waiting = TriageQueue()
    for one in (item("a@1:all", "X"), item("a@1:disabled", "X"), item("a@2:all", "X", size=4)):
        waiting.add(one)
    assert [one.finding.verdict.target for one in order(waiting)][1] == "a@2:all"


def test_small_programs_come_before_large_ones() -> None:
    waiting = TriageQueue()
    for one in (item("a", "X", size=100), item("b", "X", size=2), item("b", "Y", size=2)):
        waiting.add(one)
    assert [one.size for one in order(waiting)] == [2, 2, 100]


def test_of_the_same_operators_the_smaller_one_waits() -> None:
    waiting = TriageQueue()
    for size in (5, 2, 9):
        waiting.add(item("a", "X", "Y", size=size))
    assert [one.size for one in order(waiting)] == [2]


def test_what_a_known_fault_explains_comes_last_and_is_not_counted() -> None:
    waiting = TriageQueue()
    waiting.add(replace(item("a", "X"), again=True))
    waiting.add(item("a", "Y", size=300))
    assert len(waiting) == 1
    assert [one.again for one in order(waiting)] == [False, True]


def test_of_many_of_one_kind_the_largest_are_let_go() -> None:
    waiting = TriageQueue()
    for size in range(EACH + 5, 0, -1):
        waiting.add(item("a", f"Op{size}", size=size))
    assert [one.size for one in order(waiting)] == list(range(1, EACH + 1))


def test_only_what_is_allowed_leaves() -> None:
    waiting = TriageQueue()
    waiting.add(item("a", "X"))
    assert waiting.take(lambda one: one.finding.verdict.target != "a") is None
    assert len(waiting) == 1


def test_suspects_come_after_what_is_proven_and_are_not_counted() -> None:
    waiting = TriageQueue()
    doubted = item("a", "X", size=1)
    verdict = replace(doubted.finding.verdict, suspect=True)
    waiting.add(replace(doubted, finding=replace(doubted.finding, verdict=verdict)))
    waiting.add(item("a", "X", size=12))
    assert len(waiting) == 1
    assert [one.finding.verdict.suspect for one in order(waiting)] == [False, True]


def suspect(one: TriageCase) -> TriageCase:
    verdict = replace(one.finding.verdict, suspect=True)
    return replace(one, finding=replace(one.finding, verdict=verdict))


def test_what_a_case_shares_with_its_like() -> None:
    one = item("a", "X", words="it refuses")
    assert one.kind == ("difference", "a", "it refuses", False)
    assert suspect(one).kind == ("difference", "a", "it refuses", True)
    assert not one.again


def test_of_equal_size_the_one_that_waits_stays_and_of_two_known_ones_the_other_is_known() -> None:
    waiting = TriageQueue()
    first, same = item("a", "X", size=3), item("a", "X", size=3)
    waiting.add(first)
    waiting.add(same)
    (left,) = order(waiting)
    assert left is first
    for before, after in ((True, True), (True, False), (False, True), (False, False)):
        waiting.add(replace(item("a", "X", size=5), again=before))
        waiting.add(replace(item("a", "X", size=4), again=after))
        assert [(one.size, one.again) for one in order(waiting)] == [(4, before and after)]


def test_a_full_queue_lets_the_largest_of_all_go() -> None:
    waiting = TriageQueue()
    for n in range(MOST):
        waiting.add(item(f"t{n}", "X", size=2 + (n == 7)))
    assert len(waiting) == MOST
    waiting.add(item("new", "X", size=2))
    assert len(waiting) == MOST
    assert max(one.size for one in order(waiting)) == 2
    assert len(waiting) == 0


def test_of_each_kind_only_the_first_is_asked_about() -> None:
    waiting = TriageQueue()
    for one in (item("a", "X", size=5), item("a", "Y", size=2), item("b", "X")):
        waiting.add(one)
    asked: list[tuple[str, int]] = []
    taken = waiting.take(lambda one: asked.append((one.finding.verdict.target, one.size)) or asked[-1] == ("b", 3))
    assert sorted(asked) == [("a", 2), ("b", 3)]
    assert taken is not None
    assert taken.finding.verdict.target == "b"
    assert len(waiting) == 2


@pytest.mark.parametrize(("size", "first"), [(3 * LARGE - 1, "a"), (3 * LARGE, "a"), (3 * LARGE + 1, "b")])
def test_a_program_of_three_times_so_many_nodes_comes_after_a_second_turn(size: int, first: str) -> None:
    waiting = TriageQueue()
    waiting.add(item("b", "X", size=1))
    assert waiting.take(lambda _: True) is not None
    waiting.add(item("b", "Y", size=0))
    waiting.add(item("a", "X", size=size))
    assert order(waiting)[0].finding.verdict.target == first


def test_a_doubt_weighs_as_two_turns() -> None:
    """A turn counts for the symptom of a version, and for its words, so one of the same words weighs two."""
    assert DOUBTED == 2.0
    waiting = TriageQueue()
    waiting.add(item("a", "X", size=1))
    assert waiting.take(lambda _: True) is not None
    waiting.add(item("a", "Y", size=3))
    waiting.add(suspect(item("b", "X", size=2)))
    assert [one.finding.verdict.target for one in order(waiting)] == ["b", "a"]
    waiting = TriageQueue()
    waiting.add(item("a", "Y", size=3))
    waiting.add(suspect(item("b", "X", size=2)))
    assert [one.finding.verdict.target for one in order(waiting)] == ["a", "b"]


def test_other_words_of_one_symptom_share_half_of_its_turns() -> None:
    waiting = TriageQueue()
    waiting.add(item("a", "X", words="one", size=1))
    assert waiting.take(lambda _: True) is not None
    waiting.add(item("a", "Y", words="one", size=1))
    waiting.add(item("a", "Y", words="two", size=2))
    assert [one.words for one in order(waiting)] == ["two", "one"]


REFERENCE = Target("reference", "reference")
OLD = Target("reference@1", "reference", environment="e")
PLAIN = Target("onnxruntime:disabled", "onnxruntime")
ALL = Target("onnxruntime:all", "onnxruntime")
ALL_OLD = Target("onnxruntime@1:all", "onnxruntime", environment="o")
TORCH = Target("torch:eager", "torch")
CONVERTER = Target("onnx2torch", "onnx2torch")
EVERY = (REFERENCE, OLD, TORCH, CONVERTER, ALL_OLD, PLAIN, ALL)


def verdict(target: Target, *witnesses: Target, also: str = "") -> Verdict:
    return Verdict("o", Symptom.DIFFERENCE, target.name, tuple(w.name for w in witnesses), also=(also,) if also else ())


def test_two_quick_witnesses_and_the_newest_version_are_enough() -> None:
    assert jury(verdict(ALL_OLD, REFERENCE, OLD, TORCH, PLAIN, ALL), EVERY) == (TORCH, ALL_OLD, PLAIN, ALL)


def test_the_reference_speaks_where_it_is_needed() -> None:
    assert jury(verdict(ALL_OLD, REFERENCE, OLD, TORCH, also="onnxruntime:all"), EVERY) == (REFERENCE, TORCH, ALL_OLD)


def test_where_there_are_no_two_witnesses_all_are_asked() -> None:
    assert jury(verdict(CONVERTER, TORCH), EVERY) == EVERY


def test_another_variant_of_a_tool_is_no_witness() -> None:
    tool = Target("onnxscript:optimize", "onnxscript", role=TargetRole.TOOL, before=PLAIN.name)
    variant = Target("onnxscript:rewrite", "onnxscript", role=TargetRole.TOOL, before=PLAIN.name)
    asked = jury(verdict(tool, PLAIN, ALL, variant, REFERENCE), (*EVERY, tool, variant))
    assert asked == (REFERENCE, PLAIN, tool)


def test_other_converters_and_tools_are_not_heard() -> None:
    tools = [Target(name, name, role=TargetRole.TOOL, before=PLAIN.name) for name in ("onnxsim", "onnxslim")]
    every = (*EVERY, *tools)
    assert heard(verdict(ALL, REFERENCE, TORCH), every) == EVERY
    assert heard(verdict(tools[0], REFERENCE, PLAIN), every) == (*EVERY, tools[0])


def test_a_slow_witness_is_heard_where_there_are_no_two_others() -> None:
    slow = Target("openvino", "openvino", slow=True)
    every = (*EVERY, slow)
    assert heard(verdict(PLAIN, slow, TORCH), every) == every
    assert jury(verdict(PLAIN, slow, TORCH), heard(verdict(PLAIN, slow, TORCH), every)) == every
    assert heard(verdict(PLAIN, slow, TORCH, REFERENCE), every) == EVERY
    assert heard(verdict(slow, TORCH, REFERENCE), every) == every
