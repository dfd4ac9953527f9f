"""Which program a framework's source is made of, and when its own calls make a script."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irfuzz.errors import InternalError, InvalidProgram, Unsupported
from irfuzz.execute.run_types import Exit, Stage
from irfuzz.oracle.verdict import Symptom
from irfuzz.report import finding_folder_writer

pytestmark = pytest.mark.unit


def finding(component: str = "torch", calls: Any = "calls") -> Any:
    case = SimpleNamespace(stored="program", inputs={}, proto="proto")
    return SimpleNamespace(case=case, component=component, calls=calls)


@pytest.mark.parametrize(("framework", "source"), [("keras", b"settled program"), ("torch", b"program")])
def test_a_keras_model_alone_has_fixed_sizes(monkeypatch: pytest.MonkeyPatch, framework: str, source: bytes) -> None:
    monkeypatch.setattr(finding_folder_writer, "settled", lambda program, inputs: f"settled {program}")
    monkeypatch.setattr(finding_folder_writer, "module_files", lambda program, name: {name: program.encode()})
    assert finding_folder_writer._lowered_files(finding(), framework) == {framework: source}


def test_what_cannot_be_made_is_left_out_unless_it_is_about_that_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> None:
        def module_files(program: Any, name: str) -> Any:
            raise error

        monkeypatch.setattr(finding_folder_writer, "module_files", module_files)

    fails(InvalidProgram("wrong declaration"))
    assert finding_folder_writer._lowered_files(finding(), "torch") == {}
    fails(Unsupported("torch", "Neg", "no"))
    assert finding_folder_writer._lowered_files(finding("onnxruntime"), "torch") == {}
    with pytest.raises(Unsupported):
        finding_folder_writer._lowered_files(finding("torch"), "torch")


@pytest.mark.parametrize(
    ("form", "calls", "name", "script"),
    [
        ("torch", "calls", "torch_weights.npz", True),
        ("torch", None, "torch_weights.npz", False),
        ("torch", "calls", "keras_weights.npz", False),
        (None, "calls", "torch_weights.npz", False),
    ],
)
def test_a_script_of_calls_needs_the_calls_and_the_weights(
    monkeypatch: pytest.MonkeyPatch, form: str | None, calls: Any, name: str, script: bool
) -> None:
    stored = io.BytesIO()
    np.savez(stored, w=np.array([1, 2]))
    known = None if form is None else SimpleNamespace(framework=form)
    monkeypatch.setattr(finding_folder_writer, "form_of", lambda blamed: known)
    monkeypatch.setattr(
        finding_folder_writer,
        "calls_source",
        lambda scene, proto, given, inputs, weights: f"{proto} {given} {weights['w'].tolist()}",
    )
    scene: Any = SimpleNamespace(blamed="blamed")
    source = finding_folder_writer._of_calls(finding(calls=calls), scene, {name: stored.getvalue()})
    assert source == ("proto calls [1, 2]" if script else None)


def party(name: str, environment: str = "", **more: Any) -> Any:
    ended = {"stage": Stage.RUN, "exit": Exit.OK, "options": {}, **more}
    return SimpleNamespace(name=name, component=name.partition(":")[0], environment=environment, **ended)


def test_one_witness_of_each_component_the_best_first() -> None:
    runs = [
        party("onnxruntime:all"),
        party("onnxruntime:all@old", "old"),
        party("torch:eager"),
        party("torch:compiled"),
        party("tvm", exit=Exit.REJECTED),
        party("reference"),
        party("onnxruntime:disabled"),
    ]
    names = tuple(r.name for r in runs)
    verdict = SimpleNamespace(target="onnxruntime:all", symptom=Symptom.DIFFERENCE, witnesses=names)
    found: Any = SimpleNamespace(verdict=verdict, runs=runs, signature="s")
    blamed, witnesses = finding_folder_writer._parties(found)
    assert blamed.name == "onnxruntime:all"
    assert [w.name for w in witnesses] == ["onnxruntime:disabled", "reference", "torch:eager", "onnxruntime:all@old"]
    verdict.symptom = Symptom.LENIENCY
    assert [w.name for w in finding_folder_writer._parties(found)[1]] == ["tvm"]
    verdict.target = "nobody"
    with pytest.raises(InternalError, match="lack the blamed target"):
        finding_folder_writer._parties(found)
