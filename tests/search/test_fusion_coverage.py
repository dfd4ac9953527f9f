"""Fusion patterns are found where they stand exactly, nearly, and nowhere else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from onnx import parser

from irfuzz.choices import Choices
from irfuzz.cli.main import main
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.patterns.pattern_file_reader import patterns
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.fusion_distance import distance
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

BY_NAME = {p.name: p for p in patterns()}

GELU = """
   d = Div(x, c)
   e = Erf(d)
   a = Add(e, one)
   m = Mul(x, a)
   y = Mul(m, half)
"""


def program(body: str, c: str = "1.4142135", typed: str = "float", also: str = "") -> Program:
    constants = f"<{typed} c = {{{c}}}, {typed} one = {{1}}, {typed} half = {{0.5}}>"
    text = (
        f'<ir_version: 8, opset_import: ["": 17]> g ({typed}[2, 3] x) => ({typed}[2, 3] y{also}) {constants} {{{body}}}'
    )
    return Program.from_proto(parser.parse_model(text))


def found(body: str, **more: str) -> tuple[bool, bool]:
    """Whether GELU is there exactly, and nearly."""
    seen = Fusions()
    seen.add(program(body, **more))
    return "gelu-erf" not in seen.missing()["exact"], "gelu-erf" not in seen.missing()["near"]


def test_a_pattern_stands_there_exactly() -> None:
    assert found(GELU) == (True, False)
    assert found(GELU.replace("Add(e, one)", "Add(one, e)").replace("Mul(x, a)", "Mul(a, x)")) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("Erf(d)", "Exp(d)", {}),
        ("Div(x, c)", "Mul(x, c)", {}),
        ("Add(e, one)", "Add(e, half)", {}),
        ("Add(e, one)", "Add(f, one)", {}),
        ("Mul(x, a)", "Mul(d, a)", {}),
        ("", "", {"c": "1.5"}),
        ("", "", {"also": ", float[2, 3] a"}),
        ("", "", {"typed": "double"}),
    ],
)
def test_one_thing_is_off(old: str, new: str, more: dict[str, str]) -> None:
    body = GELU.replace(old, new) if old else GELU
    if "(f, one)" in body:
        body = body.replace("a = Add", "f = Relu(e)\n a = Add")
    assert found(body, **more) == (False, True)


def test_two_things_are_off() -> None:
    assert found(GELU.replace("Erf", "Exp"), c="1.5") == (False, False)
    assert found("y = Mul(x, half)") == (False, False)


def test_what_the_mutator_inserts_is_what_is_found() -> None:
    """Of whole patterns at least nine in ten; of those with one thing off most: some of that is no part of them."""
    engine = Engine(load_specs(), ["insert-pattern"])
    counts: Counter[tuple[bool, int | None]] = Counter()
    for index in range(160):
        shape = ("float[4, 4]", "float[1, 2, 4, 5]")[index % 2]
        opset = (17, 13)[index // 2 % 2]
        text = f'<ir_version: 8, opset_import: ["": {opset}]> g ({shape} x) => ({shape} y) {{ y = Identity(x) }}'
        mutant = engine.mutate(Program.from_proto(parser.parse_model(text)), Choices.from_seed(index))
        if mutant is None:
            continue
        detail = mutant.edits[-1].detail
        pattern = BY_NAME[detail.split()[0]]
        all_off = [distance(pattern, mutant.program, node) for node in mutant.program.graph]
        counts[" with " in detail, min((off for off in all_off if off is not None), default=None)] += 1
        if " with " not in detail:
            seen = Fusions()
            seen.add_mutant(mutant.program)
            if 0 in all_off:
                assert pattern.name not in seen.missing()["exact"]
    whole = sum(n for (near, _), n in counts.items() if not near)
    assert whole > 25
    assert counts[False, 0] >= 0.9 * whole
    assert counts[True, None] <= 0.3 * sum(n for (near, _), n in counts.items() if near)


def test_the_state_goes_round() -> None:
    seen = Fusions()
    assert seen.add(program(GELU)) >= 1
    assert seen.add(program(GELU)) == 0
    again = Fusions()
    again.absorb(json.loads(json.dumps(seen.state())))
    assert again.shares() == seen.shares()
    assert again.covered == seen.covered > 0
    again.absorb({"schema": 1, "exact": ["no-such-pattern"], "near": ["gelu-erf"]})
    assert "gelu-erf" not in again.missing()["near"]
    assert again.covered == seen.covered + 1
    again.absorb({"schema": -1, "exact": ["silu"], "near": []})
    assert again.covered == seen.covered + 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gelu.onnx").write_bytes(program(GELU).to_bytes())
    assert main(["coverage", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["fusions"]
    assert told["exact"]["total"] == len(patterns())
    assert "gelu-erf" not in told["missing"]["exact"]
    assert "gelu-erf" in told["missing"]["near"]
    assert main(["coverage", str(tmp_path), "--operators", "--html", str(tmp_path / "page.html")]) == 0
    text = capsys.readouterr().out
    assert "near pattern" in text
    assert "patterns that no model shows (exact): " in text
    assert "near pattern" in (tmp_path / "page.html").read_text()
