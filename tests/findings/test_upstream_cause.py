"""What stumbles over a value of a wrong shape is no fault of its own."""

from __future__ import annotations

import onnx.parser
import pytest

from irfuzz.findings.causes.upstream_cause import earlier_cause
from irfuzz.ir.program import Program
from irfuzz.oracle import Symptom, Verdict

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,3] x) => (float[1,2,1] y) {
   a = Relu(x)
   b = GlobalMaxPool(a)
   c = Neg(b)
   y = Add(c, c)
}"""

REFUSED = Verdict("rejection", Symptom.REJECTION, "reference", ("torch:eager",))


def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def blames(target: str, *, suspect: bool = False, symptom: Symptom = Symptom.WRONG_SHAPE):
    """A judge for whom everything behind GlobalMaxPool has a wrong shape."""
    seen: list[str] = []

    def judge(candidate: Program) -> list[Verdict]:
        (output,) = candidate.graph.outputs
        seen.append(output.name or "")
        wrong = any(n.op_type == "GlobalMaxPool" for n in candidate.nodes())
        return [Verdict("type", symptom, target, (), suspect, output.name or "")] if wrong else []

    return judge, seen


def test_the_first_value_of_a_wrong_shape_is_the_fault() -> None:
    judge, seen = blames("reference")
    given = program()
    before = given.to_bytes()
    found = earlier_cause(given, REFUSED, judge)
    assert found is not None
    cause, verdict = found
    assert [n.op_type for n in cause.nodes()] == ["Relu", "GlobalMaxPool"]
    assert (verdict.symptom, verdict.output) == (Symptom.WRONG_SHAPE, "b")
    assert seen == ["a", "b"]
    assert given.to_bytes() == before


@pytest.mark.parametrize(
    "judge",
    [
        blames("torch:eager")[0],
        blames("reference", suspect=True)[0],
        blames("reference", symptom=Symptom.DIFFERENCE)[0],
    ],
    ids=["another target", "a suspect", "another symptom"],
)
def test_what_does_not_explain_it_is_no_cause(judge) -> None:
    assert earlier_cause(program(), REFUSED, judge) is None


def test_a_fault_of_that_kind_has_no_earlier_cause() -> None:
    judge, seen = blames("reference")
    wrong = Verdict("type", Symptom.WRONG_SHAPE, "reference", (), output="y")
    assert earlier_cause(program(), wrong, judge) is None
    assert seen == []


def test_a_wrong_shape_may_begin_at_an_earlier_sequence() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[N] y) {
       s = SequenceConstruct(x, x)
       t = SequenceInsert(s, x)
       i = Constant<value = int64 {0}>()
       y = SequenceAt(t, i)
    }"""
    given = Program.from_proto(onnx.parser.parse_model(text))
    seen: list[str] = []

    def judge(candidate: Program) -> list[Verdict]:
        (output,) = candidate.graph.outputs
        seen.append(output.name or "")
        wrong = any(n.op_type == "SequenceInsert" for n in candidate.nodes())
        return [Verdict("type", Symptom.WRONG_SHAPE, "reference", output=output.name or "")] if wrong else []

    found = earlier_cause(given, Verdict("type", Symptom.WRONG_SHAPE, "reference", (), output="y"), judge)
    assert found is not None
    assert found[1].output == "t"
    assert seen == ["s", "t"]


def test_a_difference_may_begin_with_an_earlier_nan() -> None:
    seen_difference = Verdict("numeric", Symptom.DIFFERENCE, "reference", ("torch:eager",), output="y")
    judge, _ = blames("reference", symptom=Symptom.NAN_INF)
    found = earlier_cause(program(), seen_difference, judge)
    assert found is not None
    assert found[1].output == "b"
    assert earlier_cause(program(), REFUSED, judge) is None, "what refuses NaN is another fault"
