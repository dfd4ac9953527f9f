"""What a target refuses is put down to what is new in the program, the coarsest first."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import onnx.parser
import pytest

from irfuzz.campaign.config import Config
from irfuzz.campaign.targets import drawn_calls
from irfuzz.campaign.targets.drawn_calls import DrawnCalls
from irfuzz.campaign.targets.operator_support import OperatorSupport, identity
from irfuzz.campaign.targets.refusal_learning import ASKED, ENOUGH, REFUSED, RefusalMemory, RefusalTable, learnt_of
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.mutate.call_traits import ATTRIBUTE, OPERATOR, RANK, TYPE, Trait
from irfuzz.store.database import Database

CONVERTER = Path(__file__).resolve().parents[1] / "planted_targets" / "small_converter.py"
TARGET = Target("mine", "mine", "1")

ADD: list[Trait] = [(OPERATOR, ("operator", "Add")), (TYPE, ("dtype", "Add", 0, 1)), (RANK, ("rank", "Add", 0, 2))]
DOUBLE: Trait = (TYPE, ("dtype", "Add", 0, 11))
CUBE: Trait = (RANK, ("rank", "Add", 0, 3))


def refusing(table: RefusalTable, shown: list[Trait], times: int) -> RefusalTable:
    for _ in range(times):
        table.saw(shown, Exit.UNSUPPORTED)
    return table


@pytest.mark.unit
def test_an_operator_that_never_ran_is_blamed_before_its_type() -> None:
    table = refusing(RefusalTable(), ADD, int(ENOUGH) - 1)
    assert not table.refuses(("operator", "Add"))
    refusing(table, ADD, 1)
    assert table.refuses(("operator", "Add"))
    assert ("dtype", "Add", 0, 1) not in table.doubt


@pytest.mark.unit
def test_of_an_operator_that_ran_the_type_is_blamed_and_what_ran_never() -> None:
    table = RefusalTable()
    table.saw(ADD, Exit.OK)
    refusing(table, [ADD[0], DOUBLE, CUBE], int(ENOUGH))
    assert table.refuses(DOUBLE[1])
    assert not table.refuses(ADD[0][1])
    assert CUBE[1] not in table.doubt
    table.saw([ADD[0], DOUBLE, ADD[2]], Exit.OK)
    assert not table.refuses(DOUBLE[1])


@pytest.mark.unit
def test_what_is_known_to_be_refused_explains_a_refusal() -> None:
    table = RefusalTable()
    table.saw(ADD, Exit.OK)
    refusing(table, [*ADD[:2], CUBE], int(ENOUGH))
    refusing(table, [ADD[0], DOUBLE, CUBE], 5)
    assert table.refuses(CUBE[1])
    assert DOUBLE[1] not in table.doubt


@pytest.mark.unit
def test_blame_is_shared_at_one_level() -> None:
    axis: Trait = (ATTRIBUTE, ("attr", "Add", "axis", 1))
    mode: Trait = (ATTRIBUTE, ("attr", "Add", "mode", "a"))
    table = RefusalTable()
    table.saw(ADD, Exit.OK)
    refusing(table, [*ADD, axis, mode], int(ENOUGH))
    assert table.doubt[axis[1]] == table.doubt[mode[1]] == ENOUGH / 2
    table.saw([*ADD, mode], Exit.OK)
    refusing(table, [*ADD, axis, mode], 1)
    assert table.refuses(axis[1])
    assert not table.refuses(mode[1])


@pytest.mark.unit
def test_what_no_program_had_is_taken_for_what_most_of_its_kind_are() -> None:
    table, unknown = RefusalTable(), ("operator", "Sub")
    refusing(table, ADD, int(ENOUGH))
    assert table.refuses(unknown)
    table.saw([(OPERATOR, ("operator", "Mul"))], Exit.OK)
    assert not table.refuses(unknown)
    refusing(table, [(OPERATOR, ("operator", "Div"))], int(ENOUGH))
    assert table.refuses(unknown)
    table.saw(ADD[:1], Exit.OK)  # which counts as refused: one more ran, and one less is refused
    assert not table.refuses(unknown)
    assert not table.refuses(("computed", "Add", 1))


SUB, MUL = (OPERATOR, ("operator", "Sub")), (OPERATOR, ("operator", "my.domain.Mul"))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("error", "how", "sub", "mul"),
    [
        ("no conversion of Sub", Exit.UNSUPPORTED, ENOUGH, 0),
        ("NotImplementedError: Mul", Exit.UNSUPPORTED, 0, ENOUGH),
        ("Sub and Mul are missing", Exit.UNSUPPORTED, 0.5, 0.5),
        ("SubGraph, node_Sub_3, Multiply", Exit.UNSUPPORTED, 0.5, 0.5),
        ("Sub: sizes 2 and 3", Exit.REJECTED, 0.5, 0.5),
    ],
)
def test_an_operator_that_the_target_names_is_what_it_lacks(error: str, how: Exit, sub: float, mul: float) -> None:
    table = RefusalTable()
    table.saw([SUB, MUL], how, error)
    assert [table.doubt.get(feature, 0) for _, feature in (SUB, MUL)] == [sub, mul]


@pytest.mark.unit
def test_an_operator_that_ran_is_not_blamed_for_being_named() -> None:
    table = RefusalTable()
    table.saw([SUB, ADD[1]], Exit.OK)
    table.saw([SUB, DOUBLE], Exit.UNSUPPORTED, "Sub of float64")
    assert not table.refuses(SUB[1])
    assert table.refuses(DOUBLE[1])


@pytest.mark.unit
def test_what_a_program_is_given_may_be_refused_for_every_operator() -> None:
    table = RefusalTable()

    def shown(op: str, dtype: int) -> list[Trait]:
        return [(OPERATOR, ("operator", op)), (TYPE, ("dtype", op, 0, dtype)), (TYPE, ("input", dtype))]

    for op in "abcdefgh":
        table.saw(shown(op, 1), Exit.OK)
    for count, op in enumerate("abcd", 1):
        assert not table.refuses(("input", 11))
        table.saw(shown(op, 11), Exit.UNSUPPORTED)
        assert table.doubt["input", 11] == count / 2
    assert table.refuses(("input", 11))
    assert not table.refuses(("input", 7))
    for op in "efgh":
        table.saw(shown(op, 7), Exit.UNSUPPORTED)
    assert table.refuses(("input", 6))  # of three types that were tried two are refused
    table.saw(shown("a", 11), Exit.OK)
    assert not table.refuses(("input", 11))


@pytest.mark.unit
def test_a_little_doubt_of_many_of_a_kind_is_enough() -> None:
    table = RefusalTable()
    table.saw(ADD, Exit.OK)
    for op in ("Sub", "Mul", "Div", "Neg"):
        assert not table.refuses(("operator", "Sub")), op
        assert not table.refuses(("operator", "Abs")), op
        table.saw([(OPERATOR, ("operator", op)), (TYPE, ("dtype", op, 0, 1))], Exit.REJECTED)
    assert table.refuses(("operator", "Sub"))
    assert table.refuses(("operator", "Abs"))
    assert not table.refuses(("operator", "Add"))
    table.saw([(OPERATOR, ("operator", "Sub"))], Exit.OK)
    assert not table.refuses(("operator", "Mul"))


@pytest.mark.unit
def test_a_little_doubt_of_what_concerns_one_operator_is_not() -> None:
    table = RefusalTable()
    table.saw(ADD, Exit.OK)

    def refused(rank: int) -> bool:
        return table.refuses(("rank", "Add", 0, rank))

    for rank in (3, 4, 5, 6):
        refusing(table, [ADD[0], (RANK, ("rank", "Add", 0, rank)), (ATTRIBUTE, ("attr", "Add", "axis", rank))], 1)
    assert not any(map(refused, range(2, 8)))
    for rank in (3, 4):
        refusing(table, [ADD[0], (RANK, ("rank", "Add", 0, rank)), (ATTRIBUTE, ("attr", "Add", "axis", rank))], 1)
    assert list(map(refused, range(2, 8))) == [False, True, True, False, False, True]


@pytest.mark.unit
@pytest.mark.parametrize("how", [Exit.CRASH, Exit.HANG, Exit.EXITED, Exit.MEMORY, Exit.PROTOCOL])
def test_what_harms_a_target_is_not_refused(how: Exit) -> None:
    table = RefusalTable()
    for _ in range(5):
        table.saw(ADD, how)
    assert not table.doubt
    assert not table.ran


def add() -> Program:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Add(x, x) }'
    return Program.from_proto(onnx.parser.parse_model(text))


def result(target: Target, how: Exit, error: str = "") -> RunResult:
    return RunResult(target, Stage.RUN, how, error=error)


@pytest.mark.unit
def test_what_was_seen_holds_from_settle_on_and_is_counted() -> None:
    memory, counts = RefusalMemory(), Counter[str]()
    other = Target("other", "other", "1")
    memory.test([TARGET])
    for _ in range(int(ENOUGH)):
        assert memory.saw(add(), [result(TARGET, Exit.REJECTED), result(other, Exit.OK)], counts)
    assert not memory.refuses(("operator", "Add"))
    assert memory.settle()
    assert not memory.settle()
    assert memory.refuses(("operator", "Add"))
    assert counts == {f"mine {ASKED}": 2, f"mine {REFUSED}": 2}
    assert not memory.saw(add(), [result(other, Exit.REJECTED)], counts)


@pytest.mark.unit
def test_a_target_that_names_what_it_lacks_is_asked_once() -> None:
    memory = RefusalMemory()
    memory.test([TARGET])
    memory.saw(add(), [result(TARGET, Exit.UNSUPPORTED, "NotImplementedError: Add")])
    memory.settle()
    assert memory.refuses(("operator", "Add"))


@pytest.mark.unit
def test_jobs_learn_from_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    jobs = [DrawnCalls(Config(learn=True, jobs=2)) for _ in range(2)]
    for job in jobs:
        job.begin(database, [TARGET])
    jobs[0].saw(add(), [result(TARGET, Exit.UNSUPPORTED, "no Add")], Counter())
    assert jobs[0].settle()
    jobs[0].tell(database, 0, now=True)
    assert not jobs[1].settle()
    assert not jobs[1].limits.forbids(("operator", "Add"))
    monkeypatch.setattr(drawn_calls, "TELL", 0.0)
    assert jobs[1].settle()
    assert jobs[1].limits.forbids(("operator", "Add"))
    database.close()


@pytest.mark.unit
def test_it_is_kept_by_target_and_version_and_the_same_twice_changes_nothing() -> None:
    memory = RefusalMemory()
    memory.test([TARGET])
    memory.saw(add(), [result(TARGET, Exit.UNSUPPORTED)])
    memory.settle()
    state = json.loads(json.dumps(memory.state()))
    again = RefusalMemory()
    again.test([TARGET])
    again.absorb(state)
    again.absorb(state)
    assert again.state() == memory.state()
    assert not again.refuses(("operator", "Add"))
    again.absorb({**state, "schema": 0})
    newer = RefusalMemory()
    newer.absorb(state)
    newer.test([replace(TARGET, version="2")])
    newer.saw(add(), [result(replace(TARGET, version="2"), Exit.UNSUPPORTED)])
    newer.settle()
    assert not newer.refuses(("operator", "Add"))


@pytest.mark.unit
def test_the_file_of_a_class_counts_for_its_version(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("class T: ...")
    second.write_text("class T: ...  # another")
    names = [identity(resolve([f"{path}:T"])[0]) for path in (first, second)]
    assert [name.split()[-1] == names[0].split()[-1] for name in names] == [True, False]
    assert identity(TARGET) == "mine 1"
    support = OperatorSupport(tmp_path / "support.json", empty=True)
    (own,) = resolve([f"{first}:T"])
    support.saw(add(), [result(own, Exit.OK)])
    support.save()
    assert OperatorSupport(support.path).told(own)["runs"] == {"Add": ["float"]}


@pytest.mark.unit
def test_who_has_to_take_what_is_drawn() -> None:
    own, runtime = f"{CONVERTER}:SmallConverter", "onnxruntime:disabled"
    names = [t.name for t in learnt_of(resolve(["reference", runtime, own]))]
    assert names == [own]
    assert [t.name for t in learnt_of(resolve(["reference", runtime]))] == [runtime]
    assert [t.name for t in learnt_of(resolve(["reference"]))] == ["reference"]
    converter = Target("conv", "conv", role=resolve(["onnx-inliner:schema"])[0].role)
    assert learnt_of([*resolve([runtime]), converter]) == (converter,)


@pytest.mark.unit
def test_settings_of_older_campaigns_have_no_limits() -> None:
    data = json.loads(Config(seed=3).to_json())
    for name in ("ops", "dtypes", "max_rank", "learn"):
        del data[name]
    assert Config.from_json(json.dumps(data)) == Config(seed=3)
    limited = Config(ops=("Add",), dtypes=("float",), max_rank=3, learn=True)
    assert Config.from_json(limited.to_json()) == limited
