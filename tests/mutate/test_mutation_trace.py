"""Traces: written, read and checked field by field, and rebuilt."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import parse_trace, read_trace, rebuild, write_trace
from irfuzz.mutate.traced_mutant_generation import TracedMutant, mutate
from irfuzz.shipped_folders import seeds_dir

SEED = seeds_dir() / "lenet5.onnx"


@pytest.fixture(scope="module")
def mutant() -> TracedMutant:
    return list(mutate(SEED, seed=4, n=6))[-1]


def lookup(program: Program) -> Callable[[str], Program | None]:
    return {program.digest: program}.get


def test_write_read_rebuild(mutant: TracedMutant, tmp_path: Path, seeds: dict[str, Program]) -> None:
    path = tmp_path / "one.trace.json"
    write_trace(mutant.trace, path)
    trace = read_trace(path)
    assert trace.to_json() == mutant.trace
    assert trace.seed.name == "lenet5.onnx"
    assert rebuild(trace, lookup(seeds["lenet5"])) == mutant.to_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["one.trace.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(schema=2), "field schema: expected 1, got 2"),
        (lambda t: t.update(schema=True), "field schema: expected 1, got True"),
        (lambda t: t.pop("seed"), "field 'seed' is missing"),
        (lambda t: t.update(more=1), "unknown field 'more'"),
        (lambda t: t.update(sha256="ab"), "field sha256: expected 64 hexadecimal digits, got 'ab'"),
        (lambda t: t.update(edits={}), "field edits: expected a list, got {}"),
        (lambda t: t["edits"][0].update(version="1"), r"field edits\[0\].version: expected an integer, got '1'"),
        (lambda t: t["edits"][0].update(relation="odd"), r"field edits\[0\].relation: expected equivalent or changed"),
        (
            lambda t: t["edits"][0].update(choices=[True]),
            r"field edits\[0\].choices\[0\]: expected a finite number, got True",
        ),
        (lambda t: t["edits"][0].update(choices=[float("inf")]), r"choices\[0\]: expected a finite number, got inf"),
        (lambda t: t["seed"].update(digest=3), "field seed.digest: expected text, got 3"),
        (lambda t: t.update(donors=[1]), r"donors\[0\]: expected an object"),
    ],
)
def test_wrong_fields_are_named(mutant: TracedMutant, change: Callable[[dict[str, Any]], object], message: str) -> None:
    data = copy.deepcopy(mutant.trace)
    change(data)
    with pytest.raises(InvalidProgram, match=message):
        parse_trace(data, "x.json")


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the trace"):
        read_trace(tmp_path / "missing.json")
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"\xff{")
    with pytest.raises(InvalidProgram, match=r"bad\.json: not JSON"):
        read_trace(bad)
    bad.write_text("[" * 100_000)
    with pytest.raises(InvalidProgram, match=r"bad\.json: not JSON"):
        read_trace(bad)
    with pytest.raises(UsageError, match="cannot write the trace"):
        write_trace({"a": 1}, tmp_path / "no" / "folder.json")


def test_a_missing_or_other_seed(mutant: TracedMutant, seeds: dict[str, Program]) -> None:
    with pytest.raises(InvalidProgram, match=r"lenet5\.onnx.*not among the given models"):
        rebuild(mutant.trace, lambda _: None)
    with pytest.raises(InvalidProgram, match="expected a model with sha256"):
        rebuild(mutant.trace, lambda _: seeds["resnet"])


def test_a_result_that_differs(mutant: TracedMutant, seeds: dict[str, Program]) -> None:
    data = copy.deepcopy(mutant.trace)
    data["sha256"] = "0" * 64
    with pytest.raises(InvalidProgram, match=r"sha256 0000.*the trace was made by irfuzz"):
        rebuild(data, lookup(seeds["lenet5"]))


def test_every_form_of_a_model_gives_the_same_mutants() -> None:
    proto = onnx.load(SEED)
    wanted = [m.to_bytes() for m in mutate(SEED, seed=9, n=3)]
    for model in (str(SEED), SEED.read_bytes(), proto, Program.from_proto(proto)):
        assert [m.to_bytes() for m in mutate(model, seed=9, n=3)] == wanted
    # onnx-ir writes the types of initializers a second time, which means nothing.
    digests = [Program.from_bytes(data).digest for data in wanted]
    assert [m.program.digest for m in mutate(ir.from_proto(proto), seed=9, n=3)] == digests
    assert [Program.from_proto(m.model_proto).digest for m in mutate(SEED, seed=9, n=3)] == digests


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match="n: expected 0 or more mutants, got -1"):
        mutate(SEED, n=-1)
    with pytest.raises(UsageError, match="edits: expected at least 1, got 0"):
        mutate(SEED, edits=0)
    with pytest.raises(UsageError, match="no model"):
        mutate([])
    with pytest.raises(InvalidProgram, match=r"/no/such/model\.onnx"):
        mutate("/no/such/model.onnx")
    with pytest.raises(UsageError, match=r"expected a model .* got float"):
        mutate(1.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="n: expected"):
        mutate(SEED, n=1.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a list of names"):
        mutate(SEED, mutators="splice")
    assert list(mutate(SEED, n=0)) == []
    assert json.dumps(next(mutate(SEED, edits=2)).trace)


def test_a_model_with_external_data_is_taken_from_its_file(tmp_path: Path) -> None:
    model = onnx.load(seeds_dir() / "lenet5.onnx")
    path = tmp_path / "big.onnx"
    onnx.save(model, path, save_as_external_data=True, location="big.bin", size_threshold=0)
    assert len(list(mutate(path, n=2))) == 2
