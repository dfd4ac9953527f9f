"""Writes disagreements that nobody has looked into as rows of a database, and reads them again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf.message import DecodeError
from onnx import TypeProto

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.facts import Fact
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.frontends.toml_file_reading import is_table
from irfuzz.ir.fact_type_conversion import fact_of_proto, proto_of_fact
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.bounded_decompression import TEXT, decompressed
from irfuzz.store.npz_tensors import Value, pack, unpack
from irfuzz.store.stored_program_encoding import StoredPrograms
from irfuzz.store.waiting_rows import WaitingRow

T = TypeVar("T")

SCHEMA = 1
"""Version of the texts in a row."""

MOST_BYTES = 4 << 20
"""A larger program is stored without the weights that its edits make again, and of more answers than that none is."""

LOG = 4000
"""Characters that are kept of what else a target said."""

NO_CASE = FailingCase(b"", b"")
"""Stands for the program and the inputs of a finding that was read without them."""


def waiting_row_of(
    finding: Finding,
    programs: StoredPrograms,
    *,
    number: int,
    words: str,
    operators: Collection[str],
    size: int,
    again: bool,
) -> WaitingRow:
    """The row of a disagreement as it was seen; ``waiting_finding_of`` is the inverse.

    Args:
        finding: with its program, inputs and results.
        programs: of the campaign.
        number: of the row.
        words: what a rejection said, normalised.
        operators: by which its like is known.
        size: nodes of the program.
        again: a known fault explains it.
    """
    verdict = finding.verdict
    about: dict[str, Any] = {
        "schema": SCHEMA, "verdict": verdict.to_json(), "hunt": finding.hunt, "group": finding.group
    }  # fmt: skip
    if verdict.invalid:
        about["facts"] = _facts_as_text(finding.case.program)
    return WaitingRow(
        number=number, owner=finding.job, job=finding.job, iteration=finding.iteration,
        symptom=verdict.symptom.value, target=verdict.target, suspect=verdict.suspect, words=words,
        operators=json.dumps(sorted(operators)), size=size, again=again, doubted=finding.doubted, strikes=0,
        about=json.dumps(about), trace=zlib.compress(json.dumps(finding.trace).encode()),
        model=_model(finding.case.program, programs), inputs=zlib.compress(finding.case.packed, 1),
        answers=_answers(finding.results),
    )  # fmt: skip


def _model(program: Program, programs: StoredPrograms) -> bytes:
    whole = programs.whole(program)
    return whole if len(whole) <= MOST_BYTES else programs.mutant(program)


def _answers(results: Sequence[RunResult]) -> bytes:
    """What targets did; nothing if that is more than ``MOST_BYTES``, for it can be asked again."""
    if sum(map(_size, (value for result in results for value in result.outputs.values()))) > MOST_BYTES:
        return b""
    rows = [
        {
            "target": result.target.name,
            "stage": result.stage.value,
            "exit": result.exit.value,
            "error": result.error,
            "log": result.log[:LOG],
            "seconds": result.seconds,
            "outputs": list(result.outputs),
        }
        for result in results
    ]
    values = {f"{place}/{name}": value for place, r in enumerate(results) for name, value in r.outputs.items()}
    texts = json.dumps(rows).encode()
    return zlib.compress(len(texts).to_bytes(8, "little") + texts + pack(values), 1)


def _size(value: Value) -> int:
    return sum(map(_size, value)) if isinstance(value, list) else getattr(value, "nbytes", 0)


def operators_in(row: WaitingRow) -> frozenset[str]:
    """By which operators its like is known.

    Raises:
        UsageError: the row is damaged.
    """
    return _read(row, lambda: frozenset(map(str, json.loads(row.operators))))


def bare_finding_of(row: WaitingRow) -> Finding:
    """What a row says without its program, inputs and answers; these may be missing in it.

    Raises:
        UsageError: the row is damaged, or another version of irfuzz wrote it.
    """
    about = _read(row, lambda: json.loads(row.about))
    if not is_table(about) or about.get("schema") != SCHEMA:
        found = about.get("schema") if is_table(about) else about
        raise UsageError(f"waiting case {row.number}: expected schema {SCHEMA}, got {found!r}")
    verdict = _read(row, lambda: Verdict.from_json(about["verdict"]))
    return Finding(
        verdict, NO_CASE, NO_CASE, hunt=str(about.get("hunt", "")), group=str(about.get("group", "")), job=row.job,
        iteration=row.iteration, doubted=row.doubted,
    )  # fmt: skip


def whole_parts(
    row: WaitingRow, programs: StoredPrograms, remade: Callable[[Mapping[str, Any]], Program]
) -> tuple[FailingCase, Mapping[str, Any]]:
    """The program with its inputs, and how it was made.

    Facts of a program that breaks a rule on purpose are those that it had when it was written: they follow neither
    from its bytes nor, if an edit was steered by coverage, from its edits.

    Args:
        row: whole.
        programs: of the campaign.
        remade: the program that the edits of a trace make, for one whose weights were not stored, and for one that is
            none by its bytes, as with a wrong declaration.

    Raises:
        InvalidProgram: neither the bytes nor the edits give a program.
        UsageError: the row is damaged.
    """
    trace = _read(row, lambda: json.loads(decompressed(row.trace, TEXT)))
    inputs = _read(row, lambda: unpack(decompressed(row.inputs), f"waiting case {row.number}"))
    recorded = _read(row, lambda: _recorded_facts(row))
    try:
        program = programs.read(row.model, lambda: remade(trace), recorded=recorded)
    except InvalidProgram:
        program = remade(trace)
    return FailingCase(program, inputs), trace


def _facts_as_text(program: Program) -> dict[str, str]:
    """Types and shapes of what the nodes of the main graph compute, by name, as ``_recorded_facts`` reads them."""
    values = (output for node in program.graph for output in node.outputs)
    return {v.name: proto_of_fact(fact_of(v)).SerializeToString().hex() for v in values if v.name}


def _recorded_facts(row: WaitingRow) -> dict[str, Fact]:
    about = json.loads(row.about)
    facts: Any = about.get("facts", {}) if is_table(about) else {}
    if not is_table(facts):
        raise ValueError(f"facts: expected a table, got {facts!r}")
    try:
        return {name: fact_of_proto(TypeProto.FromString(bytes.fromhex(str(text)))) for name, text in facts.items()}
    except DecodeError as error:
        raise ValueError(f"facts: {error}") from None


def answers_in(row: WaitingRow, targets: Iterable[Target]) -> list[RunResult]:
    """What targets did when the disagreement was seen.

    Args:
        row: whole.
        targets: that there are now; answers of others are left out.

    Returns:
        Nothing if the answers were too many to be stored.

    Raises:
        UsageError: the row is damaged.
    """
    if not row.answers:
        return []
    named = {target.name: target for target in targets}

    def read() -> list[RunResult]:
        data = decompressed(row.answers)
        end = 8 + int.from_bytes(data[:8], "little")
        values = unpack(data[end:], f"waiting case {row.number}")
        return [
            RunResult(
                named[one["target"]], Stage(one["stage"]), Exit(one["exit"]),
                {name: values[f"{place}/{name}"] for name in one["outputs"]}, one["error"], one["log"],
                float(one["seconds"]),
            )
            for place, one in enumerate(json.loads(data[8:end]))
            if one["target"] in named
        ]  # fmt: skip

    return _read(row, read)


def _read(row: WaitingRow, read: Callable[[], T]) -> T:
    try:
        return read()
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, zlib.error) as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"waiting case {row.number}: cannot be read: {why}") from None
