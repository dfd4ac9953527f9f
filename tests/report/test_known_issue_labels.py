"""Which known issues a check's divergences get: by the node that is worst alone, else by the whole model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Target
from irfuzz.findings.known_issue_conditions import node_condition
from irfuzz.findings.known_issues import KnownIssueRule, shipped
from irfuzz.ir.program import Program
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.disagreement_grouping import Divergence, ExplainingIssue
from irfuzz.localize.nodes.control_flow_unrolling import Unfolded
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.known_issue_labels import known_faults, with_known

pytestmark = pytest.mark.unit


def program(body: str) -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def rule(name: str, *operators: str, **more: Any) -> KnownIssueRule:
    return KnownIssueRule(name, f"title {name}", "ort", (Symptom.DIFFERENCE,), operators, **more)


WHOLE = program("a = Relu (x) b = Tanh (a) y = Exp (b)")
TANH, RELU, ALL = rule("tanh", "Tanh"), rule("relu", "Relu"), rule("all", "Exp", "Relu", "Tanh", link="l", docs="d")


def worst(place: int, **more: Any) -> Replayed:
    fields: dict[str, Any] = {"outcome": ReplayOutcome.DIFFERS, "symptom": Symptom.DIFFERENCE}
    return Replayed(place, place + 1, "n", "op", **{**fields, **more})


def located(*replayed: Replayed, target: str = "ort:a", **more: Any) -> Located:
    return Located("ref", target, 0, None, replayed, **more)


def known(*where: Located, rules: tuple[KnownIssueRule, ...] = (RELU, TANH, ALL), **more: Any) -> tuple[str, ...]:
    fields: dict[str, Any] = {"symptom": Symptom.DIFFERENCE, "targets": ("ort:a", "ort:b"), **more}
    divergence = Divergence(
        component="ort", base="ref", output="y", samples=(0,), distance=1.0, bound=0.1, what="", **fields
    )  # fmt: skip
    report = CheckResult(
        targets=(Target("ort:a", "ort", version="1.5"), Target("ref", "reference")), absent={}, samples=1, wanted=1,
        disagreements=(), divergences=(divergence,), inconsistencies=(), located=where, farthest={}, base="ref",
        outputs={},
    )  # fmt: skip
    return tuple(issue.id for issue in with_known(report, WHOLE, rules).divergences[0].known)


def test_the_node_that_is_worst_alone_comes_before_the_whole() -> None:
    assert known() == ("all",)
    assert known(located(worst(1))) == ("tanh",)
    assert known(located(worst(0), worst(1))) == ("relu",), "the first of them is the worst"


@pytest.mark.parametrize(
    "where",
    [
        located(),
        located(worst(1), target="ref"),
        located(worst(1, outcome=ReplayOutcome.AGREES)),
        located(worst(1, symptom=None)),
        located(worst(2)),
        located(worst(1, symptom=Symptom.CRASH)),
    ],
    ids=["none", "another target", "agrees", "no symptom", "no rule", "another symptom"],
)
def test_where_no_node_explains_it_the_whole_is_asked(where: Located) -> None:
    assert known(where) == ("all",)


def test_a_node_of_an_unrolled_program_is_looked_up_there() -> None:
    unfolded = Unfolded(program("a = Tanh (x) y = Relu (a)"))
    assert known(located(worst(0), unfolded=unfolded)) == ("tanh",)


def test_every_rule_that_fits_is_told_once() -> None:
    again = rule("tanh", "Tanh")
    assert known(located(worst(1)), rules=(TANH, again, rule("second", "Tanh"))) == ("tanh", "second")
    assert known(rules=()) == ()
    assert known(symptom=Symptom.CRASH) == ()


def test_the_version_is_that_of_the_first_target() -> None:
    fixed = rule("old", "Tanh", fixed="1.4")
    assert known(located(worst(1)), rules=(fixed,)) == ()
    assert known(located(worst(1)), rules=(rule("new", "Tanh", fixed="1.6"),)) == ("new",)


@pytest.mark.parametrize(("samples", "known"), [([-1.0], True), ([1.0], False), ([], False)])
def test_a_condition_on_elements_asks_the_input_that_shows_it(samples: list[float], known: bool) -> None:
    negative = replace(ALL, where=(node_condition("Relu: any(X < 0)", "here"),))
    divergence = Divergence(("ort:a",), "ort", "", Symptom.DIFFERENCE, "y", (0,), 1.0, 0.1, "")
    report = CheckResult((), {}, 1, 1, (), (divergence,), (), (), {}, "ref", {})
    fed = [{"x": np.full(2, sample, np.float32)} for sample in samples]
    assert bool(with_known(report, WHOLE, [negative], fed).divergences[0].known) is known


def test_what_is_told_of_an_issue() -> None:
    issue = ExplainingIssue("all", "title all", "l", "d")
    divergence = Divergence(("ort:a",), "ort", "", Symptom.DIFFERENCE, "y", (0,), 1.0, 0.1, "")
    report = CheckResult((), {}, 1, 1, (), (divergence,), (), (), {}, "ref", {})
    assert with_known(report, WHOLE, [ALL]).divergences[0].known == (issue,)
    assert with_known(report, WHOLE).divergences[0].known == ()


def test_operators_that_rules_name_by_component() -> None:
    assert known_faults([RELU, ALL, rule("any", one_of=("Conv", "Gemm"))]) == {
        "ort": {"Relu", "Exp", "Tanh", "Conv", "Gemm"},
    }
    assert known_faults([]) == {}
    assert set(known_faults()) == {one.component for one in shipped()}
