"""Files that older versions wrote are read, and docs/releases.md promises what the code holds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irfuzz
from irfuzz.findings import baseline, codec
from irfuzz.findings.baseline import read_baseline
from irfuzz.mutate import mutation_trace
from irfuzz.mutate.mutation_trace import read_trace
from irfuzz.store import database_schema
from irfuzz.store.database import Database

ROOT = Path(__file__).resolve().parents[1]
STORED = sorted(
    (ROOT / "tests" / "formats").iterdir(), key=lambda folder: [int(part) for part in folder.name.split(".")]
)
VERSIONS = {
    "trace": mutation_trace.SCHEMA,
    "database": database_schema.SCHEMA,
    "finding": codec.SCHEMA,
    "baseline": baseline.FORMAT,
}

every_version = pytest.mark.parametrize("stored", STORED, ids=lambda folder: folder.name)


@pytest.mark.unit
def test_the_newest_section_of_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0].split()[0] == irfuzz.__version__
    assert "Unreleased" not in " ".join(headings), "sections are those of versions"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+( \(\d{4}-\d{2}-\d{2}\))?", heading) for heading in headings)


@pytest.mark.unit
def test_the_table_of_formats_has_the_versions_of_the_code() -> None:
    text = (ROOT / "docs" / "releases.md").read_text()
    rows = re.findall(r"^\| (\w+) \| .* \| (\d+) \| (by every version [^|]+) \|$", text, re.MULTILINE)
    assert {name: int(version) for name, version, _ in rows} == VERSIONS


def test_this_version_has_left_examples() -> None:
    assert STORED[-1].name == irfuzz.__version__, "python -m benchmarks.format_example"
    assert len(STORED) > 1


@pytest.mark.unit
@every_version
def test_a_database_of_a_version_is_read(stored: Path, tmp_path: Path) -> None:
    shutil.copytree(stored / "campaign", tmp_path / "campaign")
    database = Database(tmp_path / "campaign" / "campaign.sqlite")
    findings = [codec.finding_of(row) for row in database.findings(suspects=False)]
    database.close()
    assert [finding.title for finding in findings] == ["faulty.py:Faulty gives -0.00043 instead of 0.0 in Relu"]
    assert findings[0].case.program.digest
    assert findings[0].verdict.witnesses == ("onnxruntime:disabled", "reference")


@pytest.mark.unit
@every_version
def test_the_folder_of_a_finding_of_a_version_is_read(stored: Path) -> None:
    (folder,) = (stored / "campaign" / "findings").iterdir()
    finding = codec.read_folder(folder)
    assert finding.signature == "difference|faulty.py:Faulty|Relu|"
    assert [node.op_type for node in finding.case.program.nodes()] == ["Relu"]
    assert finding.trace["irfuzz"] == stored.name


@pytest.mark.unit
@every_version
def test_the_trace_of_a_version_is_read(stored: Path) -> None:
    (path,) = stored.glob("campaign/findings/*/trace.json")
    trace = read_trace(path)
    assert (trace.seed.name, trace.irfuzz) == ("seed.onnx", stored.name)


@pytest.mark.unit
@every_version
def test_the_baseline_of_a_version_is_read(stored: Path) -> None:
    path = stored / "baseline.json"
    if stored.name == "0.1.0":
        assert not path.exists(), "it wrote none"
        return
    (entry,) = read_baseline(path).entries
    assert entry.signature == "difference|faulty.py:Faulty|Relu|"


@pytest.mark.unit
@every_version
def test_the_baseline_of_any_version_knows_what_another_one_found(stored: Path) -> None:
    (folder,) = (stored / "campaign" / "findings").iterdir()
    finding = codec.read_folder(folder)
    for path in (place / "baseline.json" for place in STORED if (place / "baseline.json").exists()):
        assert read_baseline(path).entry_of(finding.signature, finding.cause) is not None, path


def irfuzz_command(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irfuzz", *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.backend
def test_the_oldest_campaign_is_continued(tmp_path: Path) -> None:
    shutil.copytree(STORED[0], tmp_path / "old")
    words = ["fuzz", "seed.onnx", "--targets", "reference,onnxruntime:disabled", "--programs", "6", "--time", "40s"]
    done = irfuzz_command(tmp_path / "old", *words, "--jobs", "1", "--sprouts", "0", "--out", "campaign", "--json")
    assert done.returncode == 1, done.stderr  # its own finding is there
    told = json.loads(done.stdout)
    assert told["programs"] == 6, "2 of them were there"
    assert "0001-difference-faulty-py-faulty" in done.stdout
