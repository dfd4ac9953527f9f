"""The folder of pages: what is written, replaced, removed and refused."""

from __future__ import annotations

import fcntl
import json
import threading
from pathlib import Path

import pytest

from irfuzz.api.campaign_site import write_campaign_site
from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.campaign_figures import campaign_figures, is_running
from irfuzz.campaign.output_folder_lock import OutputFolder
from irfuzz.cli.commands import report
from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.findings.codec import read_folder, row_of
from irfuzz.report.command_reports.finding_list import entries
from irfuzz.report.finding_folder_writer import VALUES, write_bundle
from irfuzz.report.pages.finding_page import blamed_values, finding_page, read_values, verdict_of
from irfuzz.report.pages.index_page import CampaignSummary
from irfuzz.report.pages.page_frame import REFRESH_SECONDS
from irfuzz.report.pages.site_files import write_site
from irfuzz.store.database import Database
from tests.report.pages.conftest import finding

pytestmark = pytest.mark.unit

NAME = "0001-difference-onnxruntime-all"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign's folder with one finding that was seen twice, and what its targets did."""
    out = tmp_path / "campaign"
    write_bundle(out / "findings" / NAME, finding())
    database = Database(Layout(out).database)
    database.add_finding(row_of(finding()))
    database.count_again(finding().signature)
    counts = {"runs": 21, "onnxruntime:all ok": 9, "onnxruntime:all rejected": 2, "onnxruntime:all crash": 1}
    database.record(0, 10, 12, counts, [])
    database.set("targets 0", json.dumps({"used": {"onnxruntime:all": "1.0"}, "absent": {"torch:eager": "not there"}}))
    database.set("coverage curve", json.dumps([[1.0, 5, 0.1, 0.2, 0.3], [60.0, 12, 0.2, 0.3, 0.4]]))
    database.set("passes curve", json.dumps([[2.0, 4], [50.0, 7]]))
    database.close()
    return out


def test_figures_of_a_campaign(campaign: Path) -> None:
    figures = campaign_figures(campaign)
    assert (figures.programs, figures.seconds, figures.running) == (12, 60.0, False)
    target, absent = figures.targets
    assert (target.name, target.ran, target.refused, target.failed, target.disagreed) == ("onnxruntime:all", 9, 2, 1, 2)
    assert (absent.name, absent.absent) == ("torch:eager", "not there")
    assert figures.coverage == {"input": 0.2, "parameter": 0.3, "sequence": 0.4}
    assert [(c.name, c.points[-1]) for c in figures.findings_curves] == [("findings", (60.0, 1.0))]
    assert figures.passes_curve == [[2.0, 4], [50.0, 7]]


def test_a_campaign_in_a_folder_that_cannot_be_written_is_read(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, seen = campaign_figures(campaign), entries([campaign])[0].seen
    opened: list[Path] = []

    def recorded(path: Path) -> Database:
        opened.append(path)
        return Database(path)

    monkeypatch.setattr("irfuzz.campaign.monitoring.campaign_figures.Database", recorded)
    monkeypatch.setattr("os.access", lambda path, _: not Path(path).is_relative_to(campaign))
    assert campaign_figures(campaign) == whole
    assert entries([campaign])[0].seen == seen is not None
    (copy,) = opened
    assert not copy.is_relative_to(campaign), "SQLite writes beside a database that it reads"
    assert not copy.exists()


def test_a_campaign_runs_while_its_folder_is_held(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "c")
    assert not is_running(layout)
    held = OutputFolder(layout.out)
    assert is_running(layout)
    held.close()
    assert not is_running(layout)


def test_a_campaign_that_has_nothing_yet_runs_too(tmp_path: Path) -> None:
    held = OutputFolder(tmp_path / "c")
    assert campaign_figures(tmp_path / "c").running
    held.close()
    assert not campaign_figures(tmp_path / "c").running


def test_a_look_at_a_folder_keeps_no_campaign_out(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "c")
    OutputFolder(layout.out).close()
    with layout.lock().open() as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        threading.Timer(0.1, fcntl.flock, [look, fcntl.LOCK_UN]).start()
        OutputFolder(layout.out).close()
        held = OutputFolder(layout.out)
        with pytest.raises(UsageError, match="another irfuzz process"):
            OutputFolder(layout.out)
        held.close()


@pytest.mark.parametrize(
    ("runs", "written"), [((True, False), 3), ((True, True, False), 4), ((False,), 2)], ids=["late", "longer", "never"]
)
def test_pages_follow_a_campaign_that_begins_late(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: tuple[bool], written: int
) -> None:
    held: list[OutputFolder] = []
    left = [*runs]

    def wait(seconds: float) -> None:  # what is a campaign meanwhile
        assert seconds == REFRESH_SECONDS
        while held:
            held.pop().close()
        if left.pop(0):
            held.append(OutputFolder(campaign))

    monkeypatch.setattr(report.time, "sleep", wait)
    assert main(["report", str(campaign), "-o", str(campaign.parent / "site"), "--follow", "--json"]) == 0
    told = capsys.readouterr()
    assert told.err.count("written again in") == written - 1
    assert told.err.count("no campaign runs there yet") == 1
    assert json.loads(told.out)["running"] is False
    assert not left
    assert not held


def test_a_site_has_an_index_and_a_page_for_each_finding(campaign: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    written = write_campaign_site(campaign, out)
    assert (written.index, written.pages, written.running) == (out / "index.html", 1, False)
    index = written.index.read_text()
    assert f'href="findings/{NAME}/index.html"' in index
    assert "2 times" in index
    page = out / "findings" / NAME / "index.html"
    assert (page.parent / "repro.py").read_bytes() == (campaign / "findings" / NAME / "repro.py").read_bytes()
    assert 'href="../../assets/irfuzz-pages.css"' in page.read_text()
    assert (out / "assets" / "LICENCES.txt").is_file()


def test_pages_that_say_the_same_stay_and_those_of_what_is_gone_go(campaign: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_campaign_site(campaign, out)
    page = out / "findings" / NAME / "index.html"
    before = page.stat().st_mtime_ns
    foreign = out / "findings" / "own"
    foreign.mkdir()
    (foreign / "index.html").write_text("mine")
    write_campaign_site(campaign, out)
    assert page.stat().st_mtime_ns == before
    write_site(out, CampaignSummary("c"), [])
    assert not page.exists()
    assert foreign.is_dir()
    assert "Nothing found." in (out / "index.html").read_text()


def test_nothing_of_others_is_replaced(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a campaign's folder"):
        write_campaign_site(campaign, campaign)
    with pytest.raises(UsageError, match=r"suspects: lies among findings; .*campaign/site"):
        write_campaign_site(campaign, campaign / "suspects")
    named = campaign.rename(tmp_path / "findings")  # as `--out findings` has it
    before = sorted(named.rglob("*"))
    with pytest.raises(UsageError, match="findings in it is a campaign's folder"):
        write_campaign_site(named, tmp_path)
    assert sorted(named.rglob("*")) == before
    campaign = named.rename(campaign)
    (tmp_path / "index.html").write_text("<!doctype html>mine")
    with pytest.raises(UsageError, match="is no page of irfuzz"):
        write_campaign_site(campaign, tmp_path)


def test_values_of_both_sides_are_kept_and_damage_costs_only_them(campaign: Path) -> None:
    folder = campaign / "findings" / NAME
    entry = entries([folder])[0]
    sides = read_values(folder, verdict_of(entry.about))
    assert sides is not None
    assert (sides.target, sides.witness, sides.got.shape) == ("onnxruntime:all", "reference", (1, 1, 24, 24))
    (folder / VALUES).write_bytes(b"no npz")
    assert read_values(folder, verdict_of(entry.about)) is None
    assert read_folder(folder).title == finding().title
    for name in (VALUES, "model.onnx", "trace.json", "repro.py", "report.md"):
        (folder / name).unlink()
    from irfuzz.report.pages.finding_page import FindingPlace
    from irfuzz.report.pages.page_frame import PageAssets

    assert finding().title in finding_page(entry, FindingPlace(PageAssets()))


def test_the_node_at_fault_is_the_operator_that_is_named_else_the_last() -> None:
    model, verdict = finding().case.proto, finding().verdict
    assert blamed_values(model, verdict) == ["y"]
    from dataclasses import replace

    assert blamed_values(model, replace(verdict, operator="Conv")) == ["y_c"]
    assert blamed_values(model, replace(verdict, operator="None", output="z")) == ["y"]


def test_the_commands_print_where_the_page_is(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail(f"{url} was opened without a screen"))
    assert main(["report", str(campaign), "-o", str(tmp_path / "site"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 1
    assert main(["findings", "open", str(campaign / "findings" / NAME)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == campaign / "findings" / NAME / "report.html"
    assert "<style>" in page.read_text()
    assert main(["findings", "open", str(campaign)]) == 0
    assert Path(capsys.readouterr().out.strip()) == campaign / "site" / "index.html"
    assert main(["report", str(tmp_path / "none"), "-o", str(tmp_path / "other")]) == 2
