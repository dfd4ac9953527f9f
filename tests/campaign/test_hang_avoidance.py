"""A target that hangs on a seed's mutant is not run on others of that seed, nor on calls of what it hung on."""

from __future__ import annotations

from collections import Counter

import pytest
from onnx import parser

from irfuzz import Program
from irfuzz.campaign.targets.hang_avoidance import SPARED, HangAvoidance
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.generate.one_node_programs import sprouts

pytestmark = pytest.mark.unit

OLD = Target("onnx2torch@1", "onnx2torch", environment="o")
NEW = Target("onnx2torch", "onnx2torch")
OTHER = Target("reference", "reference")


def program(*ops: str) -> Program:
    nodes = " ".join(f"v{i + 1} = {op} (v{i})" for i, op in enumerate(ops))
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] v0) => (float[2] v{len(ops)}) {{ {nodes} }}'
    return Program.from_proto(parser.parse_model(text))


def test_the_seed_that_hung_and_no_other() -> None:
    stuck, counts, relu = HangAvoidance(), Counter[str](), program("Relu")
    stuck.saw("roi.onnx", relu, [RunResult(OLD, Stage.RUN, Exit.HANG), RunResult(OTHER, Stage.RUN, Exit.OK)])
    assert stuck.spared("roi.onnx", relu, (OLD, NEW, OTHER), counts) == (OTHER,)
    assert counts[SPARED] == 2
    assert stuck.spared("other.onnx", relu, (OLD, NEW, OTHER), counts) == (OLD, NEW, OTHER)


def test_programs_of_one_node_are_kin_by_the_operators_that_nobody_came_back_from() -> None:
    stuck, seed, both = HangAvoidance(), next(iter(sprouts())), (NEW, OTHER)
    stuck.saw(seed, program("Relu", "Abs"), [RunResult(NEW, Stage.RUN, Exit.HANG)])
    assert stuck.spared(seed, program("Abs"), both, Counter()) == both
    assert stuck.spared(seed, program("Abs", "Exp", "Relu"), both, Counter()) == (OTHER,)
    stuck.saw(seed, program("Relu"), [RunResult(OLD, Stage.RUN, Exit.OK)])
    assert stuck.spared("roi.onnx", program("Abs"), both, Counter()) == (OTHER,)
    assert stuck.spared(seed, program("Relu"), both, Counter()) == both
    stuck.saw(seed, program("Abs"), [RunResult(NEW, Stage.RUN, Exit.OK)])
    assert stuck.spared(seed, program("Abs"), both, Counter()) == both
