"""A campaign on a seed with large weights: they are stored once, and what its jobs keep survives their end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config, Layout
from irfuzz.campaign.corpus.program_corpus import Corpus, CorpusEntry
from irfuzz.campaign.inflight_journal import Journal
from irfuzz.campaign.job import Job
from irfuzz.campaign.job_processes import JobDeath
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.execute.adapters import mapped_weights
from irfuzz.execute.adapters.mapped_weights import mapped_bytes
from irfuzz.frontends import onnx_file
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutation_trace import program_sha256, sha256
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.mutate.mutator_table import is_steered
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, FindingRow, ProgramRow
from irfuzz.store.model_blob_packing import is_packed

TARGETS = ("onnxruntime:disabled", "onnxruntime:all")
SIDE, COUNT = 512, 4
WEIGHTS = 4 * SIDE * SIDE * COUNT
"""4 MiB."""


@pytest.fixture(autouse=True)
def _low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_file, "MAPPED", 1 << 20)
    monkeypatch.setattr(mapped_weights, "LARGE_MODEL", 1 << 20)


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    names = ["x", *(f"v{i}" for i in range(COUNT))]
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    for i in range(COUNT):
        weight = draw.standard_normal((SIDE, SIDE), np.float32) / np.float32(20)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [names[i], f"w{i}"], [f"m{i}"]),
            helper.make_node("Relu", [f"m{i}"], [names[i + 1]]),
        ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [1, SIDE])],
        [value(names[-1], TensorProto.FLOAT, [1, SIDE])],
        weights,
    )
    path = tmp_path / "large.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def started(out: Path, seed: Path, programs: int) -> None:
    with Campaign(out, Config(seed=3, targets=TARGETS, reduce=1.0)) as campaign:
        campaign.add_seed(seed.name, load_seed(seed))
        campaign.database.set(STOP_AT, str(programs))


def room(out: Path) -> int:
    return sum(p.stat().st_size for p in out.rglob("*") if p.is_file())


@pytest.mark.backend
@pytest.mark.timeout(300)
def test_the_folder_grows_by_little_more_than_the_seed(tmp_path: Path, seed: Path) -> None:
    out = tmp_path / "out"
    started(out, seed, 40)
    assert room(out) < WEIGHTS + 300_000
    Job(out, 0).run()
    database = Database(Layout(out).database)
    assert database.tally(0)[1] == 40
    assert database.tally(0)[2].get("internal errors", 0) == 0
    findings = [Layout(out).findings, Layout(out).suspects, Layout(out).unreplayed]
    assert room(out) - sum(map(room, findings)) < WEIGHTS + 300_000 + 40 * 30_000
    rows = [row for _, row in database.programs_after(0)]
    assert len(rows) > 10
    assert all(is_packed(row.model) for row in rows)
    corpus = Corpus(database)
    digests = [program.digest for program in corpus.refresh()]
    assert digests == [row.digest for row in rows]
    # A second run goes on from what the first one stored.
    started(out, seed, 60)
    Job(out, 0).run()
    assert database.tally(0)[1] == 60


@pytest.mark.unit
def test_a_decoded_seed_is_mapped_from_the_campaigns_folder(tmp_path: Path, seed: Path) -> None:
    out = tmp_path / "out"
    started(out, seed, 1)
    seed.unlink()
    corpus = Corpus(Database(Layout(out).database))
    (program,) = corpus.refresh()
    assert mapped_bytes(program) == WEIGHTS
    found = mapped_weights.mapped_model(program)
    assert found is not None
    assert found.folder == Layout(out).blobs.resolve()


@pytest.mark.unit
def test_a_mutant_whose_weights_were_not_kept_is_made_again_by_its_edits(tmp_path: Path, seed: Path) -> None:
    started(tmp_path / "out", seed, 1)
    database = Database(Layout(tmp_path / "out").database)
    corpus = Corpus(database)
    (program,) = corpus.refresh()
    (entry,) = corpus._entries
    engine = Engine(load_specs(), ["change-weights"])
    made = (engine.mutate(program, Choices.from_seed(n)) for n in range(50))
    mutant = next(m for m in made if m is not None and "Gaussian" in m.edits[0].detail)
    trace = corpus.trace(entry).extended(mutant.edits, (), mutant.program)
    assert trace.sha256 == program_sha256(mutant.program) == sha256(mutant.program.to_bytes())
    stored = database.programs.mutant(mutant.program)
    assert len(stored) < 2000
    digest = mutant.program.digest

    def added(digest: str) -> CorpusEntry:
        database.add_program(ProgramRow(digest, stored, entry.seed, entry.digest, trace.to_text(), 1, 0, 1))
        return CorpusEntry(digest, entry.seed, 1, 8)

    again = Corpus(database).program(added(digest))
    assert again.digest == digest
    assert again.to_bytes() == mutant.program.to_bytes()
    with pytest.raises(InvalidProgram, match="make another one"):
        Corpus(database).program(added("0" * 64))


@pytest.mark.parametrize(("way", "whole"), [("Gaussian", False), ("", True)])
def test_only_weights_of_its_own_are_missing_from_a_stored_mutant(
    tmp_path: Path, seed: Path, way: str, whole: bool
) -> None:
    started(tmp_path / "out", seed, 1)
    database = Database(Layout(tmp_path / "out").database)
    (program,) = Corpus(database).refresh()
    engine = Engine(load_specs(), ["change-weights"] if way else ["expose-value"])
    made = (engine.mutate(program, Choices.from_seed(n)) for n in range(50))
    mutant = next(m for m in made if m is not None and way in m.edits[0].detail)
    assert database.programs.is_whole(database.programs.mutant(mutant.program)) is whole
    assert database.programs.is_whole(database.programs.seed(mutant.program))


@pytest.mark.parametrize(("names", "steered"), [(["cover-next"], True), (["change-weights"], False), ([], False)])
def test_what_hangs_on_a_campaigns_coverage_is_not_made_again_by_its_draws(names: list[str], steered: bool) -> None:
    edits = [Edit(name, 1, "", (), Relation.CHANGED, "") for name in names]
    assert is_steered(edits) is steered
    assert is_steered([*edits, Edit("of.another.package", 1, "", (), Relation.CHANGED, "")]) is steered


@pytest.mark.unit
def test_a_finding_of_a_large_program_takes_no_more_than_its_own_weights(tmp_path: Path, seed: Path) -> None:
    started(tmp_path / "out", seed, 1)
    out = tmp_path / "out"
    database = Database(Layout(out).database)
    before = room(out)
    model = load_seed(seed).to_bytes()
    row = FindingRow("s", "crash", "t", False, "", "{}", "[]", "{}", model, b"", model, b"", "confirmed", 0, 0)
    number = database.add_finding(row)
    assert number is not None
    assert room(out) < before + 100_000
    found = database.finding(number)
    assert Program.from_bytes(found.model).digest == Program.from_bytes(model).digest
    assert found.original_model == found.model
    assert database.findings(bare=True)[0].model == b""
    assert database.findings()[0].model == found.model


@pytest.mark.unit
def test_what_a_dead_job_was_running_is_kept_with_its_weights(tmp_path: Path, seed: Path) -> None:
    out = tmp_path / "out"
    started(out, seed, 3)
    database = Database(Layout(out).database)
    (program,) = Corpus(database).refresh()
    journal = Journal(Layout(out).inflight(0))
    journal.makes(5)
    journal.runs([(5, database.programs.whole(program))])
    with Campaign(out, Config(seed=3, targets=TARGETS, reduce=1.0)) as campaign:
        campaign._keep(JobDeath(0, "SIGSEGV", "words"))
    (model,) = Layout(out).internal.rglob("inflight.onnx")
    assert model.stat().st_size < 2000
    assert load_seed(model).digest == program.digest
