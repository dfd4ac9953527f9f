"""Every kind of finding shows in a fresh process through its ``repro.py``, and only where it is there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.execute.run_types import RunResult
from irfuzz.findings.finding import Finding
from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Symptom
from irfuzz.report import finding_folder_writer
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import replays
from tests.report.conftest import FAULTS, RELU, WRONG, finding_of, parse, run_script

X = {"x": np.arange(-2, 4, dtype=np.float32).reshape(2, 3)}
Make = Callable[..., Finding]


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is found out sooner, and what takes too much takes less."""
    monkeypatch.setattr(finding_folder_writer, "HANG_SECONDS", 5.0)
    monkeypatch.setattr(finding_folder_writer, "MEMORY", 400 << 20)


@pytest.mark.planted
@pytest.mark.parametrize(
    ("faulty", "symptom"),
    [
        (f"{FAULTS}:Segfault", Symptom.CRASH),
        (f"{FAULTS}:Exits", Symptom.CRASH),
        (f"{FAULTS}:Hang", Symptom.HANG),
        (f"{FAULTS}:Greedy", Symptom.MEMORY),
        (f"{FAULTS}:NoDictionary", Symptom.PROTOCOL),
        (f"{FAULTS}:NoArrays", Symptom.PROTOCOL),
        (f"{WRONG}:Refuses", Symptom.REJECTION),
        (f"{WRONG}:Doubles", Symptom.WRONG_DTYPE),
        (f"{WRONG}:Flat", Symptom.WRONG_SHAPE),
        (f"{WRONG}:NoOutput", Symptom.WRONG_SHAPE),
        (f"{WRONG}:Nan", Symptom.NAN_INF),
        (f"{WRONG}:Off", Symptom.DIFFERENCE),
    ],
)
def test_a_fault_shows_again(finding: Make, tmp_path: Path, faulty: str, symptom: Symptom) -> None:
    row = finding(parse(RELU), X, faulty)
    assert (row.verdict.symptom, row.verdict.suspect) == (symptom, False)
    write_bundle(tmp_path / "it", row)
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    text = (tmp_path / "it" / "repro.py").read_text()
    assert "irfuzz" not in text.replace("__irfuzz__", "")
    assert len(text.splitlines()) < 135


def test_a_number_beside_a_nan_shows_again(finding: Make, tmp_path: Path, root: Path) -> None:
    """Of numbers and a NaN the largest is the largest number or NaN, and nothing else; the witnesses give NaN."""
    inputs = {"x": np.array([[[[1.8, 1.4, np.nan]]]], np.float32)}
    program = parse("g (float[1,1,1,3] x) => (float[1,1,1,1] y) { y = GlobalMaxPool(x) }")
    row = finding(program, inputs, f"{WRONG}:LosesTheLargest")
    by_rule = replace(row.verdict, oracle="numeric", symptom=Symptom.DIFFERENCE, suspect=False, output="y",
                      element="y[0, 0, 0, 0]", expected="1.8 or nan", distance=0.4, bound=1e-6)  # fmt: skip
    row = replace(row, verdict=by_rule)
    write_bundle(tmp_path / "it", row)
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:LosesTheLargest'}}", f"{WRONG}:Right'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 0, log


def test_who_answers_what_others_refuse_shows_again(
    run_on: Callable[..., list[RunResult]], tmp_path: Path, root: Path
) -> None:
    program = parse("g (float[2,3] x) => (float[2,k] values, int64[2,k] places) <int64[1] k = {1}> "
                    "{ values, places = TopK(x, k) }")  # fmt: skip
    program.node("values").inputs[1].const_value = ir.Tensor(np.array([-1], np.int64), name="k")
    results = run_on(program, X, ["reference", "onnxruntime:disabled", "torch:eager"])
    (verdict,) = [v for v in judge(program, X, results, expected_invalid=True) if v.symptom is Symptom.LENIENCY]
    assert (verdict.target, verdict.suspect, verdict.rule) == ("reference", False, "K: expected at least")
    write_bundle(tmp_path / "it", finding_of(program, X, results, verdict))
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    assert "onnxruntime:disabled: raises" in log
    _swap(
        tmp_path / "it" / "repro.py",
        "def run_reference(inputs):\n",
        "def run_reference(inputs):\n    raise ValueError\n",
    )
    code, log = run_script(tmp_path / "it", root)
    assert code == 0, log


@pytest.mark.parametrize("faulty", ["Segfault", "NoDictionary", "Greedy"])
def test_a_fault_of_the_process_that_was_mended_does_not_show(
    finding: Make, tmp_path: Path, root: Path, faulty: str
) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{FAULTS}:{faulty}"))
    _swap(tmp_path / "it" / "repro.py", f"{FAULTS}:{faulty}'}}", f"{WRONG}:Right'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 0, log
    assert "the fault does not show" in log


@pytest.mark.parametrize("faulty", ["Off", "Nan", "Flat", "Refuses"])
def test_a_fault_of_the_values_that_was_mended_does_not_show(
    finding: Make, tmp_path: Path, root: Path, faulty: str
) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:{faulty}"))
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:{faulty}'}}", f"{WRONG}:Right'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 0, log
    assert "the fault does not show" in log


def test_it_does_not_show_where_the_witnesses_disagree(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:Right'}}", f"{WRONG}:Nan'}}")
    assert run_script(tmp_path / "it", root)[0] == 0


@pytest.mark.parametrize("faulty", ["Off", "Refuses", "Flat"])
def test_a_missing_package_is_neither(finding: Make, tmp_path: Path, root: Path, faulty: str) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:{faulty}"))
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:{faulty}'}}", f"{WRONG}:NeedsMore'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 2
    assert "a_package_that_is_not_there" in log


def test_a_crash_whose_package_is_missing_is_neither(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{FAULTS}:Segfault"))
    _swap(tmp_path / "it" / "repro.py", f"{FAULTS}:Segfault'}}", f"{WRONG}:NeedsMore'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 2
    assert "a_package_that_is_not_there" in log


def test_one_witness_does_where_the_other_is_missing(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:Right'}}", f"{WRONG}:NeedsMore'}}")
    code, log = run_script(tmp_path / "it", root)
    assert code == 1
    assert "left out" in log


def test_a_missing_witness_is_no_agreement(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off", (f"{WRONG}:Right", f"{WRONG}:Mended")))
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:Right'}}", f"{WRONG}:NeedsMore'}}")
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:Mended'}}", f"{WRONG}:NeedsMore'}}")
    code, log = run_script(tmp_path / "it", root)
    assert (code, "nothing is left" in log) == (2, True)


@pytest.mark.parametrize("faulty", [f"{WRONG}:Refuses", f"{FAULTS}:Hang"])
def test_of_an_ending_nothing_is_told_without_a_witness(finding: Make, tmp_path: Path, root: Path, faulty: str) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, faulty, (f"{WRONG}:Right", f"{WRONG}:Mended")))
    script = tmp_path / "it" / "repro.py"
    for gone, code in (("Mended", 1), ("Right", 2)):
        _swap(script, f"{WRONG}:{gone}'}}", f"{WRONG}:NeedsMore'}}")
        found, log = run_script(tmp_path / "it", root)
        assert found == code, log
    # Whoever answers shows no such fault, whoever else is missing.
    _swap(script, f"{faulty}'}}", f"{WRONG}:Right'}}")
    assert run_script(tmp_path / "it", root)[0] == 0


def test_a_plugin_that_is_gone_travels_with_the_finding(finding: Make, tmp_path: Path) -> None:
    plugin = tmp_path / "gone.py"
    plugin.write_text(Path(WRONG).read_text())
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{plugin}:Off"))
    plugin.unlink()
    assert run_script(tmp_path / "it", tmp_path)[0] == 1
    (copy,) = (tmp_path / "it" / "plugin").rglob("gone.py")
    copy.unlink()
    code, log = run_script(tmp_path / "it", tmp_path)
    assert (code, "gone.py" in log) == (2, True)


@pytest.mark.parametrize("missing", ["model.onnx", "inputs.npz"])
def test_a_missing_file_is_neither(finding: Make, tmp_path: Path, root: Path, missing: str) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    (tmp_path / "it" / missing).unlink()
    code, log = run_script(tmp_path / "it", root)
    assert (code, missing in log) == (2, True)


def test_without_numpy_it_is_neither(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    command = [sys.executable, "-I", "-S", tmp_path / "it" / "repro.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    assert (done.returncode, b"numpy" in done.stdout) == (2, True)


def test_a_script_that_cannot_run_counts_as_not_shown(finding: Make, tmp_path: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    (tmp_path / "it" / "repro.py").write_text("this is no Python")
    shown, log = replays(tmp_path / "it", seconds=60)
    assert not shown
    assert "SyntaxError" in log


def test_a_script_that_takes_too_long_is_ended(finding: Make, tmp_path: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{FAULTS}:Hang"))
    shown, log = replays(tmp_path / "it", seconds=1.5)
    assert (shown, "ended after 1.5 s" in log) == (False, True)


def test_replaying_leaves_the_folder_as_it_was(finding: Make, tmp_path: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off", ("reference", "torch:eager")))
    before = sorted(p.name for p in (tmp_path / "it").rglob("*"))
    assert replays(tmp_path / "it", seconds=60)[0]
    assert sorted(p.name for p in (tmp_path / "it").rglob("*")) == before
    assert {"torch_model.py", "torch_weights.npz"} <= set(before)


BFLOAT16 = np.arange(1, 7).reshape(2, 3).astype(ml_dtypes.bfloat16)
STRINGS = np.array([["a", 'b"""'], ["", "é\n"]], dtype=object)


@pytest.mark.parametrize(
    ("text", "opset", "inputs"),
    [
        ("g (int64[2,3] x) => (int64[2,3] y) { y = Neg(x) }", 17, {"x": np.full((2, 3), 2**62)}),
        ("g (bool[2] x) => (bool[2] y) { y = Not(x) }", 17, {"x": np.array([True, False])}),
        ("g (float x) => (float y) { y = Abs(x) }", 17, {"x": np.array(-2, np.float32)}),
        ("g (float16[2] x) => (float16[2] y) { y = Neg(x) }", 17, {"x": np.array([1, 2], np.float16)}),
        ("g (string[2,2] x) => (string[2,2] y) { y = Identity(x) }", 17, {"x": STRINGS}),
        ("g (bfloat16[2,3] x) => (float[2,3] y) { y = Cast<to = 1>(x) }", 21, {"x": BFLOAT16}),
        ("g (int4[3] x) => (float[3] y) { y = Cast<to = 1>(x) }", 21, {"x": np.array([1, -8, 7], ml_dtypes.int4)}),
        ("g (float8e4m3fn[3] x) => (float[3] y) { y = Cast<to = 1>(x) }", 21,
         {"x": np.array([1, -0.5, 0.5], ml_dtypes.float8_e4m3fn)}),
        ("g (seq(float[2]) x) => (float[2] y) { i = Constant<value_int = 1>()  y = SequenceAt(x, i) }", 17,
         {"x": [np.ones(2, np.float32), np.zeros(2, np.float32)]}),
        ("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }", 17,
         {"x": [np.ones(2, np.float32), np.zeros(2, np.float32)]}),
    ],
    ids=["int64", "bool", "scalar", "float16", "string", "bfloat16", "int4", "float8", "from sequence", "sequence"],
)  # fmt: skip
@pytest.mark.backend
def test_every_type_of_value(finding: Make, tmp_path: Path, text: str, opset: int, inputs: dict[str, Any]) -> None:
    row = finding(parse(text, opset), inputs, f"{WRONG}:Off", ("reference", "onnxruntime:disabled"))
    assert row.verdict.symptom == Symptom.DIFFERENCE
    write_bundle(tmp_path / "it", row)
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    assert log.count(" is ") == 3


@pytest.mark.backend
def test_outputs_of_types_that_numpy_lacks(finding: Make, tmp_path: Path, root: Path) -> None:
    program = parse("g (bfloat16[2,3] x) => (bfloat16[2,3] y) { y = Identity(x) }", 21)
    write_bundle(tmp_path / "it", finding(program, {"x": BFLOAT16}, f"{WRONG}:Off", ("reference", "onnxruntime:all")))
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:Off'}}", f"{WRONG}:Right'}}")
    assert run_script(tmp_path / "it", root)[0] == 0


@pytest.mark.backend
def test_frameworks_run_in_one_process(finding: Make, tmp_path: Path) -> None:
    program = parse("g (float[2,3] x, float[3,2] w) => (float[2,2] y) { y = MatMul(x, w) }")
    inputs = {**X, "w": np.ones((3, 2), np.float32)}
    write_bundle(tmp_path / "it", finding(program, inputs, f"{WRONG}:Off", ("torch:eager", "onnxruntime:all")))
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    assert "ORT_ENABLE_ALL" in log


def test_infinite_bounds_accept_everything(finding: Make, tmp_path: Path, root: Path) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    verdict = replace(row.verdict, bound=float("inf"), distance=float("nan"))
    write_bundle(tmp_path / "it", replace(row, verdict=verdict))
    assert run_script(tmp_path / "it", root)[0] == 0
    stored = json.loads((tmp_path / "it" / "finding.json").read_text(), parse_constant=pytest.fail)
    assert (stored["verdict"]["bound"], stored["verdict"]["distance"]) == ("inf", "nan")


@pytest.mark.parametrize("faulty", ["Off", "Nan"])
def test_an_oracle_that_names_no_element_means_all_of_the_output(
    finding: Make, tmp_path: Path, root: Path, faulty: str
) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:{faulty}")
    write_bundle(tmp_path / "it", replace(row, verdict=replace(row.verdict, element="")))
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    _swap(tmp_path / "it" / "repro.py", f"{WRONG}:{faulty}'}}", f"{WRONG}:Right'}}")
    assert run_script(tmp_path / "it", root)[0] == 0


def test_a_folder_can_be_moved(finding: Make, tmp_path: Path, root: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    shutil.move(tmp_path / "it", tmp_path / "else where'\"")
    assert run_script(tmp_path / "else where'\"", root)[0] == 1


@pytest.mark.planted
@pytest.mark.parametrize(
    ("faulty", "symptom", "seen"),
    [
        (f"{FAULTS}:Leaks", Symptom.MEMORY, {"runs": 6, "limit": 256 << 20, "element": ""}),
        (f"{FAULTS}:ThirdTime", Symptom.CRASH, {"runs": 3, "element": ""}),
        (f"{WRONG}:ThirdOff", Symptom.DIFFERENCE, {"runs": 3, "element": "y[1, 2]"}),
    ],
)
def test_what_shows_only_after_several_runs(
    finding: Make, tmp_path: Path, root: Path, faulty: str, symptom: Symptom, seen: dict[str, Any]
) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    own = next(run for run in row.runs if run.name == f"{WRONG}:Off")
    runs = [replace(own, name=faulty, component=faulty, options={"class": str(root / faulty)}), *row.runs]
    row = replace(row, runs=runs, verdict=replace(row.verdict, symptom=symptom, target=faulty, **seen))
    write_bundle(tmp_path / "it", row)
    shown, log = replays(tmp_path / "it", seconds=60)
    assert shown, log
    script = tmp_path / "it" / "repro.py"
    text = script.read_text()
    assert text.count("\nRUNS = ") == 1
    script.write_text(text.replace("\nRUNS = ", "\nRUNS = 2  # not "))
    assert run_script(tmp_path / "it", root)[0] == 0


def _swap(script: Path, old: str, new: str) -> None:
    """Let a script run another class, as if a new version of the old one were installed."""
    text = script.read_text()
    assert old in text
    script.write_text(text.replace(old, new))
