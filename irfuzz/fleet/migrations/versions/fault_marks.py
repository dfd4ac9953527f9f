"""By what findings are recognised."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table of marks."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "fault_mark",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("digest", sa.String(), nullable=False, unique=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("fault_mark")
