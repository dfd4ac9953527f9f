"""A probe finds out what a converter of thirteen operators takes, and campaigns draw that."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

import irfuzz
from irfuzz.api.fuzz_report import FuzzReport
from irfuzz.api.progress_update import Update
from irfuzz.campaign.targets import refusal_probe
from irfuzz.campaign.targets.refusal_learning import ASKED, ENOUGH, REFUSED, RefusalMemory
from irfuzz.campaign.targets.refusal_probe import RefusalProbe
from irfuzz.errors import UsageError
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program
from irfuzz.mutate.drawing_limits import DrawingLimits

CONVERTER = f"{Path(__file__).resolve().parents[1]}/planted_targets/small_converter.py:SmallConverter"

OPS = ("Conv", "Erf", "MatMul", "MaxPool", "Neg", "Relu", "Sigmoid", "Tanh", "Where")
"""Four of them are taken."""

FLOAT, DOUBLE = 1, 11


def relu() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'
    )


def test_a_probe_finds_operators_types_ranks_and_opsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_probe, "REHEARSED", 50)
    memory = RefusalMemory()
    limits = DrawingLimits(ops=frozenset(OPS), refused=memory.refuses)
    with Runner([CONVERTER]) as runner:
        told: list[int] = []
        probe = RefusalProbe(runner, runner.targets, memory, limits, 28)
        result = probe.run(600, told.append)
        assert result.taken == ("Conv", "MatMul", "MaxPool", "Relu")
        assert result.complete
        assert told == sorted(told)
        assert result.asked == len(OPS)
        assert result.programs == told[-1]
        (target,) = runner.targets
    table = memory.table(target)
    for feature in (("operator", "Tanh"), ("dtype", "Relu", 0, DOUBLE), ("rank", "Conv", 0, 3), ("opset", 28)):
        assert table.refuses(feature), feature
    assert not any(map(table.refuses, [("operator", "Relu"), ("dtype", "Relu", 0, FLOAT), ("opset", 13)]))
    assert table.refuses(("operator", "Det"))  # which nobody asked for: most were refused
    assert str(result).startswith("4 of 9 operators are taken (")


def test_time_ends_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_probe, "TOGETHER", 2)
    memory = RefusalMemory()
    with Runner([CONVERTER]) as runner:
        limits = DrawingLimits(ops=frozenset(OPS), refused=memory.refuses)
        result = RefusalProbe(runner, runner.targets, memory, limits, 28).run(0)
    assert (result.programs, result.complete) == (2, False)
    assert "its time was up" in str(result)


def test_a_probe_begins_with_seeds_and_goes_on_until_each_operator_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_probe, "TOGETHER", 2)
    memory = RefusalMemory()
    seeds = [Program.from_proto(relu()) for _ in range(3)]
    tanh = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Tanh(x) }'
    )
    with Runner([CONVERTER]) as runner:
        limits = DrawingLimits(ops=frozenset(OPS), refused=memory.refuses)
        probe = RefusalProbe(runner, runner.targets, memory, limits, 28, [*seeds, Program.from_proto(tanh)])
        told: list[int] = []
        result = probe.run(0, told.append, longest=600)
        (target,) = runner.targets
    assert told[:2] == [2, 4]
    assert len(OPS) - 1 <= result.asked <= len(OPS)
    assert not result.complete
    table = memory.table(target)
    assert table.ran["operator", "Relu"] >= len(seeds)
    assert table.refuses(("operator", "Tanh"))  # a call of it was; what the seed showed counts for nothing
    assert table.doubt["operator", "Tanh"] == ENOUGH


def test_a_campaign_draws_what_is_taken_and_a_second_run_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal_probe, "REHEARSED", 50)
    remarks: list[str] = []

    def told(update: Update[FuzzReport]) -> None:
        remarks.extend([update.remark] if update.remark else [])

    def campaign(programs: int) -> FuzzReport:
        options = irfuzz.FuzzOptions(jobs=1, learn=True, ops=OPS, max_rank=4)
        targets = ["onnxruntime:disabled", CONVERTER]
        return irfuzz.fuzz(
            relu(), tmp_path / "out", targets=targets, seconds=600, programs=programs, options=options, progress=told
        )

    counts = campaign(30).progress.counts
    assert counts[f"{CONVERTER} {ASKED}"] >= 25
    assert counts[f"{CONVERTER} {REFUSED}"] < 0.4 * counts[f"{CONVERTER} {ASKED}"]
    assert [remark[:26] for remark in remarks] == ["4 of 9 operators are taken"]
    report = campaign(32)
    assert remarks[1:] == ["known already: what targets take"]
    assert f"{CONVERTER} refused {report.progress.counts[f'{CONVERTER} {REFUSED}']} of " in str(report)


def test_limits_alone_hold_without_learning(tmp_path: Path) -> None:
    seeds = [relu(), onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Tanh(x) }'
    )]  # fmt: skip
    options = irfuzz.FuzzOptions(jobs=1, ops=["Relu", "Add"], dtypes=["float32"], max_rank=3)
    report = irfuzz.fuzz(seeds, tmp_path / "out", targets=[CONVERTER], seconds=600, programs=20, options=options)
    assert report.progress.counts.get(f"{CONVERTER} unsupported", 0) <= 20
    assert report.progress.counts["seeds beyond the limits"] == 1
    assert f"{CONVERTER} {ASKED}" not in report.progress.counts


@pytest.mark.unit
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (irfuzz.FuzzOptions(ops=["Rellu"]), "ops: unknown operator 'Rellu'; did you mean Relu"),
        (irfuzz.FuzzOptions(dtypes=["float33"]), "dtypes: expected element types"),
        (irfuzz.FuzzOptions(max_rank=-1), "max-rank: expected at least 0"),
    ],
)
def test_wrong_limits(options: irfuzz.FuzzOptions, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        irfuzz.fuzz(relu(), tmp_path / "out", targets=["reference"], options=options)
