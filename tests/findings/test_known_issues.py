"""Known issues: the rules that ship explain the bugs that they are about, and nothing else of those."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from irfuzz.errors import UsageError
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, Run
from irfuzz.findings.known_issues import Known, known_issues, labelled, read_rules, shipped
from irfuzz.oracle.types import Symptom, Verdict


def row(
    model: bytes, symptom: str, component: str, version: str, message: str = "", passes: str = "", got: str = ""
) -> Finding:
    names = tuple(passes.split(" + ")) if passes else ()
    verdict = Verdict("", Symptom(symptom), f"{component}:all", message=message, passes=names, got=got)
    case = FailingCase(model, {})
    return Finding(verdict, case, case, runs=(Run(f"{component}:all", component, version=version),))


def documented() -> list[Known]:
    return [rule for rule in shipped() if rule.docs.startswith("docs/bugs.md")]


def test_every_documented_bug_has_a_rule_that_explains_it(root: Path) -> None:
    bugs = sorted(p.name for p in (root / "docs" / "bugs").iterdir() if p.is_dir())
    rules = documented()
    assert len(rules) >= 59
    assert {rule.id for rule in rules} <= set(bugs)
    foreign = 0
    for rule in rules:
        model = (root / "docs" / "bugs" / rule.id / "model.onnx").read_bytes()
        found = known_issues(row(model, rule.symptoms[0], rule.component, rule.seen, rule.message))
        assert rule in found
        foreign += len(found) - 1
    assert foreign <= 9, "rules that take other bugs for theirs"


def test_a_rule_says_no() -> None:
    graph = 'g (float[1,1,3] x) => (float[1,1,3] y) { y = MaxPool <kernel_shape = [1], auto_pad = "SAME_UPPER"> (x) }'
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}').SerializeToString()
    rule = Known("id", "t", "mine", ("difference",), ("MaxPool",), ("auto_pad",), "float", "", "1.4", "1.5")  # type: ignore[arg-type]
    assert rule.explains(row(model, "difference", "mine", "1.4.9"))
    for other in (
        row(model, "difference", "mine", "1.10"),  # newer than 1.5
        row(model, "crash", "mine", "1.4"),
        row(model, "difference", "yours", "1.4"),
    ):
        assert not rule.explains(other)
    assert replace(rule, operators=(), one_of=("Relu", "MaxPool")).explains(row(model, "difference", "mine", "1.4"))
    assert not replace(rule, operators=(), one_of=("Relu", "Conv")).explains(row(model, "difference", "mine", "1.4"))
    assert not replace(rule, one_of=("MaxPool",)).explains(row(model, "difference", "mine", "1.4")), (
        "one more is wanted"
    )
    told = row(model, "difference", "mine", "1.4", "no plan for MaxPool")
    assert replace(rule, operators=(), message="no plan").explains(told)
    for change in ({"attributes": ("dilations",)}, {"dtype": "double"}, {"operators": ("MaxPool", "Pad")}):
        assert not replace(rule, **change).explains(row(model, "difference", "mine", "1.4"))
    more = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,3] x) => (float[1,1,3] y) '
        '{ a = MaxPool <kernel_shape = [1], auto_pad = "SAME_UPPER"> (x) y = Relu (a) }'
    ).SerializeToString()
    assert not rule.explains(row(more, "difference", "mine", "1.4"))
    assert replace(rule, among=True).explains(row(more, "difference", "mine", "1.4"))
    assert not replace(rule, since="1.4.1").explains(row(model, "difference", "mine", "1.4"))
    by = replace(rule, passes=("Pad_Fusion",))
    assert by.explains(row(model, "difference", "mine", "1.4")), "a finding that names no pass"
    assert by.explains(row(model, "difference", "mine", "1.4", passes="ConstantFolding + Pad_Fusion"))
    assert not by.explains(row(model, "difference", "mine", "1.4", passes="ConstantFolding"))
    told = replace(rule, message="no such (kernel|plan)", operators=("MaxPool",))
    assert told.explains(row(model, "difference", "mine", "1.4", "there is no such plan"))
    assert not told.explains(row(model, "difference", "mine", "1.4", "there is none"))
    few = replace(rule, among=True, most=2)
    assert few.explains(row(more, "difference", "mine", "1.4"))
    assert not replace(few, most=1).explains(row(more, "difference", "mine", "1.4"))
    given = replace(rule, got="^float16")
    assert given.explains(row(more, "difference", "mine", "1.4", got="float16[1]"))
    assert not given.explains(row(more, "difference", "mine", "1.4", got="float32[1]"))
    cast = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) '
        "{ a = Cast <to = 11> (x) b = Neg (a) y = Cast <to = 1> (b) }"
    ).SerializeToString()
    of_cast = Known("id", "t", "mine", ("difference",), ("Cast",), message="no type")  # type: ignore[arg-type]
    assert of_cast.explains(row(cast, "difference", "mine", "1.4", "no type"))
    assert not replace(of_cast, message="").explains(row(cast, "difference", "mine", "1.4"))
    body = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[1] x) => (float[1] y) { y = If (c) '
        "<then_branch = t () => (float[1] a) { a = Elu (x) }, else_branch = e () => (float[1] b) { b = Neg (x) }> }"
    ).SerializeToString()
    inside = Known("id", "t", "mine", ("difference",), ("If",), within=("Elu", "Selu"))  # type: ignore[arg-type]
    assert inside.explains(row(body, "difference", "mine", "1.4"))
    assert not replace(inside, within=("Selu", "If")).explains(row(body, "difference", "mine", "1.4"))
    assert [k.id for k in labelled(row(model, "difference", "mine", "1.4"), [rule]).known] == ["id"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 2", "expected schema = 1"),
        ("schema = 1\n[[issue]]\nid = 'a'", "issue 1: title: is missing"),
        ("schema = 1\n[[issue]]\nid = 'a'\nname = 'b'", "issue 1: name: expected one of id"),
        ("schema = 1\n[[issue]]\nid = 'a'\ntitle = 'b'\ncomponent = 'c'\nsymptoms = ['d']\noperators = ['e']", "'d'"),
        ("schema = 1\n[[issue]]\nid = 'a'\nmost = 0", "issue 1: most: expected a number above 0"),
        ("schema = ", "not TOML"),
    ],
)
def test_wrong_rules_are_told(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "known_issues.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"known_issues\.toml") as error:
        read_rules(path)
    assert said in str(error.value)
