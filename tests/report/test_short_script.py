"""Short scripts: less than 40 lines that build the model, and need nothing beside them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.run_types import Target, TargetRole
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import TargetRun
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts.full_script import ReproSpec, repro_source
from irfuzz.report.repro_scripts.model_source import ELEMENTS, array_source, few_elements
from irfuzz.report.repro_scripts.short_script import (
    COLUMNS,
    LINES,
    judged_lines,
    script_text,
    short_source,
)
from irfuzz.report.specification_quotes import sections_of
from irfuzz.store.npz_tensors import pack

TEXT = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (float[1,1,4] y) <float[1] w = {0.5}>'
    " { pads = Constant <value = int64[6] {0, 0, 1, 0, 0, 1}> () p = Pad (x, pads)"
    ' m = MaxPool <kernel_shape = [3], auto_pad = "NOTSET"> (p) y = Mul (m, w) }'
)
FOLDED = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (float[1,1,4] y) <float[1] w = {0.5}>'
    " { m = ReduceMin <keepdims = 0> (x) r = Sigmoid (m) d = Dropout (w, r) y = Mul (x, d) }"
)
X = {"x": np.array([[[-1, -2, -3, -4]]], np.float32)}


def scene(symptom: Symptom, answer: str, component: str = "reference", **more: object) -> ReproSpec:
    options = {"level": "disabled"} if component == "onnxruntime" else {}
    blamed = TargetRun(component, component, options, "1")
    witness = TargetRun("other", "other", {}, "2", answer=answer)
    fields = {"output": "y", "place": ((), (0, 0, 3)), "bound": 1e-6, "outputs": ["y"], **more}
    return ReproSpec('it """ is\n\\wrong', symptom, blamed, [witness], **fields)  # type: ignore[arg-type]


def script(scene: ReproSpec, model: bytes = b"") -> str | None:
    return short_source(scene, FailingCase(model or onnx.parser.parse_model(TEXT).SerializeToString(), X))


def run(text: str | None, folder: Path) -> tuple[int, str]:
    assert text is not None
    assert len(text.splitlines()) < 40
    place = folder / "alone"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "repro.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-P", "repro.py"], cwd=place, check=False, capture_output=True, text=True, timeout=120,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.backend
@pytest.mark.parametrize(
    ("symptom", "answer", "code"),
    [
        (Symptom.DIFFERENCE, "0.0", 0),  # -1.5 is right with minus infinity as padding; the Pad has zeros
        (Symptom.DIFFERENCE, "-1.5", 1),
        (Symptom.NAN_INF, "np.nan", 1),
        (Symptom.NAN_INF, "3.0", 0),
        (Symptom.WRONG_SHAPE, "'float32[1, 1, 4]'", 0),
        (Symptom.WRONG_DTYPE, "'float64[1, 1, 4]'", 1),
        (Symptom.REJECTION, "'answers'", 0),
        (Symptom.CRASH, "", 0),
    ],
)
def test_what_it_says(symptom: Symptom, answer: str, code: int, tmp_path: Path) -> None:
    component = "onnxruntime" if answer == "0.0" else "reference"
    got, told = run(script(scene(symptom, answer, component)), tmp_path)
    assert (got, told.splitlines()[-1]) == (code, "the fault shows" if code else "the fault does not show"), told


@pytest.mark.backend
def test_what_comes_without_the_passes_to_blame(tmp_path: Path) -> None:
    """ONNXRuntime takes the ratio for the data (docs/bugs.md, 84); both scripts say which transformer does it."""
    model = onnx.parser.parse_model(FOLDED).SerializeToString()
    faulty = scene(Symptom.DIFFERENCE, "-2.0", "onnxruntime", passes=("EliminateDropout",))
    faulty.blamed.options["level"] = "basic"  # type: ignore[index]
    code, told = run(script(faulty, model), tmp_path)
    assert (code, told.splitlines()[1:]) == (1, ["without EliminateDropout -2.0", "the fault shows"]), told
    folder = tmp_path / "long"
    folder.mkdir()
    witness = TargetRun("reference", "reference", {}, "1")
    source = repro_source(replace(faulty, witnesses=[witness]))
    assert "It vanishes with InferenceSession(..., disabled_optimizers=['EliminateDropout'])." in source
    (folder / "repro.py").write_text(source)
    (folder / "model.onnx").write_bytes(model)
    (folder / "inputs.npz").write_bytes(pack(X))
    done = subprocess.run(
        [sys.executable, "-P", str(folder / "repro.py")], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout
    assert "onnxruntime without EliminateDropout: -2.0" in done.stdout


def test_what_cannot_be_told(tmp_path: Path) -> None:
    text = script(scene(Symptom.REJECTION, "'answers'"))
    assert text is not None
    assert run(text.replace("from onnx.reference import", "from not_there import"), tmp_path)[0] == 2
    assert run(text.replace("helper.make_node('Mul'", "helper.make_node('Mule'"), tmp_path)[0] in (1, 2)


def test_whoever_refuses_where_it_died_before_is_not_judged(tmp_path: Path) -> None:
    text = script(scene(Symptom.CRASH, ""))
    assert text is not None
    code, told = run(text.replace("'MaxPool'", "'MaxPoole'"), tmp_path)
    assert (code, "expected an answer" in told) == (2, False), told


def test_a_sequence_is_told_from_a_tensor(tmp_path: Path) -> None:
    split = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (seq(float[k]) y)'
        " <int64 axis = {0}, int64 s = {1}> { y = SplitToSequence (x, s) }"
    )
    shown = scene(Symptom.WRONG_SHAPE, "'float32[1, 1, 4]'")
    text = script(shown)
    assert text is not None
    code, told = run(text, tmp_path)
    assert (code, told.splitlines()[0]) == (0, "expected float32[1, 1, 4] got float32[1, 1, 4]")
    code, told = run(text.replace("got = run()", "got = [run()]"), tmp_path)
    assert (code, told.splitlines()[0]) == (1, "expected float32[1, 1, 4] got a sequence")
    whole = "sequence of ['float32[1, 1, 4]']"
    text = script(scene(Symptom.WRONG_SHAPE, repr(whole)), onnx.parser.parse_model(split).SerializeToString())
    code, told = run(text, tmp_path)
    assert (code, told.splitlines()[0]) == (0, f"expected {whole} got {whole}")
    assert text is not None
    assert run(text.replace("got = kind(run())", "got = kind([])"), tmp_path)[0] == 1


@pytest.mark.parametrize("name", ["OUTPUT", "INDEX", "NAMES", "MODEL"])
def test_outputs_may_have_any_name(name: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        TEXT.replace(") => (float[1,1,4] y)", f") => (float[1,1,4] {name})").replace("y =", f"{name} =")
    )
    named = scene(Symptom.DIFFERENCE, "0.0", output=name, outputs=[name])
    assert run(script(named, model.SerializeToString()), tmp_path)[0] in (0, 1)


NESTED = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (float[1,1,4] y) <bool b = {1}> { y = If (b) <'
    "then_branch = t () => (float[1,1,4] p) <float[1] two = {2}> { p = Mul (x, two) },"
    "else_branch = e () => (float[1,1,4] q) { q = Neg (x) }> }"
)


@pytest.mark.backend
@pytest.mark.parametrize(("name", "to"), [("reference", 0), ("onnx-version-converter:up", 21)])
def test_models_with_bodies_and_tools(name: str, to: int, tmp_path: Path) -> None:
    component = name.partition(":")[0]
    options = {"tool": "version_converter", "to": to, "beyond": 25} if to else {}
    shown = replace(scene(Symptom.DIFFERENCE, "-8.0"), blamed=TargetRun(name, component, options, "1"))
    text = script(shown, onnx.parser.parse_model(NESTED).SerializeToString())
    code, told = run(text, tmp_path)
    assert (code, told.splitlines()[0]) == (0, "expected -8.0 got -8.0")
    assert text is not None
    assert ("convert_version(proto, 21)" in text) == bool(to)


DEPLOYED = frozenset(a.component for a in TOOL_ADAPTERS if a.role is TargetRole.RUNTIME or a.folder == "deployed")


@pytest.mark.parametrize("target", [t for a in TOOL_ADAPTERS for t in a.targets], ids=lambda t: t.name)
def test_tools_that_make_onnx_of_onnx_have_short_scripts(target: Target) -> None:
    shown = replace(scene(Symptom.REJECTION, ""), blamed=TargetRun(target.name, target.component, target.options, "1"))
    plain = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (float[1,1,4] y) { y = Neg (x) }'
    text = script(shown, onnx.parser.parse_model(plain).SerializeToString())
    frameworks = {"torch-onnx", "tf2onnx", "keras", "keras-onnx"}
    bounded = {"onnxruntime-quantization"}  # the bound that it breaks is computed by a file that comes along
    if target.component in frameworks | bounded | DEPLOYED or target.name == "onnx-compose:merge":
        assert text is None
        return
    assert text is not None
    assert len(text.splitlines()) < 40
    compile(text, target.name, "exec")


def test_where_the_long_one_has_to_do() -> None:
    assert script(scene(Symptom.DIFFERENCE, "0.0", "torch")) is None
    assert script(scene(Symptom.DIFFERENCE, "")) is None
    assert script(scene(Symptom.HANG, "")) is None
    assert script(scene(Symptom.DIFFERENCE, "0.0", odd_types=True)) is None
    for more in ({"runs": 2}, {"output": ""}, {"place": None}):
        assert script(scene(Symptom.DIFFERENCE, "0.0", **more)) is None, more
    assert script(scene(Symptom.DIFFERENCE, "0.0", runs=1)) is not None
    blamed = TargetRun("reference@1", "reference", {}, "1", environment="e")
    assert script(replace(scene(Symptom.DIFFERENCE, "0.0"), blamed=blamed)) is None
    assert script(scene(Symptom.LENIENCY, "0.0")) is None


def test_sections_are_those_of_the_operators() -> None:
    sections = {s.name: s for s in sections_of(onnx.parser.parse_model(TEXT))}
    assert set(sections) == {"Pad-13", "MaxPool-12", "Mul-14"}
    assert sections["MaxPool-12"].link == "https://onnx.ai/onnx/operators/onnx__MaxPool.html"
    assert any(q.startswith("auto_pad: auto_pad must be either NOTSET") for q in sections["MaxPool-12"].quotes)


def test_a_script_is_short_to_the_last_line_and_column() -> None:
    shown = scene(Symptom.DIFFERENCE, "0.0")
    around = script_text(shown, [], [], [], [])
    assert around is not None
    free = LINES - len(around.splitlines())
    assert script_text(shown, [], [], ["pass"] * free, []) is not None
    assert script_text(shown, [], [], ["pass"] * (free + 1), []) is None
    assert script_text(shown, [], [], ["x" * 2 * COLUMNS], []) is not None
    assert script_text(shown, [], [], ["x" * (2 * COLUMNS + 1)], []) is None


@pytest.mark.parametrize(
    ("arrays", "few"),
    [
        ([np.zeros(ELEMENTS)], True),
        ([np.zeros(ELEMENTS), np.zeros(1)], False),
        ([np.zeros(ELEMENTS + 1)], False),
        ([np.array(["a"])], False),
        ([np.array(["a"], object)], False),
        ([np.zeros(1, np.complex64)], False),
        ([np.zeros(1), np.zeros(1, ml_dtypes.bfloat16)], False),
        ([], True),
    ],
)
def test_what_can_be_written_down(arrays: list[np.ndarray], few: bool) -> None:
    assert few_elements(arrays) is few


@pytest.mark.parametrize(
    ("array", "source"),
    [
        (np.zeros((0, 2), np.float32), "np.zeros((0, 2), 'float32')"),
        (np.zeros((2, 2), np.float32), "np.full((2, 2), 0.0, 'float32')"),
        (np.array([0.0, -0.0]), "np.array([0.0, -0.0], 'float64')"),
        (np.array([3], np.int8), "np.array([3], 'int8')"),
        (np.array([np.nan, np.nan]), "np.full((2,), np.nan, 'float64')"),
    ],
)
def test_arrays_are_written_with_all_their_bits(array: np.ndarray, source: str) -> None:
    assert array_source(array) == source


@pytest.mark.parametrize(
    ("symptom", "answers", "more", "last"),
    [
        (Symptom.DIFFERENCE, ["0.0"], {"bound": None}, "shows = bool(got != expected)"),
        (Symptom.DIFFERENCE, ["0.0"], {"bound": float("inf")}, "shows = bool(got != expected)"),
        (
            Symptom.DIFFERENCE, ["0.0", "1.0"], {"bound": 0.5},
            "shows = not (abs(float(got) - float(expected)) <= 0.5 or got != got and expected != expected)",
        ),
        (Symptom.WRONG_SHAPE, ["'float32[1]'"] * 2, {}, "shows = got != expected"),
        (Symptom.WRONG_SHAPE, ["'float32[1]'", "'float32[2]'"], {}, None),
        (Symptom.WRONG_DTYPE, ["'string[1]'"], {}, "shows = got != expected"),
        (Symptom.WRONG_DTYPE, ["'nothing'"], {}, "shows = got != expected"),
        (Symptom.DIFFERENCE, [], {}, None),
        (Symptom.DIFFERENCE, ["0.0", ""], {}, None),
        (Symptom.HANG, ["0.0"], {}, None),
    ],
)  # fmt: skip
def test_how_a_script_tells(symptom: Symptom, answers: list[str], more: dict[str, object], last: str | None) -> None:
    witnesses = [TargetRun(f"w{n}", "w", {}, "1", answer=answer) for n, answer in enumerate(answers)]
    lines = judged_lines(replace(scene(symptom, ""), witnesses=witnesses, **more))  # type: ignore[arg-type]
    assert (lines and lines[-1]) == last


def test_the_place_of_a_value_in_a_script() -> None:
    shown = scene(Symptom.DIFFERENCE, "0.0", place=((), ()))
    lines = judged_lines(shown)
    assert lines is not None
    assert lines[:2] == ["got = np.asarray(run())[()]", "expected = 0.0"]
    computed = judged_lines(scene(Symptom.DIFFERENCE, "0.0"), "right()")
    assert computed is not None
    assert computed[:2] == ["got = np.asarray(run())[0, 0, 3]", "expected = np.asarray(right())[0, 0, 3]"]


PLAIN = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4] x) => (float[1,1,4] y) { y = Neg (x) }'


@pytest.mark.parametrize(
    ("model", "helped"),
    [
        (PLAIN, True),
        (PLAIN.replace("Neg (x)", "Elu <alpha = 2.0> (x)"), True),
        (PLAIN.replace("Neg (x)", "Transpose <perm: ints = []> (x)"), False),
        (PLAIN.replace("float[1,1,4] y", "seq(float[4]) y").replace("Neg", "SequenceConstruct"), False),
    ],
)
def test_models_that_helpers_can_build(model: str, helped: bool) -> None:
    text = script(scene(Symptom.DIFFERENCE, "0.0"), onnx.parser.parse_model(model).SerializeToString())
    assert text is not None
    assert ("helper.make_model" in text, "onnx.parser.parse_model" in text) == (helped, not helped)
    assert "numpy_helper" not in text
    assert "weights" not in text
