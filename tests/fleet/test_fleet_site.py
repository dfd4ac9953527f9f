"""The pages of a fleet say what its store knows, and a label that a person gives reaches pages, folders and agents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.stored_findings.folder_placement import place_bundle
from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.findings.codec import finding_of, label_of, row_of
from irfuzz.fleet.agent_registry import AgentState
from irfuzz.fleet.fleet_status import fleet_status, write_findings
from irfuzz.fleet.reporting.finding_labels import label_finding
from irfuzz.fleet.reporting.fleet_site import FOLDERS, write_fleet_site
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.store.database import Status
from tests.fleet.made import add_mutants, add_seed
from tests.fleet.test_program_exchange import Member
from tests.report.pages.conftest import finding

pytestmark = pytest.mark.unit

LABEL = "reported <upstream>"


@pytest.fixture
def member(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Member:
    """An agent with programs and one finding, which its folder has, too."""
    one = Member(store, blobs, tmp_path / "a")
    add_seed(one.database)
    add_mutants(one.database, [0, 1])
    counts = {"onnxruntime:all ok": 9, "onnxruntime:all rejected": 2, "onnxruntime:all crash": 1}
    one.database.record(0, 3, 12, counts, [])
    one.database.set("targets 0", json.dumps({"used": {"onnxruntime:all": "1.31.1"}, "absent": {}}))
    number = one.database.add_finding(row_of(finding()))
    place_bundle(Layout(tmp_path / "a"), replace(finding(), number=number))
    one.sync.synchronise(work=False)
    return one


def agent_folders(path: Path) -> list[Path]:
    return sorted((path / "a" / "findings").iterdir())


def test_pages_of_a_fleet(store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path) -> None:
    other = Member(store, blobs, tmp_path / "b")
    other.database.record(0, 1, 7, {"onnxruntime:all ok": 5}, [])
    other.database.set("targets 0", json.dumps({"used": {"onnxruntime:all": "1.30.0"}, "absent": {}}))
    other.database.add_finding(row_of(finding()))
    other.sync.synchronise(work=False)
    written = write_fleet_site(store, blobs, tmp_path / "site")
    assert (written.pages, written.running) == (1, True)
    text = written.index.read_text()
    for told in ("2 of 2 run", "Programs given", "Features, of all agents", ">a</code>", ">b</code>", "a, b"):
        assert told in text
    assert finding().title in text
    for version, ran in (("1.31.1", "9"), ("1.30.0", "5")):
        assert f"<td>{version}</td>" in text
        assert f"<td>{ran}</td>" in text
    (page,) = (tmp_path / "site" / "findings").glob("*/index.html")
    assert finding().title in page.read_text()
    assert (page.parent / "repro.py").is_file()


def test_pages_are_written_again_only_if_something_changed(
    store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    write_fleet_site(store, blobs, site)
    (folder,) = (site / FOLDERS).iterdir()
    before = (folder / "repro.py").stat().st_ino
    write_fleet_site(store, blobs, site)
    assert (folder / "repro.py").stat().st_ino == before
    (row,) = member.database.findings()
    member.database.replace_finding(replace(row, verdict=row.verdict.replace("{", "{ ", 1)))
    member.sync.synchronise(work=False)
    write_fleet_site(store, blobs, site)
    assert (folder / "repro.py").stat().st_ino != before
    member.database.replace_finding(replace(row, status=Status.EXPLAINED))
    member.sync.synchronise(work=False)
    assert write_fleet_site(store, blobs, site).pages == 0
    assert not folder.exists()


def test_a_page_says_when_the_fleet_has_ended(
    store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path
) -> None:
    member.sync.state = AgentState.ENDED
    member.sync.synchronise(work=False)
    written = write_fleet_site(store, blobs, tmp_path / "site")
    assert not written.running
    assert "0 of 1 run" in written.index.read_text()


def test_a_finding_without_its_blobs_costs_no_page(
    store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path
) -> None:
    for digest, _ in list(blobs.digests()):
        blobs.remove(digest)
    written = write_fleet_site(store, blobs, tmp_path / "site")
    assert written.pages == 0
    assert "Not readable" in written.index.read_text()


def test_pages_do_not_take_the_place_of_others(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="is no page of irfuzz"):
        write_fleet_site(store, blobs, tmp_path)


def test_a_label_reaches_everybody(
    store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path, store_url: str
) -> None:
    (folder,) = write_findings(store, blobs, tmp_path / "out")
    words = ("--store", store_url, "--blobs", blobs.place)
    assert main(["fleet", "label", str(folder), LABEL, *words]) == 0
    member.sync.synchronise(work=False)
    assert [label_of(one) for one in agent_folders(tmp_path)] == [LABEL]
    write_findings(store, blobs, tmp_path / "out")
    assert label_of(folder) == LABEL
    assert [found.label for found in fleet_status(store).findings] == [LABEL]
    assert f"label: {LABEL}" in str(fleet_status(store))
    assert main(["fleet", "report", "-o", str(tmp_path / "site"), *words]) == 0
    assert "reported &lt;upstream&gt;" in (tmp_path / "site" / "index.html").read_text()
    assert main(["fleet", "label", finding().signature, "", *words]) == 0
    member.sync.synchronise(work=False)
    assert [label_of(one) for one in agent_folders(tmp_path)] == [""]
    assert main(["fleet", "report", "-o", str(tmp_path / "site"), *words]) == 0
    assert "upstream" not in (tmp_path / "site" / "index.html").read_text()


def test_what_an_agent_noted_itself_stays_until_the_fleet_says_something(
    store: StoreConnection, member: Member, tmp_path: Path
) -> None:
    (folder,) = agent_folders(tmp_path)
    assert main(["findings", "label", str(folder), "mine"]) == 0
    member.sync.synchronise(work=False)
    assert label_of(folder) == "mine"
    label_finding(store, finding().signature, "ours")
    member.again().synchronise(work=False)
    assert label_of(folder) == "ours"


def test_numbers_that_moved_do_not_hide_a_finding(
    store: StoreConnection, blobs: SharedBlobs, member: Member, tmp_path: Path
) -> None:
    """A folder of that name may be of another finding, whose number it was then."""
    (folder,) = write_findings(store, blobs, tmp_path / "out")
    about = json.loads((folder / "finding.json").read_text())
    (folder / "finding.json").write_text(json.dumps({**about, "signature": "another"}))
    (again,) = write_findings(store, blobs, tmp_path / "out")
    assert again != folder
    assert write_findings(store, blobs, tmp_path / "out") == [again]
    assert finding_of(member.database.findings()[0]).signature in (again / "finding.json").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["label", "s"], "label: expected SIGNATURE LABEL, got 1 words"),
        (["label", "s", "l"], "has no finding 's'"),
        (["report"], "report: expected -o DIR"),
        (["status", "-o", "x"], "status: -o belongs to findings and report"),
        (["status", "--follow"], "status: --follow belongs to report"),
        (["status", "x"], "x: only add-seeds and start take models"),
        (["add-seeds"], "add-seeds: expected SEED"),
    ],
)
def test_what_makes_no_sense_is_told(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/fleet.sqlite"
    StoreConnection(url, make=True).close()
    assert main(["fleet", *words, "--store", url]) == 2
    assert told in capsys.readouterr().err
