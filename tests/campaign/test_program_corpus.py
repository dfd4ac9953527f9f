"""The corpus: parents are chosen among many at a bounded cost, models stay on disk, and the bar for new ones rises."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import parser

from irfuzz.campaign.corpus.program_corpus import CROWD, NODE, Corpus, CorpusEntry
from irfuzz.choices import Choices
from irfuzz.ir.program import Program
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
    rows = [row(n, n) for n in range(1, 9)]
    for one in rows:
        database.add_program(one)
    room = 3 * (NODE + len(rows[0].model))
    monkeypatch.setattr("irfuzz.campaign.corpus.program_corpus.DECODED", room)
    corpus = Corpus(database)
    assert len(list(corpus.refresh())) == 8
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
    assert corpus._held == sum(size for _, size in corpus._decoded.values()) <= room
