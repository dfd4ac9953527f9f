"""Inputs become genes, as far as they have the shapes of those that evolution starts from."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.search.gene_vector_breeding import Settings
from irfuzz.search.input_weight_evolution import EvolutionPlan, evolve
from irfuzz.search.input_weight_genome import Level, genome_of

F = np.float32

LOG = '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x, int64[N] n) => (float[N] y) { y = Log(x) }'


def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(LOG))


@pytest.mark.unit
def test_genes_of_other_inputs_are_theirs_where_the_shape_is_the_same() -> None:
    start = {"x": np.array([1, 2], F), "n": np.array([3, 4])}
    genome = genome_of(program(), Level.INPUT, {"x": (1.0, 9.0)}, 0, start)
    np.testing.assert_array_equal(genome.start(), [1, 2])
    np.testing.assert_array_equal(genome.genes_of({"x": np.array([5, 6], F)}), [5, 6])  # type: ignore[arg-type]
    np.testing.assert_array_equal(genome.genes_of({"n": np.array([0, 0])}), [1, 2])  # type: ignore[arg-type]
    assert genome.genes_of({"x": np.array([5, 6, 7], F)}) is None


@pytest.mark.backend
def test_a_later_start_is_in_the_first_population_as_it_is() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) <float c = {0.731}>
    { d = Sub(x, c) y = Div(d, d) }"""
    exactly = Program.from_proto(onnx.parser.parse_model(text))
    good, bad = {"x": np.full(4, 1, F)}, {"x": np.full(4, 0.731, F)}
    plan = EvolutionPlan(settings=Settings(population=4, parents=2), generations=1)
    ranges = {"x": (0.1, 2.0)}
    with Runner(resolve(["reference"])) as runner:
        assert evolve(exactly, runner, plan, ranges, starts=[good]).witness is None
        found = evolve(exactly, runner, plan, ranges, starts=[good, bad])
        assert found.witness is not None
        np.testing.assert_array_equal(np.asarray(found.witness.inputs["x"]), bad["x"])
