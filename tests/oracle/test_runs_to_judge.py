"""What a case tells the oracles: which outputs are in doubt, what their tensors are, and what is asked only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import pytest

from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.ir.program import Program
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.symptoms.nan_inf import classify
from irfuzz.oracle.value_structure import contradictions, describe, dtype_of, leaves_of, shape_of
from irfuzz.oracle.verdict import Symptom

pytestmark = pytest.mark.unit

Parse: TypeAlias = Callable[..., Program]
Run: TypeAlias = Callable[..., RunResult]
NAN, INF = np.nan, np.inf
NEG = "g (float[2] x) => (float[2] y) { y = Neg(x) }"
FREE = "g (float[N] x) => (float[N] y) { y = Neg(x) }"
PLACES = "g (float[2] x) => (int64[1,M] y) { b = Floor(x)  y = NonZero(b) }"
SHIFTED = "g (float[2] x) => (int64[1,M] y) { a = Exp(x) b = Floor(a)  y = NonZero(b) }"
SEQUENCE = "g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"
X = {"x": np.array([1, 2], np.float32)}
Y = np.array([1, 2], np.float32)


def shade(**told: Any) -> Callable[..., ShadowRun]:
    return lambda *_: ShadowRun(**told)


@pytest.mark.parametrize(
    ("text", "one", "other", "shadow", "doubtful"),
    [
        (NEG, Y, Y, False, False),
        (NEG, Y, Y * np.float32(1 + 5e-6), False, False),  # 42 units, of 100
        (NEG, Y, Y * np.float32(1 + 5e-5), False, True),
        (NEG, Y, Y * np.float32(1 + 5e-6), True, True),  # beyond 25 units, a shadow is worth a look
        (NEG, Y, Y * np.float32(1 + 2.5e-7), True, False),
        (NEG, Y, Y.astype(np.float64), False, True),
        (NEG, Y, Y.reshape(1, 2), False, True),
        (NEG, Y[:1], Y[:1], False, True),
        (NEG, Y, [Y], False, True),
        (NEG, Y, np.array([1, NAN], np.float32), False, True),
        (FREE, Y, Y, False, False),
        (FREE, Y, Y[:1], False, True),
        (FREE, Y.reshape(1, 2), Y.reshape(1, 2), False, True),
        (SEQUENCE, [Y, Y], [Y, Y], False, False),
        (SEQUENCE, [Y, Y], [Y, Y * np.float32(1 + 5e-6)], False, True),
        (SEQUENCE, [Y, Y], [Y], False, True),
        (SEQUENCE, Y, Y, False, True),
    ],
)
def test_which_outputs_are_in_doubt(
    parse: Parse, run: Run, text: str, one: Any, other: Any, shadow: bool, doubtful: bool
) -> None:
    results = [run("a", one), run("b", other)]
    case = Case(parse(text), X, results, shadow=shade() if shadow else None)
    assert [v.name for v in case.doubtful] == (["y"] if doubtful else [])
    assert case.has_shadow == shadow
    assert Case(parse(text), X, []).doubtful == []


def test_a_missing_sequence_is_in_doubt(parse: Parse, run: Run) -> None:
    case = Case(parse(SEQUENCE), X, [run("a", [Y, Y]), run("b", outputs={})])
    assert [v.name for v in case.doubtful] == ["y"]


def test_results_stand_in_canonical_order_and_leaves_are_those_of_runs(parse: Parse, run: Run) -> None:
    results = [
        run("b", Y),
        run("onnxruntime:all", Y + 1),
        run("onnxruntime:disabled", Y),
        run("a", exit=Exit.CRASH),
        run("c", Y, stage=Stage.COMPILE),
    ]
    case = Case(parse(NEG), X, results)
    assert [r.target.name for r in case.results] == ["a", "b", "c", "onnxruntime:disabled", "onnxruntime:all"]
    assert [r.target.name for r in case.ran] == ["b", "onnxruntime:disabled", "onnxruntime:all"]
    (leaf,) = case.leaves()
    assert (leaf.output, leaf.label, list(leaf.values)) == ("y", "y", ["b", "onnxruntime:disabled", "onnxruntime:all"])
    assert case.leaves() is case.leaves()
    assert case.target("c").component == "c"
    assert case.magnitude(leaf) == 2, "of two components the lower one"
    assert Case(parse(NEG), X, [run("a", Y * 2), run("b", exit=Exit.CRASH)]).leaves() == []
    nested = Case(parse(SEQUENCE), X, [run("a", [Y, Y]), run("b", [Y, Y + 1])])
    assert [leaf.label for leaf in nested.leaves()] == ["y[0]", "y[1]"]


def test_whom_a_known_fault_makes_wrong_is_no_witness(parse: Parse, run: Run) -> None:
    asked: list[str] = []

    def distrust(_program: object, target: Any) -> str:
        asked.append(target.name)
        return "wrong" if target.name == "a" else ""

    case = Case(parse(NEG), X, [run("a", Y), run("b", Y)], distrust=distrust)
    targets = [r.target for r in case.results]
    assert case.witnesses(targets) == {"b"}
    assert case.witnesses(targets) == {"b"}
    assert asked == ["a", "b"]
    assert Case(parse(NEG), X, [run("a", Y), run("b", Y)]).witnesses(targets) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "told", "steady"),
    [
        (PLACES, {"reference": {"y": np.array([[0, 1]])}}, True),
        (PLACES, {"reference": {"y": np.array([[0, 1]])}, "reshaped": frozenset({"y"})}, True),  # exact anyway
        (SHIFTED, {"reference": {"y": np.array([[0, 1]])}}, True),
        (SHIFTED, {"reference": {"y": np.array([[0, 1]])}, "reshaped": frozenset({"y"})}, False),
        (SHIFTED, {"reference": {"y": np.array([[0]])}}, False),
        (SHIFTED, {}, False),
        (SHIFTED, {"reference": {"y": np.array([[0, 1]])}, "refused": "no"}, False),
    ],
)
def test_whether_rounding_leaves_a_shape(
    parse: Parse, run: Run, text: str, told: Mapping[str, Any], steady: bool
) -> None:
    two = np.array([[0, 1]])
    case = Case(parse(text), X, [run("a", two), run("b", two[:, :1])], shadow=shade(**told))
    assert case.steady_shape(case.program.graph.outputs[0], (1, 2)) == steady
    alone = Case(parse(text), X, [run("a", two), run("b", two[:, :1])])
    assert alone.steady_shape(alone.program.graph.outputs[0], (1, 2)) == (text == PLACES)


def test_shadows_are_run_once(parse: Parse, run: Run) -> None:
    asked: list[str] = []

    def shadow(kind: str, refused: str = "") -> Callable[..., ShadowRun]:
        return lambda *_: asked.append(kind) or ShadowRun(refused=refused)  # type: ignore[func-returns-value]

    results = [run("a", Y), run("b", Y)]
    case = Case(parse(NEG), X, results, shadow=shadow("whole"), quick=shadow("quick"))
    assert case.quick_shadow() is case.quick_shadow() is not None
    assert case.shadow() is case.shadow() is case.whole_shadow()
    assert asked == ["quick", "whole"]
    assert case.quick_shadow() is None, "the whole one is there"
    assert Case(parse(NEG), X, results).quick_shadow() is None
    assert Case(parse(NEG), X, results).whole_shadow() is None
    assert Case(parse(NEG), X, results, shadow=shadow("whole", "no")).whole_shadow() is None
    assert list(Case(parse(NEG), X, results).again(X, case.program)) == []


@pytest.mark.parametrize(
    ("told", "numeric"), [({"numeric": True}, True), ({}, False), ({"numeric": True, "refused": "no"}, False)]
)
def test_a_dispute_excuses_nothing_unless_it_is_said(
    parse: Parse, run: Run, told: dict[str, Any], numeric: bool
) -> None:
    case = Case(parse(NEG), X, [run("a", Y), run("b", Y + 1)], shadow=shade(**told))
    (leaf,) = case.leaves()
    dispute = Dispute(case, Symptom.DIFFERENCE, case.target("b"), (case.target("a"),))
    assert dispute.firm
    for name in ("specials", "fixed_shape", "blurred", "small_type", "overruled", "proven", "ruled", "of_floats"):
        assert getattr(dispute, name) is False, name
    for ask in (dispute.clean, dispute.settled, dispute.steady_shape, dispute.measured, dispute.two_minds):
        assert ask() is False
    assert (dispute.path, dispute.leaf, dispute.result, dispute.distance, dispute.spread) == (None, None, None, None, 0)
    assert dispute.unsteady == frozenset()
    assert dispute.numeric() == numeric
    of_floats = Dispute(case, Symptom.DIFFERENCE, case.target("b"), (case.target("a"),), leaf=leaf)
    assert of_floats.of_floats
    assert not of_floats.two_minds()


# ---- values and facts ----------------------------------------------------------------------------

INTS = np.array([[1, 2]])
TEXT = np.array("a", object)


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "text", "leaves"),
    [
        (None, "nothing", "nothing", "nothing", []),
        (Y, "float32", "[2]", "float32[2]", ["y"]),
        (TEXT, "string", "[]", "string[]", ["y"]),
        (np.array("a"), "string", "[]", "string[]", ["y"]),
        (
            [Y, [INTS], None],
            "sequence of float32/nothing/sequence of int64",
            "sequence([2], sequence([1,2]), nothing)",
            "sequence(float32[2], sequence(int64[1,2]), nothing)",
            ["y[0]", "y[1][0]"],
        ),
        ([], "sequence of ", "sequence()", "sequence()", []),
    ],
)
def test_values_in_words(value: Any, dtype: str, shape: str, text: str, leaves: list[str]) -> None:
    assert (dtype_of(value), shape_of(value), describe(value)) == (dtype, shape, text)
    assert [label for label, _ in leaves_of("y", value)] == leaves


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("float[2]", Y, ("", "")),
        ("float[2]", Y[:1], ("", "[2]")),
        ("float[2]", Y.reshape(1, 2), ("", "[2]")),
        ("float[2]", Y.astype(np.float64), ("float32", "")),
        ("float[2]", [Y], ("", "a tensor")),
        ("float[2]", None, ("", "a tensor")),
        ("float[N]", Y, ("", "")),
        ("float[N]", Y.reshape(1, 2), ("", "[N]")),
        ("string[2]", np.array(["a", "b"]), ("", "")),
        ("string[2]", np.array([b"a", b"b"]), ("", "")),
        ("string[2]", Y, ("string", "")),
        ("int64[2]", np.array(["a", "b"]), ("int64", "")),
        ("seq(float[2])", [Y, Y], ("", "")),
        ("seq(float[2])", [Y, Y[:1]], ("", "[2]")),
        ("seq(float[2])", [Y, INTS[0]], ("float32", "")),
        ("seq(float[2])", [], ("", "")),
        ("seq(float[2])", Y, ("", "a sequence")),
        ("optional(float[2])", None, ("", "")),
        ("optional(float[2])", Y, ("", "")),
        ("optional(float[2])", Y[:1], ("", "[2]")),
    ],
)
def test_what_contradicts_a_fact(parse: Parse, kind: str, value: Any, told: tuple[str, str]) -> None:
    program = parse(f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}")
    assert contradictions(value, program.fact(program.graph.inputs[0])) == told
    assert contradictions(value, None) == ("", "")


def test_classes_of_elements() -> None:
    found = classify(np.array([0, -1, NAN, INF, -INF], np.float16))
    assert found.tolist() == [0, 0, 1, 2, 3]
    assert found.dtype == np.int8
    assert classify(np.array(NAN)).shape == ()


def test_facts_are_those_of_the_sizes_that_are_fed(parse: Parse, run: Run) -> None:
    program = parse(FREE)
    fact: Any = Case(program, X, [run("a", Y)]).fact(program.graph.outputs[0])
    assert fact.static_shape == (2,)
    assert program.tensor(program.graph.outputs[0]).static_shape is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("one", "other", "shadow", "alike"),
    [
        ([1e6, 1.0], [1e6, 1.0], True, True),
        ([1e6, 1.0], [1e6, 1.0 + 1e-6], True, True),
        ([1e6, 1.0], [1e6, 3.0], True, False),  # far within the floor of the large one, but not of itself
        ([1e6, 1.0], [2e6, 1.0], True, False),
        ([1e6, 1.0], [1e6, 1.0], False, True),
        ([1e6, 1.0], [2e6, 1.0], False, False),
    ],
)
def test_runs_are_alike_where_no_rule_could_tell_them_apart(
    one: list[float], other: list[float], shadow: bool, alike: bool
) -> None:
    case: Any = SimpleNamespace(_shadow=shade() if shadow else None)
    assert Case._alike(case, np.array(one, np.float32), np.array(other, np.float32), 2.0**-23) is alike
