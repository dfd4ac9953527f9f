"""Tables of a campaign's database."""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint
from sqlalchemy.types import TypeDecorator

from irfuzz.store.bounded_decompression import TEXT, decompressed

SCHEMA = 1
"""Version of these tables; a database of another version is refused."""

LONG_TEXT = 512
"""Characters from which on texts of traces and settings are compressed."""


class CompressedText(TypeDecorator[str]):
    """Text that is stored as compressed bytes if it is long; what older versions stored as text is read, too."""

    impl = Text  # SQLite stores bytes in any column
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:  # noqa: ARG002 - the base class's
        """What is stored of a text.

        Args:
            value: the text; what is no text is stored as it is.
            dialect: not looked at.
        """
        if not isinstance(value, str) or len(value) < LONG_TEXT:
            return value
        return zlib.compress(value.encode())

    def process_result_value(self, value: Any, dialect: Any) -> Any:  # noqa: ARG002 - the base class's
        """The text that was stored; what is none is returned as it is, and refused by whoever wanted a text.

        Args:
            value: of the column.
            dialect: not looked at.
        """
        try:
            return decompressed(value, TEXT).decode() if isinstance(value, bytes) else value
        except (zlib.error, UnicodeDecodeError):
            return value


METADATA = MetaData()

SETTING = Table(
    "setting",
    METADATA,
    Column("key", String, primary_key=True),
    Column("value", CompressedText, nullable=False),
)

PROGRAM = Table(
    "program",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("digest", String, nullable=False),
    Column("model", LargeBinary, nullable=False),
    Column("seed", String, nullable=False),  # name of the seed at the root of its lineage
    Column("parent", String, nullable=False, default=""),  # digest; empty for a seed
    Column("trace", CompressedText, nullable=False),  # JSON: the edits that lead from the seed to it
    Column("features", Integer, nullable=False),  # how many were new when it came
    Column("job", Integer, nullable=False),
    Column("iteration", Integer, nullable=False),
    Column("added", Float, nullable=False),
    UniqueConstraint("digest", name="one_row_a_program"),
)

ENTRY = Table(
    "entry",
    METADATA,
    Column("number", Integer, primary_key=True),  # of the program; what chooses parents need not read that
    Column("digest", String, nullable=False),
    Column("seed", String, nullable=False),
    Column("original", Boolean, nullable=False),  # it is a seed, and never leaves
    Column("features", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("cost", Integer, nullable=False),
    Column("keys", LargeBinary, nullable=False),  # uint64, little-endian: features that it brought
)
"""What a job knows of every program; one that older versions stored has none until a job reads it."""

LEAVING = Table(
    "leaving",
    METADATA,
    Column("turn", Integer, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),  # of a program that some job may still be mutating
)

TALLY = Table(
    "tally",
    METADATA,
    Column("job", Integer, primary_key=True),
    Column("iteration", Integer, nullable=False),
    Column("programs", Integer, nullable=False),
    Column("counts", Text, nullable=False),  # JSON: everything else that is counted
)

FINDING = Table(
    "finding",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("signature", String, nullable=False),
    Column("symptom", String, nullable=False),
    Column("target", String, nullable=False),
    Column("suspect", Boolean, nullable=False),
    Column("title", Text, nullable=False),
    Column("verdict", Text, nullable=False),  # JSON
    Column("runs", Text, nullable=False),  # JSON: what every target did
    Column("trace", Text, nullable=False),  # JSON
    Column("model", LargeBinary, nullable=False),
    Column("inputs", LargeBinary, nullable=False),
    Column("original_model", LargeBinary, nullable=False),
    Column("original_inputs", LargeBinary, nullable=False),
    Column("status", String, nullable=False),  # see Status
    Column("times", Integer, nullable=False),
    Column("job", Integer, nullable=False),
    Column("iteration", Integer, nullable=False),
    Column("first", Float, nullable=False),
    Column("last", Float, nullable=False),
    UniqueConstraint("signature", name="one_row_a_signature"),
)

WAITING = Table(
    "waiting",
    METADATA,
    Column("number", Integer, primary_key=True),  # of which the job that saw it makes sure (WaitingRows.first_number)
    Column("owner", Integer, nullable=False),  # job that is to look into it
    Column("job", Integer, nullable=False),  # that saw it
    Column("iteration", Integer, nullable=False),
    Column("symptom", String, nullable=False),
    Column("target", String, nullable=False),
    Column("suspect", Boolean, nullable=False),
    Column("words", Text, nullable=False),  # what a rejection said, normalised
    Column("operators", Text, nullable=False),  # JSON: on which the output depends, or the suspect's group
    Column("size", Integer, nullable=False),  # nodes
    Column("again", Boolean, nullable=False),  # a known fault explains it
    Column("doubted", Integer, nullable=False),  # number of the finding as which it is kept until it is proven
    Column("strikes", Integer, nullable=False),  # how often whoever looked into it failed or died
    Column("about", Text, nullable=False),  # JSON: the verdict, and what else is known of it
    Column("trace", LargeBinary, nullable=False),  # JSON, compressed
    Column("model", LargeBinary, nullable=False),
    Column("inputs", LargeBinary, nullable=False),
    Column("answers", LargeBinary, nullable=False),  # what every target did, compressed; empty if that was too much
    Column("seen", Float, nullable=False),
)
"""Disagreements that nobody has looked into: a queue for each job (``campaign.triage``)."""

FAULT_MARK = Table(
    "fault_mark",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),  # see MarkKind
    Column("key", Text, nullable=False),
    Column("signature", String, nullable=False),  # of the finding that it leads to; empty if it leads to none
    Column("source", String, nullable=False),  # agent of a fleet that found out; empty for a job of this campaign
    Column("times", Integer, nullable=False),  # that jobs here took something for what it leads to
    UniqueConstraint("kind", "key", name="one_row_a_mark"),
    sqlite_autoincrement=True,  # whoever has read up to a number reads what comes later, though others are forgotten
)
"""By what a fault that was looked into is recognised (``fault_marks``), so that no other job does it once more."""

ELSEWHERE = Table(
    "elsewhere",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("signature", String, nullable=False, unique=True),
    Column("verdict", Text, nullable=False),  # JSON, as of ``FINDING``
    Column("times", Integer, nullable=False),  # that this campaign saw it, too
    sqlite_autoincrement=True,  # the number of one that was forgotten stands for its sighting in the fleet's store
)
"""Confirmed findings of other agents of a fleet; in no other campaign are there any."""

TAKEN = Table(
    "taken",
    METADATA,
    Column("number", Integer, primary_key=True),  # of the program here
    Column("source", String, nullable=False),  # agent that made it
    Column("sequence", Integer, nullable=False),  # its number there
    Column("progress", Text, nullable=False),  # JSON: the iteration of each job when it came
)
"""Programs that other agents of a fleet have made (``taken_programs``); in no other campaign are there any."""
