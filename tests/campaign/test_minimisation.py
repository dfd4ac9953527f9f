"""A corpus is made as small as it can be without a feature less, and only while nobody uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.corpus.minimisation import minimise
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.output_folder_lock import OutputFolder
from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.mutate.feature_counts import features
from irfuzz.store.database import Database, ProgramRow
from tests.campaign.test_program_corpus import program

pytestmark = pytest.mark.unit


def stored(database: Database, size: int, *, seed: bool = False, cost: int = 1, names: str = "") -> None:
    one, keys = program(size), Corpus(database).holders.keys((name,) for name in names)
    row = ProgramRow(one.digest, one.to_bytes(), "s", "" if seed else "seed", "{}", 1, 0, size, 1, cost, keys.tobytes())
    database.record(0, size, size, {}, [row])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A seed, and mutants of which one has what two others hold."""
    layout = Layout(tmp_path / "out")
    layout.out.mkdir()
    database = Database(layout.database)
    stored(database, 1, seed=True, cost=9, names="a")
    stored(database, 2, cost=5, names="bcd")
    stored(database, 3, cost=2, names="b")
    stored(database, 4, cost=3, names="c")
    stored(database, 5, cost=1, names="ae")
    database.blobs.put(b"nothing names this")
    database.close()
    return layout.out


def left(out: Path) -> list[str]:
    database = Database(Layout(out).database)
    try:
        return [row.digest for _, row in database.programs_after(0)]
    finally:
        database.close()


def test_a_few_programs_that_have_all_features_stay(out: Path) -> None:
    found = minimise(out)
    assert (found.before, found.after, found.features, found.blobs) == (5, 3, 5, 1)
    assert found.bytes_after == sum(path.stat().st_size for path in out.glob("campaign.sqlite*"))
    assert left(out) == [program(n).digest for n in (1, 2, 5)]


def test_a_corpus_of_before_is_read_first(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "out")
    layout.out.mkdir()
    database = Database(layout.database)
    for size in (1, 40, 41):
        one = program(size)
        parent = "" if size == 1 else "seed"
        database.add_program(ProgramRow(one.digest, one.to_bytes(), "s", parent, "{}", 1, 0, size))
    database.close()
    found = minimise(layout.out)
    everything = {feature for size in (1, 40, 41) for feature in features(program(size))}
    assert (found.before, found.features) == (3, len(everything))
    kept = [program(size) for size in (1, 40, 41) if program(size).digest in left(layout.out)]
    assert {feature for one in kept for feature in features(one)} == everything


def test_the_command_says_what_became_of_it(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "minimise", str(out)]) == 0
    assert capsys.readouterr().out.startswith("5 programs before, ")
    assert main(["corpus", "minimise", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found) == ["after", "before", "blobs", "bytes_after", "bytes_before", "features"]
    assert found["blobs"] == 0


def test_what_is_no_campaign_or_in_use_is_refused(out: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a campaign's folder, got none"):
        minimise(tmp_path)
    assert not (tmp_path / "campaign.lock").exists()
    folder = OutputFolder(out)
    try:
        with pytest.raises(UsageError, match="is using this folder"):
            minimise(out)
    finally:
        folder.close()


def test_a_corpus_that_was_made_smaller_is_used_on(out: Path) -> None:
    minimise(out)
    database = Database(Layout(out).database)
    corpus = Corpus(database)
    assert [one.digest for one in corpus.refresh()] == left(out)
    database.close()
