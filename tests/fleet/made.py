"""Folders of agents with real programs, made without running a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnx

import irfuzz
from irfuzz.campaign.corpus.feature_holders import FeatureHolders, cost_of
from irfuzz.mutate.feature_counts import features
from irfuzz.mutate.mutation_trace import Trace, parse_trace
from irfuzz.store.database import Database, FindingRow, ProgramRow, Status

TEXTS = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }',
    '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Abs(x) }',
)


@cache
def seed(number: int = 0) -> irfuzz.Program:
    """A model of one or two nodes."""
    return irfuzz.load(onnx.parser.parse_model(TEXTS[number]))


@cache
def mutants(number: int = 0) -> tuple[irfuzz.TracedMutant, ...]:
    """Six different mutants of a seed."""
    found = {}
    stream = irfuzz.mutate([seed(number)], seed=7, n=20)
    for mutant in stream:
        found.setdefault(mutant.program.digest, mutant)
    return tuple(found.values())[:6]


def folder(path: Path) -> Database:
    """An empty folder of an agent."""
    path.mkdir(parents=True, exist_ok=True)
    return Database(path / "campaign.sqlite")


def keys_of(program: irfuzz.Program) -> bytes:
    return FeatureHolders().keys(features(program)).tobytes()


def add_seed(database: Database, number: int = 0) -> None:
    """The seed, as a campaign and its first job store it."""
    program = seed(number)
    row = ProgramRow(
        program.digest, database.programs.seed(program), f"seed{number}.onnx", "",
        Trace.of_seed(program, f"seed{number}.onnx").to_text(), 0, -1, 0,
        nodes=len(program.nodes()), cost=cost_of(program), keys=keys_of(program),
    )  # fmt: skip
    database.record(99, 0, 0, {}, [row])


def add_mutants(database: Database, many: Sequence[int], number: int = 0) -> None:
    """Mutants by their places, as job 0 stores them."""
    base = database.program(seed(number).digest).model
    for place in many:
        mutant = mutants(number)[place]
        program = mutant.program
        model = database.programs.small_mutant(program.to_bytes(), seed(number).digest, base)
        row = ProgramRow(
            program.digest, model, f"seed{number}.onnx", seed(number).digest, parse_trace(mutant.trace).to_text(), 1, 0,
            place, nodes=len(program.nodes()), cost=cost_of(program), keys=keys_of(program),
        )  # fmt: skip
        database.record(0, place + 1, place + 1, {}, [row])


def finding(signature: str, *, status: str = Status.CONFIRMED, suspect: bool = False, times: int = 1) -> FindingRow:
    """A finding whose texts nobody reads."""
    model = seed().to_bytes()
    return FindingRow(
        signature, "difference", "onnxruntime:all", suspect, f"title of {signature}", "{}", "[]", "{}", model,
        b"inputs", model, b"inputs", status, 0, 3, times=times,
    )  # fmt: skip


def news(*numbers: int) -> bytes:
    """Keys of made-up features."""
    return np.array(numbers, np.uint64).tobytes()
