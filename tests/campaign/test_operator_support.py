"""What targets support: learned from runs alone, kept by version, and added to by the next probe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import onnx.parser
import pytest

from irfuzz.campaign.targets.operator_support import OperatorSupport, Pair, learn, pairs_of, probe
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

TARGET = Target("onnxruntime:all", "onnxruntime", "1.0")


@pytest.mark.unit
def test_only_what_ran_is_supported_and_only_what_is_told_apart_is_lacking() -> None:
    known: dict[Pair, bool] = {}
    relu, conv, det = ("Relu", "float"), ("Conv", "float"), ("Det", "float")
    learn(known, frozenset([relu, det]), Exit.UNSUPPORTED)
    learn(known, frozenset([conv]), Exit.REJECTED)
    learn(known, frozenset([conv]), Exit.CRASH)
    assert known == {}
    learn(known, frozenset([relu]), Exit.OK)
    learn(known, frozenset([relu, det]), Exit.UNSUPPORTED)
    assert known == {relu: True, det: False}
    learn(known, frozenset([relu]), Exit.UNSUPPORTED)
    learn(known, frozenset([det]), Exit.OK)
    assert known == {relu: True, det: True}


@pytest.mark.unit
def test_it_is_kept_by_version(tmp_path: Path) -> None:
    support = OperatorSupport(tmp_path / "deep" / "support.json")
    support.of(TARGET).update({("Relu", "float"): True, ("Relu", "int8"): True, ("Det", "float"): False})
    support.drawn = 7
    support.save()
    again = OperatorSupport(support.path)
    assert again.drawn == 7
    assert again.told(TARGET) == {"runs": {"Relu": ["float", "int8"]}, "lacks": {"Det": ["float"]}}
    assert again.told(replace(TARGET, version="1.1")) == {"runs": {}, "lacks": {}}
    support.path.write_text("{")
    with pytest.raises(UsageError, match=r"support\.json: cannot be read.*delete it"):
        OperatorSupport(support.path)


@pytest.mark.unit
def test_who_saves_last_loses_nothing_of_others(tmp_path: Path) -> None:
    path, relu, det, mod = tmp_path / "support.json", ("Relu", "float"), ("Det", "float"), ("Mod", "int8")
    probed, campaign = OperatorSupport(path), OperatorSupport(path, empty=True)
    probed.of(TARGET).update({relu: False, det: False})
    probed.drawn = 7
    campaign.of(TARGET).update({relu: True, mod: True})
    for support in (probed, campaign, probed):
        support.save()
    again = OperatorSupport(path)
    assert (again.drawn, again.of(TARGET)) == (7, {relu: True, det: False, mod: True})


@pytest.mark.unit
def test_pairs_of_a_program() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float16[2] x) => (bool[2] y, float[3] z) '
        "{ a = Cast<to=1>(x) y = Greater(a, a) z = Constant<value_floats=[1.0,2.0,3.0]>() }"
    )
    found = pairs_of(Program.from_proto(onnx.parser.parse_model(text)))
    assert found == {("Cast", "float16"), ("Greater", "float"), ("Constant", "float")}


@pytest.mark.unit
def test_runs_of_a_target_without_a_version_are_not_kept(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    program, support = (
        Program.from_proto(onnx.parser.parse_model(text)),
        OperatorSupport(tmp_path / "support.json", empty=True),
    )
    support.saw(program, [RunResult(t, Stage.RUN, Exit.OK) for t in (TARGET, Target("my.py:Class", "my.py:Class"))])
    support.save()
    assert json.loads(support.path.read_text())["targets"] == {"onnxruntime:all 1.0": [["Relu", "float", True]]}


@pytest.mark.backend
def test_a_probe_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    targets = resolve(["onnxruntime:disabled"])
    support = OperatorSupport(tmp_path / "support.json")
    assert probe(targets, support, 2.0) > 0
    first = set(json.loads(support.path.read_text())["targets"])
    assert first == {f"onnxruntime:disabled {targets[0].version}"}
    ran = {pair for pair, ok in support.of(targets[0]).items() if ok}
    assert ("Identity", "float") in ran
    again = OperatorSupport(support.path)
    drawn = again.drawn
    probe(targets, again, 1.0)
    assert again.drawn > drawn
    assert ran <= {pair for pair, ok in again.of(targets[0]).items() if ok}
