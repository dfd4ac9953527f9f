"""Whose word counts in a check: deaths, limits, refusals, the reference as a witness, broken rules, empty agreement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.localize.comparison.failed_run_disagreements import Allowed, starved
from irfuzz.localize.comparison.sample_disagreements import Tolerance
from irfuzz.localize.target_comparison import CheckResult, CheckSetting, NothingCompared, check
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.known_issue_labels import known_faults, with_known

pytestmark = pytest.mark.backend

PLANTED = "tests/planted_targets"
SOFTMAX = "a = Tanh(x) y = Softmax(a)"


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def program(body: str = SOFTMAX, takes: str = "float[1, 4] x", gives: str = "float[1, 4] y") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({takes}) => ({gives}) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def rows(count: int = 2, shape: tuple[int, ...] = (1, 4)) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.normal(0, 1, shape).astype(np.float32)} for _ in range(count)]


def compare(
    model: Program, targets: list[str], samples: list[dict[str, np.ndarray]] | None = None, *,
    witnesses: tuple[str, ...] = (), seconds: float = 10.0, memory: int | None = None, **options: object,
) -> CheckResult:  # fmt: skip
    setting = CheckSetting(
        witnesses=resolve(witnesses) if witnesses else (), allowed=Allowed(seconds, memory), known_faults=known_faults()
    )
    limits = Limits(seconds=seconds, memory_bytes=memory)
    with Runner(resolve(targets), limits) as runner:
        found = check(runner, model, rows() if samples is None else samples, setting=setting, **options)  # type: ignore[arg-type]
    return with_known(found, model)


def test_the_reference_is_not_asked_where_others_agree() -> None:
    report = compare(program(), ["ort:disabled", "torch:eager"], witnesses=("reference",))
    assert report.agree
    assert report.witnesses == ()
    assert report.base == "onnxruntime:disabled"
    assert [t.name for t in report.targets] == ["onnxruntime:disabled", "torch:eager"]


@pytest.mark.planted
def test_the_reference_decides_who_is_wrong_of_two() -> None:
    wrong = f"{PLANTED}/kernels.py:FirstAxis"
    report = compare(program(), [wrong, "ort:disabled"], witnesses=("reference",), locate=False)
    assert report.base == wrong
    assert report.witnesses == ("reference",)
    assert report.apart == (wrong,)
    (one,) = report.divergences
    assert (one.targets, one.output, one.samples) == ((wrong,), "y", (0, 1))


@pytest.mark.planted
def test_a_witness_that_refuses_what_two_run_is_told_but_does_not_count() -> None:
    """Another target's limit makes nobody ask; a difference does, and then the witness may know less than anybody."""
    wrong, witness = f"{PLANTED}/kernels.py:FirstAxis", f"{PLANTED}/faults.py:Raises"
    report = compare(program(), ["ort:disabled", "torch:eager", wrong], rows(1), witnesses=(witness,), locate=False)
    assert report.witnesses == (witness,)
    assert report.apart == (wrong,)
    assert [(d.targets, d.witness) for d in report.divergences if not d.counts] == [((witness,), True)]


def test_too_few_targets_ask_the_reference() -> None:
    report = compare(program(), ["ort:disabled"], witnesses=("reference",))
    assert (report.agree, report.witnesses) == (True, ("reference",))


def test_a_known_fault_of_the_reference_is_told_and_excused() -> None:
    """GlobalMaxPool over the channels too: what follows it is refused, and the node alone gives another shape."""
    model = program(
        "p = GlobalMaxPool(x) axes = Constant<value = int64[1] {2}>() y = Squeeze(p, axes)", "float[1, 3, 5] x",
        "float[1, 3] y",
    )  # fmt: skip
    report = compare(model, ["reference", "ort:disabled", "torch:eager"], rows(2, (1, 3, 5)))
    assert report.agree
    (one,) = report.divergences
    assert (one.targets, one.symptom, one.excused) == (("reference",), Symptom.REJECTION, True)
    assert [k.docs for k in one.known] == ["docs/bugs.md, 15"]


@pytest.mark.planted
def test_an_unknown_refusal_is_a_disagreement() -> None:
    report = compare(program(), ["ort:disabled", "torch:eager", f"{PLANTED}/faults.py:Raises"], locate=False)
    assert report.apart == (f"{PLANTED}/faults.py:Raises",)
    (one,) = report.divergences
    assert (one.known, one.samples) == ((), (0, 1))


@pytest.mark.planted
def test_a_death_is_a_disagreement_though_no_other_runs() -> None:
    faults = [f"{PLANTED}/faults.py:{name}" for name in ("Segfault", "Raises")]
    report = compare(program(), faults, rows(1))
    assert not report.agree
    assert [(d.targets, d.symptom, d.base) for d in report.divergences] == [((faults[0],), Symptom.CRASH, "")]


@pytest.mark.planted
def test_what_nobody_runs_is_no_verdict() -> None:
    faults = [f"{PLANTED}/faults.py:{name}" for name in ("Choosy", "Raises")]
    with pytest.raises(NothingCompared, match=r"no target runs the model \(.*not to my taste"):
        compare(program("y = Exp(x)"), faults, rows(1))


@pytest.mark.planted
@pytest.mark.parametrize(("others", "hangs"), [(["ort:disabled", "ort:all"], False), (["ort:disabled", "torch"], True)])
def test_a_time_limit_is_the_targets_fault_only_if_two_components_keep_it(others: list[str], hangs: bool) -> None:
    slow = f"{PLANTED}/faults.py:Hang"
    report = compare(program(), [*others, slow], seconds=1.0, locate=False)
    (one,) = report.divergences
    assert (one.targets, one.symptom, one.samples) == ((slow,), Symptom.HANG, (0,))  # it is not asked again
    assert (report.agree, bool(one.limit)) == (not hangs, not hangs)
    assert "within 1 s (--timeout SECONDS allows more)" in one.what


@pytest.mark.planted
def test_a_memory_limit_is_named_with_its_flag() -> None:
    greedy = f"{PLANTED}/faults.py:Greedy"
    report = compare(program(), ["ort:disabled", "ort:all", greedy], rows(1), memory=256 << 20, locate=False)
    assert report.agree
    (one,) = report.divergences
    assert (one.targets, one.undecided) == ((greedy,), True)
    assert "more memory than the 256 MiB allowed" in one.limit
    assert "--memory MIB" in one.limit


def test_a_broken_rule_is_told_instead_of_refusals() -> None:
    model = program(
        "s = Constant<value = int64 {8}>() n = Constant<value = int64 {16}>() y = STFT(x, s, , n)", "float[1, 64] x",
        "float[a, b, c, d] y",
    )  # fmt: skip
    report = compare(model, ["ort:disabled", "torch:eager", "reference"], rows(1, (1, 64)))
    assert report.broken == ("STFT 'y': signal: expected rank 3 (B, L, R), got (1, 64) (ONNX-17)",)
    assert report.accepting == ("onnxruntime:disabled",)
    assert (report.agree, report.located) == (False, ())


@pytest.mark.planted
@pytest.mark.parametrize(("drawn", "refusals", "told"), [(True, 1, False), (True, 2, True), (False, 1, True)])
def test_sizes_of_some_drawn_inputs_are_not_the_models_fault(
    tmp_path: Path, drawn: bool, refusals: int, told: bool
) -> None:
    model = program(
        "s = Constant<value = int64 {8}>() n = Constant<value = int64 {16}>() y = STFT(x, s, , n)", "float[1, 64] x",
        "float[a, b, c, d] y",
    )  # fmt: skip
    half = tmp_path / "half.py"
    half.write_text(
        "import onnxruntime\n\n\nclass Half:\n    def run(self, model, inputs):\n"
        f"        if inputs['x'][0, 0] < {refusals}:\n            raise ValueError('no')\n"
        "        run = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider']).run\n"
        "        return {'y': run(None, inputs)[0]}\n"
    )
    samples = [{"x": np.full((1, 64), first, np.float32)} for first in range(2)]
    with Runner(resolve(["ort:disabled", f"{half}:Half"])) as runner:
        found = check(runner, model, samples, setting=CheckSetting(drawn=drawn), locate=False)  # type: ignore[arg-type]
    assert bool(found.broken) is told


@pytest.mark.parametrize(("element", "empty"), [(-1.0, ("y",)), (1.0, ())])
def test_agreement_on_nothing_is_told(element: float, empty: tuple[str, ...]) -> None:
    model = program("y = Log(x)", "float[2] x", "float[2] y")
    samples = [{"x": np.array([-1, element], np.float32)}]
    report = compare(model, ["ort:disabled", "ort:all"], samples)
    assert (report.agree, report.empty, bool(report.unclear)) == (True, empty, bool(empty))


@pytest.mark.planted
def test_with_fixed_bounds_the_larger_group_is_right_whoever_is_the_base() -> None:
    wrong = f"{PLANTED}/kernels.py:FirstAxis"
    report = compare(program(), [wrong, "ort:disabled", "ort:all"], tolerance=Tolerance(), locate=False)
    assert report.base == wrong
    assert report.apart == (wrong,)


def test_time_that_is_up_gives_what_is_known() -> None:
    setting = CheckSetting(seconds=0.0)
    with (
        Runner(resolve(["ort:disabled", "ort:all"])) as runner,
        pytest.raises(NothingCompared, match="the time is up, and none of 2 inputs was compared by then"),
    ):
        check(runner, program(), rows(), setting=setting)
    with Runner(resolve(["ort:disabled", f"{PLANTED}/faults.py:Hang"])) as runner:
        setting = CheckSetting(seconds=3.0, fail_fast=True, allowed=Allowed(60.0))
        with pytest.raises(NothingCompared, match="the time is up"):
            check(runner, program(), rows(), setting=setting)
    with Runner(resolve(["ort:disabled", "ort:all"])) as runner:  # workers start again afterwards
        assert check(runner, program(), rows(), setting=CheckSetting(seconds=60.0)).stopped == ""


def test_what_is_known_so_far_can_be_had_while_it_runs() -> None:
    seen: list[int] = []
    reports: list[object] = []

    def progress(what: str, done: int, of: int) -> None:
        report = reports[0]()  # type: ignore[operator]
        seen.append(0 if report is None else report.samples)

    with Runner(resolve(["ort:disabled", "ort:all"])) as runner:
        check(runner, program(), rows(3), progress=progress, so_far=reports.append)
    assert seen[0] == 0
    assert max(seen) == 3


@pytest.mark.planted
@pytest.mark.parametrize(("pads", "undecided"), [("0, 0, 0, 0", True), ("1, 1, 1, 1", False)])
def test_a_refusal_of_what_onnx_leaves_open_is_undecided(pads: str, undecided: bool) -> None:
    """A window larger than its input: some components give one, others none, which another refuses."""
    model = program(
        f"y = AveragePool<kernel_shape = [3, 3], pads = [{pads}]>(x)", "float[1, 1, 2, 2] x", "float[1, 1, a, b] y"
    )
    refusing = f"{PLANTED}/faults.py:Raises"
    report = compare(model, ["ort:disabled", "ort:all", refusing], rows(1, (1, 1, 2, 2)), locate=False)
    (one,) = [d for d in report.divergences if d.targets == (refusing,)]
    assert one.undecided is undecided
    assert report.agree is undecided


@pytest.mark.parametrize(
    ("exit_kind", "log", "starves"),
    [
        (Exit.REJECTED, "RuntimeError: [enforce fail] can't allocate memory", True),
        (Exit.REJECTED, "RuntimeError: no", False),
        (Exit.UNSUPPORTED, "can't allocate memory", False),
    ],
)
def test_what_a_component_prints_may_say_that_memory_ran_out(exit_kind: Exit, log: str, starves: bool) -> None:
    result = RunResult(Target("a", "a"), Stage.RUN, exit_kind, error="it failed", log=log)
    assert starved(result).exit is (Exit.MEMORY if starves else exit_kind)
