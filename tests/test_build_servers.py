"""The jobs and the action that irfuzz ships: they fit the servers' schemas, and their steps run in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.campaign.running import ENV

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "irfuzz" / "api" / "project" / "job_templates"
ACTION = ROOT / ".github" / "actions" / "irfuzz" / "action.yml"
INSTALL = "'irfuzz[onnxruntime]'"

GEMM = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] a, float[3, 2] b, float[2, 2] c) => (float[2, 2] y) { y = Gemm <beta: float = 0.5> (a, b, c) }"""

SCHEMAS = {
    "github-workflows": (TEMPLATES / "github.yml", ()),
    "github-actions": (ACTION, ()),
    "gitlab-ci": (TEMPLATES / "gitlab.yml", ("--data-transform", "gitlab-ci")),
}


def loaded(path: Path) -> Any:
    yaml = pytest.importorskip("ruamel.yaml", reason="check-jsonschema is not installed")
    return yaml.YAML(typ="safe").load(path.read_text())


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_the_schema_of_their_server(schema: str, tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    path, flags = SCHEMAS[schema]
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(path.read_text().replace("steps:", "step:").replace("artifacts:", "artefacts: [1]\n  rules:"))
    for file, code in ((path, 0), (wrong, 1)):
        words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *flags, str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.unit
def test_the_page_shows_what_is_written() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    for name in ("github.yml", "gitlab.yml"):
        (shown,) = re.findall(rf"<!-- {name} -->\n```yaml\n(.*?)```", page, re.DOTALL)
        assert shown == (TEMPLATES / name).read_text().replace("INSTALL", INSTALL)


@pytest.mark.unit
def test_the_action_does_what_the_workflow_does() -> None:
    workflow = loaded(TEMPLATES / "github.yml")["jobs"]["irfuzz"]["steps"][-4:]
    action = loaded(ACTION)["runs"]["steps"][-4:]
    assert [step.get("uses") for step in workflow] == [step.get("uses") for step in action]
    for one, other in zip(workflow, action, strict=True):
        assert (one.get("if"), one.get("with")) == (other.get("if"), other.get("with"))


@pytest.mark.backend
@pytest.mark.slow
def test_the_steps_of_the_action_run_and_annotate(tmp_path: Path) -> None:
    """As GitHub runs them: inputs and contexts are filled in, and each step is a file for ``bash -eo pipefail``."""
    converter = (ROOT / "benchmarks" / "nightly" / "converter.py").read_text()
    faulty = re.sub(r"^FAULTS: .*$", 'FAULTS = ("gemm-beta",)', converter, count=1, flags=re.MULTILINE)
    (tmp_path / "converter.py").write_text(faulty)
    (tmp_path / "models").mkdir()
    onnx.save(onnx.parser.parse_model(GEMM), tmp_path / "models" / "gemm.onnx")
    (tmp_path / "irfuzz.toml").write_text(
        '[fuzz]\nseeds = ["models"]\ntarget = ["converter:Converter"]\njobs = 1\nsprouts = 0\nreduce = 2\n'
    )
    fuzz = next(step for step in loaded(ACTION)["runs"]["steps"] if "irfuzz fuzz" in step.get("run", ""))
    filled = {"BUDGET": "pull-request", "ARGS": "--programs 3 -q"}
    assert set(fuzz["env"]) == set(filled)
    summary = tmp_path / "summary.md"
    variables = {**filled, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    script = tmp_path / "step.sh"
    script.write_text(f'python() {{ "{sys.executable}" -P "$@"; }}\n{fuzz["run"]}\n')
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=tmp_path, env={**os.environ, **ENV, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^::error title=irfuzz%3A difference of converter%3AConverter::", done.stdout, re.MULTILINE)
    assert "### irfuzz: " in summary.read_text()
    assert (tmp_path / "irfuzz.sarif").is_file()
