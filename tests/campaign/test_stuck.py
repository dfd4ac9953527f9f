"""A target that hangs on a seed's mutant is not run on the others of that seed, in none of its versions."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.campaign.stuck import SPARED, Stuck
from irfuzz.execute.types import Exit, RunResult, Stage, Target
from irfuzz.generate.sprouts import sprouts

pytestmark = pytest.mark.unit

OLD = Target("onnx2torch@1", "onnx2torch", environment="o")
NEW = Target("onnx2torch", "onnx2torch")
OTHER = Target("reference", "reference")


def test_the_seed_that_hung_and_no_other() -> None:
    stuck, counts = Stuck(), Counter[str]()
    stuck.saw("roi.onnx", [RunResult(OLD, Stage.RUN, Exit.HANG), RunResult(OTHER, Stage.RUN, Exit.OK)])
    assert stuck.spared("roi.onnx", (OLD, NEW, OTHER), counts) == (OTHER,)
    assert counts[SPARED] == 2
    assert stuck.spared("other.onnx", (OLD, NEW, OTHER), counts) == (OLD, NEW, OTHER)


def test_programs_of_one_node_are_no_kin() -> None:
    stuck, seed = Stuck(), next(iter(sprouts()))
    stuck.saw(seed, [RunResult(NEW, Stage.RUN, Exit.HANG)])
    assert stuck.spared(seed, (NEW, OTHER), Counter()) == (NEW, OTHER)
