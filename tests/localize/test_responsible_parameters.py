"""Which parameters explain an inconsistency: as if, or the smallest change; and what fails beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.parameter_variants import Variant, variants
from irfuzz.localize.nodes.redrawn_layers import redrawn_layers
from irfuzz.localize.nodes.responsible_parameters import ResponsibleParameter, as_if, guilty
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

TARGET = Target("reference", "reference")
NAN = math.nan


def parameter(name: str, why: str = "consistent", dropped: tuple[str, ...] = ()) -> ResponsibleParameter:
    return ResponsibleParameter(name, "1", "0", 0.0, why, 1.0, dropped=dropped)


def program(body: str, shape: str = "[?, ?]") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float{shape} y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def result(*numbers: float) -> RunResult:
    return RunResult(TARGET, Stage.RUN, Exit.OK, {"y": np.array(numbers, np.float32)})


def explained(right: RunResult, seen: RunResult, changed: RunResult) -> list[tuple[str, float]]:
    layer = program("y = Softmax<axis = 0>(x)")
    feeds: Mapping[str, Value] = {}
    return [(p.name, p.moved) for p in as_if(right, seen, [Variant("axis", "0", "1", layer, feeds)], [[changed]])]


def test_padding_that_has_to_go_with_another_value_is_blamed_itself() -> None:
    pads, automatic = parameter("pads"), parameter("auto_pad", dropped=("pads",))
    assert guilty([automatic, pads]) == (pads,)
    assert guilty([automatic]) == (automatic,)


def test_of_a_parameter_that_also_fails_what_explains_the_fault_stays() -> None:
    crash, exact = parameter("axis", "crash"), parameter("axis", "as if")
    assert guilty([exact, crash]) == (exact,)
    assert guilty([parameter("p"), crash]) == (parameter("p"), crash)


def test_another_value_of_which_the_base_gives_the_targets_numbers_explains_it() -> None:
    assert explained(result(1, 2, 3), result(1, 2, 4), result(1, 2, 4)) == [("axis", 0.0)]
    assert explained(result(1, 2, 3), result(1, 2, 4), result(1, 2, 3)) == []


def test_beside_nan_only_the_same_nan_explains_it() -> None:
    assert explained(result(1, 2), result(1, NAN), result(3, 2)) == []
    assert explained(result(1, 2), result(1, NAN), result(1, NAN)) == [("axis", 0.0)]


def test_one_number_in_all_places_may_be_chance() -> None:
    assert explained(result(1, 2), result(7, 7), result(7, 7)) == [("axis", math.inf)]
    assert explained(result(1, 2), result(NAN, NAN), result(NAN, NAN)) == [("axis", math.inf)]


def test_a_value_that_asks_for_more_outputs_gets_them() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v)
        => (float[2, 3] y) { y = BatchNormalization(x, s, b, m, v) }"""
    made = list(variants(Program.from_proto(onnx.parser.parse_model(text)), {}, load_specs()))
    (training,) = (v for v in made if v.parameter == "training_mode" and v.now == "1")
    (node,) = training.program.nodes()
    assert len(node.outputs) == 3
    assert [o.name for o in training.program.graph.outputs] == ["y"]


@pytest.mark.parametrize("stated", ["", ', auto_pad = "NOTSET"'])
def test_what_a_value_drops_is_said_but_for_defaults(stated: str) -> None:
    body = f"y = AveragePool<kernel_shape = [2], pads = [1, 0]{stated}>(x)"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 3] x) => (float[?, ?, ?] y) {{ {body} }}'
    made = list(variants(Program.from_proto(onnx.parser.parse_model(text)), {}, load_specs()))
    assert {v.dropped for v in made if v.parameter == "auto_pad"} == {("pads",)}
    assert {v.dropped for v in made if v.parameter != "auto_pad"} == {()}


def test_a_layer_is_drawn_anew_with_its_attributes_but_one() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 4, 5, 5] x, float[2, 2, 3, 3] w) => (float[?, ?, ?, ?] y)
        { y = Conv<group = 2, strides = [2, 1]>(x, w) }"""
    layers = list(redrawn_layers(Program.from_proto(onnx.parser.parse_model(text)), load_specs()))
    assert layers[0].parameter == ""
    assert {layer.parameter for layer in layers[1:]} == {"group", "strides"}
    for layer in layers:
        assert layer.calls
        for drawn, feeds in layer.calls:
            (node,) = drawn.nodes()
            attributes = {name: attr.value for name, attr in node.attributes.items()}
            assert {*attributes} <= {"group", "strides"}
            assert (attributes.get("group", 1) == 2) is (layer.parameter != "group")
            assert (list(attributes.get("strides", [1, 1])) == [2, 1]) is (layer.parameter != "strides")
            assert {v.name for v in drawn.graph.inputs} == {*feeds}
            assert np.asarray(next(iter(feeds.values()))).dtype == np.float32
