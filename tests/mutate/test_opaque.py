"""Models with operators that irfuzz has no schema for are mutated around them: they stay as they are, and run."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import onnx_ir as ir
import pytest

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.inference.opaque_nodes import is_typed
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values
from irfuzz.mutate.traced_mutant_generation import mutate, mutate_many
from tests.contrib import DOMAIN, MODELS, opaque_in, saved

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")

MANY = 60


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    folder = tmp_path_factory.mktemp("contrib")
    with OnnxChecker() as checker, Converters() as converters:
        return {
            name: load_seed(saved(make(), folder / f"{name}.onnx"), checker=checker, converters=converters)
            for name, make in MODELS.items()
        }


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(resolve(["onnxruntime:disabled"])) as made:
        yield made


def _attributes(program: Program) -> list[str]:
    nodes = [n for n in program.model.graph.all_nodes() if n.domain == DOMAIN]
    return sorted(f"{n.op_type} {sorted((a.name, str(a.value)) for a in n.attributes.values())}" for n in nodes)


@pytest.mark.parametrize("name", MODELS)
def test_mutants_keep_opaque_nodes_and_run(programs: dict[str, Program], runner: Runner, name: str) -> None:
    seed = programs[name]
    operators, attributes = opaque_in(MODELS[name]()), _attributes(seed)
    ran = 0
    mutants = list(mutate_many([(name, seed)], seed=1, n=MANY))
    assert len(mutants) == MANY
    for mutant in mutants:
        program = mutant.program
        assert program.model.opset_imports[DOMAIN] == 1
        made = _attributes(program)
        assert all(made.count(one) >= attributes.count(one) for one in attributes), mutant.trace["edits"]
        assert len(made) >= len(operators)
        (result,) = runner.run(program, make_inputs(program, 0))
        ran += result.exit is Exit.OK
    assert ran >= 0.95 * MANY


def test_types_of_opaque_values_stand_in_the_files_of_mutants(programs: dict[str, Program]) -> None:
    for mutant in mutate_many([("fused", programs["fused"])], seed=2, n=20):
        again = Program.from_bytes(mutant.to_bytes())
        for node in again.graph:
            if node.domain == DOMAIN:
                assert all(is_typed(again.fact(v)) for v in node.outputs if v.name)


def test_models_that_are_no_files_are_typed_too() -> None:
    made = [next(mutate(model, seed=1, n=1)) for model in (MODELS["fused"](), MODELS["fused"]().SerializeToString())]
    assert made[0].to_bytes() == made[1].to_bytes()
    for node in made[0].program.graph:
        if node.domain == DOMAIN:
            assert all(is_typed(made[0].program.fact(v)) for v in node.outputs if v.name)


def _exact(program: Program, name: str) -> bool:
    value = program.value(name)
    assert isinstance(value, ir.Value)
    return value in exact_values(program)


def test_data_that_opaque_nodes_read_is_free(programs: dict[str, Program]) -> None:
    assert not _exact(programs["fused"], "a")  # floats that are computed
    assert not _exact(programs["quantised"], "q")  # eight bits


def test_what_may_count_or_scale_is_not(programs: dict[str, Program]) -> None:
    assert _exact(programs["embedded"], "short")  # integers that may be positions
    assert _exact(programs["quantised"], "scale")  # a scalar
    assert _exact(programs["fused"], "gamma")  # a constant
