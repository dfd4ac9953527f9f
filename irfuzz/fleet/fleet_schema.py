"""Tables of the store that the agents of a fleet share, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

REVISION = "0004"
"""The newest migration (``migrations/versions``); a store that a newer irfuzz has changed is refused."""


class store_time(GenericFunction[float]):  # noqa: N801 - as functions of SQL are called
    """Seconds since 1970 by the clock of the database: those of machines may differ."""

    type = Double()
    inherit_cache = True


@compiles(store_time, "sqlite")
def _of_sqlite(_element: Any, _compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(store_time, "postgresql")
def _of_postgresql(_element: Any, _compiler: Any, **_: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


FLEET_METADATA = MetaData()

FLEET_SETTING = Table(
    "fleet_setting",
    FLEET_METADATA,
    Column("key", String, primary_key=True),
    Column("value", Text, nullable=False),
)
"""What all agents have in common: the seed, where blobs are, the next job number, what agents are to do."""

AGENT = Table(
    "agent",
    FLEET_METADATA,
    Column("name", String, primary_key=True),
    Column(
        "incarnation", String, nullable=False
    ),  # of the process; another one of that name has taken over if it differs
    Column("machine", String, nullable=False),
    Column("first_job", BigInteger, nullable=False),
    Column("jobs", Integer, nullable=False),
    Column("targets", Text, nullable=False),  # JSON: names
    Column("state", String, nullable=False),  # see AgentState
    Column("wanted", String, nullable=False),  # what this agent alone is told; empty if nothing
    Column("started", Double, nullable=False),
    Column("heartbeat", Double, nullable=False),
    Column("sequence", BigInteger, nullable=False),  # its programs up to this number are here
    Column("taken", BigInteger, nullable=False),  # what it took in up to this number is told here
    Column("programs", BigInteger, nullable=False),  # judged
    Column("rate", Double, nullable=False),  # programs a second since it synchronised last
    Column("corpus", BigInteger, nullable=False),
    Column("syncs", BigInteger, nullable=False),
    Column("sync_seconds", Double, nullable=False),
    Column("sync_cpu", Double, nullable=False),
    Column("counts", Text, nullable=False),  # JSON
    Column("tallies", Text, nullable=False, server_default="[]"),  # JSON: what each target did there, see TargetTally
)

SHARED_PROGRAM = Table(
    "program",
    FLEET_METADATA,
    Column("agent", String, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    Column("seed", String, nullable=False),
    Column("parent", String, nullable=False),  # digest; empty for a seed
    Column("job", BigInteger, nullable=False),  # of all jobs of the fleet; -1 for a seed
    Column("iteration", BigInteger, nullable=False),
    Column("features", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("keys", LargeBinary, nullable=False),  # uint64, little-endian: features that it brought
    Column("trace", LargeBinary, nullable=False),  # JSON, compressed by zstd
    Column("blob", String, nullable=False),  # digest of the stored model
    Column("size", BigInteger, nullable=False),
    Column("weights", Text, nullable=False),  # JSON: digests of blobs with large weights
    Column("added", Double, nullable=False),
    Column("dropped", Double, nullable=False, server_default="0"),  # when the distillation did without it; 0 if not
    PrimaryKeyConstraint("agent", "sequence"),
    Index("program_digest", "digest"),
    Index("program_parent", "parent"),
)
"""Programs by who made them and their number there: with one number for all, who reads up to the last would miss those
that are committed later with an earlier number."""

FEATURE = Table(
    "feature",
    FLEET_METADATA,
    Column("key", BigInteger, primary_key=True, autoincrement=False),  # 64 bits of a hash, as a signed number
    Column("agent", String, nullable=False),  # that brought it first
    Column("added", Double, nullable=False),
)

INTAKE = Table(
    "intake",
    FLEET_METADATA,
    Column("agent", String, nullable=False),
    Column("number", BigInteger, nullable=False),  # that the program got there
    Column("source", String, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("progress", Text, nullable=False),  # JSON: the iteration of each job of the agent when it came
    PrimaryKeyConstraint("agent", "number"),
)
"""What an agent took in from others: with its seed, job and iteration that decides what it makes."""

SHARED_FINDING = Table(
    "finding",
    FLEET_METADATA,
    Column("signature", String, primary_key=True),
    Column("agent", String, nullable=False),  # whose case stands for it
    Column("number", BigInteger, nullable=False),  # of the finding there
    Column("symptom", String, nullable=False),
    Column("target", String, nullable=False),
    Column("suspect", Boolean, nullable=False),
    Column("status", String, nullable=False),  # see store.database.Status
    Column("title", Text, nullable=False),
    Column("verdict", Text, nullable=False),  # JSON, as in a campaign's database, as are the next two
    Column("runs", Text, nullable=False),
    Column("trace", Text, nullable=False),
    Column("model", String, nullable=False),  # digest of a blob, as are the next three
    Column("inputs", String, nullable=False),
    Column("original_model", String, nullable=False),
    Column("original_inputs", String, nullable=False),
    Column("weights", Text, nullable=False),  # JSON: digests of blobs with large weights
    Column("job", BigInteger, nullable=False),
    Column("iteration", BigInteger, nullable=False),
    Column("first", Double, nullable=False),
    Column("last", Double, nullable=False),
)

SIGHTING = Table(
    "sighting",
    FLEET_METADATA,
    Column("agent", String, nullable=False),
    Column("number", BigInteger, nullable=False),  # of the finding in the agent's folder; negative if others found it
    Column("signature", String, nullable=False),
    Column("status", String, nullable=False),
    Column("times", BigInteger, nullable=False),
    Column("first", Double, nullable=False),
    Column("last", Double, nullable=False),
    PrimaryKeyConstraint("agent", "number"),
    Index("sighting_signature", "signature"),
)
"""Which agent has seen a finding, and how often: one finding may have many."""

SHARED_MARK = Table(
    "fault_mark",
    FLEET_METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("digest", String, nullable=False, unique=True),  # SHA-256 of kind and key, which may be long
    Column("kind", String, nullable=False),  # see store.fault_marks.MarkKind
    Column("key", Text, nullable=False),
    Column("signature", String, nullable=False),
    Column("agent", String, nullable=False),  # that found out
)
"""By what findings are recognised, so that no other agent makes their cases small. One that is committed late under an
earlier number is passed over by others: they do that work once more, and nothing is lost."""

FINDING_RELEASE = Table(
    "finding_release",
    FLEET_METADATA,
    Column("signature", String, nullable=False),
    Column("version", String, nullable=False),  # of the blamed component, without a local part
    Column("answer", Text, nullable=False),  # JSON: VersionAnswer
    Column("agent", String, nullable=False),  # that asked
    Column("asked", Double, nullable=False),
    PrimaryKeyConstraint("signature", "version"),
)
"""What a release of the blamed component does with a finding: in which it came and went follows from that."""

FOLLOWED_RELEASE = Table(
    "followed_release",
    FLEET_METADATA,
    Column("distribution", String, nullable=False),
    Column("version", String, nullable=False),
    Column("previous", String, nullable=False),  # release that was followed before it; empty for where it began
    Column("state", String, nullable=False),  # see ReleaseState
    Column("told", Text, nullable=False),  # why it cannot be installed
    Column("found", Double, nullable=False),
    PrimaryKeyConstraint("distribution", "version"),
)
"""Releases of what the fleet follows, as the package index came to list them."""

FINDING_LABEL = Table(
    "finding_label",
    FLEET_METADATA,
    Column("signature", String, primary_key=True),
    Column("label", Text, nullable=False),  # empty if it was taken back
    Column("changed", Double, nullable=False),
)
"""What people have said of findings, which agents put into their folders."""

LEASE = Table(
    "lease",
    FLEET_METADATA,
    Column("kind", String, nullable=False),  # see LeaseKind
    Column("item", String, nullable=False),
    Column("needs", String, nullable=False),  # target that an agent must have; empty for none
    Column("maker", String, nullable=False),  # agent that is not to do it; empty for none
    Column("agent", String, nullable=False),  # that holds it; empty for none
    Column("until", Double, nullable=False),  # by the clock of the database; 0 if it is free
    Column("attempts", Integer, nullable=False),
    Column("done", Boolean, nullable=False),
    Column("result", Text, nullable=False),
    PrimaryKeyConstraint("kind", "item"),
    Index("lease_open", "kind", "done", "until"),
)
"""Work that one agent does for all; who dies loses it once ``until`` has passed."""
