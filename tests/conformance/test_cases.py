"""Which cases there are, that they are the same every time, and in which order they run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.conformance.case_selection import SOURCES, cases_of
from irfuzz.conformance.case_types import SEVERAL, CaseRun, CaseSource, ConformanceCase, operator_of
from irfuzz.conformance.drawn_call_cases import CALLS, drawn_cases
from irfuzz.conformance.onnx_node_cases import node_cases, plain_value
from irfuzz.conformance.shipped_model_cases import SEED_INPUTS, bug_cases, seed_cases
from irfuzz.errors import UsageError
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.ir.program import Program

OPS = ["Neg", "LayerNormalization", "ai.onnx.ml.Binarizer"]


def test_node_cases_are_those_of_the_operators_with_expanded_forms_of_them() -> None:
    found = node_cases(OPS)
    assert {case.operator for case in found} == set(OPS)
    names = [case.name for case in found]
    assert names == sorted(names)
    assert {"node/neg", "node/layer_normalization_2d_axis0", "node/ai_onnx_ml_binarizer"} <= {*names}
    expanded = next(case for case in found if "expanded" in case.name)
    assert (expanded.operator, operator_of(expanded.make().program)) == ("LayerNormalization", SEVERAL)
    run = next(case for case in found if case.name == "node/neg").make()
    assert run.expected is not None
    np.testing.assert_array_equal(run.expected["y"], -np.asarray(run.inputs["x"]))


def test_no_case_changes_the_numbers_that_somebody_draws() -> None:
    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    node_cases(["Neg"])
    assert np.random.rand() == expected


def test_bugs_and_seeds_are_there_with_their_inputs() -> None:
    (first,) = [case for case in bug_cases() if case.name.startswith("bug/001-")]
    run = first.make()
    assert first.operator == SEVERAL
    assert {*run.inputs} == {"x"}
    assert {case.operator for case in bug_cases(["Shrink"])} == {"Shrink"}
    assert seed_cases(["Neg"]) == []
    seeds = seed_cases()
    assert len(seeds) == SEED_INPUTS * len(seed_ranges())
    lenet = next(case for case in seeds if case.name == "seed/lenet5/0").make().inputs["image"]
    assert isinstance(lenet, np.ndarray)
    assert lenet.min() >= 0
    assert lenet.max() <= 1


def test_drawn_calls_are_the_same_every_time_and_others_with_another_seed() -> None:
    found = drawn_cases(["Relu"])
    assert 1 < len(found) <= CALLS
    assert found[0].name == "drawn/Relu/17/float/0"
    digests = [case.make().digest() for case in found]
    assert digests == [case.make().digest() for case in drawn_cases(["Relu"])]
    assert digests != [case.make().digest() for case in drawn_cases(["Relu"], seed=1)]
    assert {operator_of(case.make().program) for case in found} <= {"Relu", SEVERAL}


def test_the_digest_sees_model_inputs_and_expected_values() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
    )
    program, x = Program.from_proto(model), np.array([1, 2], np.float32)
    runs = [
        CaseRun(program, {"x": x}), CaseRun(program, {"x": x + 1}), CaseRun(program, {"x": x}, {"y": -x}),
        CaseRun(program, {"x": [x, None]}), CaseRun(program, {"x": np.array(["a", "b"], object)}),
    ]  # fmt: skip
    assert len({run.digest() for run in runs}) == len(runs)
    assert runs[0].digest() == CaseRun(Program.from_proto(model), {"x": x.copy()}).digest()
    assert runs[0].types() == ("FLOAT",)


@pytest.mark.unit
def test_values_of_onnx_become_arrays() -> None:
    tensor = onnx.numpy_helper.from_array(np.array([1.5], np.float32))
    assert plain_value([tensor, None])[0].tolist() == [1.5]
    assert plain_value(np.array(["a"])).dtype == object


@pytest.mark.unit
def test_cases_go_round_the_operators_and_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def case(operator: str, number: int) -> ConformanceCase:
        return ConformanceCase(f"node/{operator}{number}", CaseSource.NODE, operator, pytest.fail)

    made = [case(operator, number) for operator in ("A", "B", "C") for number in range(3)]
    monkeypatch.setitem(SOURCES, CaseSource.NODE, lambda ops, seed: made)
    monkeypatch.setitem(SOURCES, CaseSource.BUG, lambda ops, seed: [])
    first = [c.name for c in cases_of([CaseSource.NODE])]
    assert [sorted(name[5] for name in first[k : k + 3]) for k in (0, 3, 6)] == [["A", "B", "C"]] * 3
    assert first != [c.name for c in cases_of([CaseSource.NODE], seed=1)]
    made.append(case("D", 0))
    assert [c.name for c in cases_of([CaseSource.NODE]) if c.operator != "D"] == first
    with pytest.raises(UsageError, match=r"ops: no case is about Nothing"):
        cases_of([CaseSource.BUG], ["Nothing"])
