"""The long script of a finding: what it needs beside it, whom it runs, and whose recorded answers stand in."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from irfuzz.errors import InternalError
from irfuzz.findings.finding import TargetRun
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts import code_templates, full_script
from irfuzz.report.repro_scripts.full_script import (
    LONGEST_TITLE,
    ReproSpec,
    can_run,
    kind_of_tool,
    mended,
    one_line,
    pass_note,
    repro_source,
)

pytestmark = pytest.mark.unit

ORT = TargetRun("onnxruntime:all", "onnxruntime", {"level": "all"}, "1.31.1")
REFERENCE = TargetRun("reference", "reference", {}, "1.19.0")
TORCH = TargetRun("torch:eager", "torch", {"mode": "eager"}, "2.9")
PLUGIN = TargetRun("a.py:B", "a.py:B", {"class": "a.py:B"})
OLD = TargetRun("onnx@1.0.0", "reference", {}, "1.0.0", environment="onnx-1.0.0", requirement="onnx==1.0.0 numpy")


def tool(component: str, name: str) -> TargetRun:
    return TargetRun(component, component, {"tool": name}, "1")


def spec(
    blamed: TargetRun = ORT, *witnesses: TargetRun, symptom: Symptom = Symptom.DIFFERENCE, **more: Any
) -> ReproSpec:
    fields = {"output": "y", "place": ((), (0,)), "bound": 0.5, "outputs": ["y"], **more}
    return ReproSpec("a title", symptom, blamed, witnesses or (REFERENCE,), **fields)


def needs(scene: ReproSpec) -> tuple[list[str], list[str]]:
    """The packages and files that the docstring names."""
    (line,) = [line for line in full_script._usage(scene).splitlines() if line.startswith("Needs ")]
    packages, files = line.removeprefix("Needs ").removesuffix(".").split(", and beside it ")
    return packages.split(", "), files.split(", ")


PLAIN = ["model.onnx", "inputs.npz"]


@pytest.mark.parametrize(
    ("scene", "packages", "files"),
    [
        (spec(), ["numpy", "onnxruntime", "onnx"], PLAIN),
        (spec(REFERENCE), ["numpy", "onnx"], PLAIN),
        (spec(ORT, TORCH), ["numpy", "onnxruntime", "torch"], [*PLAIN, "torch_model.py", "torch_weights.npz"]),
        (spec(ORT, PLUGIN), ["numpy", "onnxruntime"], PLAIN),
        (
            spec(tool("torch-onnx", "torch_onnx")),
            ["numpy", "torch", "onnx", "onnxruntime"],
            [*PLAIN, "tool_torch_onnx.py", "generated_torch_module.py", "torch_model.py", "torch_weights.npz"],
        ),
        (
            spec(tool("tf2onnx", "tf2onnx")),
            ["numpy", "tf2onnx", "onnx", "onnxruntime"],
            [*PLAIN, "tool_tf2onnx.py", "tensorflow_model.py", "tensorflow_weights.npz"],
        ),
        (spec(tool("onnx2torch", "onnx2torch")), ["numpy", "onnx2torch", "onnx"], [*PLAIN, "tool_onnx2torch.py"]),
        (
            spec(tool("onnxslim", "onnxslim"), TORCH),
            ["numpy", "onnxslim", "onnx", "onnxruntime", "torch"],
            [*PLAIN, "tool_onnxslim.py", "torch_model.py", "torch_weights.npz"],
        ),
    ],
)
def test_what_has_to_be_there(scene: ReproSpec, packages: list[str], files: list[str]) -> None:
    assert needs(scene) == (packages, files)


def test_who_was_seen() -> None:
    text = full_script._usage(spec(ORT, REFERENCE, PLUGIN, REFERENCE))
    assert text.startswith("Seen with onnxruntime 1.31.1, reference 1.19.0, a.py:B.\n")


def test_how_to_get_another_version() -> None:
    assert full_script._how_to_get(spec()) == ""
    text = full_script._how_to_get(spec(OLD, ORT))
    assert "old/bin/pip install onnx==1.0.0 numpy; old/bin/python repro.py\n" in text
    assert "`irfuzz env add onnx==1.0.0` makes" in text
    assert "Other packages" not in text
    with_more = replace(OLD, requirement="onnx==1.0.0 numpy 'odd; name' scipy")
    text = full_script._how_to_get(spec(with_more, replace(ORT, answer="1.5")))
    assert "add onnx==1.0.0 --with ''\"'\"'odd;' --with 'name'\"'\"'' --with scipy`" in text
    assert text.startswith("Other packages than the blamed one may be missing")


def test_answers_of_another_environment_stand_in() -> None:
    answering = replace(REFERENCE, answer="2.5")
    for scene in (
        spec(OLD, replace(ORT, answer="1.5")),
        spec(ORT, replace(OLD, answer="1.5")),
    ):
        name = scene.witnesses[0].name
        text = repro_source(scene)
        ast.parse(text)
        assert full_script._recorded(scene) == {name: "1.5"}
        assert f"RECORDED = {{\n    {name!r}: 1.5,\n}}" in text
        assert text.count("for name, answer in RECORDED.items():") == 1
    for scene in (spec(ORT, answering), spec(OLD, REFERENCE), spec(OLD, replace(OLD, name="other", answer="1"))):
        assert full_script._recorded(scene) == {}
        assert "RECORDED" not in repro_source(scene)
    refused = spec(OLD, replace(ORT, answer="'answers'"), symptom=Symptom.REJECTION)
    assert "for name in RECORDED:" in repro_source(refused)


def test_of_one_package_there_is_one_version() -> None:
    scene = spec(OLD, REFERENCE, ORT)
    assert [p.name for p in full_script._together(scene)] == ["onnx@1.0.0", "onnxruntime:all"]
    assert "'reference':" not in full_script._settings(scene)
    assert [p.name for p in full_script._together(spec(ORT, REFERENCE, OLD))] == ["onnxruntime:all", "reference"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\tc", "a b c"),
        ('"""', "'''"),
        ("\\", "\\\\"),
        ("a\u202eb", "a\\\\u202eb"),
        ("x" * (LONGEST_TITLE + 1), "x" * LONGEST_TITLE),
        ("x" * 300, "x" * 300),
    ],
)
def test_text_on_one_line(text: str, line: str) -> None:
    assert one_line(text) == line
    assert LONGEST_TITLE == 300


PASSES = {"passes": ("A", "B")}


@pytest.mark.parametrize(
    ("scene", "noted", "shown"),
    [
        (spec(), False, False),
        (spec(**PASSES), True, True),
        (spec(REFERENCE, ORT, **PASSES), False, False),
        (spec(symptom=Symptom.NAN_INF, **PASSES), True, True),
        (spec(symptom=Symptom.WRONG_DTYPE, **PASSES), True, True),
        (spec(symptom=Symptom.REJECTION, **PASSES), True, False),
        (spec(runs=2, **PASSES), True, False),
    ],
)
def test_passes_to_blame(scene: ReproSpec, noted: bool, shown: bool) -> None:
    line = "It vanishes with InferenceSession(..., disabled_optimizers=['A', 'B']).\n"
    assert pass_note(scene) == (line if noted else "")
    assert mended(scene) == shown
    text = repro_source(scene)
    assert ("MENDED = {'level': 'ORT_ENABLE_ALL', 'off': ('A', 'B')}" in text) == shown
    assert (code_templates.MENDED in text) == shown
    assert (line in text) == noted


@pytest.mark.parametrize(
    ("party", "kind"),
    [(ORT, "onnxruntime"), (REFERENCE, "reference"), (PLUGIN, "plugin"), (tool("onnxslim", "onnxslim"), "tool")],
)
def test_who_can_be_run(party: TargetRun, kind: str) -> None:
    assert can_run(party)
    assert full_script._kind(party) == kind
    assert (kind_of_tool(party) is not None) == (kind == "tool")


def test_others_cannot() -> None:
    odd = TargetRun("tvm", "tvm", {"tool": "none such"})
    assert not can_run(odd)
    assert kind_of_tool(odd) is None
    with pytest.raises(InternalError, match="targets of tvm"):
        full_script._kind(odd)


@pytest.mark.parametrize(
    ("party", "options"),
    [
        (ORT, {"level": "ORT_ENABLE_ALL"}),
        (replace(ORT, options={}), {"level": "ORT_ENABLE_ALL"}),
        (replace(ORT, options={"level": "disabled"}), {"level": "ORT_DISABLE_ALL"}),
        (replace(ORT, options={"level": "basic", "x": 1}), {"level": "ORT_ENABLE_BASIC", "x": 1}),
        (TORCH, {}),
        (replace(TORCH, options={"mode": "jit"}), {"mode": "jit"}),
        (REFERENCE, {}),
    ],
)
def test_options_as_the_script_has_them(party: TargetRun, options: dict[str, Any]) -> None:
    assert full_script._options(party) == options


@pytest.mark.parametrize(
    ("scene", "modules"),
    [
        (spec(), ["sys"]),
        (spec(odd_inputs=True), ["json", "sys"]),
        (spec(ORT, PLUGIN), ["os", "sys"]),
        (spec(ORT, PLUGIN, runs=2), ["functools", "os", "sys"]),
        (spec(runs=2), ["sys"]),
        (spec(symptom=Symptom.CRASH), ["os", "signal", "subprocess", "sys", "tempfile"]),
    ],
)
def test_imports(scene: ReproSpec, modules: list[str]) -> None:
    lines = [*(f"import {name}" for name in modules), "from pathlib import Path"]
    assert full_script._imports(scene).splitlines() == lines


IN_A_CHILD = {Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL}


@pytest.mark.parametrize("symptom", list(Symptom))
def test_settings(symptom: Symptom) -> None:
    text = full_script._settings(spec(symptom=symptom, memory=5, runs=3, seconds=7.0))
    assert text.startswith(
        "# The first is blamed, the others bear witness.\nTARGETS = {\n    'onnxruntime:all': (run_onnx"
    )
    assert "RUNS = 3" in text
    child = symptom in IN_A_CHILD
    assert full_script._in_child(spec(symptom=symptom)) == child
    assert ("SECONDS = 7.0" in text, "BLAMED = 'onnxruntime:all'" in text) == (child, not child)
    assert ("OUTPUTS = ['y']" in text) == (symptom is Symptom.PROTOCOL)
    assert ("MEMORY = 5" in text) == (symptom is Symptom.MEMORY)
    assert ("OUTPUT = 'y'" in text) == (not child and symptom not in (Symptom.REJECTION, Symptom.LENIENCY))
    assert "RUNS" not in full_script._settings(spec(symptom=symptom))
    assert ("limit_memory()" in full_script._end(spec(symptom=symptom))) == (symptom is Symptom.MEMORY)


@pytest.mark.parametrize(
    ("more", "differs"),
    [
        ({"bound": 0.5}, "bool((a != a) != (b != b)) or abs(float(a) - float(b)) > 0.5"),
        ({"bound": float("inf")}, "> float('inf')"),
        ({"bound": 0.0}, "bool(a != b)"),
        ({"bound": None}, "bool(a != b)"),
        ({"bound": float("nan")}, "bool(a != b)"),
        ({"bound": 0.5, "place": None}, "(abs(a.astype(float) - b.astype(float)) > 0.5)"),
        ({"bound": None, "place": None}, "a != b"),
        ({"symptom": Symptom.NAN_INF}, "special(a) != special(b)"),
        ({"symptom": Symptom.NAN_INF, "place": None}, "special(a) != special(b)"),
    ],
)
def test_how_numbers_are_compared(more: dict[str, Any], differs: str) -> None:
    text = repro_source(spec(**more))
    assert differs in text
    assert ("def special(" in text) == (more.get("symptom") is Symptom.NAN_INF)


def test_the_element_at_fault_is_looked_up() -> None:
    assert "np.asarray(outputs[OUTPUT])[0, 3]" in repro_source(spec(place=((), (0, 3))))
    assert "np.asarray(outputs[OUTPUT][2][1])[()]" in repro_source(spec(place=((2, 1), ())))
    assert code_templates.ALONE.strip() in repro_source(spec(symptom=Symptom.NAN_INF, alone=True))


@pytest.mark.parametrize(
    ("symptom", "shown"),
    [
        (Symptom.CRASH, 'blamed.startswith(("dies", "exits"))'),
        (Symptom.HANG, 'blamed.startswith("hangs")'),
        (Symptom.PROTOCOL, 'blamed.startswith(("dies", "exits", "gives no"))'),
    ],
)
def test_how_a_child_is_judged(symptom: Symptom, shown: str) -> None:
    with_witness, alone = (
        full_script._judgement(replace(spec(symptom=symptom), witnesses=w))[-1] for w in ((REFERENCE,), ())
    )
    assert f'{shown} and "answers" in others' in with_witness
    assert shown in alone
    assert '"answers" in others' not in alone


def test_a_memory_finding_needs_brackets() -> None:
    text = full_script._judgement(spec(symptom=Symptom.MEMORY))[-1]
    assert '"alloc" in blamed) and "answers" in others' in text


def test_what_shows_after_several_runs_is_run_so_often() -> None:
    again = f"[{code_templates.RUN} for _ in range(RUNS)][-1]"
    assert again in repro_source(spec(runs=2))
    assert again not in repro_source(spec())
    assert again not in repro_source(spec(runs=2, symptom=Symptom.CRASH))
    assert code_templates.BEFORE.strip() in repro_source(spec(runs=2, symptom=Symptom.CRASH))
    assert code_templates.BEFORE.strip() not in repro_source(spec(symptom=Symptom.CRASH))


def test_only_what_is_set_is_in_the_runners() -> None:
    def runners(*parties: TargetRun, **more: Any) -> str:
        return "\n".join(full_script._runners(spec(*parties, **more)))

    plain = runners()
    assert "settings" not in plain
    assert "off=()" not in plain
    assert '["CPUExecutionProvider"]' in plain
    assert "provider" not in plain.replace("providers", "")
    assert "settings" in runners(replace(ORT, options={"session.x": "1"}))
    assert "off=()" in runners(**PASSES)
    chosen = runners(replace(ORT, options={"provider": "CUDAExecutionProvider"}))
    assert 'provider="CPUExecutionProvider"' in chosen
    assert "[provider]" in chosen
    assert code_templates.MODED_TORCH.strip() in runners(replace(TORCH, options={"mode": "jit"}))
    assert code_templates.MODED_TORCH.strip() not in runners(TORCH)
    assert code_templates.KEPT_PLUGIN.strip() in runners(ORT, PLUGIN, runs=2)
    assert code_templates.KEPT_PLUGIN.strip() not in runners(ORT, PLUGIN)
