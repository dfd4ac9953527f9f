"""AUDEE names layers and parameters of planted faults, fixes them and goes on; healthy layers are no sources."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.causal_testing import T1, CausalTest, Causes
from irfuzz.localize.nodes.parameter_variants import variants
from irfuzz.localize.nodes.responsible_parameters import ResponsibleParameter, guilty
from irfuzz.localize.nodes.subprogram_extraction import Cutter
from irfuzz.spec import load_specs

sys.path.insert(0, str(Path(__file__).parents[1] / "planted_targets"))
import wrong

pytestmark = pytest.mark.backend

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4, 6, 6] x) => (float[1, 4] y)
<float[4] scale = {0.01, 0.02, 0.01, 0.02}, float[4] zero = {0, 0, 0, 0}, float[4] var = {1e-4, 1e-4, 1e-4, 1e-4}> {
    n1 = BatchNormalization<epsilon = 1e-3>(x, scale, zero, zero, var)
    t1 = Tanh(n1)
    n2 = BatchNormalization<epsilon = 1e-3>(t1, scale, zero, zero, var)
    p = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(n2)
    g = GlobalAveragePool(p)
    y = Flatten(g)
}"""


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def image(scale: float = 1.0) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(3).normal(0, scale, (1, 4, 6, 6)).astype(np.float32)}


def causes_of(fault: str, given: Program, inputs: Mapping[str, np.ndarray]) -> Causes:
    target = f"tests/planted_targets/wrong.py:{fault}" if fault in wrong.BY_NAME else fault
    with Runner(resolve(["reference", target])) as runner:
        return CausalTest(runner, *runner.targets).causes(given, inputs)


@pytest.mark.planted
def test_the_first_layer_is_fixed_and_the_search_goes_on() -> None:
    """Both normalisations are wrong; the second shows only when the first is fixed."""
    found = causes_of("epsilon_outside", program(), image())
    assert [s.name for s in found.sources] == ["n1", "n2"]
    assert all(s.alone and s.rate > T1 for s in found.sources)
    for source in found.sources:
        assert [(p.name, p.now, p.why) for p in source.parameters] == [("epsilon", "0.0", "consistent")]


@pytest.mark.planted
def test_inputs_are_amplified_where_no_rate_is_large_enough() -> None:
    found = causes_of("counts_padding", program(), image(1e-3))
    assert found.amplified
    assert [s.name for s in found.sources] == ["p"]
    (parameter,) = found.sources[0].parameters  # without pads, or with other ones by auto_pad, it would not show
    assert (parameter.name, parameter.now, parameter.why) == ("count_include_pad", "1", "as if")


@pytest.mark.planted
def test_a_fusion_has_a_layer_that_is_consistent_alone() -> None:
    fault = wrong.BY_NAME["scaled_before_shift"]
    found = causes_of(fault.name, Program.from_proto(wrong.model_of(fault)), wrong.inputs_of(fault))
    assert [(s.op, s.alone, s.parameters) for s in found.sources] == [("Div", False, ())]


GUILTY = [
    ("AveragePool__count_include_pad__turned", "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x)"),
    ("MaxPool__pads__turned", "y = MaxPool<kernel_shape = [3, 3], pads = [0, 1, 2, 1], strides = [1, 2]>(x)"),
    ("LeakyRelu__alpha__spoilt", "y = LeakyRelu<alpha = 0.3>(x)"),
    ("LpPool__p__one_more", "y = LpPool<kernel_shape = [2, 2], p = 1>(x)"),
    ("LpNormalization__axis__turned", "n = LpNormalization<axis = 0>(x) y = Identity(n)"),
    ("Shape__end__spoilt", "y = Shape<start = 1, end = 3>(x)"),
    # With axis 4 the target dies, which explains nothing of what is seen.
    ("Softmax__axis__one_more", "y = Softmax<axis = 2>(x)"),
    # Without auto_pad there are no pads to read either.
    ("AveragePool__pads__spoilt", "y = AveragePool<kernel_shape = [3, 3], pads = [0, 1, 2, 1]>(x)"),
    # No other number of groups suits these weights.
    ("Conv__group__spoilt", "w = ConstantOfShape<value = float[1] {0.5}>(shape) y = Conv<group = 2>(x, w)"),
]


@pytest.mark.planted
@pytest.mark.parametrize(("fault", "body"), GUILTY)
def test_the_guilty_parameter_alone_is_named(fault: str, body: str) -> None:
    kind = "int64" if fault.startswith("Shape") else "float"
    ranks = {"Shape": "[2]", "LeakyRelu": "[1, 4, 6, 6]", "Softmax": "[1, 4, 6, 6]", "LpNormalization": "[1, 4, 6, 6]"}
    shape = ranks.get(fault.partition("__")[0], "[1, 4, ?, ?]")
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4, 6, 6] x) => ({kind}{shape} y)
        <int64[4] shape = {{4, 2, 3, 3}}> {{ {body} }}"""
    given = Program.from_proto(onnx.parser.parse_model(text))
    with Runner(resolve(["reference", f"tests/planted_targets/wrong_parameters.py:{fault}"])) as runner:
        base, other = runner.targets
        (source,) = CausalTest(runner, base, other).causes(given, image()).sources
    assert [p.name for p in source.parameters if p.why not in ("crash", "NaN")] == [fault.split("__")[1]]


def test_of_those_that_hide_a_fault_the_smallest_change_is_kept() -> None:
    def parameter(name: str, moved: float, why: str = "consistent", *, given: bool = True) -> ResponsibleParameter:
        return ResponsibleParameter(name, "1", "0", 0.0, why, moved, given)

    pads, flag = parameter("pads", 1.0), parameter("flag", 0.1, given=False)
    assert guilty([pads, flag]) == (flag,)
    exact = parameter("strides", 1.0, "as if")
    assert guilty([pads, flag, exact]) == (exact,)
    dies = parameter("mode", 1.0, "crash")
    assert guilty([dies, flag]) == (dies, flag)
    assert guilty([pads, parameter("auto_pad", 1.0, given=False)]) == (pads,)
    chance = parameter("beta", math.inf, "as if")
    assert guilty([chance, pads]) == (pads,)
    assert guilty([chance]) == (chance,)
    assert guilty([]) == ()


def test_healthy_targets_have_no_sources() -> None:
    assert causes_of("ort:disabled", program(), image()).sources == ()


def test_variants_are_valid_layers_with_one_parameter_changed() -> None:
    inputs = image()
    made = list(variants(*Cutter(program(), inputs).cut(0, 1), load_specs()))
    assert "epsilon" in {v.parameter for v in made}
    assert all(v.was != v.now for v in made)
    (node,) = [n for n in made[0].program.to_proto().graph.node if n.op_type == "BatchNormalization"]
    changed = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert changed[made[0].parameter] == pytest.approx(float(made[0].now))
