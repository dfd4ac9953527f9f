"""Takes programs of other agents into a campaign's database, and tells those apart from its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.dialects.sqlite import insert

from irfuzz.store.corpus_index import add_entries
from irfuzz.store.database import Database, ProgramRow, index_row, insert_programs
from irfuzz.store.database_schema import ENTRY, PROGRAM, SETTING, TAKEN, TALLY

VECTORS = "taken up to"
"""Key of the setting with the number up to which the programs of each other agent were looked at."""


@dataclass(frozen=True, slots=True)
class TakenProgram:
    """A program that another agent has made.

    Attributes:
        source: name of that agent.
        sequence: number that the program has there.
        row: it; ``cost`` is 0 if what it brings is not known, as of a seed that no job has read.
    """

    source: str
    sequence: int
    row: ProgramRow


@dataclass(frozen=True, slots=True)
class TakenRecord:
    """When a program was taken in.

    Attributes:
        number: of the program in this database.
        source: name of the agent that made it.
        sequence: number that it has there.
        progress: the iteration of each job of this campaign at that moment, by the number of the job as text.
    """

    number: int
    source: str
    sequence: int
    progress: Mapping[str, int]


def vectors_of(database: Database) -> dict[str, int]:
    """Up to which number the programs of each other agent were looked at, by the agent's name."""
    return json.loads(database.settings().get(VECTORS) or "{}")


def take_in(database: Database, programs: Sequence[TakenProgram], vectors: Mapping[str, int]) -> int:
    """Add programs of other agents, and store how far theirs were looked at, all or nothing.

    Jobs find them when they look at the corpus next.

    Args:
        database: of the campaign, which may be running.
        programs: a seed before its mutants. One that is there already is left out.
        vectors: as ``vectors_of`` gives them from then on.

    Returns:
        How many were new.
    """
    text = json.dumps(dict(vectors))
    with database.transaction() as connection:
        progress = json.dumps({str(row.job): row.iteration for row in connection.execute(select(TALLY))})
        numbers = insert_programs(connection, [program.row for program in programs])
        new = [(number, program) for number, program in zip(numbers, programs, strict=True) if number is not None]
        if new:
            records = [{"number": n, "source": p.source, "sequence": p.sequence, "progress": progress} for n, p in new]
            # A number is given twice only if nobody had stored anything of its first program.
            connection.execute(insert(TAKEN), records)
        add_entries(connection, [index_row(number, p.row) for number, p in new if p.row.cost])
        statement = insert(SETTING).values(key=VECTORS, value=text)
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": text}))
    return len(new)


def own_programs(database: Database, number: int, most: int = 200) -> list[tuple[int, ProgramRow]]:
    """The oldest programs of this campaign's own with a higher number, with what the index says of them.

    Those behind one that no job has read yet are left for later, so that a seed is known before its mutants.

    Args:
        database: of the campaign.
        number: of a program; 0 for the first ones.
        most: of them.
    """
    fields = [PROGRAM.c[name] for name in ProgramRow.__slots__ if name in PROGRAM.c]
    query = (
        select(PROGRAM.c.number, *fields, ENTRY.c.nodes, ENTRY.c.cost, ENTRY.c["keys"])
        .select_from(PROGRAM.outerjoin(ENTRY, ENTRY.c.number == PROGRAM.c.number))
        .where(PROGRAM.c.number > number, PROGRAM.c.number.not_in(select(TAKEN.c.number)))
        .order_by(PROGRAM.c.number)
        .limit(most)
    )
    found: list[tuple[int, ProgramRow]] = []
    with database.transaction() as connection:
        for row in connection.execute(query):
            if row.cost is None:
                break
            number, *values = row
            found.append((number, ProgramRow(*values)))
    return found


def own_count(database: Database, number: int) -> int:
    """How many programs ``own_programs`` would give.

    Args:
        database: of the campaign.
        number: of a program.
    """
    own = (PROGRAM.c.number > number) & PROGRAM.c.number.not_in(select(TAKEN.c.number))
    unread = select(func.min(PROGRAM.c.number)).where(own, PROGRAM.c.number.not_in(select(ENTRY.c.number)))
    query = select(func.count()).select_from(PROGRAM).where(own)
    with database.transaction() as connection:
        first = connection.execute(unread).scalar_one()
        return connection.execute(query if first is None else query.where(PROGRAM.c.number < first)).scalar_one()


def taken_after(database: Database, number: int, most: int = 1000) -> list[TakenRecord]:
    """What was taken in and has a higher number, in the order in which it came.

    Args:
        database: of the campaign.
        number: of a program; 0 for all.
        most: of them.
    """
    query = select(TAKEN).where(TAKEN.c.number > number).order_by(TAKEN.c.number).limit(most)
    with database.transaction() as connection:
        rows = connection.execute(query).all()
    return [TakenRecord(row.number, row.source, row.sequence, json.loads(row.progress)) for row in rows]
