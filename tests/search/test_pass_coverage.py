"""Which passes of optimisers changed a program for the first time: counted by version, told and taken up again."""

from __future__ import annotations

import json

import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.report.command_reports.coverage import as_text, passes_json
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import Coverage
from irfuzz.search.coverage.pass_coverage import PassCoverage

pytestmark = pytest.mark.unit

NEW, OLD = (Target(f"onnxruntime@{v}:all", "onnxruntime", version=v) for v in ("1.31.1", "1.23.2"))
NAMES = ("GeluFusionL1", "ConstantFolding", "FuseReluClip", "EliminateIdentity", "MemcpyTransformer")


def ran(target: Target, *passes: str, how: Exit = Exit.OK) -> RunResult:
    return RunResult(target, Stage.RUN, how, passes=passes)


def counted() -> PassCoverage:
    passes = PassCoverage()
    passes.register(NEW, NAMES)
    return passes


def test_a_pass_and_a_pair_count_once() -> None:
    passes = counted()
    assert passes.add([ran(NEW, "GeluFusionL1")], "a") == 1
    assert passes.add([ran(NEW, "GeluFusionL1")], "b") == 0
    assert passes.add([ran(NEW, "ConstantFolding", "GeluFusionL1")], "c") == 2
    assert passes.add([ran(NEW, "GeluFusionL1", "ConstantFolding")], "d") == 0, "a pair in another order"
    assert passes.fired() == {"onnxruntime 1.31.1": {"ConstantFolding": "c", "GeluFusionL1": "a"}}
    assert passes.pairs() == {"onnxruntime 1.31.1": 1}


def test_what_holds_rules_is_no_pass_and_rules_make_no_pairs() -> None:
    passes = counted()
    assert passes.add([ran(NEW, "Level1_RuleBasedTransformer", "FuseReluClip")], "a") == 1
    assert passes.add([ran(NEW, "Level1_RuleBasedTransformer", "ConstantFolding")], "b") == 2


def test_versions_count_apart_and_what_did_not_run_does_not() -> None:
    passes = counted()
    passes.register(OLD, NAMES[:1])
    assert passes.add([ran(NEW, "GeluFusionL1", how=Exit.REJECTED)], "a") == 0
    assert passes.add([ran(NEW, "GeluFusionL1"), ran(OLD, "GeluFusionL1")], "b") == 2
    shares = {version: (share.covered, share.total) for version, share in passes.shares().items()}
    assert shares == {"onnxruntime 1.23.2": (1, 1), "onnxruntime 1.31.1": (1, 4)}, "what the CPU cannot reach counts"
    assert passes.missing()["onnxruntime 1.31.1"] == ["ConstantFolding", "EliminateIdentity", "FuseReluClip"]
    both = passes.labelled()["passes"]
    assert (both.covered, both.total) == (2, 5)


def test_rules_are_looked_for_until_they_are_seen() -> None:
    assert PassCoverage().asks() is None, "no component tells anything"
    passes = counted()
    asks = passes.asks()
    assert asks is not None
    assert (asks["tell"], asks["rules"]) == ("modified", "EliminateIdentity,FuseReluClip")
    assert "GemmSumFusion" in asks["other_rules"].split(",")
    passes.add([ran(NEW, "FuseReluClip")], "a")
    asks = passes.asks()
    assert asks is not None
    assert asks["rules"] == "EliminateIdentity"
    assert "FuseReluClip" in asks["other_rules"].split(",")


def test_state_is_taken_up_again() -> None:
    passes = counted()
    passes.add([ran(NEW, "GeluFusionL1", "ConstantFolding")], "a")
    again = PassCoverage()
    again.absorb(json.loads(json.dumps(passes.state())))
    again.absorb({"schema": 0})
    assert (again.state(), again.covered) == (passes.state(), passes.covered)
    assert again.add([ran(NEW, "GeluFusionL1", "ConstantFolding")], "b") == 0


def test_people_and_programs_are_told_what_fired_what_did_not_and_what_cannot() -> None:
    passes = counted()
    passes.add([ran(NEW, "GeluFusionL1")], "a")
    text = as_text(Coverage(load()), Fusions(), passes=passes, operators=True)
    assert "passes of onnxruntime 1.31.1  1       4    25.0%" in text
    assert (
        "passes of onnxruntime 1.31.1 that no program fired: ConstantFolding, EliminateIdentity, FuseReluClip" in text
    )
    assert "MemcpyTransformer (puts copies" in text
    (row,) = passes_json(passes).values()
    assert (row["covered"], row["total"], row["fired"]) == (1, 4, {"GeluFusionL1": "a"})
    assert "passes" not in as_text(Coverage(load()), Fusions(), operators=False)


def test_what_a_program_shows_of_passes() -> None:
    version, rule = "onnxruntime 1.31.1", "FuseReluClip"
    results = [
        ran(NEW, "GeluFusionL1", "ConstantFolding", rule, "Level1_RuleBasedTransformer"),
        ran(OLD, "GeluFusionL1", how=Exit.CRASH),
    ]
    found = set(PassCoverage().features(results))
    alone = {("pass", version, name) for name in ("GeluFusionL1", "ConstantFolding", rule)}
    assert alone < found
    pairs = found - alone
    assert ("passes", version, "ConstantFolding", "GeluFusionL1") in pairs
    assert all(feature[0] == "passes" and rule not in feature for feature in pairs), "rules make no pairs"


def test_a_pass_is_shown_by_a_program_that_the_corpus_has() -> None:
    passes = counted()
    passes.add([ran(NEW, "GeluFusionL1", "ConstantFolding")], "first")
    passes.follow(lambda feature: "cheaper" if feature[2] == "GeluFusionL1" else None)
    assert passes.fired() == {"onnxruntime 1.31.1": {"ConstantFolding": "first", "GeluFusionL1": "cheaper"}}
