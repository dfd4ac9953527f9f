"""Makes the corpus of a campaign as small as it can be without a feature less (AFL's ``cmin``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from irfuzz.campaign.config import Layout
from irfuzz.campaign.corpus.feature_holders import FeatureHolders
from irfuzz.campaign.corpus.known_programs import claim_of, entries_after, know_all
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.campaign.output_folder_lock import OutputFolder
from irfuzz.errors import UsageError
from irfuzz.store.blob_collection import remove_unnamed_blobs
from irfuzz.store.database import Database


@dataclass(frozen=True, slots=True)
class Minimisation:
    """What became of a corpus.

    Attributes:
        before: programs.
        after: programs; seeds stay.
        features: that those before brought, and those after bring.
        blobs: files with large weights that nothing named any more.
        bytes_before: of the database and the blobs.
        bytes_after: of the same.
    """

    before: int
    after: int
    features: int
    blobs: int
    bytes_before: int
    bytes_after: int

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    def __str__(self) -> str:
        """Two lines for people."""
        sizes = f"{self.bytes_before / 1e6:.1f} MB before, {self.bytes_after / 1e6:.1f} MB after"
        programs = f"{self.before} programs before, {self.after} after, with all of their {self.features} features"
        return f"{programs}\n{sizes}" + (f", {self.blobs} blobs removed" if self.blobs else "")


def minimise(out: Path) -> Minimisation:
    """Keep the seeds of a campaign and a few programs that together brought every feature of its corpus.

    Those that brought most come first. Findings stay as they are, and the campaign can be continued.

    Args:
        out: its folder.

    Raises:
        UsageError: it is no campaign's, another process is using it, or it cannot be written.
        InvalidProgram: a program that an older version stored cannot be read.
    """
    layout = Layout(out)
    if not layout.database.is_file():
        raise UsageError(f"{out}: expected a campaign's folder, got none with {layout.database.name}")
    folder = OutputFolder(out)
    try:
        before = _size(layout)
        database = Database(layout.database)
        try:
            programs = database.corpus_size()
            kept, features = _shrink(database)
            blobs = remove_unnamed_blobs(database)
            database.compact()
        finally:
            database.close()
        return Minimisation(programs, kept, features, blobs, before, _size(layout))
    finally:
        folder.close()


def _shrink(database: Database) -> tuple[int, int]:
    """Remove programs that are not needed; how many are left, and how many features there are."""
    database.index.sweep()
    corpus = Corpus(database)
    know_all(database, FeatureHolders(), corpus.load)
    entries = entries_after(database, 0)
    gone, features = not_needed(entries)
    database.index.leave(gone, 0, 1)
    database.index.sweep()
    return len(entries) - len(gone), features


def not_needed(entries: Sequence[CorpusEntry]) -> tuple[list[int], int]:
    """Programs that a corpus can do without, by a greedy cover: those that brought most come first (AFL's ``cmin``).

    Args:
        entries: of the corpus, each with a number of its own. Seeds are needed.

    Returns:
        Their numbers in the order of the entries, and how many features there are, all of which the others brought.
    """
    holders = FeatureHolders()
    holders.take(list(map(claim_of, entries)))
    most_first = sorted(entries, key=lambda entry: (not entry.original, -len(entry.keys), entry.cost))
    needed = holders.favoured(map(claim_of, most_first))
    return [entry.number for entry in entries if not entry.original and entry.number not in needed], len(holders)


def _size(layout: Layout) -> int:
    return sum(path.stat().st_size for path in _files(layout))


def _files(layout: Layout) -> Iterator[Path]:
    yield from (path for path in layout.out.glob(f"{layout.database.name}*") if path.is_file())
    if layout.blobs.is_dir():
        yield from (path for path in layout.blobs.iterdir() if path.is_file())
