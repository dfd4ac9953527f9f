"""Whole models whose inputs, outputs and inner values are sequences, optionals or strings, on every target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from onnx import parser

from irfuzz.execute.run_types import Exit, RunResult, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program
from irfuzz.oracle import judge

pytestmark = pytest.mark.backend

TARGETS = ("reference", "torch:eager", "onnxruntime:disabled", "onnxruntime:all")
NO_STRINGS = ("torch:eager",)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(resolve(TARGETS)) as opened:
        yield opened


def parse(text: str, opset: int = 17) -> Program:
    ir_version = 9 if opset > 18 else 8
    return Program.from_proto(parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}'))


CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a sequence goes in and out": (
        """g (seq(float[2,3]) s, float[2,3] x) => (seq(float[2,3]) y, int64 n, float[2,c] c)
        { y = SequenceInsert(s, x) n = SequenceLength(y) c = ConcatFromSequence<axis=1>(y) }""",
        (),
    ),
    "a sequence of strings": (
        """g (seq(string[2]) s) => (string[2] y, seq(string[2]) e)
        { k = Constant<value = int64 {-1}>() y = SequenceAt(s, k) e = SequenceErase(s) }""",
        NO_STRINGS,
    ),
    "a body for each element": (
        """g (seq(float[2,3]) s) => (seq(float[2]) y)
        { y = SequenceMap<body = b (float[2,3] i) => (float[2] o) { o = ReduceMax<axes=[1], keepdims=0>(i) }>(s) }""",
        (),
    ),
    "a branch gives a sequence": (
        """g (bool c, seq(float[2]) s) => (seq(float[2]) y)
        { y = If<then_branch = a () => (seq(float[2]) t) { t = SequenceErase(s) },
                 else_branch = b () => (seq(float[2]) t) { t = Identity(s) }>(c) }""",
        (),
    ),
    "a loop fills a sequence": (
        """g (int64 m, float[2] x) => (seq(float[2]) y)
        { t = Constant<value = bool {1}>() e = SequenceEmpty()
          y = Loop<body = b (int64 i, bool c, seq(float[2]) a) => (bool d, seq(float[2]) f)
            { d = Identity(c) f = SequenceInsert(a, x) }>(m, t, e) }""",
        (),
    ),
    "text and numbers": (
        """g (string[3] s, int64[2] k) => (string[3] y, string[2] z, int64[2] b)
        { y = Identity(s) z = Cast<to=8>(k) b = Cast<to=7>(z) }""",
        NO_STRINGS,
    ),
    "n-grams": (
        """g (int64[2,6] x) => (float[2,4] y)
        { y = TfIdfVectorizer<mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1,
            ngram_counts=[0,2], ngram_indexes=[0,1,2,3], pool_int64s=[1,2,1,2,3,1]>(x) }""",
        (),
    ),
}


def run(runner: Runner, program: Program, inputs: dict[str, Value], without: tuple[str, ...]) -> list[RunResult]:
    results = runner.run(program, inputs)
    for result in results:
        wanted = Exit.UNSUPPORTED if result.target.name in without else Exit.OK
        assert result.exit is wanted, (result.target.name, result.error)
    return [r for r in results if r.exit is Exit.OK]


@pytest.mark.parametrize("name", CASES)
def test_all_targets_take_and_give_it(runner: Runner, name: str) -> None:
    text, without = CASES[name]
    program = parse(text)
    for seed in (1, 2):
        inputs = make_inputs(program, seed)
        results = run(runner, program, inputs, without)
        for result in results:
            for output in program.graph.outputs:
                assert contradiction(program.fact(output), result.outputs[output.name or ""]) is None
        assert judge(program, inputs, results) == []


def test_optionals_with_and_without_content(runner: Runner) -> None:
    program = parse(
        """g (optional(float[2]) s) => (optional(float[2]) y, bool n) { y = Identity(s) n = OptionalHasElement(s) }"""
    )
    x = np.array([1, 2], np.float32)
    for given in (x, None):
        # The reference evaluator's Identity refuses an optional without content.
        missing = ("reference",) if given is None else ()
        results = runner.run(program, {"s": given})
        for result in results:
            if result.target.name in missing:
                assert result.exit is Exit.REJECTED
                continue
            assert result.exit is Exit.OK, result.error
            assert bool(result.outputs["n"]) is (given is not None)
            got = result.outputs["y"]
            assert (got is None) == (given is None)
            assert given is None or np.array_equal(np.asarray(got), given)


def test_drawn_numbers_have_their_type_and_limits_everywhere(runner: Runner) -> None:
    program = parse(
        """g (float[4,3] x) => (double[4,3] u, float[4,3] n, int64[4,5] m, float[4,3] b, float[4,3] d)
        <float r = {0.5}, bool t = {1}>
        { u = RandomUniformLike<dtype=11, low=-1.0, high=2.0>(x) n = RandomNormal<shape=[4,3]>()
          m = Multinomial<sample_size=5, dtype=7>(x) p = Sigmoid(x) b = Bernoulli(p) d = Dropout(x, r, t) }"""
    )
    inputs = make_inputs(program, 1)
    results = run(runner, program, inputs, ("reference",))  # it has no Multinomial
    assert len(results) == 3
    for result in results:
        for output in program.graph.outputs:
            assert contradiction(program.fact(output), result.outputs[output.name or ""]) is None
    assert judge(program, inputs, results) == []
