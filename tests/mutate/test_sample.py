"""A fixed sample of mutants: all are valid, run, carry right facts, and are made again byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import rebuild
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import TracedMutant, mutate_many

COUNT = 150
SEED = 20


@pytest.fixture(scope="module")
def mutants(seeds: dict[str, Program]) -> list[TracedMutant]:
    return list(mutate_many(list(seeds.items()), seed=SEED, n=COUNT))


def test_there_are_as_many_as_wanted_and_all_differ(mutants: list[TracedMutant]) -> None:
    assert len(mutants) == COUNT
    assert len({m.to_bytes() for m in mutants}) > 0.95 * COUNT


def test_mutants_of_mutants_and_most_mutators_occur(mutants: list[TracedMutant]) -> None:
    assert max(len(m.edits) for m in mutants) > 8
    assert len({edit.mutator for m in mutants for edit in m.edits}) >= 13


def test_all_pass_the_full_check_of_onnx(mutants: list[TracedMutant]) -> None:
    for mutant in mutants:
        if all(edit.relation is not Relation.INVALID for edit in mutant.edits):
            onnx.checker.check_model(onnx.load_from_string(mutant.to_bytes()), full_check=True)


def test_hardly_any_edit_is_thrown_away(mutants: list[TracedMutant]) -> None:
    applied, thrown = Counter[str](), Counter[tuple[str, str]]()
    for mutant in mutants:
        applied.update(mutant.counts.applied)
        thrown.update(mutant.counts.thrown)
    assert thrown.total() < 0.01 * applied.total(), thrown


def test_every_trace_gives_the_same_bytes(mutants: list[TracedMutant], seeds: dict[str, Program]) -> None:
    by_digest = {program.digest: program for program in seeds.values()}
    for mutant in mutants:
        assert rebuild(json.loads(json.dumps(mutant.trace)), by_digest.get) == mutant.to_bytes()


def test_onnxruntime_runs_all_and_every_fact_is_true(mutants: list[TracedMutant], tmp_path: Path) -> None:
    """All values become outputs, so that the facts of inner ones are compared too."""
    facts: dict[str, list[object]] = {}
    for index, mutant in enumerate(mutants):
        program = mutant.program.clone()
        for value in [v for node in program.nodes() for v in node.outputs if v.name]:
            if isinstance(program.fact(value), TensorFact):
                program.add_output(value)
        name = f"{index:04d}.onnx"
        (tmp_path / name).write_bytes(program.to_bytes())
        inputs = {k: v for k, v in make_inputs(program, 1).items() if isinstance(v, np.ndarray)}
        np.savez(tmp_path / f"{index:04d}.npz", **inputs)
        facts[name] = [program.fact(value) for value in program.graph.outputs]
    script = Path(__file__).with_name("run_models.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process ended at {answers[-1] if answers else 'once'}: {done.stderr[-500:]}"
    failed = {a["name"]: a["error"] for a in answers if "error" in a}
    assert len(failed) <= 0.005 * COUNT, failed
    for answer in answers:
        for fact, (shape, dtype) in zip(facts[answer["name"]], answer.get("outputs", ()), strict=False):
            assert isinstance(fact, TensorFact)
            assert str(fact.dtype.numpy()) == dtype
            if fact.shape is None:
                continue  # taken out of a sequence of tensors of several ranks
            assert len(fact.shape) == len(shape)
            assert all(type(d) is not int or d == size for d, size in zip(fact.shape, shape, strict=True))
        assert "error" in answer or len(answer["outputs"]) == len(facts[answer["name"]])


_PRINT_DIGEST = """
import hashlib, sys
from irfuzz.ir.program import Program
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir
names = ("lenet5", "lstm", "qcnn", "resnet", "transformer")
named = [(n, Program.from_bytes((seeds_dir() / f"{n}.onnx").read_bytes())) for n in names]
total = hashlib.sha256()
for mutant in mutate_many(named, seed=int(sys.argv[1]), n=int(sys.argv[2])):
    total.update(mutant.to_bytes())
print(total.hexdigest())
"""


def test_another_process_makes_the_same_bytes(mutants: list[TracedMutant]) -> None:
    total = hashlib.sha256()
    for mutant in mutants:
        total.update(mutant.to_bytes())
    # Another hash seed gives sets and dictionaries of text another order.
    again = subprocess.run(
        [sys.executable, "-P", "-c", _PRINT_DIGEST, str(SEED), str(COUNT)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    )
    assert again.stdout.strip() == total.hexdigest()
