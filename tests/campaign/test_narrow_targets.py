"""A target that lacks much gets programs of what it takes, and the others go on as if it were not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx
import onnx.parser
import pytest

import irfuzz
from irfuzz.campaign.config import Config
from irfuzz.campaign.corpus.mutation_steering import Steering
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.targets import drawn_calls
from irfuzz.campaign.targets.drawn_calls import MEANT, DrawnCalls
from irfuzz.campaign.targets.narrow_targets import LEAST, MOST, WINDOW, NarrowTargets
from irfuzz.campaign.targets.refusal_learning import RefusalMemory
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Exit, Target, TargetRole
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.store.database import Database, ProgramRow
from tests.campaign.test_refusal_learning import CONVERTER, result

NARROW = Target("narrow", "narrow", "1", only_named=True)
OTHER = Target("other", "other", "1")
FEW = WINDOW // 4
"""Programs that it takes: so it lacks most others."""


def call(op: str) -> Program:
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y)'
    return Program.from_proto(onnx.parser.parse_model(f"{head} {{ y = {op}(x) }}"))


def shown(narrow: NarrowTargets, ends: Sequence[Exit], target: Target = NARROW) -> None:
    """Runs of as many programs."""
    for end in ends:
        narrow.saw(call("Relu"), [result(target, end), result(OTHER, Exit.OK)])
    narrow.settle()


MOSTLY_LACKING = [Exit.OK] * FEW + [Exit.UNSUPPORTED] * (WINDOW - FEW)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("target", "ends", "narrow"),
    [
        (NARROW, MOSTLY_LACKING, True),
        (replace(NARROW, only_named=False, role=TargetRole.CONVERTER), MOSTLY_LACKING, True),
        (resolve([f"{CONVERTER}:SmallConverter"])[0], MOSTLY_LACKING, True),
        (NARROW, MOSTLY_LACKING[:-1], False),  # too few to tell
        (NARROW, [Exit.UNSUPPORTED] * WINDOW, False),  # there is nothing that it takes
        (NARROW, [Exit.OK] * WINDOW, False),
        (NARROW, [Exit.OK] * FEW + [Exit.REJECTED] * WINDOW, False),  # these may be faults
        (replace(NARROW, only_named=False), MOSTLY_LACKING, False),  # one of those that are always used
        (replace(NARROW, slow=True), MOSTLY_LACKING, False),  # which programs it sees depends on the clock
    ],
)
def test_what_lacks_something_of_most_programs_is_narrow(target: Target, ends: list[Exit], narrow: bool) -> None:
    found = NarrowTargets([target, OTHER], RefusalMemory())
    shown(found, ends, target)
    assert bool(found) == narrow
    assert found.turn() == (target if narrow else None)


@pytest.mark.unit
def test_a_target_stays_narrow_and_each_has_its_turn() -> None:
    second = replace(NARROW, name="second", component="second")
    found = NarrowTargets([NARROW, second, OTHER], RefusalMemory())
    assert found.undecided
    shown(found, MOSTLY_LACKING)
    assert found.undecided
    shown(found, MOSTLY_LACKING, second)
    assert not found.undecided
    shown(found, [Exit.OK] * WINDOW)
    assert [found.turn() for _ in range(3)] == [second, NARROW, second]


@pytest.mark.unit
@pytest.mark.parametrize(("beside", "share"), [(0, MOST), (1, LEAST), (8, LEAST)])
def test_the_share_is_their_part_within_bounds(beside: int, share: float) -> None:
    others = [replace(OTHER, name=f"o{n}", component=f"o{n}") for n in range(beside)]
    found = NarrowTargets([NARROW, *others, Target("reference", "reference")], RefusalMemory())
    shown(found, MOSTLY_LACKING)
    assert found.share == share


def learning(database: Database, *, jobs: int = 1, ops: tuple[str, ...] | None = None) -> DrawnCalls:
    drawn = DrawnCalls(Config(jobs=jobs, ops=ops))
    drawn.begin(database, [NARROW, OTHER])
    return drawn


def taught(drawn: DrawnCalls) -> None:
    """It runs Relu and lacks Tanh."""
    counts = Counter[str]()
    for _ in range(2):
        for end in MOSTLY_LACKING:
            op = "Relu" if end is Exit.OK else "Tanh"
            assert not drawn.saw(call(op), [result(NARROW, end, f"no {op}"), result(OTHER, Exit.OK)], counts)
        drawn.settle()
    assert not counts


def decided(drawn: DrawnCalls, *, meant: bool) -> None:
    for number in range(100):
        drawn.decide(Choices.from_seed(str(number)))
        if bool(drawn.meant) == meant:
            return
    raise AssertionError("never drawn so")


@pytest.mark.unit
def test_part_of_the_programs_are_drawn_from_what_it_takes(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    drawn = learning(database)
    assert drawn.moving
    assert not drawn.limits.ever
    drawn.decide(Choices.from_seed("1"))
    assert not drawn.meant
    taught(drawn)
    decided(drawn, meant=True)
    assert drawn.meant == (NARROW,)
    assert drawn.limits.forbids(("operator", "Tanh"))
    assert not drawn.limits.forbids(("operator", "Relu"))
    assert drawn.limits.why_not(call("Tanh"))
    decided(drawn, meant=False)
    assert drawn.limits.ever
    assert not drawn.limits
    assert not drawn.limits.why_not(call("Tanh"))
    decided(drawn, meant=True)
    drawn.as_given()
    assert not drawn.meant
    assert not drawn.limits
    database.close()


@pytest.mark.unit
def test_what_one_job_learnt_another_and_the_next_life_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    first, second = learning(database, jobs=2), learning(database, jobs=2)
    taught(first)
    first.tell(database, 0, now=True)
    monkeypatch.setattr(drawn_calls, "TELL", 0.0)
    assert second.settle()
    for drawn in (second, learning(database)):
        decided(drawn, meant=True)
        assert drawn.limits.forbids(("operator", "Tanh"))
    database.close()


@pytest.mark.unit
def test_limits_of_the_user_hold_for_all_programs(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    drawn = learning(database, ops=("Tanh",))
    taught(drawn)
    for meant, tanh in ((True, True), (False, False)):
        decided(drawn, meant=meant)
        assert drawn.limits.forbids(("operator", "Relu"))
        assert drawn.limits.forbids(("operator", "Tanh")) == tanh
    database.close()


@pytest.mark.unit
def test_seeds_beyond_the_limits_of_the_user_stay_so_as_they_are_given(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    tanh = call("Tanh")
    database.add_program(ProgramRow(tanh.digest, tanh.to_bytes(), "tanh.onnx", "", "{}", 0, -1, 0))
    corpus = Corpus(database, 0.5)
    drawn = learning(database, ops=("Relu",))
    steering = Steering(Config(ops=("Relu",)), corpus, FeatureCounts(), NEWEST, drawn.limits)
    list(corpus.refresh())
    taught(drawn)
    drawn.as_given()
    assert steering.beyond(corpus.seed(0)) == "beyond the limits: operator Tanh"
    database.close()


@pytest.mark.unit
def test_mutation_heeds_limits_that_come_later(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    corpus = Corpus(database, 1.0)
    drawn = learning(database)
    steering = Steering(Config(), corpus, FeatureCounts(), NEWEST, drawn.limits)
    before = steering.engine
    steering.moved()
    assert steering.engine is before
    taught(drawn)
    steering.moved()
    assert steering.engine is not before
    once = steering.engine
    steering.moved()
    assert steering.engine is once
    ran = 0
    for number in range(40):
        choices = Choices.from_seed(str(number))
        drawn.decide(choices)
        entry = steering.parent(choices)
        mutant, _ = steering.mutate(entry, corpus.program(entry), choices)
        if mutant is not None and drawn.meant:
            ran += 1
            assert not drawn.limits.why_not(mutant.program)
    assert ran
    database.close()


def test_a_campaign_draws_for_a_converter_that_takes_little(tmp_path: Path) -> None:
    name = f"{CONVERTER}:SmallConverter"
    seed = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'
    )
    options = irfuzz.FuzzOptions(jobs=1)
    report = irfuzz.fuzz(
        seed, tmp_path / "out", targets=["onnxruntime:disabled", name], seconds=600, programs=500, options=options
    )
    counts = report.progress.counts
    assert counts[f"{MEANT} {name}"] > 50
    assert f"programs were drawn from what {name} takes" in str(report)
    # of what is drawn without regard to it, it runs one program in a hundred
    assert counts[f"{name} ok"] > 0.05 * counts[f"{name} unsupported"]
