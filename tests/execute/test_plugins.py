"""Plug-in targets that go wrong in every way are reported as what they are, and the next program runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.isolate import Limits

pytestmark = pytest.mark.plugin

LIMITS = Limits(seconds=2.0, memory_bytes=256 << 20, start_seconds=30.0)
MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }'
).SerializeToString()
INPUTS = {"x": np.array([[-1, 0, 1], [2, -3, 4]], np.float32)}


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def once(name: str, times: int = 1) -> list[RunResult]:
    with Runner(resolve([f"tests.planted_targets.faults:{name}"]), LIMITS) as runner:
        return [runner.run(MODEL, INPUTS)[0] for _ in range(times)]


@pytest.mark.parametrize(
    ("name", "expected", "says"),
    [
        ("Segfault", Exit.CRASH, "SIGSEGV"),
        ("Abort", Exit.CRASH, "SIGABRT"),
        ("Fpe", Exit.CRASH, "SIGFPE"),
        ("Hang", Exit.HANG, ""),
        ("Raises", Exit.REJECTED, "ValueError: .* not to my taste"),
        ("Unwritten", Exit.UNSUPPORTED, "NotImplementedError: no kernel"),
        ("Exits", Exit.EXITED, "3"),
        ("SysExit", Exit.EXITED, "4"),
        ("Greedy", Exit.MEMORY, ""),
        ("NoDictionary", Exit.PROTOCOL, "list"),
        ("NoArrays", Exit.PROTOCOL, "object"),
        ("Scribbles", Exit.PROTOCOL, "rubbish"),
        ("ClosesPipe", Exit.PROTOCOL, "closed"),
    ],
)
def test_fault_is_named_and_survived(name: str, expected: Exit, says: str) -> None:
    import re

    first, second = once(name, 2)
    for result in (first, second):
        assert (result.exit, result.stage, result.outputs) == (expected, Stage.RUN, {})
        assert re.search(says, result.error), result.error


def test_a_file_of_a_package_is_told_how_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "package.py").write_text("from . import other\nclass Thing: ...\n")
    told = r"relative import with no known parent package; name the class by its package, package\.module:Thing"
    with pytest.raises(UsageError, match=told), Runner([f"{tmp_path}/package.py:Thing"], LIMITS):
        pass


def test_leak_is_met_by_the_limit_and_a_new_process_starts_clean() -> None:
    exits = [result.exit for result in once("Leaks", 8)]
    assert exits[0] is Exit.OK
    assert Exit.MEMORY in exits
    assert exits[exits.index(Exit.MEMORY) + 1] is Exit.OK


def test_dependence_on_earlier_requests() -> None:
    with Runner(resolve(["tests/planted_targets/faults.py:ThirdTime"]), LIMITS) as runner:
        results = [runner.run(MODEL, INPUTS, tag=f"request {i}")[0] for i in range(2)]
        (crash,) = runner.run(MODEL, INPUTS, tag="request 2")
        target = runner.targets[0]
        # The request that asked for the version has run in that process too, under no tag.
        prefix = runner.prefix(target)
        (alone,) = runner.run_fresh(MODEL, INPUTS)
    assert [r.exit for r in results] == [Exit.OK, Exit.OK]
    assert crash.exit is Exit.CRASH
    assert prefix == ("request 0", "request 1")
    assert alone.exit is Exit.OK


def test_faithful_plugin_with_version() -> None:
    with Runner(resolve(["tests/planted_targets/faults.py:Faithful"])) as runner:
        assert runner.targets[0].version == "1.2.3"
        (result,) = runner.run(MODEL, INPUTS)
    np.testing.assert_array_equal(result.outputs["y"], np.maximum(INPUTS["x"], 0))


def test_ten_lines_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            import sys
            assert "irfuzz" not in sys.modules

            class Doubler:
                def run(self, model_bytes, inputs):
                    return {"y": inputs["x"] * 2, "words": ["a", None][1:]}
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    for name in ("mine:Doubler", "mine.py:Doubler"):
        with Runner(resolve([name])) as runner:
            (result,) = runner.run(MODEL, INPUTS)
        np.testing.assert_array_equal(result.outputs["y"], INPUTS["x"] * 2)
        assert result.outputs["words"] == [None]


def test_more_outputs_than_a_message_can_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """class Many:
    def run(self, model, inputs):
        return dict.fromkeys(map(str, range(10_001)), inputs["x"])
"""
    (tmp_path / "many.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with Runner(resolve(["many:Many"])) as runner:
        (result,) = runner.run(MODEL, INPUTS)
    assert (result.exit, result.outputs) == (Exit.PROTOCOL, {})
    assert "10001 outputs, expected at most 10000" in result.error


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("json.no_such_module:Thing", "ModuleNotFoundError: No module named .json.no_such_module"),
        ("tests/planted_targets/faults.py:Nothing", "has no attribute 'Nothing'"),
        ("tests/planted_targets/dies_on_import.py:Target", "SIGSEGV"),
        ("tests/planted_targets/missing.py:Target", "missing.py"),
    ],
)
def test_plugin_that_cannot_start_is_a_usage_error(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says), Runner(resolve([name]), LIMITS):
        pytest.fail("the runner opened")


def test_one_that_cannot_start_among_others_is_left_out_visibly() -> None:
    with Runner(resolve(["json.no_such_module:Thing", "reference"]), LIMITS, required=False) as runner:
        assert [t.name for t in runner.targets] == ["reference"]
        assert [(a.target.name, "No module named" in a.why_not) for a in runner.absent] == [
            ("json.no_such_module:Thing", True)
        ]
        assert [r.exit for r in runner.run(MODEL, INPUTS)] == [Exit.OK]
