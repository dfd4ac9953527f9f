"""What targets support: learned from runs alone, kept by version, and added to by the next probe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import onnx.parser
import pytest

from irfuzz.campaign.targets import operator_support
from irfuzz.campaign.targets.operator_support import OperatorSupport, Pair, learn, pairs_of, probe
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.target_table import Availability, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Edit, Relation

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
    support = OperatorSupport(tmp_path / "very" / "deep" / "support.json")
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


@pytest.mark.unit
@pytest.mark.parametrize("there", [False, True])
def test_what_cannot_be_read_says_so_and_what_another_version_wrote_is_left_out(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "support.json"
    if there:
        path.write_text(json.dumps({"schema": 0, "drawn": 7, "targets": {}}))
    assert OperatorSupport(path).drawn == 0
    path.unlink(missing_ok=True)
    path.mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        OperatorSupport(path)
    assert OperatorSupport(path, empty=True).drawn == 0


@pytest.mark.unit
def test_the_file_is_written_so(tmp_path: Path) -> None:
    """Later versions of irfuzz read it."""
    path = tmp_path / "support.json"
    text = '{"schema": 1, "drawn": 3, "targets": {"onnxruntime:all 1.0": [["Det", "float", false]]}}'
    path.write_text(text)
    support = OperatorSupport(path)
    assert (support.drawn, support.of(TARGET)) == (3, {("Det", "float"): False})
    support.save()
    assert path.read_text() == text
    assert sorted(one.name for one in tmp_path.iterdir()) == ["support.json", "support.lock"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        OperatorSupport(tmp_path / "file" / "support.json", empty=True).save()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("known", "how", "learnt"),
    [
        ({}, Exit.UNSUPPORTED, {}),
        ({"a": True}, Exit.UNSUPPORTED, {"a": True, "b": False}),
        ({"a": False}, Exit.UNSUPPORTED, {"a": False}),
        ({"a": True, "b": True}, Exit.UNSUPPORTED, {"a": True, "b": True}),
        ({"a": True, "b": False}, Exit.UNSUPPORTED, {"a": True, "b": False}),
        ({"a": False}, Exit.OK, {"a": True, "b": True}),
        ({"a": True}, Exit.HANG, {"a": True}),
    ],
)
def test_what_one_run_of_two_pairs_says(known: dict[str, bool], how: Exit, learnt: dict[str, bool]) -> None:
    found = {(op, "float"): ran for op, ran in known.items()}
    learn(found, frozenset([("a", "float"), ("b", "float")]), how)
    assert found == {(op, "float"): ran for op, ran in learnt.items()}


class Probed:
    """A runner on which all runs end well, one target is absent, and a clock goes on by a second for each run."""

    asked: tuple[Any, ...] = ()
    now = 0.0

    def __init__(self, targets: Sequence[Target], limits: Limits, *, required: bool = True) -> None:
        Probed.asked = (tuple(targets), limits, required)
        self.targets = targets[:1]
        self.absent = tuple(Availability(t, "it is not there\nat all") for t in targets[1:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def run(self, program: Program, inputs: object, targets: Sequence[Target]) -> list[RunResult]:
        Probed.now += 4.0
        return [RunResult(t, Stage.RUN, Exit.OK) for t in targets]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner without processes, and its clock."""

    def monotonic() -> float:
        Probed.now += 0.001
        return Probed.now

    monkeypatch.setattr(Probed, "now", 0.0)
    monkeypatch.setattr(operator_support, "Runner", Probed)
    monkeypatch.setattr(operator_support, "time", SimpleNamespace(monotonic=monotonic))


@pytest.mark.unit
@pytest.mark.usefixtures("clock")
def test_a_probe_leaves_out_what_does_not_start_and_saves_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[float] = []
    support = OperatorSupport(tmp_path / "support.json")
    monkeypatch.setattr(support, "save", lambda: saved.append(Probed.now))
    said: list[str] = []
    other = replace(TARGET, name="other")
    count = probe([TARGET, other], support, 30.0, say=said.append)
    targets, limits, required = Probed.asked
    assert (targets, limits, required) == ((TARGET, other), Limits(), False)
    assert said == ["other: it is not there"]
    assert count == 8
    assert support.drawn >= count
    assert [round(at) for at in saved] == [12, 24, 32], "every ten seconds, and at the end"
    assert any(support.of(TARGET).values())
    assert not support.of(other)


@pytest.mark.unit
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("case", ["known", "unmade", "invalid", "without inputs"])
def test_what_says_nothing_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    support = OperatorSupport(tmp_path / "support.json")
    mutate = Engine.mutate

    def mutated(self: Engine, program: Program, *given: Any, **options: Any) -> Any:
        if case == "unmade":
            return None
        if case == "invalid":
            return SimpleNamespace(program=program, edits=[Edit("m", 1, "s", (), Relation.INVALID, "")])
        made = mutate(self, program, *given, **options)
        if case == "known" and made is not None:
            support.of(TARGET).update(dict.fromkeys(pairs_of(made.program), False))
        return made

    def none(*_: object) -> None:
        raise Unsupported("inputs", "Loop", "it takes none")

    monkeypatch.setattr(Engine, "mutate", mutated)
    if case == "without inputs":
        monkeypatch.setattr(operator_support, "make_inputs", none)
    assert probe([TARGET], support, 0.05) == 0
    assert support.drawn > 10
    assert support.path.is_file()


@pytest.mark.unit
@pytest.mark.usefixtures("clock")
def test_without_time_nothing_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([5.0, 5.0])
    monkeypatch.setattr(operator_support, "time", SimpleNamespace(monotonic=lambda: next(now, 9.0)))
    support = OperatorSupport(tmp_path / "support.json")
    assert (probe([TARGET], support, 0.0), support.drawn) == (0, 0)


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
