"""What people say of findings, and what each target did in each agent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table of labels, and the column of tallies."""
    op.create_table(
        "finding_label",
        sa.Column("signature", sa.String(), primary_key=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("changed", sa.Double(), nullable=False),
    )
    op.add_column("agent", sa.Column("tallies", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Remove both."""
    op.drop_table("finding_label")
    op.drop_column("agent", "tallies")
