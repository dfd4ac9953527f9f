"""The table of excuses: each applies to its symptoms only, in order, and the docs list what there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow, OpenBehaviour
from irfuzz.oracle.dataflow.unspecified_nan_inf import OpenSpecials
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import ALONE, EXCUSES, Excuse, as_markdown, excuse_of, lacks_witness, verdict_on
from irfuzz.oracle.numeric.dtype_thresholds import huge
from irfuzz.oracle.refusal_excuses import SLOWEST_WITNESS
from irfuzz.oracle.runs_to_judge import Case, Leaf
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

ONE, TWO, THREE = (Target(name=f"{n}:x", component=n) for n in ("one", "two", "three"))
MARKS = "<!-- the table of excuses: irfuzz.oracle.excuses.as_markdown() -->\n", "<!-- end of excuses -->"


def ran(target: Target, seconds: float = 0.1) -> RunResult:
    return RunResult(target, Stage.RUN, Exit.OK, {"y": np.zeros(2, np.float32)}, seconds=seconds)


def dispute(parse, symptom: Symptom, *results: RunResult, nodes: str = "y = Neg(x)", **more: object) -> Dispute:
    program: Program = parse(f"g (float[2] x) => (float[2] y) {{ {nodes} }}")
    case = Case(program, {"x": np.ones(2, np.float32)}, results or [ran(ONE), ran(TWO), ran(THREE)])
    return Dispute(case, symptom, ONE, (TWO, THREE), **more)  # type: ignore[arg-type]


def test_names_are_unique_and_every_excuse_says_when_it_applies() -> None:
    assert len({excuse.name for excuse in EXCUSES}) == len(EXCUSES)
    for excuse in EXCUSES:
        assert excuse.symptoms
        assert excuse.about.endswith(".")


def test_the_docs_list_the_table(root: Path) -> None:
    text = (root / "docs" / "oracles.md").read_text(encoding="utf-8")
    start, end = (text.index(mark) for mark in MARKS)
    assert text[start + len(MARKS[0]) : end].strip() == as_markdown()


def test_a_dispute_without_a_reason_is_a_finding(parse) -> None:
    found = verdict_on(dispute(parse, Symptom.WRONG_DTYPE, firm=True), "type", (), {"spread": 1.0}, output="y", got="a")
    assert (found.suspect, found.target, found.witnesses) == (False, "one:x", ("two:x", "three:x"))
    assert (found.evidence, found.got, found.also) == ({"spread": 1.0}, "a", ())


def test_the_first_reason_is_told_and_others_are_named(parse) -> None:
    made = dispute(parse, Symptom.WRONG_DTYPE, firm=False, small_type=True)
    found = verdict_on(made, "type", (TWO,), output="y")
    assert (found.suspect, found.doubt, found.also) == (True, ALONE, ("two:x",))


def test_a_crash_has_no_excuse(parse) -> None:
    assert excuse_of(dispute(parse, Symptom.CRASH, firm=False, blurred=True, overruled=True)) == ""


@pytest.mark.parametrize("symptom", [Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE])
def test_small_types_excuse_a_type_and_no_shape(parse, symptom: Symptom) -> None:
    assert bool(excuse_of(dispute(parse, symptom, small_type=True))) == (symptom is Symptom.WRONG_DTYPE)
    named = "small-types" if symptom is Symptom.WRONG_DTYPE else ""
    assert verdict_on(dispute(parse, symptom, small_type=True), "o", ()).excuse == named


@pytest.mark.parametrize(("seconds", "excused"), [(SLOWEST_WITNESS, False), (SLOWEST_WITNESS * 1.01, True)])
def test_a_hang_is_excused_if_the_quickest_witness_is_slow(parse, seconds: float, excused: bool) -> None:
    made = dispute(parse, Symptom.HANG, ran(TWO, seconds), ran(THREE, seconds))
    assert ("the quickest witness" in excuse_of(made)) == excused


@pytest.mark.parametrize(("count", "reason"), [(0, "no target went through"), (1, "only two went through"), (2, "")])
def test_a_hang_needs_two_components_that_went_through(parse, count: int, reason: str) -> None:
    made = dispute(parse, Symptom.HANG, RunResult(ONE, Stage.RUN, Exit.HANG), *[ran(TWO), ran(THREE)][:count])
    assert excuse_of(made) == reason


@pytest.mark.parametrize(
    ("result", "more", "reason"),
    [
        (RunResult(ONE, Stage.RUN, Exit.REJECTED, error="no"), {}, ""),
        (RunResult(ONE, Stage.RUN, Exit.UNSUPPORTED, error="no"), {}, "says that it does not support"),
        (RunResult(ONE, Stage.RUN, Exit.REJECTED, error="no"), {"overruled": True}, "as many components reject"),
        (RunResult(ONE, Stage.RUN, Exit.REJECTED, error="division by zero"), {}, "depends on element values"),
        (RunResult(ONE, Stage.RUN, Exit.REJECTED, error="tuple index out of range"), {}, ""),
    ],
)
def test_reasons_of_a_refusal(parse, result: RunResult, more: dict[str, bool], reason: str) -> None:
    found = excuse_of(dispute(parse, Symptom.REJECTION, result=result, **more))
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


@pytest.mark.parametrize("error", ["zero-size array to reduction operation", "argmax of an empty sequence"])
@pytest.mark.parametrize(
    ("nodes", "excused"),
    [
        ("y = Softmax <axis = 1> (x)", False),
        ("t = Hardmax <axis = 1> (x) y = Neg (t)", False),
        ("t = ReduceMax <keepdims = 1, axes = [1]> (x) y = Expand (t, s)", True),
        ("t = NonZero (x) r = ReduceMax <keepdims = 0> (t) y = Add (x, x)", True),
    ],
)
def test_a_lack_of_elements_excuses_no_refusal_where_there_are_none_to_compute(
    parse, nodes: str, error: str, *, excused: bool
) -> None:
    program: Program = parse(f"g (float[2,n] x) => (float[2,m] y) <int64[2] s = {{2, 0}}> {{ {nodes} }}")
    result = RunResult(ONE, Stage.RUN, Exit.REJECTED, error=f"ValueError: {error}")
    case = Case(program, {"x": np.ones((2, 0), np.float32)}, [result, ran(TWO), ran(THREE)])
    found = excuse_of(Dispute(case, Symptom.REJECTION, ONE, (TWO, THREE), result=result))
    assert ("depends on element values" in found) == excused


@pytest.mark.parametrize("error", ["an empty sequence", "zero-size array"])
def test_a_lack_of_elements_that_is_none_excuses_a_refusal(parse, error: str) -> None:
    made = dispute(parse, Symptom.REJECTION, result=RunResult(ONE, Stage.RUN, Exit.REJECTED, error=error))
    assert excuse_of(made).startswith("depends on element values")


def test_a_refusal_needs_two_witnesses_that_do_not_share_our_reading_of_onnx(parse) -> None:
    made = dispute(parse, Symptom.REJECTION, result=RunResult(ONE, Stage.RUN, Exit.REJECTED))
    lowered = tuple(Target(name=f"{n}:eager", component=n) for n in ("torch", "tensorflow"))
    assert excuse_of(replace(made, witnesses=lowered)) == "only tensorflow and torch accepts it"
    assert excuse_of(replace(made, witnesses=(*lowered, TWO))) == ""


@pytest.mark.parametrize("component", ["torch", "one"])
@pytest.mark.parametrize("stage", [Stage.COMPILE, Stage.RUN])
def test_only_who_compiles_before_the_run_is_excused_by_sizes(parse, component: str, stage: Stage) -> None:
    nodes = "z = NonZero(x) s = Shape(z) k = Cast<to = 1>(s) y = Add(x, k)"
    result = RunResult(Target(name=component, component=component), stage, Exit.REJECTED, error="no")
    made = replace(dispute(parse, Symptom.REJECTION, nodes=nodes, result=result), target=result.target)
    assert excuse_of(made).startswith("sizes that elements decide (NonZero)") == (
        component == "torch" and stage is Stage.COMPILE
    )


@pytest.mark.parametrize(("distance", "excused"), [(1.0, True), (1.5, False)])
def test_the_spread_excuses_up_to_itself_if_no_shadow_decides(parse, distance: float, excused: bool) -> None:
    made = dispute(parse, Symptom.DIFFERENCE, distance=distance, spread=1.0)
    assert bool(excuse_of(made)) == excused
    assert excuse_of(replace(made, spread=0.0)) == ""


def test_a_witness_that_differs_from_run_to_run_excuses_numbers_only(parse) -> None:
    made = dispute(parse, Symptom.DIFFERENCE, unsteady=frozenset({"two:x"}))
    assert excuse_of(made) == "a witness differs from run to run"
    assert excuse_of(replace(made, unsteady=frozenset({"one:x"}))) == ""
    assert excuse_of(replace(made, symptom=Symptom.NAN_INF)) == ""


@pytest.mark.parametrize(("mode", "excused"), [("linear", True), ("cubic", True), ("nearest", False)])
def test_a_resize_of_quantised_numbers_may_cut_off_or_round(parse, mode: str, excused: bool) -> None:
    program = parse(
        "g (float[1,1,2,4] x) => (uint8[1,1,4,8] y) <float s = {1}, int64[4] to = {1, 1, 4, 8}>"
        f' {{ q = QuantizeLinear(x, s)  y = Resize<mode="{mode}">(q, "", "", to) }}'
    )
    values = [np.full((1, 1, 4, 8), value, np.uint8) for value in (4, 3, 3)]
    targets = zip((ONE, TWO, THREE), values, strict=True)
    results = [RunResult(target, Stage.RUN, Exit.OK, {"y": y}) for target, y in targets]
    case = Case(program, {"x": np.full((1, 1, 2, 4), 4, np.float32)}, results)
    (leaf,) = case.leaves()
    path = case.path(leaf.value)
    made = Dispute(
        case, Symptom.DIFFERENCE, ONE, (TWO, THREE), leaf=leaf, path=path, distance=1.0, measured=lambda: True
    )
    assert excuse_of(made) == ("within 1 steps of rounding" if excused else "")
    assert excuse_of(replace(made, distance=2.0)) == ""


@pytest.mark.parametrize(("doubt", "lacks"), [(ALONE, True), ("", False), ("a witness differs from run to run", False)])
def test_another_witness_may_settle_what_one_contradicts(doubt: str, lacks: bool) -> None:
    assert lacks_witness(Verdict("o", Symptom.DIFFERENCE, "one:x", doubt=doubt)) == lacks


SINGLE, HALF = np.dtype(np.float32), np.dtype(np.float16)
HUGE = float(np.float32(huge(SINGLE)))
BELOW = float(np.nextafter(np.float32(HUGE), np.float32(0)))
QUIET = Dataflow(
    ops=frozenset({"Neg"}), dtypes=frozenset({SINGLE}), roundings=1, jumps=(), rounds=False, quantised=0, random=(),
    data_shaped=(), absorbed=0, step=0, fed=1, largest=1, specials=False, nan=False, unsaid=OpenSpecials(),
    subnormal=False, open=(), hidden="",
)  # fmt: skip
RELU, LP = frozenset({"Relu"}), frozenset({"LpNormalization"})
FLOATS, WHOLE, TRUTH = np.ones(2, np.float32), np.array([254, 0], np.uint8), np.ones(2, bool)
FOUR = (*(Target(f"{n}:x", n) for n in ("two", "three", "four")),)


CLEAR = {"specials": True, "numeric": True}
PROGRAM = Program.from_proto(
    onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }')
)


def yes() -> bool:
    return True


def named(
    symptom: Symptom,
    values: np.ndarray,
    path: dict[str, Any],
    numeric: bool | None = None,
    top: float = 1.0,
    **more: Any,
) -> str:
    """The name of the excuse of a dispute with such a path; ``numeric`` says what the shadow met, if there is one."""
    shadow = None if numeric is None else SimpleNamespace(numeric=numeric)
    case = SimpleNamespace(
        expected_invalid=more.pop("invalid", False), magnitude=lambda leaf: top, whole_shadow=lambda: shadow,
        again=lambda *_: (), inputs={"x": FLOATS}, program=PROGRAM,
    )  # fmt: skip
    leaf = Leaf("y", "y", None, {t.name: values for t in (ONE, *FOUR)})  # type: ignore[arg-type]
    target, witnesses = more.pop("target", ONE), more.pop("witnesses", (TWO, THREE))
    made = Dispute(case, symptom, target, witnesses, path=replace(QUIET, **path), leaf=leaf, **more)  # type: ignore[arg-type]
    return verdict_on(made, "o", ()).excuse


@pytest.mark.parametrize(
    ("path", "more", "excuse"),
    [
        ({}, {}, ""),
        ({}, {"blurred": True}, "moved-by-rounding"),
        ({}, {"firm": False}, "no-witnesses"),
        ({}, {"invalid": True}, "invalid-on-purpose"),
        ({}, {"ruled": True, "firm": False}, "no-witnesses"),
        ({}, {"ruled": True, "blurred": True}, ""),
        ({"open": (OpenBehaviour("Cast: out_of_range", specials_only=False),)}, {}, "undefined"),
        ({"open": (OpenBehaviour("Clip: nan", specials_only=True),)}, {}, ""),
        ({"open": (OpenBehaviour("Clip: nan", specials_only=True),)}, {"specials": True}, "undefined"),
        ({"jumps": ("Floor",)}, {}, "unmeasured-jump"),
        ({"jumps": ("Floor",)}, {"measured": yes}, ""),
        ({"jumps": ("Floor",)}, {"settled": yes}, ""),
        ({"unsaid": OpenSpecials(RELU)}, {}, ""),
        ({"unsaid": OpenSpecials(RELU), "nan": True}, {"specials": True}, "unsafe-specials"),
        ({"unsaid": OpenSpecials(RELU), "nan": True}, {"specials": True, "witnesses": FOUR}, ""),
        ({"unsaid": OpenSpecials(RELU), "nan": True}, {"specials": True, "witnesses": FOUR, "firm": True}, ""),
        ({"unsaid": OpenSpecials(RELU | LP), "nan": True}, {"specials": True, "witnesses": FOUR}, "unsafe-specials"),
        # If no NaN occurs, operators that do no more than compare are safe.
        ({"unsaid": OpenSpecials(RELU)}, {"specials": True}, "unsafe-specials"),
        ({"unsaid": OpenSpecials(RELU)}, {"specials": True, "numeric": False}, "unsafe-specials"),
        ({"unsaid": OpenSpecials(RELU)}, CLEAR, ""),
        ({"unsaid": OpenSpecials(RELU, LP)}, CLEAR, "unsafe-specials"),
        ({"unsaid": OpenSpecials(LP, RELU)}, {**CLEAR, "witnesses": FOUR}, "unsafe-specials"),
        ({"hidden": "Log before Relu"}, {}, "blurred-inside"),
        ({"hidden": "Log before Relu"}, {"clean": yes}, ""),
        ({"hidden": "Log before Relu"}, {"settled": yes}, ""),
        ({"hidden": "Log before Relu", "dtypes": frozenset()}, {}, ""),
        ({"overflowing": "MatMul"}, {"settled": yes}, "blurred-inside"),
        ({}, {"top": HUGE}, "large-output"),
        ({}, {"top": BELOW}, ""),
        ({}, {"distance": 1.0, "spread": 1.0}, "within-spread"),
        ({}, {"distance": 1.1, "spread": 1.0}, ""),
    ],
)  # fmt: skip
def test_excuses_of_floats_that_differ(path: dict[str, Any], more: dict[str, Any], excuse: str) -> None:
    assert named(Symptom.DIFFERENCE, FLOATS, path, **more) == excuse


SHADER = {"target": Target(name="webgpu@1", component="webgpu")}
SINE = {"ops": frozenset({"Sin", "Add"})}


@pytest.mark.parametrize(
    ("symptom", "path", "more", "excuse"),
    [
        (Symptom.NAN_INF, {}, {**SHADER, "specials": True}, "shader-specials"),
        (Symptom.DIFFERENCE, {}, {**SHADER, "specials": True, "ruled": True}, "shader-specials"),
        (Symptom.NAN_INF, {}, {"specials": True}, ""),
        (Symptom.NAN_INF, {}, SHADER, ""),
        (Symptom.DIFFERENCE, SINE, {**SHADER, "distance": 2.0**-9}, "shader-accuracy"),
        (Symptom.DIFFERENCE, SINE, {**SHADER, "distance": 3.0}, ""),
        (Symptom.DIFFERENCE, SINE, {"distance": 2.0**-12}, ""),
        (Symptom.DIFFERENCE, {"ops": frozenset({"Add"})}, {**SHADER, "distance": 2.0**-12}, ""),
    ],
)
def test_what_the_language_of_shaders_leaves_open(
    symptom: Symptom, path: dict[str, Any], more: dict[str, Any], excuse: str
) -> None:
    assert named(symptom, FLOATS, path, **more) == excuse


STEPS = {"rounds": True, "quantised": 1, "jumps": ("QuantizeLinear",)}
NARROW = {"dtypes": frozenset({HALF})}
TWICE = {"rounds": True, "quantised": 2}


@pytest.mark.parametrize(
    ("values", "path", "more", "excuse"),
    [
        (WHOLE, {}, {}, "unmeasured-step"),
        (WHOLE, {}, {"measured": yes}, ""),
        (WHOLE, {"dtypes": frozenset()}, {}, ""),
        (WHOLE, {"specials": True, "unsaid": OpenSpecials(converts=frozenset({"Cast"}))}, {"measured": yes},
         "converted-specials"),
        (WHOLE, {"unsaid": OpenSpecials(converts=frozenset({"Cast"}))}, {"measured": yes}, ""),
        (WHOLE, {"specials": True}, {"measured": yes}, ""),
        (FLOATS, {"specials": True, "unsaid": OpenSpecials(converts=frozenset({"Cast"}))}, {}, ""),
        (WHOLE, {"rounds": True}, {"measured": yes, "distance": 1.0}, "within-steps"),
        (WHOLE, {"rounds": True}, {"measured": yes, "distance": 1.5}, ""),
        (WHOLE, {"rounds": True}, {"measured": yes}, ""),
        (WHOLE, {}, {"measured": yes, "distance": 1.0}, ""),
        (TRUTH, {"rounds": True}, {"measured": yes, "distance": 1.0}, ""),
        (WHOLE, STEPS, {"measured": yes, "distance": 1.0}, ""),
        (WHOLE, {**STEPS, "jumps": ("Floor",)}, {"measured": yes, "distance": 1.0}, "within-steps"),
        (WHOLE, {**STEPS, "interpolates": True}, {"measured": yes, "distance": 1.0}, "within-steps"),
        (WHOLE, {**STEPS, **NARROW}, {"measured": yes, "clean": yes, "distance": 1.0}, "within-steps"),
        (WHOLE, {**STEPS, **NARROW}, {"measured": yes, "clean": yes, "distance": 1.5}, ""),
        (WHOLE, TWICE, {"measured": yes, "distance": 8.0}, "within-steps"),
        (WHOLE, TWICE, {"measured": yes, "distance": 8.1}, ""),
        (WHOLE, {**TWICE, "quantised": 99}, {"measured": yes, "distance": 127.0}, "within-steps"),
        (WHOLE, {**TWICE, "quantised": 99}, {"measured": yes, "distance": 128.0}, ""),
    ],
)  # fmt: skip
def test_excuses_of_whole_numbers_that_differ(
    values: np.ndarray, path: dict[str, Any], more: dict[str, Any], excuse: str
) -> None:
    assert named(Symptom.DIFFERENCE, values, path, **more) == excuse


@pytest.mark.parametrize(
    ("path", "more", "excuse"),
    [
        ({}, {}, ""),
        ({"largest": HUGE}, {}, "large-magnitudes"),
        ({"largest": BELOW}, {"clean": yes}, ""),
        ({"largest": HUGE}, {"settled": yes}, ""),
        ({"absorbed": HUGE}, {}, "large-magnitudes"),
        ({"values": HUGE}, {}, "large-magnitudes"),
        ({"dtypes": frozenset({HALF})}, {}, "narrow"),
        ({"dtypes": frozenset({HALF})}, {"settled": yes}, ""),
        ({"ops": frozenset({"Exp"})}, {}, "explosive"),
        ({"ops": frozenset({"Exp"}), "specials": True}, {}, ""),
        ({"ops": frozenset({"Exp"})}, {"settled": yes}, ""),
        ({"ops": frozenset({"Sqrt"})}, {}, "edged"),
        ({"ops": frozenset({"Sqrt"}), "specials": True}, {}, ""),
        ({"ops": frozenset({"Sqrt"})}, {"measured": yes}, ""),
        ({"ops": frozenset({"Sqrt"})}, {"settled": yes}, ""),
        ({"jumps": ("Floor",)}, {}, "unmeasured-jump-of-specials"),
        ({"jumps": ("Floor",)}, {"measured": yes}, ""),
        ({"open": (OpenBehaviour("Clip: nan", specials_only=True),)}, {}, "undefined"),
    ],
)
def test_excuses_of_nan_and_infinities(path: dict[str, Any], more: dict[str, Any], excuse: str) -> None:
    values = FLOATS * np.float32(path.get("values", 1.0))
    assert named(Symptom.NAN_INF, values, {k: v for k, v in path.items() if k != "values"}, **more) == excuse


CALL, ELEMENTS = (OpenBehaviour(f"Cast: {name}", specials_only=False) for name in ("broken_rule", "out_of_range"))


@pytest.mark.parametrize(
    ("symptom", "path", "more", "excuse"),
    [
        (Symptom.WRONG_SHAPE, {"data_shaped": ("NonZero",)}, {}, "computed-shape"),
        (Symptom.WRONG_SHAPE, {"data_shaped": ("NonZero",)}, {"steady_shape": yes}, ""),
        (Symptom.WRONG_SHAPE, {"data_shaped": ("NonZero",)}, {"fixed_shape": True}, ""),
        (Symptom.WRONG_DTYPE, {"data_shaped": ("NonZero",)}, {}, ""),
        (Symptom.WRONG_SHAPE, {"open": (CALL,)}, {}, "undefined-call"),
        (Symptom.WRONG_SHAPE, {"open": (CALL,)}, {"fixed_shape": True}, "undefined-call"),
        (Symptom.WRONG_SHAPE, {"open": (ELEMENTS,)}, {}, "undefined-call"),
        (Symptom.WRONG_SHAPE, {"open": (ELEMENTS,)}, {"fixed_shape": True}, ""),
        (Symptom.WRONG_DTYPE, {"open": (CALL,)}, {}, "undefined-call"),
        (Symptom.WRONG_DTYPE, {"open": (ELEMENTS,)}, {}, ""),
        (Symptom.WRONG_DTYPE, {}, {"blurred": True}, ""),
    ],
)
def test_excuses_of_types_and_shapes(symptom: Symptom, path: dict[str, Any], more: dict[str, Any], excuse: str) -> None:
    assert named(symptom, FLOATS, path, **more) == excuse


def test_an_excuse_without_a_docstring_says_nothing() -> None:
    assert Excuse("none", (Symptom.CRASH,), lambda dispute: "").about == ""
    assert not Excuse("none", (Symptom.CRASH,), lambda dispute: "").of_rules
