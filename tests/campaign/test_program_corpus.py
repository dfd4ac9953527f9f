"""The corpus: parents are chosen among many at a bounded cost, models stay on disk, and the bar for new ones rises."""

from __future__ import annotations

import gc
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from onnx import parser

from irfuzz.campaign.corpus.program_corpus import BLOCK, CROWD, ROOM, Corpus, CorpusEntry, _measured
from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.insertion.splice import Splice
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_trace import Trace, program_sha256
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.search.strategies.weighted import CANDIDATES
from irfuzz.store.database import Database, ProgramRow

pytestmark = pytest.mark.unit

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[{n}] x) => (float[{n}] y) {{ y = Relu(x) }}'


def row(size: int, features: int, parent: str = "seed") -> ProgramRow:
    program = Program.from_proto(parser.parse_model(MODEL.format(n=size)))
    return ProgramRow(program.digest, program.to_bytes(), "s", parent, "{}", features, 0, size)


def test_programs_of_any_job_arrive_once_and_in_order(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = Corpus(database)
    rows = [row(n, n) for n in range(1, 6)]
    for one in rows[:3]:
        database.add_program(one)
    assert [p.digest for p in corpus.refresh()] == [r.digest for r in rows[:3]]
    for one in rows[3:]:
        database.add_program(one)
    assert [p.digest for p in corpus.refresh()] == [r.digest for r in rows[3:]]
    assert list(corpus.refresh()) == []
    corpus._decoded.clear()
    entry = CorpusEntry(rows[4].digest, "s", 1, 1)
    assert corpus.program(entry).to_bytes() == rows[4].model


def test_programs_that_brought_much_are_chosen_more_often_even_among_many(tmp_path: Path) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"))
    corpus._entries = [CorpusEntry(str(n), "s", 50 if n % 2 else 0, 10) for n in range(10 * CANDIDATES)]
    choices = Choices.from_seed(1)
    chosen = [int(corpus.pick(choices).digest) % 2 for _ in range(200)]
    assert sum(chosen) > 150
    assert len({e.digest for e in corpus._entries if e.picked}) > 100


def test_the_bar_rises_with_the_crowd(tmp_path: Path) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"))
    assert corpus.bar() == 1
    corpus._entries = [CorpusEntry(str(n), "s", 1, 10) for n in range(2 * CROWD)]
    assert corpus.bar() == 3


def test_programs_stay_decoded_while_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(tmp_path / "c.sqlite")
    rows = [row(n, n, "") for n in range(1, 9)]
    for one in rows:
        database.add_program(one)
    corpus = Corpus(database)
    assert len(list(corpus.refresh())) == 8
    monkeypatch.setattr(f"{Corpus.__module__}._measured", lambda decode: (decode(), 10))
    monkeypatch.setattr(f"{Corpus.__module__}.DECODED", 30)
    corpus._decoded.clear()
    corpus._held = 0
    entries = [CorpusEntry(r.digest, "s", 1, 1) for r in rows]
    assert corpus.program(entries[7]) is corpus.program(entries[7])
    kept = corpus.program(entries[0])
    for entry in entries[1:3]:
        corpus.program(entry)
    assert corpus.program(entries[0]) is kept, "the last three have room"
    for entry in entries[3:6]:
        corpus.program(entry)
    again = corpus.program(entries[0])
    assert again is not kept
    assert again.to_bytes() == kept.to_bytes()
    assert corpus._held == sum(size for _, size in corpus._decoded.values()) == 30


def test_a_decoded_program_counts_with_the_bytes_that_it_takes() -> None:
    """Within a third of what the allocator is asked for: what is kept decoded is bounded by this."""
    nodes = " ".join(f"a{n + 1} = Relu(a{n})" for n in range(200))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[9] a0) => (float[9] a200) {{ {nodes} }}'
    data = Program.from_proto(parser.parse_model(text)).to_bytes()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = Program.from_bytes(data)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    again, size = _measured(lambda: Program.from_bytes(data))
    assert again.digest == held.digest
    assert 0.66 * size < taken < 1.5 * size
    assert size > 200 * BLOCK
    assert gc.isenabled()


def program(size: int) -> Program:
    return Program.from_proto(parser.parse_model(MODEL.format(n=size)))


def seeded(database: Database, *sizes: int) -> Corpus:
    """A corpus of seeds with their traces."""
    for size in sizes:
        one, name = program(size), f"{size}.onnx"
        trace = Trace.of_seed(one, name).to_text()
        database.add_program(ProgramRow(one.digest, one.to_bytes(), name, "", trace, 0, -1, 0))
    corpus = Corpus(database)
    assert len(list(corpus.refresh())) == len(sizes)
    return corpus


def test_a_program_that_shows_something_new_is_stored_once(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = seeded(database, 1, 2)
    entry, made = corpus.seed(0), program(7)
    edit = Edit("m", 1, "site", (), next(r for r in Relation if r is not Relation.INVALID), "")
    keys = corpus.holders.keys([("a",), ("b",)]).tobytes()
    found = Testcase(3, 9, entry, program(1), made, (edit,), whole=made.to_bytes(), features=5, cost=4, brings=keys)
    assert corpus.add(found) is True
    (new,) = corpus.take_new()
    assert corpus.take_new() == []
    assert (new.nodes, new.cost, new.keys) == (1, 4, keys)
    assert (new.digest, new.seed, new.parent) == (made.digest, "1.onnx", entry.digest)
    assert (new.features, new.job, new.iteration) == (5, 3, 9)
    trace = Trace.from_text(new.trace)
    assert (trace.edits, trace.sha256) == ((edit,), program_sha256(made))
    assert trace.donors == (), "no edit took a part of one"
    assert len(corpus) == 2
    assert database.record(3, 10, 1, {}, [new]) == 1
    (given,) = corpus.refresh()
    assert given is made, "it is not read again"
    assert not corpus._own
    assert (len(corpus), corpus.seed_count) == (3, 2)
    assert [(e.digest, e.features) for e in corpus._entries[2:]] == [(made.digest, 2)]
    assert corpus.program(corpus._entries[2]).to_bytes() == made.to_bytes()
    assert [p.digest for p in Corpus(database).refresh()][2:] == [made.digest], "another job has not"
    assert corpus.trace(corpus._entries[2]) == trace


def test_seeds_are_the_donors(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = seeded(database, 1, 2, 3)
    database.add_program(row(4, 1))
    assert [p.digest for p in corpus.refresh()] == [program(4).digest]
    digests = tuple(program(n).digest for n in (1, 2, 3))
    assert (corpus.seed_count, corpus.digests(), len(corpus)) == (3, digests, 4)
    assert corpus.seeds() == ["1.onnx", "2.onnx", "3.onnx"]
    assert corpus.seed(2).digest == digests[2]
    with pytest.raises(IndexError):
        corpus.seed(3)
    assert corpus.get(digests[0]).digest == digests[0]
    assert corpus.get(digests[0]) is not corpus.get(digests[0]), "a private copy"
    valid = next(r for r in Relation if r is not Relation.INVALID)
    edits = tuple(Edit(Splice.name, 1, f"y@{digests[n]}", (), valid, "") for n in (2, 0, 2))
    trace = corpus.trace_of(Testcase(0, 1, corpus.seed(1), program(2), program(7), edits))
    assert [(donor.digest, donor.name) for donor in trace.donors] == [(digests[2], "3.onnx"), (digests[0], "1.onnx")]


@pytest.mark.parametrize(("nodes", "usual", "most"), [(5, 5, 5 + ROOM), (5, 6, 6), (5, 4, 5 + ROOM), (5, 200, 200)])
def test_mutants_of_a_large_seed_may_be_larger(tmp_path: Path, nodes: int, usual: int, most: int) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"))
    corpus._sizes["s"] = nodes
    assert corpus.most_nodes(CorpusEntry("d", "s", 0, 1), usual) == most
    assert corpus.most_nodes(CorpusEntry("d", "another", 0, 1), 3) == 3


@pytest.mark.parametrize(("counted", "read"), [(True, 1), (False, 3)])
def test_what_is_remembered_is_not_read_again(tmp_path: Path, *, counted: bool, read: int) -> None:
    database = Database(tmp_path / "c.sqlite")
    for n in range(1, 3):
        database.add_program(row(n, n))
    corpus = Corpus(database)
    assert len(list(corpus.refresh())) == 2
    corpus._entries[1].picked = 5
    state = corpus.state()
    database.add_program(row(3, 3))
    assert list(Corpus(database).refresh())[2].digest == program(3).digest
    again = Corpus(database)
    again.recall(json.loads(json.dumps(state)), counted=counted)
    assert len(list(again.refresh())) == read
    assert [(e.number, e.picked, e.features > 0) for e in again._entries] == [(1, 0, True), (2, 5, True), (3, 0, True)]
    assert [e.features for e in again._entries] == [e.features for e in entries_of(database)]


def entries_of(database: Database) -> list[CorpusEntry]:
    corpus = Corpus(database)
    assert len(list(corpus.refresh())) == 3
    return corpus._entries


def stored(database: Database, corpus: Corpus, *mutants: tuple[int, int, str]) -> None:
    """Store mutants as a job does, each by its size, its cost and the features that it brings."""
    rows = [
        replace(row(size, 1), cost=cost, keys=corpus.holders.keys((name,) for name in names).tobytes())
        for size, cost, names in mutants
    ]
    database.record(0, 1, 1, {}, rows)


def digests(corpus: Corpus) -> list[str]:
    return [entry.digest for entry in corpus._entries]


def test_a_program_that_holds_no_feature_any_more_leaves(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = seeded(database, 1)
    stored(database, corpus, (2, 20, "ab"), (3, 10, "a"))
    list(corpus.refresh())
    assert [entry.features for entry in corpus._entries[1:]] == [1, 1]
    assert len(corpus) == database.corpus_size() == 3
    stored(database, corpus, (4, 5, "b"))
    list(corpus.refresh())
    assert digests(corpus) == [program(n).digest for n in (1, 3, 4)]
    assert [row.digest for _, row in database.programs_after(0)] == digests(corpus), "from the database, too"
    assert corpus.holder(("b",)) == program(4).digest
    assert corpus.holder(("z",)) is None


def test_a_search_that_counts_on_places_lets_none_leave(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = seeded(database, 1)
    stored(database, corpus, (2, 20, "a"), (3, 10, "a"))
    list(corpus.refresh(culls=False))
    assert [entry.features for entry in corpus._entries[1:]] == [0, 1]
    assert len(corpus) == 3
    list(corpus.refresh())
    assert len(corpus) == 2


def test_jobs_agree_on_who_leaves_and_none_loses_a_parent(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    stored(database, Corpus(database), (2, 20, "a"))
    one, other = (Corpus(database, job=n, jobs=2) for n in range(2))
    for corpus in (one, other):
        list(corpus.refresh())
    (parent,) = other._entries
    other._decoded.clear()
    stored(database, one, (3, 10, "a"))
    list(one.refresh())
    assert digests(one) == [program(3).digest]
    assert other.program(parent).digest == program(2).digest, "it is still there for the other job"
    list(other.refresh())
    assert digests(other) == digests(one)
    list(one.refresh())
    assert [row.digest for _, row in database.programs_after(0)] == digests(one)


def test_favoured_are_a_few_programs_that_together_brought_everything(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    corpus = Corpus(database)
    stored(database, corpus, (2, 20, "abc"), (3, 10, "b"), (4, 9, "d"))
    list(corpus.refresh())
    assert [entry.favoured for entry in corpus._entries] == [True, False, True]
    again = Corpus(database)
    again.recall(corpus.state(), counted=True)
    assert list(again.refresh()) == []
    assert [entry.favoured for entry in again._entries] == [True, False, True]


@pytest.mark.parametrize(("crowd", "bar"), [(0, 1), (CROWD - 1, 1), (CROWD, 2)])
def test_the_bar_rises_with_every_crowd(tmp_path: Path, crowd: int, bar: int) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"))
    corpus._entries = [CorpusEntry(str(n), "s", 1, 10) for n in range(crowd)]
    assert corpus.bar() == bar


class Sprouting:
    """A search that takes the oldest program, and may take programs of one node."""

    name = "sprouting"

    def __init__(self, *, sprouts: bool) -> None:
        self.sprouts = sprouts

    def choose(self, entries: list[CorpusEntry], choices: Choices) -> CorpusEntry:
        return entries[0]


@pytest.mark.parametrize(("share", "takes", "drawn"), [(1.0, True, True), (1.0, False, False), (0.0, True, False)])
def test_programs_of_one_node_are_drawn_as_often_as_their_share(
    tmp_path: Path, share: float, takes: bool, drawn: bool
) -> None:
    database = Database(tmp_path / "c.sqlite")
    database.add_program(row(1, 1))
    corpus = Corpus(database, share)
    list(corpus.refresh())
    search = Sprouting(sprouts=takes)
    picked = [corpus.pick(Choices.from_seed(n), search) for n in range(9)]  # type: ignore[arg-type]
    assert [entry.seed in sprouts() for entry in picked] == [drawn] * 9
    if drawn:
        assert corpus.program(picked[0]) is sprouts()[picked[0].seed]
        trace = corpus.trace(picked[0])
        assert (trace.edits, trace.seed.name, trace.seed.digest) == ((), picked[0].seed, picked[0].digest)


def test_none_of_a_newer_opset_is_drawn(tmp_path: Path) -> None:
    corpus = Corpus(Database(tmp_path / "c.sqlite"), 1.0)
    assert len(corpus._small) == len(sprouts_up_to(NEWEST))
    oldest = min(one.opset for one in sprouts().values())
    corpus.limit(oldest)
    assert 0 < len(corpus._small) < len(sprouts_up_to(NEWEST))
    assert {sprouts()[entry.seed].opset for entry in corpus._small} == {oldest}
    corpus.limit(oldest - 1)
    assert len(corpus._small) == len(sprouts()), "none is that old"


def test_a_mutant_whose_edits_make_another_program_now_is_refused(tmp_path: Path) -> None:
    corpus = seeded(Database(tmp_path / "c.sqlite"), 1)
    trace = corpus.trace(corpus.seed(0))
    same = ProgramRow(program(1).digest, b"", "s", "p", trace.to_text(), 0, 0, 0)
    assert corpus._rebuilt(same).digest == program(1).digest
    other = ProgramRow(program(2).digest, b"", "s", "p", trace.to_text(), 0, 0, 0)
    with pytest.raises(InvalidProgram, match=r"its edits, made by irfuzz .*, make another one"):
        corpus._rebuilt(other)
