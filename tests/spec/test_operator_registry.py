from __future__ import annotations

import onnx.defs
import pytest

from irfuzz.spec import Specs

pytestmark = pytest.mark.unit


def test_every_operator_version_of_onnx_is_there(specs: Specs) -> None:
    built = {(s.domain, s.op, s.since): s for s in specs.all()}
    schemas = onnx.defs.get_all_schemas_with_history()
    assert {key for key in built if key[0] != "com.microsoft"} == {(s.domain, s.name, s.since_version) for s in schemas}
    for schema in schemas:
        spec = built[schema.domain, schema.name, schema.since_version]
        assert [i.name for i in spec.inputs] == [i.name for i in schema.inputs]
        assert set(spec.attrs) == set(schema.attributes)
        assert {a for a, s in spec.attrs.items() if s.required} == {
            a for a, s in schema.attributes.items() if s.required
        }


@pytest.mark.parametrize(
    ("op", "opset", "since"), [("Conv", 17, 11), ("Conv", 10, 1), ("Add", 13, 13), ("Gelu", 26, 20)]
)
def test_the_version_that_applies(specs: Specs, op: str, opset: int, since: int) -> None:
    spec = specs.get(op, opset)
    assert spec is not None
    assert spec.since == since


def test_unknown_operators_and_too_old_opsets(specs: Specs) -> None:
    assert specs.get("Nothing", 17) is None
    assert specs.get("Gelu", 19) is None
    assert specs.get("Conv", 17, "com.example") is None
    assert specs.get("LabelEncoder", 3, "ai.onnx.ml") is not None
    assert specs.get("Conv", 17, "ai.onnx") is specs.get("Conv", 17)


def test_overlaid_operators(specs: Specs) -> None:
    names = [s.op for s in specs.overlaid(17)]
    assert names == sorted(names)
    assert len(names) >= 100
    assert {"Conv", "LSTM", "Resize", "QLinearConv", "Gather", "ReduceMean", "MatMul"} <= set(names)


def test_overlays_are_complete(specs: Specs) -> None:
    for spec in specs.all():
        if not spec.is_sampled or spec.since > 26:
            continue
        name = f"{spec.op}-{spec.since}"
        assert spec.numerics is not None, name
        assert all(a.domain for a in spec.attrs.values() if a.required), name
        if spec.since >= 7:
            assert all(spec.portable.get(i.type_str, True) is not None for i in spec.inputs), name
            assert spec.portable or not any(i.type_str in spec.type_vars for i in spec.inputs), name
        for variable, types in spec.portable.items():
            assert set(types) <= spec.type_vars[variable], name


def test_attributes_of_a_version(specs: Specs) -> None:
    conv = specs.get("Conv", 17)
    assert conv is not None
    assert conv.parameters == ("W", "B")
    assert conv.attrs["group"].default == 1
    assert conv.attrs["auto_pad"].default == "NOTSET"
    assert 0 in conv.attrs["group"].invalid
    assert conv.numerics is not None
    assert conv.numerics.terms is not None
    assert conv.numerics.terms.evaluate({"C": 8, "group": 2, "K": (3, 3)}) == 36
