"""Gradients of the PyTorch lowering lead to NaN that noise does not reach."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.search.gene_vector_breeding import Settings
from irfuzz.search.gradient_steps_to_nan import Guide
from irfuzz.search.input_weight_evolution import EvolutionPlan, evolve
from irfuzz.search.input_weight_genome import Level, genome_of

pytestmark = pytest.mark.backend

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 40] x) => (float[1, 1] y)
<float shift = {30.0}> { s = ReduceSum<keepdims = 1>(x) d = Sub(shift, s) y = Sqrt(d) }"""
RANGES = {"x": (0.0, 1.0)}


def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def test_a_step_reaches_the_end_of_the_domain() -> None:
    """The operand is linear, so that one step of Newton's is exact: every element grows by the same."""
    genome = genome_of(program(), Level.INPUT, RANGES, 0)
    start = genome.start() * 0 + 0.5
    with Guide(genome) as guide:
        steps = guide.steps([start])
    assert steps[0] == pytest.approx(0.75, abs=1e-4)
    assert steps[2].sum() > 30.5


def test_the_guided_search_finds_nan_in_its_first_generation() -> None:
    plan = EvolutionPlan(settings=Settings(population=8, parents=2), generations=1, guide="gradient")
    with Runner(resolve(["reference"])) as runner:
        guided = evolve(program(), runner, plan, RANGES)
        with pytest.raises(UsageError, match="leads to NaN"):
            evolve(program(), runner, EvolutionPlan(fitness="inconsistency", guide="gradient"), RANGES)
    assert guided.witness is not None
    assert guided.witness.fault.value == "y"


def test_a_search_begins_with_what_it_is_given() -> None:
    given = np.full((1, 40), 0.25, np.float32)
    genome = genome_of(program(), Level.INPUT, RANGES, 0, {"x": given})
    assert np.array_equal(np.asarray(genome.inputs(genome.start())["x"]), given)
