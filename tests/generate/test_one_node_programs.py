"""Sprouts: valid programs of one node, made into mutants that a trace rebuilds without any file of a seed."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.choices import Choices
from irfuzz.cli.main import main
from irfuzz.generate.one_node_programs import (
    FORMS,
    NEW,
    OLD,
    OPEN,
    RARE_FORMS,
    VERSIONS,
    WIDE,
    sprouts,
    sprouts_up_to,
)
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.spec import load_specs
from irfuzz.store.database import Database

pytestmark = pytest.mark.unit


def test_each_is_a_valid_model_of_its_version() -> None:
    usual = len(FORMS) + len(OPEN)
    common = usual * (len(VERSIONS) + 1) + len(NEW) * len(FORMS) // 3  # each form at one old version
    assert len(sprouts()) == common + len(RARE_FORMS) + 2 * len(WIDE)
    versions = (*VERSIONS, *OLD, *NEW, *(version for *_, version in RARE_FORMS))
    assert {p.opset for p in sprouts().values()} == {opset for opset, _ in versions}
    assert len({p.digest for p in sprouts().values()}) == len(sprouts())
    for name, program in sprouts().items():
        onnx.checker.check_model(program.to_proto(), full_check=True)
        assert name.endswith(f"-{program.opset}")
        assert [n.op_type for n in program.nodes()] == ["Identity"]


def test_sizes_go_beyond_vectors_of_every_width() -> None:
    sizes = {size for _, shape in WIDE for size in shape}
    for width in (4, 8, 16, 32):
        assert any(size % width == 0 and size > 5 for size in sizes)
        assert any(size > width and size % width == 1 for size in sizes)
        assert any(size > width and size % width == width - 1 for size in sizes) or width - 1 in sizes
    channels = {shape[1] for _, shape in WIDE if len(shape) > 2}
    assert {6, 9, 18} <= channels, "a multiple of 3 and not of 4"


@pytest.mark.parametrize(("dtype", "shape", "version"), RARE_FORMS)
def test_a_rare_type_reaches_operators_that_take_it(
    dtype: ir.DataType, shape: tuple[int, ...], version: tuple[int, int]
) -> None:
    name = f"sprout-{dtype.name.lower()}-{'x'.join(map(str, shape))}-{version[0]}"
    engine, operators = Engine(load_specs()), set[str]()
    for seed in range(30):
        mutant = engine.mutate(sprouts()[name], Choices.from_seed(seed), edits=2)
        if mutant is None or any(edit.relation == "invalid" for edit in mutant.edits):
            continue
        program = mutant.program
        onnx.checker.check_model(program.to_proto(), full_check=True)
        taken = [
            n
            for n in program.nodes()
            if n.inputs and (v := n.inputs[0]) and (f := program.tensor(v)) and f.dtype == dtype
        ]
        operators |= {n.op_type for n in taken}
    assert len(operators) >= 3, operators


def test_a_share_of_the_parents_are_sprouts(tmp_path: Path) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"), 1.0)
    choices = Choices.from_seed(3)
    chosen = [corpus.pick(choices) for _ in range(200)]
    assert len({e.seed for e in chosen}) > 40
    entry = chosen[0]
    program = corpus.program(entry)
    assert program.digest == entry.digest
    assert corpus.trace(entry).seed.name == entry.seed
    assert corpus.seed_count == 0
    assert corpus.digests() == ()


@pytest.mark.parametrize("newest", [8, 17, 21, 23, 26, 28])
def test_no_parent_is_of_an_opset_that_a_target_lacks(tmp_path: Path, newest: int) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"), 1.0)
    corpus.limit(newest)
    choices = Choices.from_seed(3)
    opsets = {corpus.program(corpus.pick(choices)).opset for _ in range(3000)}
    assert opsets == {sprouts()[name].opset for name in sprouts_up_to(newest)}
    if newest >= 9:
        assert max(opsets) == newest


def test_what_grew_from_one_is_rebuilt_from_its_trace_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"), 1.0)
    choices = Choices.from_seed(5)
    entry = corpus.pick(choices)
    mutant = Engine(load_specs()).mutate(corpus.program(entry), choices, edits=2)
    assert mutant is not None
    trace = corpus.trace(entry).extended(mutant.edits, (), mutant.to_bytes())
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace.to_json()))
    assert main(["replay", str(path), "-o", str(tmp_path / "again.onnx")]) == 0
    assert (tmp_path / "again.onnx").read_bytes() == mutant.to_bytes()
