"""The first tables of the store: agents, programs, features, findings and leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "fleet_setting",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "agent",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("incarnation", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("first_job", sa.BigInteger(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("targets", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("wanted", sa.String(), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("heartbeat", sa.Double(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("taken", sa.BigInteger(), nullable=False),
        sa.Column("programs", sa.BigInteger(), nullable=False),
        sa.Column("rate", sa.Double(), nullable=False),
        sa.Column("corpus", sa.BigInteger(), nullable=False),
        sa.Column("syncs", sa.BigInteger(), nullable=False),
        sa.Column("sync_seconds", sa.Double(), nullable=False),
        sa.Column("sync_cpu", sa.Double(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
    )
    op.create_table(
        "program",
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("parent", sa.String(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("iteration", sa.BigInteger(), nullable=False),
        sa.Column("features", sa.Integer(), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("keys", sa.LargeBinary(), nullable=False),
        sa.Column("trace", sa.LargeBinary(), nullable=False),
        sa.Column("blob", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("weights", sa.Text(), nullable=False),
        sa.Column("added", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "sequence"),
    )
    op.create_index("program_digest", "program", ["digest"])
    op.create_index("program_parent", "program", ["parent"])
    op.create_table(
        "feature",
        sa.Column("key", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("added", sa.Double(), nullable=False),
    )
    op.create_table(
        "intake",
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "number"),
    )
    op.create_table(
        "finding",
        sa.Column("signature", sa.String(), primary_key=True),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("symptom", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("suspect", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("runs", sa.Text(), nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("inputs", sa.String(), nullable=False),
        sa.Column("original_model", sa.String(), nullable=False),
        sa.Column("original_inputs", sa.String(), nullable=False),
        sa.Column("weights", sa.Text(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("iteration", sa.BigInteger(), nullable=False),
        sa.Column("first", sa.Double(), nullable=False),
        sa.Column("last", sa.Double(), nullable=False),
    )
    op.create_table(
        "sighting",
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.Column("first", sa.Double(), nullable=False),
        sa.Column("last", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "number"),
    )
    op.create_index("sighting_signature", "sighting", ["signature"])
    op.create_table(
        "lease",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("needs", sa.String(), nullable=False),
        sa.Column("maker", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "item"),
    )
    op.create_index("lease_open", "lease", ["kind", "done", "until"])


def downgrade() -> None:
    """Remove the tables, with all that is in them."""
    for table in ("fleet_setting", "agent", "program", "feature", "intake", "finding", "sighting", "lease"):
        op.drop_table(table)
