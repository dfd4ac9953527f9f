"""Targets with the faults of EAGLE's paper: each contradicts itself, and the rule and the operator are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.campaign.self_testing.contradiction_findings import contradiction_of
from irfuzz.campaign.self_testing.contradiction_record import Contradiction
from irfuzz.campaign.self_testing.contradiction_reduction import smallest
from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence
from irfuzz.execute.adapters.alternative_runs import WAYS, adapters_for, build_ways, others_of
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs

FILE = Path(__file__).resolve().parents[1] / "planted_targets" / "equivalent.py"
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
MODELS = {
    "rnn": """g (float[4, 2, 3] x) => (float[4, 2, 2, 2] y) <float[2, 2, 3] w = {1, 2, -1, 1, 3, 1, 2, 1, -1, 1, 2, 1},
        float[2, 2, 2] r = {1, -1, 2, 1, 0, 1, 1, 2}>
        { y = RNN <hidden_size = 2, direction = "bidirectional"> (x, w, r) }""",
    "floor": """g (float[3, 4] x) => (float[3, 4] y) <float two = {2}> { a = Cos(x) b = Sub(a, two) y = Floor(b) }""",
    "product": """g (float[3, 4] x) => (float[3, 5] y) <float[5, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5,
        6, 7, 8, 9, 1, 2}> { a = Relu(x) v = Transpose <perm = [1, 0]> (w) b = MatMul(a, v) y = Abs(b) }""",
    "bytes": """g (uint8[3, 5] x) => (uint8[5, 3] y) { y = Transpose <perm = [1, 0]> (x) }""",
    "fmod": """g (int64[3] x) => (int64[3] y)
        <int64[3] big = {1152921504606846977, 1152921504606847001, 1152921504606847015},
        int64 c = {10}> { a = Add(x, big) y = Mod(a, c) }""",
    "remainder": """g (int64[3] x) => (int64[3] y)
        <int64[3] big = {1152921504606846977, -1152921504606847001, 1152921504606847015},
        int64 c = {10}> { a = Add(x, big) y = Mod <fmod = 1> (a, c) }""",
    "gemm": """g (float[2, 3] x) => (float[2, 2] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[2] b = {3, -1}>
        { a = Gemm <transB = 1> (x, w, b) y = Relu(a) }""",
    "normal": """g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2},
        float[3] m = {1, 2, 3}, float[3] v = {4, 5, 6}>
        { a = Tanh(x) c = BatchNormalization(a, s, b, m, v) y = Relu(c) }""",
}


def program(name: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f"{HEAD} {MODELS[name]}"))


def contradictions(target: str, model: str, rewrites: list[str] | None, forms: int) -> list[Contradiction]:
    targets = resolve([f"{FILE}:{target}"])
    others = {t.name: others_of(t, build_ways()) for t in targets}
    whole = [*targets, *(o.target for row in others.values() for o in row)]
    with Runner(whole, adapters=adapters_for(others)) as runner:
        engine = Equivalence(runner, load_specs(), build_rewrites(rewrites), chain=1, others=others)
        return list(engine.check(model, program(model), forms))


@pytest.mark.planted
@pytest.mark.parametrize(
    ("target", "model", "rewrites", "named", "op"),
    [
        ("ReversesTheBatch", "rnn", ["batch-major", "directions-apart"], {"batch-major", "directions-apart"}, "RNN"),
        ("FloorsTowardsZero", "floor", None, {"optimised"}, "Floor"),
        ("ReadsRows", "product", None, {"sparse"}, "MatMul"),
        ("LosesABit", "bytes", ["decode-encode"], {"decode-encode"}, None),
        ("RemaindersOfDoubles", "fmod", ["mod-as-division"], {"mod-as-division"}, "Mod"),
        ("RemaindersOfDoubles", "remainder", ["mod-as-division"], {"mod-as-division"}, "Mod"),
        ("ForgetsBiases", "gemm", None, {"reload"}, "Gemm"),
        ("MisreadsBytes", "bytes", None, {"encoded"}, None),
        ("ForgetsNormalisation", "normal", None, {"reload"}, "BatchNormalization"),
        ("CollatesBackwards", "normal", None, {"pipeline"}, None),
    ],
)
def test_a_fault_of_the_paper_is_found_and_named(
    target: str, model: str, rewrites: list[str] | None, named: set[str], op: str | None
) -> None:
    found = contradictions(target, model, rewrites, forms=0 if rewrites is None else 4)
    assert {item.step.rewrite for item in found} == named or (rewrites and {i.step.rewrite for i in found} <= named)
    assert found
    if op is not None:
        assert {item.step.operator for item in found} == {op}
    assert all(len(item.chain) == 1 and item.comparison.symptom == "difference" for item in found)


@pytest.mark.planted
@pytest.mark.parametrize(
    ("target", "seen", "named"),
    [
        (
            "RightInOtherWays",
            {"optimised", "sparse", "sparse-initializers", "encoded", "pipeline", "reload"},
            "optimised",
        ),
        ("WrongInTwoWays", {"sparse", "reload"}, None),
    ],
)
def test_what_several_ways_agree_on_is_one_fault(target: str, seen: set[str], named: str | None) -> None:
    """The target's own run is wrong then; ways that are wrong each in its own manner are faults of their own."""
    targets = resolve([f"{FILE}:{target}"])
    others = {t.name: others_of(t, build_ways()) for t in targets}
    whole = [*targets, *(o.target for row in others.values() for o in row)]
    with Runner(whole, adapters=adapters_for(others)) as runner:
        engine = Equivalence(runner, load_specs(), {}, others=others)
        found = list(engine.check("floor", program("floor"), 0))
        small = [smallest(engine, item, seconds=5) for item in found]
    assert {item.step.rewrite for item in found} <= seen
    assert len(found) > 1
    assert {item.step.rewrite for item in small} == (seen if named is None else {named})
    assert {item.step.operator for item in small} == {"Floor"}
    assert len({contradiction_of(item, "").signature for item in small}) == (len(found) if named is None else 1)


def test_every_rule_of_eagle_is_there() -> None:
    table = build_rewrites()
    rules = {r.eagle for r in table.values()} | {w.eagle for w in WAYS}
    assert rules >= set(range(1, 17))
    assert not table.keys() & {w.name for w in WAYS}


@pytest.mark.backend
def test_ways_agree_on_correct_runtimes() -> None:
    targets = resolve(["ort:disabled", "torch:eager"])
    others = {t.name: others_of(t, build_ways()) for t in targets}
    whole = [*targets, *(o.target for row in others.values() for o in row)]
    with Runner(whole, adapters=adapters_for(others)) as runner:
        engine = Equivalence(runner, load_specs(), {}, others=others)
        found = [item for name in ("normal", "product", "rnn") for item in engine.check(name, program(name), 0)]
    assert found == []
    assert engine.counts.answers["torch:eager", "same"] >= 17
    assert engine.counts.forms["encoded"] == 3
    assert engine.counts.refused["torch:eager", "recurrent-layer"] == 2  # two of the three have no such layer
    assert engine.counts.answers["onnxruntime:disabled", "same"] >= 14
    assert np.sum([n for (_, answer), n in engine.counts.answers.items() if answer == "undecided"]) == 0


@pytest.mark.backend
@pytest.mark.parametrize("kind", ["float8e4m3fn", "uint4", "bfloat16", "int8"])
def test_elements_that_numpy_lacks_are_not_taken_for_bytes(kind: str) -> None:
    text = f"g (float[2] x) => ({kind}[2] y) <float s = {{1}}, {kind} z = {{0}}> {{ y = QuantizeLinear (x, s, z) }}"
    if kind == "bfloat16":
        text = "g (float[2] x) => (bfloat16[2] y) { y = Cast <to = 16> (x) }"
    quantised = Program.from_proto(onnx.parser.parse_model(HEAD + text))
    (target,) = resolve(["ort:disabled"])
    others = {target.name: others_of(target, build_ways())}
    with Runner([target, *(o.target for o in others[target.name])], adapters=adapters_for(others)) as runner:
        engine = Equivalence(runner, load_specs(), {}, others=others)
        assert list(engine.check("quantised", quantised, 0)) == []
    assert engine.counts.answers[target.name, "same"] >= (4 if kind == "int8" else 0)
