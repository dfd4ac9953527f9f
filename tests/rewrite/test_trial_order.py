"""The rewrites that are tried first: every one that fits a seed, and what was tried least on a mutant."""

from __future__ import annotations

import onnx

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.rewrite.rewrite_chain import operator_at
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.rewrite.trial_order import TrialOrder
from irfuzz.spec import load_specs

MODEL = """<ir_version: 10, opset_import: ["" : 21]> g (float[2, 3] x) => (float[2, 3] y) <float c = {2}>
{ a = Add(x, c) b = Mul(a, c) y = Relu(b) }"""


def test_each_fits_and_rules_of_eagle_come_first() -> None:
    program, specs, rewrites = Program.from_proto(onnx.parser.parse_model(MODEL)), load_specs(), build_rewrites()
    each = TrialOrder(specs, rewrites).each(program)
    assert {rewrite.name for rewrite in each} == {n for n, r in rewrites.items() if r.sites(program, specs)}
    ranks = [rewrite.eagle is None for rewrite in each]
    assert ranks == sorted(ranks)


def test_what_was_tried_least_is_next_and_confined_to_its_operator() -> None:
    program, specs = Program.from_proto(onnx.parser.parse_model(MODEL)), load_specs()
    rewrites = build_rewrites(["commute", "multiply-by-one"])
    turns = TrialOrder(specs, rewrites)
    pairs = {(n, operator_at(program, s)) for n, r in rewrites.items() for s in r.sites(program, specs)}
    seen: list[tuple[str, str]] = []
    for place in range(2 * len(pairs)):
        (turn,) = turns.rarest(program, Choices.from_seed(str(place)))
        operators = {operator_at(program, site) for site in turn.sites(program, specs)}
        assert len(operators) == 1
        seen.append((turn.name, *operators))
    assert len(pairs) >= 4
    assert all(seen.count(pair) == 2 for pair in pairs)
