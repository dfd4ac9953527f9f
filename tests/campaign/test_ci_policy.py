"""A campaign as a step of a build: what fails it, and what no longer does once somebody has decided."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import pytest

from tests.campaign.running import ENV, command, planted

pytestmark = [pytest.mark.backend, pytest.mark.slow, pytest.mark.planted, pytest.mark.timeout(300)]

PROGRAMS = 8

CONVERTER = '''"""A converter, release RELEASE."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

MORE


class Converter:
    version = "RELEASE"

    def run(self, model, inputs):
        proto = onnx.load_model_from_string(model)
        kinds = {node.op_type for node in proto.graph.node}
        if "Tanh" in kinds:
            raise ValueError("converter RELEASE (lib/RELEASE.py:LINE): no rule for Tanh")
        values = ReferenceEvaluator(proto).run(None, inputs)
        faulty = [value + 1 if "Relu" in kinds else value for value in values]
        return {value.name: np.asarray(given, values[0].dtype) for value, given in zip(proto.graph.output, faulty)}
'''


def irfuzz(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in ENV.items() if not k.startswith("GITHUB_")}
    return subprocess.run(
        command(*words), cwd=cwd, env={**env, **variables}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Of a campaign with findings, which is continued without further programs."""
    place = tmp_path_factory.mktemp("build")
    first = irfuzz(*words_of(tiny), cwd=place)
    assert first.returncode == 1, first.stderr
    return place


def words_of(tiny: Path, *more: object) -> list[object]:
    targets = ["--targets", "reference,onnxruntime:disabled", "--target", planted("WrongNumbers")]
    budget = ["--jobs", 1, "--reduce", 1, "--seed", 3, "--programs", PROGRAMS, "--time", "100s"]
    return ["fuzz", tiny, "--out", "out", "-q", *targets, *budget, *more]


def test_each_policy_has_its_exit_code_and_the_summary_says_why(folder: Path, tiny: Path) -> None:
    for policy, code in (("new", 1), ("undecided", 1), ("any", 1), ("never", 0)):
        result = irfuzz(*words_of(tiny, "--fail-on", policy), cwd=folder)
        assert result.returncode == code, result.stderr
        last = result.stdout.splitlines()[-1]
        assert last.startswith(f"exit code {code}: ")
        assert last.endswith(f"(--fail-on {policy})")


def test_a_baseline_decides_of_this_campaign_and_of_another(folder: Path, tiny: Path) -> None:
    assert irfuzz("findings", "baseline", "out", "-o", "base.json", cwd=folder).returncode == 0
    data = json.loads((folder / "base.json").read_text())
    assert data["format"] == 1
    assert any("|faults.py:WrongNumbers|" in row["signature"] for row in data["findings"]), "in any checkout"
    result = irfuzz(*words_of(tiny, "--baseline", "base.json", "--json"), cwd=folder)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["exit_code"], told["fail_on"]) == (0, "new")
    assert {row["disposition"] for row in told["list"]} <= {"baseline", "known"}
    other = irfuzz(*words_of(tiny, "--baseline", "base.json"), "--out", "other", cwd=folder)
    assert other.returncode == 0, other.stdout
    assert irfuzz(*words_of(tiny, "--baseline", "base.json", "--fail-on", "any"), cwd=folder).returncode == 1


def test_a_label_decides(folder: Path, tiny: Path) -> None:
    found = sorted((folder / "out" / "findings").iterdir())
    for place in found:
        assert irfuzz("findings", "label", place, "wontfix", cwd=folder).returncode == 0
    try:
        result = irfuzz(*words_of(tiny), cwd=folder)
    finally:
        for place in found:
            irfuzz("findings", "label", place, "", cwd=folder)
    assert result.returncode == 0, result.stdout
    assert "    label: wontfix\n" in result.stdout
    assert f"{len(found)} labelled" in result.stdout


def test_a_build_server_gets_files_annotations_and_a_summary(folder: Path, tiny: Path) -> None:
    words = words_of(tiny, "--junit", "ci/j.xml", "--sarif", "ci/s.sarif")
    result = irfuzz(*words, cwd=folder, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
    assert result.returncode == 1, result.stderr
    commands = [line for line in result.stdout.splitlines() if line.startswith("::error title=irfuzz")]
    suite = ET.parse(folder / "ci" / "j.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == str(len(commands))
    (run,) = json.loads((folder / "ci" / "s.sarif").read_text())["runs"]
    for found in run["results"]:
        place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert (folder / "out" / place).is_file()
    assert (folder / "summary.md").read_text().startswith("### irfuzz: ")


def test_a_baseline_outlives_a_release_of_the_target(tmp_path: Path) -> None:
    for name, op in (("relu", "Relu"), ("tanh", "Tanh")):
        text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) {{ y = {op} (x) }}'
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    words = ["fuzz", "relu.onnx", "tanh.onnx", "-q", "--targets", "reference,onnxruntime:disabled", "--jobs", 1]
    words += ["--target", "converter.py:Converter", "--reduce", 1, "--sprouts", 0, "--programs", 4, "--time", "100s"]
    for release, line, more in (("1.4.0", "21", ""), ("2.0.0rc1", "308", "import math\n\nTABLE = (math.pi,)")):
        text = CONVERTER.replace("RELEASE", release).replace("LINE", line).replace("MORE", more)
        (tmp_path / "converter.py").write_text(text)
        known = ["--baseline", "base.json"] if (tmp_path / "base.json").exists() else []
        result = irfuzz(*words, *known, "--out", release, "--json", cwd=tmp_path)
        told = json.loads(result.stdout)
        assert told["targets"]["converter.py:Converter"] == release
        symptoms = {row["symptom"] for row in told["list"] if row["target"] == "converter.py:Converter"}
        assert symptoms >= {"difference", "rejection"}
        assert result.returncode == (0 if known else 1), result.stdout
        assert irfuzz("findings", "baseline", release, "-o", "base.json", cwd=tmp_path).returncode == 0
