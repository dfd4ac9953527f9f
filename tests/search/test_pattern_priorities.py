"""Patterns are worth more while a pass of theirs has not fired, or not beside those of the parent; less later on."""

from __future__ import annotations

import json

import pytest

from irfuzz.execute.onnxruntime_passes import excluded, known_passes, rules
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.mutate.patterns.pattern_file_reader import patterns
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.search.coverage.pattern_priorities import FIRED_OFTEN, LEARNT, PATIENCE, UNFIRED, PatternAims, written

pytestmark = pytest.mark.unit

NEW, OLD = (Target(f"onnxruntime@{v}:all", "onnxruntime", version=v) for v in ("1.31.1", "1.23.2"))
NAMES = ("GeluFusionL1", "GeluFusionL2", "ConstantFolding", "FuseReluClip", "BiasGeluFusion", "DivMulFusion")
GELU, CLIP, PLAIN = ("pattern", "bias-gelu"), ("pattern", "relu-clip"), ("pattern", "softplus")


def ran(target: Target, *passes: str, how: Exit = Exit.OK) -> RunResult:
    return RunResult(target, Stage.RUN, how, passes=passes)


def aims(*targets: Target) -> tuple[PassCoverage, PatternAims]:
    passes = PassCoverage()
    for target in targets or (NEW,):
        passes.register(target, NAMES)
    return passes, PatternAims(passes)


def show(passes: PassCoverage, aimed: PatternAims, patterns_in: tuple[str, ...], *results: RunResult) -> None:
    passes.add(results, "digest")
    aimed.ran(patterns_in, results)


def test_what_has_not_fired_is_wanted_less_with_each_try_in_vain() -> None:
    passes, aimed = aims()
    assert aimed.worths("") == {}, "nothing counts before it is settled"
    aimed.settle()
    assert aimed.worths("")[GELU] == aimed.worths("")[CLIP] == UNFIRED
    assert PLAIN not in aimed.worths(""), "no pass of this component knows it"
    for _ in range(PATIENCE):
        show(passes, aimed, ("bias-gelu",), ran(NEW, "ConstantFolding"))
    assert aimed.worths("")[GELU] == UNFIRED
    aimed.settle()
    assert aimed.worths("")[GELU] == UNFIRED / 2
    for _ in range(100 * PATIENCE):
        show(passes, aimed, ("bias-gelu",), ran(NEW, "ConstantFolding"))
    aimed.settle()
    assert aimed.worths("")[GELU] == 1.0, "never less than what nobody aims at"


def test_what_fired_long_ago_is_worth_less_but_on_every_version() -> None:
    passes, aimed = aims(NEW, OLD)
    for _ in range(500):
        show(passes, aimed, ("bias-gelu",), ran(NEW, "BiasGeluFusion"))
    aimed.settle()
    assert aimed.worths("")[GELU] == UNFIRED, "the older version has not fired it"
    for _ in range(500):
        show(passes, aimed, ("bias-gelu",), ran(OLD, "BiasGeluFusion"))
    aimed.settle()
    assert FIRED_OFTEN < aimed.worths("")[GELU] < FIRED_OFTEN + 0.02
    assert aimed.worths("")[CLIP] == UNFIRED
    show(passes, aimed, ("relu-clip",), ran(NEW, "FuseReluClip"), ran(OLD, "FuseReluClip", how=Exit.REJECTED))
    aimed.settle()
    assert aimed.worths("")[CLIP] == UNFIRED, "it did not run there"


def test_what_fires_with_a_pattern_and_seldom_elsewhere_is_learnt() -> None:
    passes, aimed = aims()
    for _ in range(20):
        show(passes, aimed, (), ran(NEW, "ConstantFolding"))
    for _ in range(LEARNT):
        show(passes, aimed, ("softplus",), ran(NEW, "ConstantFolding", "GeluFusionL2"))
    aimed.settle()
    assert PLAIN in aimed.worths(""), "GeluFusionL2 fires only with it"
    assert 1.0 > aimed.worths("")[PLAIN] > FIRED_OFTEN
    passes, aimed = aims()
    for _ in range(20):
        show(passes, aimed, ("softplus",), ran(NEW, "ConstantFolding"))
        show(passes, aimed, (), ran(NEW, "ConstantFolding"))
    aimed.settle()
    assert PLAIN not in aimed.worths(""), "ConstantFolding fires everywhere"


def test_pairs_with_what_the_parent_fires_are_wanted() -> None:
    passes, aimed = aims()
    show(passes, aimed, ("bias-gelu",), ran(NEW, "BiasGeluFusion"))
    results = [ran(NEW, "ConstantFolding")]
    passes.add(results, "parent")
    aimed.keep("parent", results)
    aimed.settle()
    assert aimed.worths("parent")[GELU] == aimed.worths("other")[GELU] * 1.5
    assert aimed.worths("parent")[CLIP] == aimed.worths("other")[CLIP], "rules stand in no pair"
    passes.add([ran(NEW, "ConstantFolding", "BiasGeluFusion")], "both")
    assert aimed.worths("parent")[GELU] == aimed.worths("other")[GELU] * 1.5, "not before it is settled"
    aimed.settle()
    assert aimed.worths("parent")[GELU] == aimed.worths("other")[GELU]


def test_state_is_taken_up_again() -> None:
    passes, aimed = aims()
    show(passes, aimed, ("bias-gelu",), ran(NEW, "BiasGeluFusion"))
    aimed.keep("parent", [ran(NEW, "ConstantFolding")])
    aimed.settle()
    again = PatternAims(passes)
    again.recall(json.loads(json.dumps(aimed.state())))
    again.recall({"schema": 0})
    assert again.worths("parent") == aimed.worths("parent")
    assert again.worths("parent") != again.worths("")
    assert again.state() == json.loads(json.dumps(aimed.state())) | {"parents": again.state()["parents"]}


def test_the_book_names_passes_that_there_are() -> None:
    known = {*known_passes(), *rules(), *excluded()}
    reached = {text.split()[1] for p in patterns() for text in p.fused_by if text.startswith("onnxruntime ")}
    assert {name for name in reached if not {name, f"{name}L1"} & known} == set()
    assert written()["layer-norm"] >= {"LayerNormFusion", "LayerNormFusionL1", "LayerNormFusionL2"}
