"""Cases of models that irfuzz ships: those of known bugs, and the seeds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from irfuzz.conformance.case_types import SEVERAL, CaseRun, CaseSource, ConformanceCase, operator_of
from irfuzz.errors import InvalidProgram
from irfuzz.generate.graph_inputs.input_annotation import annotated
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_spec import InputSpec
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.shipped_folders import data_dir, seeds_dir
from irfuzz.store.npz_tensors import unpack

SEED_INPUTS = 2
"""Inputs that are drawn for each seed."""


def bug_cases(ops: Collection[str] | None = None) -> list[ConformanceCase]:
    """The models of docs/bugs with their inputs, in the order of their numbers.

    Bugs about models that break a rule of ONNX have no such case: refusing those is right.

    Args:
        ops: names of operators; all if ``None``.

    Raises:
        InternalError: the installation lacks them.
    """
    found: list[ConformanceCase] = []
    for folder in sorted(data_dir("docs/bugs").iterdir()):
        model = folder / "model.onnx"
        if not model.is_file():
            continue
        try:
            operator = operator_of(Program.from_bytes(model.read_bytes()))
        except InvalidProgram:
            continue
        if ops is None or operator in ops:
            found.append(
                ConformanceCase(f"{CaseSource.BUG}/{folder.name}", CaseSource.BUG, operator, _Stored(folder).made)
            )
    return found


def seed_cases(ops: Collection[str] | None = None) -> list[ConformanceCase]:
    """The shipped seeds, each on ``SEED_INPUTS`` inputs that are drawn in the ranges of the seeds' index.

    Args:
        ops: names of operators; a seed has many, so there are cases only if ``SEVERAL`` is among them.

    Raises:
        InternalError: the installation lacks the seeds.
        SpecError: their index cannot be read.
    """
    if ops is not None and SEVERAL not in ops:
        return []
    folder = seeds_dir()
    return [
        ConformanceCase(
            f"{CaseSource.SEED}/{name.removesuffix('.onnx')}/{number}",
            CaseSource.SEED,
            SEVERAL,
            _Seed(folder / name, number).made,
        )
        for name in sorted(seed_ranges())
        for number in range(SEED_INPUTS)
    ]


class _Stored:
    """A model beside its inputs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def made(self) -> CaseRun:
        program = Program.from_bytes((self._folder / "model.onnx").read_bytes())
        stored = self._folder / "inputs.npz"
        if not stored.is_file():
            return CaseRun(program, make_inputs(program, 0))
        given = unpack(stored.read_bytes(), str(stored))
        names = [value.name or "" for value in program.graph.inputs if value.name not in program.graph.initializers]
        return CaseRun(program, {name: given[name] for name in names if name in given})


class _Seed:
    """A seed on one input."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number

    def made(self) -> CaseRun:
        program = annotated(
            Program.from_bytes(self._path.read_bytes()), InputSpec(ranges=seed_ranges()[self._path.name])
        )
        return CaseRun(program, make_inputs(program, self._number))
