"""The examples that ``help()`` shows, and what holds for all public calls."""

from __future__ import annotations

import doctest
import inspect

import onnx
import onnx_ir as ir
import pytest

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program

CALLS = ["Runner", *(name for name in irfuzz.__all__ if inspect.isfunction(getattr(irfuzz, name)))]
TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Log(x) }'
POSITIVE = irfuzz.InputSpec(ranges={"x": (1.0, 2.0)})


@pytest.mark.backend
@pytest.mark.parametrize("name", CALLS)
def test_the_examples_of_a_call_give_what_they_show(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(irfuzz, name)
    tests = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    examples = [example for test in tests for example in test.examples]
    assert examples
    told: list[str] = []
    for test in tests:
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)


def forms() -> dict[str, object]:
    """A model in every form that a call takes, but for paths and onnx-graphsurgeon."""
    proto = onnx.parser.parse_model(TEXT)
    return {
        "proto": proto,
        "bytes": proto.SerializeToString(),
        "model": ir.serde.deserialize_model(proto),
        "program": Program.from_proto(proto),
    }


@pytest.mark.unit
@pytest.mark.parametrize("form", forms())
def test_a_model_may_have_any_form(form: str) -> None:
    report = irfuzz.analyze(forms()[form], witness_seconds=0)  # pyright: ignore[reportArgumentType]
    assert [warning.warning.op for warning in report.warnings] == ["Log"]
    assert report.model == "g"
    assert report.to_json()["model"] == "g"
    assert str(report).endswith("s")
    assert not irfuzz.analyze(forms()[form], inputs=POSITIVE).warnings  # pyright: ignore[reportArgumentType]


@pytest.mark.unit
def test_a_path_is_read_with_what_the_project_file_says(tmp_path) -> None:
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "log.onnx")
    path = tmp_path / "log.onnx"
    assert irfuzz.analyze(path, witness_seconds=0).warnings
    (tmp_path / "irfuzz.toml").write_text("[inputs]\nranges = { x = [1, 2] }\n")
    assert not irfuzz.analyze(str(path)).warnings
    again = irfuzz.InputSpec(ranges={"x": (0, 1)})
    assert irfuzz.analyze(path, inputs=again, witness_seconds=0).warnings, "arguments win"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (irfuzz.InputSpec(ranges={"z": (0, 1)}), r"inputs: ranges\['z'\]: no such input or initializer 'z'"),
        (irfuzz.InputSpec(ranges={"x": (1, 0)}), r"inputs: ranges\['x'\]: expected \(lowest, highest\), got \(1, 0\)"),
        (irfuzz.InputSpec(shapes={"x": (3,)}), r"inputs: shapes\['x'\] = \(3,\): axis 0 of input 'x' is fixed at 2"),
        (irfuzz.InputSpec(sizes={"N": 3}), r"inputs: sizes\['N'\] = 3: no such dimension 'N'"),
        ({"z": None}, "inputs: sample 0: no array for input 'x'"),
        ([], "inputs: expected an InputSpec, a sample"),
        ("x", "inputs: expected an InputSpec, a sample .* got str"),
    ],
)
def test_what_contradicts_the_model_is_refused_with_the_name_of_the_argument(inputs: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        irfuzz.analyze(onnx.parser.parse_model(TEXT), inputs=inputs)  # pyright: ignore[reportArgumentType]


@pytest.mark.unit
def test_nothing_is_printed_and_updates_say_what_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    updates: list[irfuzz.Update] = []
    report = irfuzz.analyze(onnx.parser.parse_model(TEXT), witness_seconds=0.1, progress=updates.append)
    assert {update.doing for update in updates} == {"analyzing"}
    known = [update.so_far() for update in updates if update.so_far is not None]
    assert known
    assert all(one is not None and one.partial for one in known)
    assert not report.partial
    assert capfd.readouterr() == ("", "")
