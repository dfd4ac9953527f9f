"""A campaign begins, ends after so many programs or seconds, and knows the settings that lie in a folder."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irfuzz.campaign import campaign as module
from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.config import SECONDS, STOP_AT, TARGETS, Config
from irfuzz.campaign.inflight_journal import Journal
from irfuzz.campaign.job_processes import JobDeath
from irfuzz.campaign.output_folder_watch import OutputFolderLost
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.findings.codec import row_of
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.program import Program
from irfuzz.store.database import Status
from irfuzz.store.waiting_rows import WaitingRow
from tests.campaign.running import planted
from tests.campaign.test_archive import VERDICT, finding

pytestmark = [pytest.mark.unit, pytest.mark.timeout(200)]

CONFIG = Config(seed=3, jobs=1, reduce=0.5)


def test_the_settings_of_a_folder(tmp_path: Path) -> None:
    assert Campaign.stored_config(tmp_path / "none") is None
    with Campaign(tmp_path / "out", CONFIG):
        assert Campaign.stored_config(tmp_path / "out") == CONFIG


def test_without_a_seed_nothing_begins(tmp_path: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign, pytest.raises(UsageError, match="no usable seed"):
        campaign.run(0.0, lambda progress: None)


def test_a_seed_is_taken_once(tmp_path: Path, tiny: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        for _ in range(2):
            campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        assert campaign.database.corpus_size() == 1
        assert campaign.faults() == []


@pytest.mark.parametrize(("seconds", "stop_at"), [(None, 2), (0.0, None)])
def test_it_ends_after_so_many_programs_or_seconds(
    tmp_path: Path, tiny: Path, root: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None, stop_at: int | None
) -> None:
    monkeypatch.chdir(root)
    config = Config(seed=3, jobs=1, reduce=0.5, targets=("reference", planted("Faithful")))
    seen: list[CampaignProgress] = []
    with Campaign(tmp_path / "out", config) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        progress = campaign.run(seconds, seen.append, stop_at=stop_at)
        assert campaign.database.settings()[STOP_AT] == ("" if stop_at is None else "2")
        assert (campaign.database.settings()[SECONDS] == "") == (seconds is None)
        assert (campaign.interrupted, campaign.deaths) == (False, [])
        assert progress.programs == campaign.programs()
        if stop_at is not None:
            assert progress.programs == 2
            assert seen[-1].programs <= 2
        else:
            assert len(seen) == 1


# ---- what a job that died was busy with ------------------------------------------------------


def kept(tmp_path: Path, busy: Callable[[Journal], None]) -> tuple[dict[str, object], dict[str, bytes]]:
    """What is stored of a job that died after 7 iterations."""
    with Campaign(tmp_path / "out", replace(CONFIG, seed=5)) as campaign:
        campaign.database.waiting.add(WAITS)
        campaign.database.record(2, 7, 6, {}, [])
        journal = Journal(campaign.layout.inflight(2))
        busy(journal)
        journal.close()
        campaign._keep(JobDeath(2, "SIGSEGV", "its last words"))
        assert campaign.deaths == [JobDeath(2, "SIGSEGV", "its last words")]
        (line,) = campaign.faults()
        (folder,) = campaign.layout.internal.iterdir()
        text = (folder / "traceback.txt").read_text()
        assert text == f"job 2 died: SIGSEGV\nits last words\nsee {campaign.layout.log(2)}\n"
        assert line.startswith(folder.name)
    about = json.loads((folder / "about.json").read_text())
    assert (about["job"], about["seed"], about["kind"]) == (2, 5, "died with SIGSEGV: its last words")
    models = {path.name: path.read_bytes() for path in folder.glob("*.onnx")}
    return about, models


WAITS = WaitingRow(5, 0, 0, 7, "crash", "t", False, "", "[]", 3, False, 0, 0, "{}", b"", b"case", b"", b"")
ONE, TWO = (1, b"first"), (9, b"second")


@pytest.mark.parametrize(
    ("busy", "iteration", "models"),
    [
        (lambda journal: None, 7, {}),
        (lambda journal: journal.makes(0), 0, {}),
        (lambda journal: journal.makes(3), 3, {}),
        (lambda journal: journal.runs([ONE]), 7, {"inflight.onnx": b"first"}),
        (lambda journal: journal.runs([ONE, TWO]), 7, {"inflight-1.onnx": b"first", "inflight-9.onnx": b"second"}),
        (lambda journal: (journal.runs([ONE, TWO]), journal.judges(9)), 9, {"inflight.onnx": b"second"}),
        (lambda journal: (journal.runs([ONE]), journal.judges(4)), 4, {"inflight.onnx": b"first"}),
        (lambda journal: journal.looks_into(5), 7, {"case.onnx": b"case"}),
        (lambda journal: (journal.runs([ONE]), journal.looks_into(6)), 7, {}),
        (
            lambda journal: (journal.runs([ONE, TWO]), journal.judges(4)),
            4,
            {"inflight-1.onnx": b"first", "inflight-9.onnx": b"second"},
        ),
    ],
)
def test_what_a_job_was_busy_with_is_kept(
    tmp_path: Path, busy: Callable[[Journal], None], iteration: int, models: dict[str, bytes]
) -> None:
    about, found = kept(tmp_path, busy)
    assert about["iteration"] == iteration
    assert found == models


# ---- what it tells --------------------------------------------------------------------------


def test_findings_and_suspects_are_told_apart(tmp_path: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        rows = [
            (False, Status.CONFIRMED), (True, Status.UNREPLAYED), (False, Status.UNREPLAYED), (True, Status.EXPLAINED),
        ]  # fmt: skip
        for place, (suspect, status) in enumerate(rows):
            one = finding(replace(VERDICT, suspect=suspect))
            campaign.database.add_finding(row_of(replace(one, signature=str(place), status=status)))
        assert [one.number for one in campaign.findings()] == [1]
        assert [one.number for one in campaign.suspects()] == [2]
        (found,) = campaign.findings()
        assert campaign.folder_of(found) == campaign.layout.findings / "0001-rejection-reference"
        progress = campaign.progress(0.0, 0, 0)
        assert (progress.findings, progress.suspects, progress.unreplayed) == (1, 1, 1)
        assert progress.last is not None
        assert 0 <= progress.last < 100


def test_a_finding_is_read_once_until_it_changes(tmp_path: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        campaign.database.add_finding(row_of(replace(finding(), signature="s", title="before")))
        (first,) = campaign.findings()
        assert campaign.database.count_again("s")
        (again,) = campaign.findings()
        assert (again.times, again.last >= first.last, again.verdict) == (2, True, first.verdict)
        assert again.verdict is first.verdict
        campaign.reread(1)
        (anew,) = campaign.findings()
        assert (anew.verdict, anew.times) == (first.verdict, 2)
        assert anew.verdict is not first.verdict
        campaign.reread(99)
        campaign.database.replace_finding(row_of(replace(first, signature="s", title="after", number=1)))
        assert [one.title for one in campaign.findings()] == ["after"]


@pytest.mark.parametrize("fault", [InvalidProgram("it does not fit"), KeyError("no such thing")])
def test_folders_are_made_again_and_one_that_cannot_be_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    move = module.move_bundle

    def moves(layout: object, one: object) -> None:
        if one.number == 1:  # type: ignore[attr-defined]
            raise fault
        move(layout, one)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "move_bundle", moves)
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        for signature in "ab":
            campaign.database.add_finding(row_of(replace(finding(), signature=signature, job=3, iteration=8)))
        campaign._place_all()
        assert [path.name for path in campaign.layout.findings.iterdir()] == ["0002-rejection-reference"]
        (kept,) = campaign.layout.internal.iterdir()
        about = json.loads((kept / "about.json").read_text())
        assert (about["job"], about["iteration"], about["seed"]) == (3, 8, CONFIG.seed)
        assert (kept / "model.onnx").read_bytes() == finding().case.model
        monkeypatch.setattr(module, "move_bundle", lambda *_: pytest.fail("it has its folder"))
        monkeypatch.setattr(module, "is_placed", lambda layout, one: True)
        campaign._place_all()


def test_figures_are_those_of_all_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign(tmp_path / "out", replace(CONFIG, jobs=2)) as campaign:
        campaign.database.record(0, 9, 8, {"runs": 20, "internal errors": 1}, [])
        campaign.database.record(1, 5, 4, {"runs": 10, "hangs": 2}, [])
        campaign.deaths.append(JobDeath(0, "SIGSEGV", ""))
        monkeypatch.setattr(module.time, "monotonic", lambda: 104.0)
        progress = campaign.progress(100.0, 2, 1)
        assert (progress.programs, progress.programs_this_run, progress.seconds) == (12, 10, 4.0)
        assert (progress.rate, progress.internal_errors, progress.last) == (2.5, 1, None)
        assert progress.counts == {"hangs": 2, "internal errors": 1, "runs": 30}
        assert (progress.findings, progress.suspects, progress.unreplayed, progress.corpus) == (0, 0, 0, 0)
        assert campaign.progress(104.0, 2, 1).rate == 0.0
        assert campaign.programs() == 12
        assert progress.to_json()["counts"] == progress.counts
        campaign.database.waiting.add(WAITS)
        campaign.database.record(1, 5, 4, {"untriaged": 9}, [])
        assert campaign.progress(104.0, 2, 1).counts["untriaged"] == 1, "as the queue has it"


def test_what_jobs_could_start_is_told_together(tmp_path: Path) -> None:
    with Campaign(tmp_path / "out", replace(CONFIG, jobs=2)) as campaign:
        assert campaign.targets() is None
        assert campaign.starting() == {}
        told = json.dumps({"used": {"a": "1"}, "absent": {"b": "why"}})
        campaign.database.set(f"{TARGETS} 1", told)
        assert campaign.targets() == {"used": {"a": "1"}, "absent": {"b": "why"}}


def test_samples_of_a_seed_are_stored_with_it(tmp_path: Path, tiny: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        program = Program.from_bytes(tiny.read_bytes())
        assert not campaign.layout.samples.exists()
        samples = ({"x": np.ones((2, 3), np.float32)},)
        campaign.add_seed("t", program, InputSpec(samples=samples))  # type: ignore[arg-type]
        assert list(campaign.layout.samples.iterdir())
        assert campaign.database.corpus_size() == 1
        campaign.add_seed("t", program)
        assert campaign.database.corpus_size() == 1, "what was said before stays"
        with pytest.raises(UsageError, match="use another --out"):
            campaign.add_seed("t", program, InputSpec(samples=(*samples, *samples)))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_asks_for_the_end_a_second_time_means_now(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        with campaign._listening():
            os.kill(os.getpid(), number)
            assert campaign._asked == 1
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
        assert signal.getsignal(number) is before
        others = threading.Thread(target=lambda: campaign._listening().__enter__())
        others.start()
        others.join()
        assert signal.getsignal(number) is before


def test_a_folder_that_is_gone_is_what_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise OutputFolderLost("the folder is gone")

    with Campaign(tmp_path / "out", CONFIG) as campaign:
        with pytest.raises(UsageError, match="no usable seed"):
            campaign.run(0.0, lambda progress: None)
        monkeypatch.setattr(campaign._watch, "check", gone)
        with pytest.raises(OutputFolderLost):
            campaign.run(0.0, lambda progress: None)


@pytest.mark.parametrize(("seeded", "stays"), [(False, False), (True, True)])
def test_a_folder_in_which_nothing_ran_is_removed_again(tmp_path: Path, seeded: bool, stays: bool) -> None:
    """If the user can do something about that, and if it is the first time."""
    if seeded:
        with Campaign(tmp_path / "out", CONFIG) as campaign:
            assert campaign.continued is False
    campaign = Campaign(tmp_path / "out", CONFIG)
    assert campaign.continued is seeded
    campaign.__exit__(UsageError, UsageError("a target is not installed"), None)
    assert (tmp_path / "out").exists() is stays
