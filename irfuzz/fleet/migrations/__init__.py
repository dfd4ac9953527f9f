"""Steps from one version of the store's tables to the next, run by alembic from inside the package.

``env`` is what alembic runs; each module of ``versions`` is one step. To change
a table, change ``irfuzz/fleet/fleet_schema.py``, add a step whose ``down_revision`` is the newest one, and raise
``REVISION`` there; ``tests/fleet/test_fleet_migrations.py`` compares what the steps make with those tables.
"""
