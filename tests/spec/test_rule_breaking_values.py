"""Values just beyond the rules of a call: each breaks one, and nothing nearer does."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.spec import Specs, check_call, sample_call
from irfuzz.spec.constraints.rule_breaking_values import RuleBreakingValue, beyond

pytestmark = pytest.mark.unit

FLOAT, INT64 = ir.DataType.FLOAT, ir.DataType.INT64


def crafted(specs: Specs, op: str, inputs: list[TensorFact], **attrs: object) -> dict[tuple[str, str], object]:
    spec = specs.get(op, 17)
    assert spec is not None
    return {(b.name, b.violation.rule): b.value for b in beyond(spec, inputs, attrs)}


def test_limits_lists_and_words_give_their_neighbours(specs: Specs) -> None:
    image, weights = TensorFact(FLOAT, (1, 4, 6, 6)), TensorFact(FLOAT, (4, 2, 3, 3))
    found = crafted(specs, "Conv", [image, weights], group=2, strides=[1, 2], auto_pad="VALID")
    assert found["group", "group: expected at least"] == 0
    assert found["group", "W: C // group"] == 3
    assert found["kernel_shape", "kernel_shape == K"] == [4, 3]
    assert found["strides", "strides: expected at least"] == [0, 2]
    assert found["strides", "strides: expected len(D) elements"] == [1, 2, 2]
    assert found["auto_pad", "auto_pad: expected one of 'NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'"] == ""
    found = crafted(specs, "Softmax", [TensorFact(FLOAT, (2, 3, 4))], axis=1)
    assert set(found.values()) == {3, -4}


def test_inputs_that_are_parameters_are_crafted_too(specs: Specs) -> None:
    axis = TensorFact(INT64, (), value=(1,))
    found = crafted(specs, "CumSum", [TensorFact(FLOAT, (2, 3)), axis])
    assert found["axis", "axis: expected at most"] == (2,)
    assert found["axis", "axis: expected at least"] == (-3,)
    unknown = crafted(specs, "CumSum", [TensorFact(FLOAT, (2, 3)), TensorFact(INT64, ())])
    assert not any(name == "axis" for name, _ in unknown)


def test_a_required_attribute_can_be_missing(specs: Specs) -> None:
    assert (
        crafted(specs, "Concat", [TensorFact(FLOAT, (2,))] * 2, axis=0)["axis", "axis: required, but missing"] is None
    )


def test_a_call_that_breaks_a_rule_already_gives_none(specs: Specs) -> None:
    assert crafted(specs, "Softmax", [TensorFact(FLOAT, (2, 3))], axis=5) == {}


def test_all_operators_have_rules_to_break_and_every_value_breaks_its_own(specs: Specs) -> None:
    broken: set[tuple[str, str]] = set()
    operators: set[str] = set()
    for spec in specs.overlaid(17):
        call = sample_call(spec, {}, Choices.from_seed(spec.op), max_elements=200)
        if call is None:
            continue
        facts = [None if p is None else p.fact for p in call.inputs]
        for one in beyond(spec, facts, call.attrs):
            operators.add(spec.op)
            broken.add((spec.op, one.violation.rule))
            assert _violations(spec, facts, call.attrs, one)[0].rule == one.violation.rule
    assert len(operators) > 70
    assert len(broken) > 250


def _violations(spec, facts, attrs, one: RuleBreakingValue):
    if one.position < 0:
        changed = {n: v for n, v in attrs.items() if n != one.name}
        return check_call(spec, facts, changed if one.value is None else {**changed, one.name: one.value})
    fact = facts[one.position]
    return check_call(
        spec,
        [*facts[: one.position], TensorFact(fact.dtype, fact.shape, value=one.value), *facts[one.position + 1 :]],
        attrs,
    )


def test_rules_that_are_open_are_rules(specs: Specs) -> None:
    for op in {spec.op for spec in specs.all("")}:
        versions = [specs.version(op, v) for v in specs.versions(op)]
        rules = {text for spec in versions if spec.overlay for text, _ in spec.overlay.rules}
        names = {n for spec in versions if spec.overlay for n in (*spec.attrs, *spec.overlay.values)}
        for text in {t for spec in versions if spec.overlay for t in spec.overlay.open}:
            assert text in rules or text.partition(": expected ")[0] in names, (op, text)
