"""The list of the papers' bugs is well-formed, what is planted is wrong, and the subjects are the same each time."""

from __future__ import annotations

import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from benchmarks.papers.__main__ import SHARE, look_for
from benchmarks.papers.bugs import Bug, bugs
from benchmarks.papers.faults import FAULTS, REFUSALS, wrong
from irfuzz.ir.program import Program

PLANTED = [bug for bug in bugs() if bug.way == "planted"]
RAISES = {"refuses_gru", "refuses_strides_with_dilations"}
DIES = {"dies_of_nothing", "dies_of_no_units"}


@pytest.mark.unit
def test_every_bug_is_planted_or_has_a_reason() -> None:
    listed = bugs()
    assert len({bug.name for bug in listed}) == len(listed)
    assert {bug.paper for bug in listed} == {"CRADLE", "AUDEE", "EAGLE", "COMET", "LEMON", "Muffin"}
    for bug in listed:
        assert bug.what
        assert bool(bug.reason) == (bug.way != "planted"), bug.name
        assert bool(bug.fault and bug.blame) == (bug.way == "planted"), bug.name
        assert not bug.again or bug.way == "planted", bug.name
    assert len(PLANTED) >= SHARE * sum(bug.way != "not described" for bug in listed)
    assert {bug.fault for bug in PLANTED} >= {*FAULTS, *REFUSALS}


@pytest.mark.unit
@pytest.mark.parametrize("bug", [b for b in PLANTED if b.graph], ids=lambda b: b.name)
def test_a_planted_fault_shows_in_its_program_and_nowhere_else(bug: Bug) -> None:
    model, inputs = bug.model(), bug.arrays()
    node = next(n for n in Program.from_proto(model).graph if n.op_type in bug.blame)
    if bug.fault in REFUSALS:
        assert REFUSALS[bug.fault](model)
        return
    if bug.fault in DIES:
        assert any(0 in [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input) or any(
            0 in tensor.dims for tensor in model.graph.initializer
        )
        return
    kernel, operator = FAULTS.get(bug.fault, (None, ""))
    fault = wrong.BY_NAME[bug.fault] if kernel is None else wrong.Fault(kernel, (operator,), "")
    if bug.fault in RAISES:
        with pytest.raises(RuntimeError):
            wrong.outputs_of(model, inputs, fault)
        return
    right = ReferenceEvaluator(model).run(None, inputs)
    if not bug.invalid:
        assert not wrong.same(list(wrong.outputs_of(model, inputs, fault).values()), right)
        return
    assert wrong.same(list(wrong.outputs_of(model, inputs, fault).values()), right)
    for name, numbers in bug.invalid.items():
        (proto,) = [n for n in model.graph.node if n.op_type == node.op_type]
        kept = [a for a in proto.attribute if a.name != name]
        del proto.attribute[:]
        proto.attribute.extend([*kept, onnx.helper.make_attribute(name, numbers)])
    assert wrong.same(list(wrong.outputs_of(model, inputs, fault).values()), right)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (
            "twice_in_a_row",
            "(float[2] x) => (float[2] y) { a = ThresholdedRelu (x) b = Neg (a) y = ThresholdedRelu (b) }",
        ),
        (
            "rank_of_the_input_alone",
            "(float[2,3] x) => (float[3,2] y) { n = Neg (x) y = Transpose <perm = [1, 0]> (n) }",
        ),
        (
            "rank_of_the_input_alone",
            "(float[N,3] x) => (float[3,N] y) { n = Neg (x) y = Transpose <perm = [1, 0]> (n) }",
        ),
        ("open_batch", "(float[3,2,4] x, float[1,4,4] w, float[1,4,1] r) => (float[3,1,2,1] y) { y = LSTM (x, w, r) }"),
        ("open_batch", "(float[3,N,4] x) => (float[3,N,4] y) { y = Neg (x) }"),
    ],
)
def test_a_model_without_what_a_refusal_means_is_not_refused(refusal: str, text: str) -> None:
    assert not REFUSALS[refusal](onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}'))


@pytest.mark.slow
@pytest.mark.planted
@pytest.mark.parametrize("name", ["CRADLE 4", "AUDEE 5", "COMET 5", "COMET 11", "LEMON 7", "LEMON 8"])
def test_a_planted_bug_is_found_and_blamed(name: str) -> None:
    (bug,) = [bug for bug in PLANTED if bug.name == name]
    found = look_for(bug)
    assert found.told, found.says
    assert found.right, found.says


@pytest.mark.slow
@pytest.mark.backend
def test_a_subject_has_the_same_weights_each_time() -> None:
    pytest.importorskip("keras")
    pytest.importorskip("tensorflow")
    from benchmarks.papers.subjects import SUBJECTS

    one, two = (SUBJECTS["resnet20"]().get_weights() for _ in range(2))
    assert [w.tobytes() for w in one] == [w.tobytes() for w in two]
