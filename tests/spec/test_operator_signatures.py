"""What an overlay's ``[schema]`` states of its operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest

from irfuzz.errors import SpecError
from irfuzz.spec import Specs
from irfuzz.spec.operator_signatures import of_table, onnx_schemas, signature_of

GOOD = """
op = "Blend"
doc = "Blend-1"
[schema]
inputs = [{ name = "X", type = "T" }, { name = "rest", type = "T", option = "variadic" }]
outputs = [{ name = "Y", type = "T" }]
types = { T = ["tensor(float)", "seq(tensor(double))"] }
attributes = { alpha = { type = "FLOAT", default = 0.5 }, axes = { type = "INTS", required = true } }
"""


def load(folder: Path, text: str) -> Specs:
    (folder / "test.custom").mkdir()
    (folder / "test.custom" / "Blend.toml").write_text(text)
    specs = Specs(folder)
    specs.get("Blend", 1, "test.custom")
    return specs


def test_a_schema_of_ones_own(tmp_path: Path) -> None:
    specs = load(tmp_path, GOOD)
    assert specs.domains[0] == ""
    assert "test.custom" in specs.domains
    spec = specs.get("Blend", 3, "test.custom")
    assert spec is not None
    assert specs.get("Blend", 3) is None
    assert specs.get("Blend", 0, "test.custom") is None
    assert (spec.name, spec.since, spec.min_inputs) == ("test.custom.Blend", 1, 2)
    assert spec.inputs[1].option == "variadic"
    assert spec.max_inputs > 1000
    assert spec.type_vars == {"T": {ir.DataType.FLOAT, ir.DataType.DOUBLE}}
    assert spec.inputs[0].kinds == {"tensor", "seq"}
    assert (spec.attrs["alpha"].default, spec.attrs["axes"].required) == (0.5, True)
    assert specs.newest("test.custom") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[schema]", "[schemas]", "unknown key 'schemas'"),
        ("types =", "kinds =", "schema: unknown key 'kinds'"),
        ('{ name = "X", type = "T" }', '"X"', r"schema.inputs\[0\]: expected a table"),
        ('option = "variadic"', 'option = "many"', "option: expected one of single, optional, variadic, got 'many'"),
        ("tensor(float)", "tensor(floaty)", "'floaty' is not an element type"),
        ('"FLOAT"', '"REAL"', "schema.attributes.alpha: expected a table"),
        ('outputs = [{ name = "Y", type = "T" }]', "", "has at least one output"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(SpecError, match=message) as error:
        load(tmp_path, GOOD.replace(old, new))
    assert "test.custom/Blend.toml" in str(error.value)


def test_an_operator_that_has_a_schema_takes_no_other(tmp_path: Path) -> None:
    (tmp_path / "Relu.toml").write_text(GOOD.replace('"Blend"', '"Relu"'))
    with pytest.raises(SpecError, match=r"ai\.onnx\.Relu has a schema already"):
        Specs(tmp_path)


def test_a_table_says_as_much_as_a_schema_of_onnx() -> None:
    relu = signature_of(onnx_schemas()[""]["Relu"][6])
    formal = {"type": "T"}
    table: dict[str, Any] = {"since": 6, "inputs": [{"name": "X", **formal}], "outputs": [{"name": "Y", **formal}]}
    table["types"] = {"T": sorted(relu.inputs[0].types)}
    assert of_table("Relu", "", table, "here") == relu
