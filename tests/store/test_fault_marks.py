"""Marks lead other jobs to what was confirmed, and to nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from irfuzz.errors import UsageError
from irfuzz.store.database import Database, Status
from irfuzz.store.database_recovery import recover_database
from irfuzz.store.database_schema import FAULT_MARK, FINDING
from irfuzz.store.fault_marks import TAKEN_UP_TO, FaultMark, MarkKind, OperatorsKey
from tests.fleet.made import finding, folder

pytestmark = pytest.mark.unit

KEY = MarkKind.SIGNATURE


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return folder(tmp_path / "out")


def keys(database: Database) -> list[str]:
    return [mark.key for mark in database.marks.after(0)]


def test_what_leads_to_no_confirmed_finding_is_not_stored(database: Database) -> None:
    marks = [FaultMark(KEY, "a", "s"), FaultMark(MarkKind.GROUP, "g")]
    database.marks.add(marks)
    assert keys(database) == ["g"], "the job may have been killed before the finding was stored"
    database.add_finding(finding("s"))
    database.add_finding(finding("t", status=Status.UNREPLAYED))
    database.add_finding(finding("u", suspect=True))
    database.marks.add([*marks, FaultMark(KEY, "b", "t"), FaultMark(KEY, "c", "u")])
    assert keys(database) == ["g", "a"]


def test_marks_come_in_their_order_and_stay_as_they_are(database: Database) -> None:
    database.add_finding(finding("s"))
    database.add_finding(finding("t"))
    operators = OperatorsKey("difference", "a", "", frozenset({"Relu"})).to_text()
    database.marks.add([FaultMark(KEY, "a", "s"), FaultMark(MarkKind.OPERATORS, operators, "s")])
    first, second = database.marks.after(0)
    assert (first.kind, second.kind, first.signature) == (KEY, MarkKind.OPERATORS, "s")
    database.marks.add([FaultMark(KEY, "a", "t"), FaultMark(KEY, "b", "t")])
    assert database.marks.after(0)[:2] == [first, second]
    assert [mark.key for mark in database.marks.after(second.number)] == ["b"]
    assert [mark.key for mark in database.marks.own(0, 2)] == ["a", operators]


def test_findings_of_others_are_counted_apart(database: Database) -> None:
    database.add_finding(finding("own"))
    taken = [
        FaultMark(KEY, "a", "s", "other"),
        FaultMark(KEY, "b", "own", "other"),
        FaultMark(KEY, "c", "none", "other"),
    ]
    database.marks.take_in(taken, {"s": "{}", "own": "{}"}, 17)
    assert (keys(database), database.marks.own(0), database.marks.taken_up_to()) == (["a", "b"], [], 17)
    assert database.known() == [(1, "own", "{}"), (0, "s", "{}")]
    assert database.marks.seen_elsewhere() == []
    assert database.count_again("s")
    assert database.count_again("s")
    (seen,) = database.marks.seen_elsewhere()
    assert (seen.signature, seen.times) == ("s", 2)
    assert not database.count_again("none")
    assert [row.signature for row in database.findings()] == ["own"]


def test_a_finding_of_others_explains_a_suspect(database: Database) -> None:
    number = database.add_finding(finding("suspect|s", suspect=True, status=Status.UNREPLAYED))
    database.marks.take_in([], {"s": "{}"}, 1)
    assert number is not None
    assert database.count_again("s", explains=number)
    assert database.finding(number).status == Status.EXPLAINED
    own = database.add_finding(replace(finding("t"), title="of this campaign"))
    assert own is not None, "what others found does not take its number"


def test_counts_are_added(database: Database) -> None:
    database.marks.add([FaultMark(MarkKind.GROUP, "g")])
    for _ in range(2):
        database.marks.count({(MarkKind.GROUP, "g"): 3, (KEY, "none"): 1})
    assert [mark.times for mark in database.marks.after(0)] == [6]


def test_what_others_found_can_be_forgotten(database: Database) -> None:
    database.add_finding(finding("own"))
    database.marks.add([FaultMark(KEY, "own", "own")])
    taken = [FaultMark(KEY, key, key, "other") for key in ("s", "t")]
    database.marks.take_in(taken, {"s": "{}", "t": "{}"}, 17)
    database.marks.forget_others(["s", "own"])
    assert (keys(database), database.known()) == (["own", "t"], [(1, "own", "{}"), (0, "t", "{}")])
    assert database.marks.taken_up_to() == 17
    last = database.marks.after(0)[-1].number
    database.marks.forget_others()
    database.marks.add([FaultMark(MarkKind.GROUP, "later")])
    assert [mark.key for mark in database.marks.after(last)] == ["later"], "who has read up to the last one sees it"
    database.marks.forget_others()
    assert (keys(database), database.known(), database.marks.taken_up_to()) == (
        ["own", "later"], [(1, "own", "{}")], 0,
    )  # fmt: skip
    database.marks.take_in([], {"u": "{}"}, 18)
    database.count_again("u")
    assert database.marks.seen_elsewhere()[0].number == 3, "a number stands for one finding for ever"


DAMAGED = [
    ({"kind": "nonsense"}, "'nonsense' is not a valid MarkKind"),
    ({"kind": "operators", "key": "[1]"}, "expected symptom, target, words, operators and identity, got"),
    ({"kind": "operators", "key": "[" * 100_000}, "expected symptom"),
    ({"times": "many"}, "expected a kind, texts and a number"),
]


@pytest.mark.parametrize(("values", "told"), DAMAGED)
def test_a_damaged_mark_is_told_and_not_recovered(
    database: Database, tmp_path: Path, values: dict[str, str], told: str
) -> None:
    database.marks.add([FaultMark(MarkKind.GROUP, "g"), FaultMark(MarkKind.GROUP, "h")])
    with database.transaction() as connection:
        connection.execute(update(FAULT_MARK).where(FAULT_MARK.c.number == 1).values(**values))
    with pytest.raises(UsageError, match=f"database is damaged: fault mark 1: .*{told}"):
        database.marks.after(0)
    database.close()
    recover_database(database.path, tmp_path / "new.sqlite")
    assert keys(Database(tmp_path / "new.sqlite")) == ["h"]


def test_a_damaged_number_is_told(database: Database) -> None:
    database.set(TAKEN_UP_TO, "many")
    with pytest.raises(
        UsageError, match="database is damaged: setting 'marks taken up to': expected a number, got many"
    ):
        database.marks.taken_up_to()


def test_marks_are_recovered_with_their_findings(database: Database, tmp_path: Path) -> None:
    for signature in ("kept", "lost"):
        database.add_finding(replace(finding(signature), trace='{"edits": []}'))
        database.marks.add([FaultMark(KEY, signature, signature)])
    database.marks.take_in([FaultMark(KEY, "a", "s", "other")], {"s": "{}"}, 3)
    with database.transaction() as connection:
        connection.execute(update(FINDING).where(FINDING.c.signature == "lost").values(verdict="no JSON"))
    database.close()
    recover_database(database.path, tmp_path / "new.sqlite")
    new = Database(tmp_path / "new.sqlite")
    assert (keys(new), new.known(), new.marks.taken_up_to()) == (["kept"], [(1, "kept", "{}")], 0)


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '["a", "b", "c", [1], ""]', '["a", "b", "c", "d", ""]'])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        OperatorsKey.from_text(text)


def test_a_key_is_read_as_it_was_written() -> None:
    key = OperatorsKey("difference", "a", "", frozenset({"Tanh", "Relu"}), "a 1")
    assert OperatorsKey.from_text(key.to_text()) == key
