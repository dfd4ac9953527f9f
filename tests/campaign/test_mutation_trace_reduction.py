"""Edits of a trace are dropped in halves, then one by one, until each that is left is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.stored_findings import mutation_trace_reduction
from irfuzz.campaign.stored_findings.mutation_trace_reduction import fewer_edits
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import Origin, Trace, program_sha256
from irfuzz.mutate.mutator_protocol import Edit, Relation

pytestmark = pytest.mark.unit

VALID = next(r for r in Relation if r is not Relation.INVALID)
X = {"x": np.zeros(2, np.float32)}


def program(letters: Sequence[str], signature: str = "(float[2] x) => (float[2] y)") -> Program:
    """One node for each letter, whose name is its output's."""
    body = " ".join(f"{letter} = Neg (x)" for letter in letters)
    text = f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {{ {body} y = Abs (x) }}'
    return Program.from_proto(onnx.parser.parse_model(text))


SEED, DONOR = program(""), program("d")
SEEDS = {SEED.digest: SEED, DONOR.digest: DONOR}


def trace(letters: str, *donors: Program) -> Trace:
    edits = tuple(Edit("m", 1, letter, (), VALID, "") for letter in letters)
    origins = tuple(Origin(p.digest, program_sha256(p)) for p in (SEED, *donors))
    return Trace(origins[0], origins[1:], edits, "0" * 64)


class Replays:
    """Makes a program with a node for each edit; the last letter of a pair needs the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, needs: str = "", signature: str | None = None) -> None:
        self.needs, self.signature = needs, signature
        self.donors: list[Sequence[str]] = []
        monkeypatch.setattr(mutation_trace_reduction, "replay", self)

    def __call__(self, seed: Program, edits: Sequence[Edit], specs: object, donors: Any) -> Program:
        assert seed is SEED
        self.donors.append(donors.digests())
        letters = [edit.site for edit in edits]
        if self.needs and self.needs[1] in letters and self.needs[0] not in letters:
            raise (InvalidProgram if self.needs == "ab" else UsageError)("it does not fit")
        return program(letters, self.signature) if self.signature else program(letters)


class Shows:
    """A fault that shows in programs with some letters."""

    def __init__(self, wanted: str) -> None:
        self.wanted = set(wanted)
        self.tried: list[str] = []

    def __call__(self, one: Program, inputs: Mapping[str, object]) -> bool:
        letters = [node.outputs[0].name or "" for node in one.nodes()][:-1]
        self.tried.append("".join(letters))
        assert list(inputs) == ["x"]
        return self.wanted <= set(letters)


@pytest.mark.parametrize(
    ("letters", "wanted", "left", "tried"),
    [
        ("abcd", "a", "a", ["ab", "", "", "a", "", ""]),
        ("abcd", "d", "d", ["ab", "cd", "", "c", "d", ""]),
        ("abcde", "be", "be", ["abcd", "abe", "e", "ab", "e", "ab", "ae", "be", "b", "e"]),
        ("ab", "", "", ["a", ""]),
        ("a", "", "", [""]),
    ],
)
def test_halves_are_dropped_first_and_then_single_edits(
    monkeypatch: pytest.MonkeyPatch, letters: str, wanted: str, left: str, tried: list[str]
) -> None:
    Replays(monkeypatch)
    shows = Shows(wanted)
    found = fewer_edits(trace(letters), SEEDS, X, shows)
    assert found is not None
    shorter, smaller = found
    assert "".join(edit.site for edit in shorter.edits) == left
    assert shows.tried == tried
    assert smaller.digest == program(left).digest
    assert shorter.sha256 == program_sha256(smaller)
    assert (shorter.seed, shorter.donors) == (trace(letters).seed, ())


@pytest.mark.parametrize(
    ("letters", "tried"),
    [("", []), ("a", [""]), ("ab", ["a", "b"]), ("abcd", ["ab", "cd", "abc", "abd", "acd", "bcd"])],
)
def test_edits_that_are_all_needed_stay(monkeypatch: pytest.MonkeyPatch, letters: str, tried: list[str]) -> None:
    Replays(monkeypatch)
    shows = Shows(letters)
    assert fewer_edits(trace(letters), SEEDS, X, shows) is None
    assert shows.tried == tried


@pytest.mark.parametrize("needs", ["ab", "ba"])
def test_an_edit_that_another_needs_goes_with_it(monkeypatch: pytest.MonkeyPatch, needs: str) -> None:
    """Whether the edit refuses the program or the program refuses the edit."""
    Replays(monkeypatch, needs)
    shows = Shows("c")
    found = fewer_edits(trace("abc"), SEEDS, X, shows)
    assert found is not None
    assert [edit.site for edit in found[0].edits] == ["c"]
    assert not {"".join(sorted(needs[1] + "c")), needs[1]} & set(shows.tried)


def test_the_seed_and_all_donors_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    replays = Replays(monkeypatch)
    assert fewer_edits(trace("ab", DONOR), {SEED.digest: SEED}, X, Shows("a")) is None
    assert fewer_edits(trace("ab"), {DONOR.digest: DONOR}, X, Shows("a")) is None
    assert replays.donors == []
    found = fewer_edits(trace("ab", DONOR), SEEDS, X, Shows("a"))
    assert found is not None
    assert found[0].donors == trace("", DONOR).donors
    assert set(replays.donors) == {(SEED.digest, DONOR.digest)}


@pytest.mark.parametrize(
    ("signature", "tries"),
    [
        ("(float[2] x) => (float[2] y)", True),
        ("(float[2] x, float[2] z) => (float[2] y)", False),
        ("(float[2] x, float[2] z) => (float[2] y) <float[2] z = {1, 2}>", True),
        ("(float[2] x) => (float[3] y)", False),
    ],
)
def test_what_is_invalid_or_lacks_an_input_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, signature: str, tries: bool
) -> None:
    Replays(monkeypatch, signature=signature)
    shows = Shows("a")
    inputs = {**X, "of an edit": np.zeros(1, np.float32)}
    assert (fewer_edits(trace("ab"), SEEDS, inputs, shows) is not None) is tries
    assert bool(shows.tried) is tries
