"""What only a new release gets wrong becomes a finding, which releases are asked about, and which is made smaller."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from sqlalchemy import select, update

import irfuzz
from irfuzz.campaign.config import Config, Layout
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import environments, releases
from irfuzz.findings.codec import finding_of, row_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.fleet.blob_sweep import missing_blobs
from irfuzz.fleet.finding_exchange import give_answers, shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import FINDING_RELEASE, SHARED_FINDING
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.program_exchange import give_seeds
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep import finding_upkeep
from irfuzz.fleet.upkeep.corpus_regressions import JOB, replay_part
from irfuzz.fleet.upkeep.finding_upkeep import GONE, ask_release, ask_releases, recheck_item, recheck_of, reduce_further
from irfuzz.fleet.upkeep.release_following import FollowedRelease, ReleaseState, _store, replay_item, replay_of
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkRequest
from irfuzz.isolate import Limits
from irfuzz.oracle import judge
from tests.execute.other_python import make_python, put
from tests.fleet.made import finding
from tests.fleet.test_program_exchange import Member

NEW = "99.0.0"
OWN = onnx.__version__
PLANTED = f"""
import onnx
from onnx.reference.ops import op_neg

onnx.__version__ = "{NEW}"
op_neg.Neg._run = lambda self, x: (x,)
"""
TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) {{ {} }}'
NEG, RELU = TEXT.format("a = Abs(x) b = Exp(a) y = Neg(b)"), TEXT.format("y = Relu(x)")
TARGETS = ("reference", "onnxruntime:disabled")


def program(text: str) -> irfuzz.Program:
    return irfuzz.load(onnx.parser.parse_model(text))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a newer onnx whose reference evaluator has forgotten what Neg does."""
    python = make_python(tmp_path_factory.mktemp("python") / "env")
    packages = next((python.parents[1] / "lib").glob("python3*")) / "site-packages"
    (packages / "planted.py").write_text(PLANTED)
    (packages / "zz.pth").write_text("import planted\n")
    return python


@pytest.fixture
def place(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], WorkPlace]:
    """Makes a place of work with an item, on a machine that has both releases."""
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))
    put(f"onnx-{NEW}", "onnx", NEW, "reference", other)
    monkeypatch.setattr(finding_upkeep, "releases", lambda distribution: (OWN, NEW))
    releases.releases.cache_clear()
    count = iter(range(100))

    def made(item: str) -> WorkPlace:
        scratch = tmp_path / f"scratch{next(count)}"
        scratch.mkdir()
        request = WorkRequest("", item, "", blobs.place, "b", str(tmp_path / "a"), str(scratch), TARGETS)
        return WorkPlace(request, store, blobs)

    return made


def only(store: StoreConnection) -> Finding:
    (row,) = shared_findings(store)
    return finding_of(row)


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_regression_is_found_and_dated(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, place: Callable[[str], WorkPlace]
) -> None:
    member = Member(store, blobs, tmp_path / "a")
    layout = Layout(tmp_path / "a")
    for folder in layout.folders():
        folder.mkdir(parents=True)
    member.database.set("config", Config(targets=TARGETS, reduce=5.0).to_json())
    give_seeds(store, blobs, [("neg.onnx", program(NEG)), ("relu.onnx", program(RELU))])
    with store.transaction() as connection:
        for version, before, state in ((OWN, "", ReleaseState.BASE), (NEW, OWN, ReleaseState.READY)):
            _store(store, connection, FollowedRelease("onnx", version, before, state, ""))
    item = replay_item("onnx", NEW, OWN, 0, 1)
    assert replay_part(place(item)).told == "2 programs, 1 regressions"
    member.sync.synchronise(work=False)
    found = only(store)
    assert (found.verdict.target, found.job) == (f"reference@{NEW}", member.account.first_job + JOB)
    assert [(s.version, s.shows, s.previous) for s in found.shown] == [(OWN, False, None), (NEW, True, OWN)]
    assert f"(introduced in {NEW})" in str(fleet_status(store))
    assert replay_part(place(item)).told == "2 programs, 1 regressions"  # by another agent after a kill
    member.sync.synchronise(work=False)
    assert len(shared_findings(store)) == 1
    assert ask_release(place(recheck_item("onnx", OWN, found.signature))).told == (
        f"does not show in {OWN}; shows in {NEW}"
    )
    assert ask_releases(place(found.signature)).told == f"does not show in {OWN}; shows in {NEW}"
    assert [(s.version, s.shows, s.previous) for s in only(store).shown] == [(OWN, False, ""), (NEW, True, OWN)]


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_reduction_that_was_cut_short_goes_on(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, place: Callable[[str], WorkPlace]
) -> None:
    member = Member(store, blobs, tmp_path / "a")
    whole, inputs = program(NEG), {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    with Runner([f"reference@{NEW}", "onnxruntime:disabled", "reference"], Limits()) as runner:
        results = runner.run(whole, inputs)
        (verdict,) = (v for v in judge(whole, inputs, results) if not v.suspect)
    case = FailingCase(whole, inputs, settled=False)
    cut = Finding(verdict, case, case, results).signed()
    member.database.add_finding(row_of(cut))
    member.sync.synchronise(work=False)
    assert reduce_further(place(cut.signature)).told == "3 nodes before, 1 after, nothing makes it smaller"
    found = finding_of(with_bytes(shared_findings(store)[0], blobs))
    assert [node.op_type for node in found.case.program.graph] == ["Neg"]
    assert len(found.original.program.graph) == 3
    assert found.signature == cut.signature
    member.again().synchronise(work=False)  # its agent's own case does not come back
    (row,) = shared_findings(store)
    assert len(finding_of(with_bytes(row, blobs)).case.program.graph) == 1
    assert json.loads(row.verdict)["cause"]["settled"]
    assert missing_blobs(store, blobs) == set()


@pytest.mark.unit
def test_what_nobody_has_any_more_is_left(place: Callable[[str], WorkPlace]) -> None:
    for work in (reduce_further, ask_releases, ask_release):
        assert work(place("onnx==1 gone")) == GONE


@pytest.mark.unit
def test_items_are_read_as_they_were_written() -> None:
    signature = "rejection|onnxruntime|a b==c|Neg"
    assert recheck_of(recheck_item("onnx", "1.0.0", signature)) == ("onnx", "1.0.0", signature)
    assert replay_of(replay_item("onnx", "1.1.0", "1.0.0", 3, 8)) == ("onnx", "1.1.0", "1.0.0", 3, 8)


@pytest.mark.unit
def test_answers_of_releases_stay_beside_the_case(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> None:
    """They outlive that its agent tells it again, are brought up to date, and leave with the finding."""
    member = Member(store, blobs, tmp_path / "a")
    number = member.database.add_finding(finding("s"))
    assert number is not None
    member.sync.synchronise(work=False)
    old, new = VersionAnswer("t@1", "1.0.0", "e", True), VersionAnswer("t@2", "1.1.0", "f", False, previous="1.0.0")
    with store.transaction() as connection:
        give_answers(store, connection, "b", "s", [old, new])
    member.database.count_again("s")
    member.again().synchronise(work=False)
    (row,) = shared_findings(store)
    assert [VersionAnswer(**s) for s in json.loads(row.verdict)["shown"]] == [old, new]
    with store.transaction() as connection:  # one that does not know what came before it takes nothing away
        give_answers(store, connection, "b", "s", [VersionAnswer("t@2", "1.1.0+cpu", "f", True)])
        give_answers(store, connection, "b", "s", [VersionAnswer("t", "1.0.0", "", False)], only_new=True)
    (row,) = shared_findings(store)
    told = [(s["version"], s["shows"], s["previous"]) for s in json.loads(row.verdict)["shown"]]
    assert told == [("1.0.0", True, None), ("1.1.0+cpu", True, "1.0.0")]
    with store.transaction() as connection:
        connection.execute(update(SHARED_FINDING).values(agent="b", number=-1))
    member.database.set_verdict(number, json.dumps({"shown": []}))
    member.sync.synchronise(work=False)
    assert json.loads(shared_findings(store)[0].verdict)["shown"]
    with store.transaction() as connection:
        assert len(connection.execute(select(FINDING_RELEASE)).all()) == 2
