from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

from irfuzz.errors import SpecError
from irfuzz.spec import Specs, has_trait, load_specs, trait_values, with_trait
from irfuzz.spec.traits import TRAITS, as_markdown, build_traits

pytestmark = pytest.mark.unit

HEAD = 'op = "Softmax"\ndoc = "d"\n'


def load(folder: Path, text: str) -> Specs:
    (folder / "Softmax.toml").write_text(HEAD + text)
    return Specs(folder)


def test_a_list_of_names_holds_for_all_versions(tmp_path: Path) -> None:
    specs = load(tmp_path, 'traits = ["saturates", "hides_nan"]\nsince = 13\n')
    assert [dict(specs.version("Softmax", v).traits) for v in (1, 13)] == [{"hides_nan": True, "saturates": True}] * 2
    assert "Softmax" in specs.trait("saturates")
    assert "Softmax" not in specs.trait("adds")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('traits = ["saturate"]', "Softmax.toml: traits: got 'saturate'; expected one of absolute_error, "),
        ("traits = [3]", "Softmax.toml: traits: got '3'; expected one of "),
        ('traits = "saturates"', "Softmax.toml: traits: expected a list of names or a table .*, got 'saturates'"),
        ("traits = { saturates = false }", "Softmax.toml: traits.saturates: expected true, got False"),
        ("traits = { saturates = 1 }", "Softmax.toml: traits.saturates: expected true, got 1"),
        ('[[version]]\nsince = 13\ntraits = ["adds"]', "Softmax.toml: version 13: unknown key 'traits'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load(tmp_path, text)


def test_python_asks_by_node_by_name_and_for_values() -> None:
    relu, concat = (ir.Node("", op, [ir.Value(name="x")]) for op in ("Relu", "Concat"))
    assert has_trait(relu, "saturates")
    assert not has_trait(concat, "saturates")
    assert {"Relu", "Softmax"} <= with_trait("saturates")
    assert trait_values("saturates")["Relu"] is True
    with pytest.raises(KeyError):
        has_trait(relu, "saturate")


def test_every_trait_is_one_sentence_and_some_operator_has_it() -> None:
    assert [n for n, t in TRAITS.items() if not t.meaning.endswith(".") or "|" in t.meaning] == []
    assert [n for n in TRAITS if not load_specs().trait(n)] == []
    assert list(TRAITS) == sorted(TRAITS)


def test_the_docs_list_them() -> None:
    text = (Path(__file__).parents[2] / "docs" / "operators.md").read_text(encoding="utf-8")
    start, end = "<!-- the table of traits: irfuzz.spec.traits.as_markdown() -->\n", "<!-- end of traits -->"
    assert text[text.index(start) + len(start) : text.index(end)].strip() == as_markdown()


def test_no_traits_are_no_traits() -> None:
    assert build_traits({}, "x") == {}
