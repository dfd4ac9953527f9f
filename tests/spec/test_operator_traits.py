from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx_ir as ir
import pytest

from irfuzz.errors import SpecError
from irfuzz.generate.graph_inputs import operator_input_limits
from irfuzz.generate.input_planning.axis_kinds import Kind
from irfuzz.ir.inference import control_flow, crash_guards, range_rules
from irfuzz.mutate.editing import runtime_refusals
from irfuzz.mutate.patterns.near_misses import siblings
from irfuzz.oracle.dataflow import masked_nan
from irfuzz.oracle.numeric import discontinuity_distance
from irfuzz.search import nan_inconsistency_fitness
from irfuzz.spec import Specs, has_trait, in_order, load_specs, names_input, trait_values, with_trait
from irfuzz.spec.operator_traits import TRAITS, as_markdown, build_traits

ROOT = Path(__file__).parents[2]
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
    text = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    start, end = "<!-- the table of traits: irfuzz.spec.operator_traits.as_markdown() -->\n", "<!-- end of traits -->"
    assert text[text.index(start) + len(start) : text.index(end)].strip() == as_markdown()


def test_no_traits_are_no_traits() -> None:
    assert build_traits({}, "x") == {}


def test_every_trait_is_asked_for() -> None:
    asked = "".join(p.read_text() for p in (ROOT / "irfuzz").rglob("*.py") if p.name != "operator_traits.py")
    assert [name for name in TRAITS if f'"{name}"' not in asked] == []


def test_words_of_traits_are_those_of_the_tables_that_read_them() -> None:
    drawn = [word for table in trait_values("drawn_elements").values() for word in table.values()]
    assert {word for word in drawn if isinstance(word, str)} == set(operator_input_limits.RULES)
    assert set(trait_values("refused_for").values()) == set(runtime_refusals.RULES)
    counted = [kind for table in trait_values("counted_by_rank").values() for kind in table.values()]
    assert set(counted) <= set(Kind)


def test_traits_name_inputs_that_some_version_has() -> None:
    specs = load_specs()
    for op, table in trait_values("drawn_elements").items():
        assert table.keys() <= {f.name for v in specs.versions(op) for f in specs.version(op, v).inputs}
    for name in ("carries", "exact_inputs", "nonnegative_inputs", "state_inputs"):
        for op, places in trait_values(name).items():
            most = max(specs.version(op, v).max_inputs for v in specs.versions(op))
            assert all(0 <= place < most for place in places), (name, op)


def test_a_number_puts_operators_in_order_and_an_empty_list_names_all_inputs() -> None:
    assert in_order("activation")[:3] == ("Relu", "Sigmoid", "Tanh")
    assert len(set(trait_values("common").values())) == len(in_order("common"))
    assert [names_input("exact_inputs", "Slice", i) for i in (0, 1, 4, 5)] == [False, True, True, False]
    assert all(names_input("exact_inputs", "Range", i) for i in range(3))
    assert not names_input("exact_inputs", "Relu", 0)
    assert siblings("Less") == ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    assert siblings("LSTM") == ("LSTM",)


@pytest.mark.parametrize(
    ("trait", "functions"),
    [
        ("control_flow", control_flow.RULES),
        ("distance_to_step", discontinuity_distance.DISTANCES),
        ("inference_guard", crash_guards.GUARDS),
        ("makes_nan", masked_nan.SAFE),
        ("nan_objective", nan_inconsistency_fitness.HAZARDS),
        ("result_range", range_rules.RANGE_RULES),
    ],
)
def test_every_function_that_a_trait_names_exists_and_is_named(trait: str, functions: Mapping[str, object]) -> None:
    values = trait_values(trait).values()
    assert {v["name"] if isinstance(v, dict) else v for v in values} == set(functions)
