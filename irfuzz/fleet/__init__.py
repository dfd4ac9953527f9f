"""One campaign on many machines: agents that share a store, and may die at any moment.

A campaign folder with its SQLite database is quick and outlives any kill, but it belongs to one machine. So an agent of
a fleet runs the ordinary campaign in a folder of its own, and a thread beside it keeps that folder in step with a store
that all agents share: a database given by URL (SQLite or PostgreSQL) with rows, and a folder or object store with bytes
by digest. The fuzzing loop knows nothing of it: programs of other agents appear in the folder's database as those of
another job do, and no program waits for the network (docs/fleet.md).

What every file relies on:

* The folder is the truth of its agent, the store is what others know of it. Whatever was not synchronised when an agent
  or the database died is synchronised later, and what was is not doubled: a row has the number that the folder gave it.
* Blobs come before the rows that name them. What a killed agent has left without a row is swept an hour later.
* Programs are exchanged by vectors (agent, sequence). One number for all would lose what is committed late under an
  earlier number. How far an agent has looked at the others is stored in its folder, in the transaction that adds what
  it took in.
* An agent takes in what shows features that it does not hold, or shows them at a lower cost. What and when is recorded
  (``INTAKE``): with seed, job and iteration that decides what it makes.
* Each agent has a range of job numbers that no other gets, so that no two draw the same programs.
* A finding is one row by its signature. Who has seen it, and how often, are rows of their own.
* What one agent has confirmed the others recognise by its marks, and count as seen. It is none of their findings, and
  what is not confirmed leads nobody anywhere: each looks into it.
* Time is the database's, and that of blobs is their store's: clocks of machines may differ.
* Nobody waits for a dead agent. After a minute of silence its leases are free; its programs and findings stay.
* SQLAlchemy Core speaks to both databases; alembic changes tables. Nothing outside of this folder imports alembic,
  fsspec, psycopg or zstandard: they come with an extra.

The way through the files:

* ``fleet_schema`` has the tables, ``migrations`` the steps to them, and ``store_connection`` opens a store.
* ``shared_blobs`` keeps bytes by digest; ``blob_sweep`` removes what no row names.
* ``agent_registry`` knows who belongs to the fleet, and what agents are told.
* ``program_exchange`` gives and takes programs, ``program_replay`` makes one again from its row, and
  ``finding_exchange`` gives findings, and ``mark_exchange`` by what they are recognised.
* ``lease_table`` hands out work that is there once for all; ``shared_work`` is an agent's part of it. What that work is
  stands in ``upkeep``: a corpus that stays small, findings that are made smaller and dated, releases that are followed.
* ``synchronisation`` does all of that again and again, through absences of the store; ``agent`` is the whole process.
* ``fleet_status`` tells what the store knows, and writes findings as folders; ``reporting`` has pages and labels.
* ``starters`` run agents on clusters.

To add a kind of shared work, add it to ``LeaseKind`` and to ``SLOW`` of ``shared_work``, offer it with its reason
(``SharedWork.offer``), and do it in a function of ``upkeep.leased_work.WORKS``. To change a table, see
``migrations``. Each file has its tests in ``tests/fleet``, on SQLite and, if ``initdb`` is found, on a PostgreSQL that
the tests start.

Do not read the store from a job: its programs would depend on the network. Do not store bytes of models in rows. Do not
use the clock of a machine in a row. Do not repeat a transaction inside of ``StoreConnection``: whoever repeats it has
to know that it is as good twice.
"""
