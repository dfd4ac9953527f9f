"""What distillation drops, what releases do with findings, and which releases are followed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column and the tables."""
    op.add_column("program", sa.Column("dropped", sa.Double(), nullable=False, server_default="0"))
    op.create_table(
        "finding_release",
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("asked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("signature", "version"),
    )
    op.create_table(
        "followed_release",
        sa.Column("distribution", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("found", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("distribution", "version"),
    )


def downgrade() -> None:
    """Remove them, with all that is in them."""
    op.drop_column("program", "dropped")
    op.drop_table("finding_release")
    op.drop_table("followed_release")
