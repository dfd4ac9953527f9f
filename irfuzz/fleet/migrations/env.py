"""What alembic runs to change the store: within the connection and the transaction of whoever asked for it."""

from __future__ import annotations

from alembic import context

from irfuzz.fleet.fleet_schema import FLEET_METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=FLEET_METADATA,
    transactional_ddl=True,
    version_table="fleet_version",
)
context.run_migrations()
