"""What scripts of findings on a GPU replace in their runners is there, once, and gives Python."""

from __future__ import annotations

import ast

import pytest

from irfuzz.findings.finding import TargetRun
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts import code_templates
from irfuzz.report.repro_scripts.framework_call_script import form_of
from irfuzz.report.repro_scripts.full_script import ReproSpec, repro_source
from irfuzz.report.repro_scripts.gpu_templates import EDITS, on_gpu

pytestmark = pytest.mark.unit

RUNNERS = [
    ("onnxruntime", code_templates.ONNXRUNTIME),
    ("onnxruntime", code_templates.ODD_ONNXRUNTIME),
    ("torch", code_templates.MODED_TORCH),
    ("jax", code_templates.JAX),
    ("tensorflow", code_templates.TENSORFLOW),
]


@pytest.mark.parametrize(("component", "runner"), RUNNERS)
def test_what_is_replaced_is_there_once(component: str, runner: str) -> None:
    assert all(runner.count(before) == 1 for before, _ in EDITS[component])
    assert "tf32" in on_gpu(component, runner)


def test_others_stay_as_they_are() -> None:
    assert on_gpu("reference", code_templates.REFERENCE) == code_templates.REFERENCE
    assert {component for component, _ in RUNNERS} == EDITS.keys()


@pytest.mark.parametrize("symptom", [Symptom.DIFFERENCE, Symptom.REJECTION, Symptom.CRASH])
@pytest.mark.parametrize("component", sorted(EDITS))
def test_scripts_are_python(component: str, symptom: Symptom) -> None:
    where = {"provider": "CUDAExecutionProvider"} if component == "onnxruntime" else {"mode": "eager", "device": "cuda"}
    blamed = TargetRun(f"{component}:a@cuda", component, {**where, "tf32": False}, "1")
    plain = TargetRun(f"{component}:b", component, {"mode": "eager"} if "mode" in where else {"level": "all"}, "1")
    text = repro_source(
        ReproSpec("t", symptom, blamed, (plain,), output="y", place=((), (0,)), bound=0.5, outputs=["y"])
    )
    ast.parse(text)
    assert "import os\n" in text
    assert "'tf32': False" in text
    assert "CPU:0" not in text or component == "tensorflow"


def test_calls_of_a_framework_would_run_on_the_processor() -> None:
    assert form_of(TargetRun("torch:eager", "torch", {"mode": "eager"}, "1")) is not None
    assert form_of(TargetRun("torch:eager@cuda", "torch", {"mode": "eager", "device": "cuda"}, "1")) is None
