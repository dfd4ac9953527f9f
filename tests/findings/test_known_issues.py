"""Known issues: the rules that ship explain the bugs that they are about, and nothing else of those."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from benchmarks.known_issues import known_cases, targets_for, try_all
from irfuzz import load
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.findings.known_issue_conditions import known_nodes, node_condition
from irfuzz.findings.known_issues import KnownIssueRule, RuleSubject, known_issues, labelled, read_rules, shipped
from irfuzz.oracle.verdict import Symptom, Verdict


def row(
    model: bytes, symptom: str, component: str, version: str, message: str = "", passes: str = "", got: str = ""
) -> Finding:
    names = tuple(passes.split(" + ")) if passes else ()
    verdict = Verdict("", Symptom(symptom), f"{component}:all", message=message, passes=names, got=got)
    case = FailingCase(model, {})
    return Finding(verdict, case, case, runs=(TargetRun(f"{component}:all", component, version=version),))


def of_case(case: FailingCase, rule: KnownIssueRule, said: str = "", version: str = "") -> Finding:
    """What a campaign would find of a case if it were the rule's issue, by its operators, symptom, pass and version."""
    verdict = Verdict(
        "", rule.symptoms[0], f"{rule.component}:all", message=said, passes=rule.passes[:1],
        got="float32[1]" if rule.got else "",
    )  # fmt: skip
    run = TargetRun(f"{rule.component}:all", rule.component, version=version or rule.seen)
    return Finding(verdict, case, case, runs=(run,))


SOME = "schema = 1\n[[issue]]\nid = 'a'\ntitle = 'b'\ncomponent = 'c'\n"
RULES = {rule.id: rule for rule in shipped()}
CASES = known_cases()
WITHOUT_RULE = {"064", "065", "066", "070", "095", "165", "166"}
"""Documented bugs that have no rule of their own, as docs/findings.md says."""
MANY = {"onnxruntime": 30, "reference": 40}
"""At least so many of their cases can be tried with the newest version."""


def test_every_documented_bug_has_a_rule_and_every_rule_of_numbers_and_shapes_a_case(root: Path) -> None:
    bugs = {p.name for p in (root / "docs" / "bugs").iterdir() if p.is_dir()}
    assert {rule.id for rule in shipped() if rule.docs.startswith("docs/bugs.md,")} <= bugs
    assert {name.partition("-")[0] for name in bugs - RULES.keys()} == WITHOUT_RULE
    assert CASES.keys() <= RULES.keys()
    told = {rule.id for rule in shipped() if rule.message or rule.got or rule.symptoms == (Symptom.LENIENCY,)}
    assert RULES.keys() - CASES.keys() <= told, "a rule without words of the component has a case"


@pytest.mark.parametrize("issue", CASES)
def test_a_rule_takes_its_issue_and_not_another_of_the_same_operators(issue: str) -> None:
    rule, case = RULES[issue], CASES[issue]
    witness = case.witness()
    assert rule.explains(of_case(witness, rule, case.said)), "the issue itself"
    other = case.other()
    if other is None:
        assert rule.always or not rule.where, "a rule with conditions has a counter case"
    else:
        assert RuleSubject.of(of_case(other, rule)).operators >= frozenset(rule.operators), "it has the same operators"
        assert not rule.explains(of_case(other, rule, case.said)), "another attribute, type or value"
    if rule.message:
        assert not rule.explains(of_case(witness, rule, "something else is wrong")), "other words"
    if rule.fixed:
        assert not rule.explains(of_case(witness, rule, case.said, rule.fixed)), "a version that has it no more"
    if rule.since:
        assert not rule.explains(of_case(witness, rule, case.said, "0.1")), "a version that had it not yet"
    if rule.passes:
        finding = of_case(witness, rule, case.said)
        by = replace(finding, verdict=replace(finding.verdict, passes=("AnotherPass",)))
        assert not rule.explains(by), "another pass"


def test_no_rule_takes_the_issue_of_another_for_its_own() -> None:
    foreign: set[tuple[str, str]] = set()
    for issue, case in CASES.items():
        found = known_issues(of_case(case.witness(), RULES[issue], case.said))
        foreign |= {(issue, rule.id) for rule in found if rule.id != issue}
    assert foreign == set()


def installed(rule: KnownIssueRule) -> list[Target]:
    """Targets of irfuzz's own environment, if it has the version that is known to show the issue."""
    targets = [t for t in targets_for(rule) if not t.environment and t.version.partition("+")[0] == rule.seen]
    if not targets:
        raise UsageError(f"{rule.component} {rule.seen} is not installed")
    return targets


@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("component", sorted({RULES[issue].component for issue in CASES}))
def test_what_installed_versions_show_is_labelled(component: str) -> None:
    issues = [issue for issue in CASES if RULES[issue].component == component]
    found = list(try_all(issues, choose=installed))
    assert [one for one in found if one.holds is False] == []
    if all(one.holds is None for one in found):
        pytest.skip("; ".join(dict.fromkeys(one.told for one in found)))
    hold = sum(bool(one.holds) for one in found)
    assert hold >= MANY.get(component, 1) or any("is not installed" in one.told for one in found), found


@pytest.mark.parametrize(
    ("component", "issue", "symptom", "known"),
    [
        ("onnxruntime-node", "008-onnxruntime-shrink-double", Symptom.DIFFERENCE, True),
        ("onnxruntime-web", "006-onnxruntime-relu-clip-double", Symptom.REJECTION, True),
        ("webgpu", "006-onnxruntime-relu-clip-double", Symptom.REJECTION, True),
        ("webgpu", "008-onnxruntime-shrink-double", Symptom.DIFFERENCE, False),
        ("onnxruntime-openvino", "008-onnxruntime-shrink-double", Symptom.DIFFERENCE, False),
    ],
)
def test_rules_hold_for_other_builds_and_words_of_the_optimiser_for_other_kernels(
    component: str, issue: str, symptom: Symptom, known: bool
) -> None:
    case = CASES[issue]
    found = of_case(case.witness(), replace(RULES[issue], component=component, symptoms=(symptom,)), case.said)
    assert RULES[issue].explains(found) is known


def test_a_condition_can_ask_how_often_an_input_is_read() -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {v = Mul (x, x) y = Add (v, x)}'
    nodes = known_nodes(load(onnx.parser.parse_model(text)))
    assert node_condition("Add: B_uses == 3 and A_uses == 1", "here").holds(nodes)
    assert not node_condition("Add: A_uses > 1", "here").holds(nodes)


def test_the_reference_evaluator_is_known_to_check_little_whatever_the_operator() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {y = Elu (x)}'
    )
    data = model.SerializeToString()
    known = known_issues(row(data, "leniency", "reference", "1.23.2"))
    assert [rule.id for rule in known] == ["reference-checks-little"]
    assert not known_issues(row(data, "leniency", "onnxruntime", "1.32.0"))
    assert not known_issues(row(data, "difference", "reference", "1.23.2"))


def test_a_rule_says_no() -> None:
    graph = 'g (float[1,1,3] x) => (float[1,1,3] y) { y = MaxPool <kernel_shape = [1], auto_pad = "SAME_UPPER"> (x) }'
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}').SerializeToString()
    rule = KnownIssueRule("id", "t", "mine", ("difference",), ("MaxPool",), ("auto_pad",), "float", "", "1.4", "1.5")  # type: ignore[arg-type]
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
    of_cast = KnownIssueRule("id", "t", "mine", ("difference",), ("Cast",), message="no type")  # type: ignore[arg-type]
    assert of_cast.explains(row(cast, "difference", "mine", "1.4", "no type"))
    assert not replace(of_cast, message="").explains(row(cast, "difference", "mine", "1.4"))
    body = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[1] x) => (float[1] y) { y = If (c) '
        "<then_branch = t () => (float[1] a) { a = Elu (x) }, else_branch = e () => (float[1] b) { b = Neg (x) }> }"
    ).SerializeToString()
    inside = KnownIssueRule("id", "t", "mine", ("difference",), ("If",), within=("Elu", "Selu"))  # type: ignore[arg-type]
    assert inside.explains(row(body, "difference", "mine", "1.4"))
    assert not replace(inside, within=("Selu", "If")).explains(row(body, "difference", "mine", "1.4"))
    assert [k.id for k in labelled(row(model, "difference", "mine", "1.4"), [rule]).known] == ["id"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 2", "expected schema = 1"),
        ("schema = 1\n[[issue]]\nid = 'a'", "issue 1: title: is missing"),
        ("schema = 1\n[[issue]]\nid = 'a'\nname = 'b'", "issue 1: name: expected one of id"),
        (
            f"{SOME}symptoms = ['d']\noperators = ['e']\ndtype = 'float'",
            "'d'",
        ),
        (
            f"{SOME}symptoms = ['crash']\noperators = ['e']",
            "where: is missing",
        ),
        (
            f"{SOME}symptoms = ['crash']\noperators = ['e']\nwhere = ['e']",
            "expected OPERATOR: CONDITION",
        ),
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
