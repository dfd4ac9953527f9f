from __future__ import annotations

import re
from pathlib import Path

import pytest

from irfuzz.errors import SpecError
from irfuzz.spec import Specs

pytestmark = pytest.mark.unit

GOOD = """
op = "Softmax"
doc = "Softmax-1, -13"
[dims]
input = "*S"
[attrs]
axis = { range = [0, 1], omit = 0.1 }
[require]
rules = ["len(S) >= 1"]
[[version]]
since = 11
[version.attrs]
axis = { one_of = [0] }
[[version]]
since = 13
[version.require]
rules = ["len(S) >= 2"]
"""


def load(folder: Path, text: str, name: str = "Softmax") -> Specs:
    (folder / f"{name}.toml").write_text(text)
    specs = Specs(folder)
    for version in specs.versions(name):
        specs.version(name, version)
    return specs


def test_versions_are_merged_over_the_common_tables(tmp_path: Path) -> None:
    specs = load(tmp_path, GOOD)
    old, middle, new = (specs.version("Softmax", v) for v in (1, 11, 13))
    assert middle.overlay is not None
    assert new.overlay is not None
    assert old.attrs["axis"].domain is not None
    assert old.attrs["axis"].domain.bounds is not None
    assert middle.attrs["axis"].domain is not None
    assert (middle.attrs["axis"].domain.bounds, middle.attrs["axis"].domain.one_of) == (None, (0,))
    assert [t for t, _ in middle.overlay.rules] == ["len(S) >= 1"]
    assert [t for t, _ in new.overlay.rules] == ["len(S) >= 2"]
    assert new.attrs["axis"].domain is not None
    assert new.attrs["axis"].domain.one_of is None


def test_since_leaves_older_versions_without_overlay(tmp_path: Path) -> None:
    specs = load(tmp_path, 'op = "Add"\ndoc = "d"\nsince = 7\n[dims]\nA = "broadcast(*S)"\n', "Add")
    assert [v for v in specs.versions("Add") if specs.version("Add", v).has_overlay] == [7, 13, 14]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('op = "Softmax"', 'op = "Softmin"', "the file's name"),
        ('doc = "Softmax-1, -13"', "", "doc must be a text"),
        ("[require]", "[requires]", "unknown key 'requires'"),
        ('rules = ["len(S) >= 1"]', "rules = 3", r"Softmax.toml \(version 1\): require.rules must be a list"),
        (
            "len(S) >= 1",
            "len(S) >=",
            r"Softmax.toml \(version 1\): require.rules\[0\]: expression 'len\(S\) >=', column",
        ),
        ('input = "*S"', 'inputs = "*S"', "dims.inputs: Softmax has no such name; it has input"),
        ("axis = { range", "axes = { range", "attrs.axes: Softmax has no such name"),
        ("range = [0, 1]", "range = [0]", r"attrs.axis.range: expected \[smallest, largest\]"),
        ("range = [0, 1]", 'one_of = ["0"]', r"\(version 1\): attrs.axis.one_of: expected INT, got '0'"),
        ("range = [0, 1]", "one_of = [0, 1], invalid = [0.5]", "attrs.axis.invalid: expected INT, got 0.5"),
        ("range = [0, 1]", "pick = [true]", "attrs.axis.pick: expected INT, got True"),
        ("range = [0, 1]", "pick = [0, 1]", None),
        ("range = [0, 1]", "rnge = [0, 1]", "attrs.axis: unknown key 'rnge'"),
        ("range = [0, 1]", 'generate = "axes(len("', r"attrs.axis.generate: 'axes\(len\('"),
        ("range = [0, 1]", 'generate = "open(1)"', "unknown generator 'open'"),
        ("since = 11", "since = 12", "Softmax has no version 12"),
        ("since = 11", "since = 14", "rising order"),
        ('input = "*S"', 'input = "*axis"\n', None),
        ('input = "*S"', 'input = "*T"', "'T' is a size and a type variable"),
        ('input = "*S"', 'input = "*input"', "'input' is a size and an input"),
        ("[require]", '[numerics]\nkind = "magic"\n[require]', "numerics.kind: expected one of exact"),
        ("[require]", "[undefined]\ntie = 3\n[require]", "undefined.tie: expected a text"),
        ("[require]", '[undefined]\ntie = { why = "w", test = 3 }\n[require]', "undefined.tie: test must be a text"),
        ("[require]", '[portable]\n13 = { T = ["floaty"] }\n[require]', "'floaty' is not an element type"),
        ('op = "Softmax"', "op = ", "Softmax.toml: Invalid value"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, old: str, new: str, message: str | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    if message is None:
        load(tmp_path, text)
        return
    with pytest.raises(SpecError, match=message) as e:
        load(tmp_path, text)
    assert "Softmax.toml" in str(e.value)


def test_an_unknown_operator_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Nothing.toml").write_text('op = "Nothing"\ndoc = "d"\n')
    with pytest.raises(SpecError, match=r"has no operator ai\.onnx\.Nothing"):
        Specs(tmp_path)


def test_a_required_attribute_without_domain_is_found_when_sampled(tmp_path: Path) -> None:
    import onnx_ir as ir

    from irfuzz.choices import Choices
    from irfuzz.facts import TensorFact
    from irfuzz.spec import sample_call

    shapes = '[shapes]\ninputs = "concat_shapes(known(shape(inputs)), 0, open)"\n'
    text = f'op = "Concat"\ndoc = "d"\nsince = 4\n{shapes}[portable]\n13 = {{ T = ["float"] }}\n'
    spec = load(tmp_path, text, "Concat").version("Concat", 13)
    with pytest.raises(SpecError, match=r"attrs\.axis"):
        sample_call(spec, {0: TensorFact(ir.DataType.FLOAT, (2, 3))}, Choices.from_seed(1))


def test_a_file_lies_in_the_folder_of_its_domain_or_names_it(tmp_path: Path) -> None:
    for domain in ("ai.onnx", "ai.onnx.ml"):
        (tmp_path / domain).mkdir()
    (tmp_path / "ai.onnx" / "Softmax.toml").write_text(GOOD)
    (tmp_path / "ai.onnx.ml" / "Scaler.toml").write_text('op = "Scaler"\ndoc = "d"\n')
    (tmp_path / "Binarizer.toml").write_text('op = "Binarizer"\ndomain = "ai.onnx.ml"\ndoc = "d"\n')
    (tmp_path / "Relu.toml").write_text('op = "Relu"\ndomain = "ai.onnx"\ndoc = "d"\n')
    specs = Specs(tmp_path)
    found = {(s.domain, s.op) for s in specs.all() if s.has_overlay}
    assert found == {("", "Softmax"), ("", "Relu"), ("ai.onnx.ml", "Scaler"), ("ai.onnx.ml", "Binarizer")}


def test_a_domain_that_contradicts_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ai.onnx").mkdir()
    (tmp_path / "ai.onnx" / "Scaler.toml").write_text('op = "Scaler"\ndomain = "ai.onnx.ml"\ndoc = "d"\n')
    with pytest.raises(SpecError, match=r"ai\.onnx/Scaler\.toml: domain is 'ai\.onnx\.ml', but the folder's name says"):
        Specs(tmp_path)


OWN = """
op = "Mode"
domain = "test.custom"
doc = "Mode-1"
[schema]
inputs = [{ name = "X", type = "T" }]
outputs = [{ name = "Y", type = "T" }]
types = { T = ["tensor(float)"] }
attributes = { mode = { type = "STRING", default = "a" }, sizes = { type = "INTS" } }
[attrs]
mode = { one_of = ["a", "b"], invalid = ["c"] }
sizes = { each = { one_of = [1, 2] }, len = "2" }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ('["a", "b"]', "[1]", "Mode.toml (version 1): attrs.mode.one_of: expected STRING, got 1"),
        ('one_of = ["a", "b"]', "range = [0, 1]", "attrs.mode: a range is of numbers, and the attribute is STRING"),
        (
            "each = { one_of = [1, 2] }",
            'each = { one_of = [1, "2"] }',
            "attrs.sizes.each.one_of: expected INT, got '2'",
        ),
        ("each = { one_of = [1, 2] }", "pick = [[1, 2], [3]]", None),
        ("each = { one_of = [1, 2] }", "pick = [[1, 2], 3]", "attrs.sizes.pick: expected INTS, got 3"),
    ],
)
def test_values_of_an_attribute_are_of_its_type(tmp_path: Path, old: str, new: str, message: str | None) -> None:
    (tmp_path / "Mode.toml").write_text(OWN.replace(old, new, 1) if old else OWN)
    specs = Specs(tmp_path)
    if message is None:
        assert specs.version("Mode", 1, "test.custom").attrs["mode"].domain is not None
        return
    with pytest.raises(SpecError, match=re.escape(message)):
        specs.version("Mode", 1, "test.custom")
