"""A fixed small census: nothing is valid by spec and refused by everybody, and little the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.shipped_folders import ops_dir
from irfuzz.spec import Specs
from tests.spec.census import run
from tests.spec.census.calls import Arg, Case, draw
from tests.spec.census.judge import Agreement, judge, same
from tests.spec.census.perturb import KINDS, neighbours
from tests.spec.census.table import DOCUMENT, MOST_OVER_REFUSED, NUMBERS, failures, read, rows, table, total

CALLS = 1
NEIGHBOURS = 10


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with run.open_runner() as open_runner:
        yield open_runner


@pytest.mark.backend
def test_what_the_spec_accepts_is_taken_by_someone(specs: Specs, runner: Runner) -> None:
    """The small census; benchmarks/census.py makes the full one."""
    records = run.census(runner, specs, CALLS, "small", most=NEIGHBOURS, opsets=(17, 26))
    print(table(rows(records)))
    calls = sum(r.calls for r in records)
    assert not failures(records), "\n".join(failures(records))
    assert calls > 8 * len(records)
    over = sum(r.counts[Agreement.OVER_REFUSED.value] for r in records)
    assert over <= MOST_OVER_REFUSED * calls
    assert {k for r in records for k, n in r.kinds.items() if n} == set(KINDS)
    # every class that is not a fault is met, so that none of them is counted by mistake
    met = {name for r in records for name, n in r.counts.items() if n}
    assert {a.value for a in (Agreement.VALID, Agreement.PARTLY_REFUSED, Agreement.INVALID)} <= met


@pytest.fixture
def conv(specs: Specs) -> Case:
    spec = specs.get("Conv", 17)
    assert spec is not None
    x = Arg(ir.DataType.FLOAT, np.ones((1, 4, 5, 5), np.float32))
    w = Arg(ir.DataType.FLOAT, np.ones((2, 4, 3, 3), np.float32), constant=True)
    return Case(spec, 17, {"group": 1}, (x, w))


def results(runner_targets: Any, *exits: Exit, values: tuple[float, ...] = (1.0, 1.0, 1.0)) -> list[RunResult]:
    return [
        RunResult(t, Stage.RUN, e, {"y0": np.full(2, v, np.float32)} if e is Exit.OK else {}, "words")
        for t, e, v in zip(runner_targets, exits, values, strict=True)
    ]


@pytest.mark.unit
def test_classes(conv: Case) -> None:
    targets = run.resolve(run.TARGETS)
    who = ("reference", "onnxruntime", "torch")
    ok, bad, gap = Exit.OK, Exit.REJECTED, Exit.UNSUPPORTED

    def of(case: Case, *exits: Exit, values: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Agreement:
        return judge("size", "", case, results(targets, *exits, values=values)).agreement(who)

    wrong = conv.with_attr("group", 3)
    assert of(conv, ok, ok, ok) is Agreement.VALID
    assert of(conv, ok, bad, gap) is Agreement.PARTLY_REFUSED
    assert of(conv, bad, bad, gap) is Agreement.UNDER_REFUSED
    assert of(conv, bad, Exit.CRASH, bad) is Agreement.UNDER_REFUSED
    assert of(wrong, bad, bad, bad) is Agreement.INVALID
    assert of(wrong, ok, bad, bad) is Agreement.PARTLY_ACCEPTED
    assert of(wrong, ok, ok, ok) is Agreement.OVER_REFUSED
    assert of(wrong, ok, ok, ok, values=(1.0, 1.0, 2.0)) is Agreement.PARTLY_ACCEPTED
    double = replace(conv, args=tuple(a and a.cast(ir.DataType.DOUBLE) for a in conv.args))
    assert of(double, bad, gap, bad) is Agreement.DECLARED
    # a component that does not have the operator has no say, unless it computes something all the same
    assert judge("size", "", conv, results(targets, bad, bad, ok)).agreement(who[:2]) is Agreement.PARTLY_REFUSED
    assert judge("size", "", wrong, results(targets, ok, ok, gap)).agreement(who[:2]) is Agreement.OVER_REFUSED


@pytest.mark.backend
def test_a_missing_rule_is_found(specs: Specs, runner: Runner) -> None:
    """Without the rules of Conv the census must complain."""
    spec = specs.get("Conv", 17)
    assert spec is not None
    assert spec.overlay is not None
    lax = replace(spec, overlay=replace(spec.overlay, rules=(), patterns={}))
    case = draw(spec, 17, "lax")
    assert case is not None
    found = [(k, w, replace(c, spec=lax)) for k, w, c in neighbours(case, np.random.default_rng(1)) if k == "size"]
    classes = [j.agreement(("reference", "onnxruntime", "torch")) for j in run.judge_all(runner, found)]
    assert Agreement.UNDER_REFUSED in classes


@pytest.mark.unit
def test_neighbours_differ_in_one_place(conv: Case) -> None:
    made = list(neighbours(conv, np.random.default_rng(0)))
    assert {kind for kind, _, _ in made} >= set(KINDS) - {"value"}
    shapes = {c.args[0].array.shape for kind, _, c in made if kind == "size" and c.args[0] is not None}
    assert {(1, 5, 5, 5), (1, 3, 5, 5), (1, 1, 5, 5), (1, 0, 5, 5)} <= shapes
    ranks = {c.args[1].array.ndim for kind, _, c in made if kind == "rank" and c.args[1] is not None}
    assert ranks == {3, 4, 5}
    groups = {c.attrs.get("group") for kind, _, c in made if kind == "attribute"}
    assert {None, 0, 2, -1, 1000} <= groups
    dtypes = {c.args[0].dtype for kind, _, c in made if kind == "dtype" and c.args[0] is not None}
    assert len(dtypes) > 20
    assert any(len(c.args) == 1 for kind, _, c in made if kind == "presence")
    assert any(c.args[0] is None for kind, _, c in made if kind == "presence")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (np.float32([1, np.nan]), np.float32([1, np.nan]), True),
        (np.float32([1, 2]), np.float32([1, 2.1]), False),
        (np.float32([1]), np.float64([1]), False),
        (np.float32([1]), np.float32([[1]]), False),
        (np.int64([3]), np.int64([4]), False),
        (np.uint8([3]), np.uint8([4]), True),
        (np.float16([1000]), np.float16([1001]), True),
        (np.array(["a"], object), np.array(["b"], object), False),
        ([np.float32([1])], [np.float32([1]), np.float32([2])], False),
    ],
)
def test_what_counts_as_the_same_numbers(a: Any, b: Any, equal: bool) -> None:
    assert same([[a], [b]]) is equal


@pytest.mark.unit
def test_the_document_lists_the_overlays_that_there_are(specs: Specs) -> None:
    """``python -m benchmarks.census --ops NAME --write`` adds or renews a row."""
    found = read(DOCUMENT.read_text(encoding="utf-8"))
    wanted = {spec.op for spec, _ in run.versions(specs)}
    assert set(found) == wanted
    assert wanted <= {p.stem for p in (ops_dir() / "ai.onnx").glob("*.toml")}
    sums = dict(zip(NUMBERS, total(found), strict=True))
    assert sums["under-refused"] == 0
    assert sums["over-refused"] <= MOST_OVER_REFUSED * sums["calls"]


@pytest.mark.unit
def test_overlays_cite_the_sections_that_their_rules_come_from(specs: Specs) -> None:
    """``(Conv-11, group)``: the operator's version and the attribute, input or part of the text."""
    silent = []
    for path in sorted((ops_dir() / "ai.onnx").glob("*.toml")):
        text = path.read_text(encoding="utf-8").partition("# Measured")[0]
        limits = re.search(r"\[require\]|at_least|at_most|one_of", text)
        cited = re.search(rf"{path.stem}-\d+, [A-Za-z_]", text) or re.search(r"(?:Broadcasting|IR|Operators)\.md", text)
        if limits and not cited:
            silent.append(path.stem)
    assert not silent, silent
