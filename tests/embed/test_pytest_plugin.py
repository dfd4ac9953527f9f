"""pytest's plug-in: a wrong converter is found, made small, stored and replayed; other people's runs stay light."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from irfuzz.embed.converter_campaign import ConverterFault, ConverterOptions, ConverterTally, look_for_fault
from irfuzz.embed.pytest_plugin import folder_name, options_of, seconds_of
from irfuzz.errors import UsageError

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = "irfuzz.embed.pytest_plugin"
LOAD = () if any(e.value == PLUGIN for e in entry_points(group="pytest11")) else ("-p", PLUGIN)

CONVERTER = """
import numpy as np
from onnx import helper, numpy_helper


def softmax(x, axis=DEFAULT):
    axis = min(axis, x.ndim - 1)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


OPS = {
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
    "Relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "Softmax": softmax,
    "Transpose": lambda a, perm=None: a.transpose(perm),
}


def convert(model):
    for node in model.graph.node:
        if node.op_type not in OPS:
            raise NotImplementedError(node.op_type)

    def run(inputs):
        known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | inputs
        for node in model.graph.node:
            attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            known[node.output[0]] = OPS[node.op_type](*(known[name] for name in node.input), **attrs)
        return [known[value.name] for value in model.graph.output]

    return run
"""

OTHERS = """
def test_nothing_is_supported(irfuzz_differential):
    def convert(model):
        raise NotImplementedError

    irfuzz_differential(convert, programs=2)


def test_unknown_option(irfuzz_differential):
    irfuzz_differential(None, nonsense=1)
"""


def documented() -> str:
    """The example of docs/embedding.md."""
    page = (ROOT / "docs" / "embedding.md").read_text()
    (code,) = [
        c for c in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "irfuzz_differential" in c
    ]
    return code


@pytest.mark.backend
@pytest.mark.planted
@pytest.mark.slow
def test_a_wrong_axis_default_is_found_reduced_stored_and_replayed(pytester: pytest.Pytester) -> None:
    """The documented example, on an interpreter that takes Softmax's axis as 0 where it is left out."""
    code = documented()
    assert len(code.splitlines()) <= 20
    pytester.makepyfile(my_converter=CONVERTER.replace("DEFAULT", "0"), test_it=code)

    first = pytester.runpytest_subprocess(*LOAD, "--strict-markers")
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(
        [
            "irfuzz: convert gives * in Softmax",
            "(seed 0, program *",
            "*= Softmax (*",
            "distance * allowed *",
            "replay: *",
        ]
    )
    (folder,) = (pytester.path / ".irfuzz").glob("*/*")
    model = onnx.load(folder / "model.onnx")
    assert [node.op_type for node in model.graph.node] == ["Softmax"]
    assert {"inputs.npz", "expected.npz", "got.npz", "finding.txt"} <= {p.name for p in folder.iterdir()}
    assert folder.name in first.stdout.str()

    again = pytester.runpytest_subprocess(*LOAD, "--strict-markers")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(
        ["irfuzz: convert gives * in Softmax", "(replayed; seed 0, *", f"stored in *{folder.name}"]
    )

    pytester.makepyfile(
        my_converter=CONVERTER.replace("DEFAULT", "-1"), test_it=code.replace('budget="20s"', "programs=1") + OTHERS
    )
    mended = pytester.runpytest_subprocess(*LOAD, "--strict-markers", "-p", "no:cacheprovider")
    mended.assert_outcomes(passed=1, failed=2)
    mended.stdout.fnmatch_lines(["*ran none of 2 programs, 2 not supported*", "*unknown option nonsense; known: *"])


def test_nothing_is_imported_before_it_is_used(tmp_path: Path) -> None:
    code = f"import pytest, sys; known = set(sys.modules); import {PLUGIN}; print(*(set(sys.modules) - known))"
    words = [sys.executable, "-P", "-c", code]
    new = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split()
    assert {m for m in new if m.startswith("irfuzz")} == {"irfuzz", "irfuzz.errors", "irfuzz.embed", PLUGIN}
    assert not {m.split(".")[0] for m in new} & {"numpy", "onnx", "onnx_ir", "hypothesis", "sqlalchemy", "rich"}


def relu() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def off_by(share: float) -> Callable[..., Any]:
    factor = np.float32(1 + share)
    return lambda model: lambda inputs: np.maximum(inputs["x"], np.float32(0)) * factor


def lacking(model: onnx.ModelProto) -> Any:
    raise KeyError(model.graph.node[0].op_type)


@pytest.mark.backend
def test_tolerance_is_what_a_user_lets_pass(tmp_path: Path) -> None:
    seen = [
        look_for_fault(off_by(1e-3), tmp_path, ConverterOptions(seeds=[relu()], programs=1, tolerance=tolerance))
        for tolerance in (1e-2, None)
    ]
    assert seen[0] == ConverterTally(made=1, compared=1)
    assert isinstance(seen[1], ConverterFault)
    assert seen[1].finding.verdict.symptom == "difference"


@pytest.mark.backend
@pytest.mark.parametrize(
    ("convert", "told"), [(lacking, "KeyError"), (lambda model: lambda inputs: [], "outputs: expected y, got 0 values")]
)
def test_what_a_converter_raises_is_shown_and_stored(convert: Any, told: str, tmp_path: Path) -> None:
    found = look_for_fault(convert, tmp_path, ConverterOptions(seeds=[relu()], programs=1))
    assert isinstance(found, ConverterFault)
    assert found.finding.verdict.symptom == "rejection"
    assert told in found.text()
    assert "raises NotImplementedError" in found.text()
    assert not (found.folder / "got.npz").exists()
    (found.folder / "model.onnx").write_bytes(b"junk")
    with pytest.raises(UsageError, match="not a stored finding"):
        look_for_fault(convert, tmp_path, ConverterOptions(seeds=[relu()], programs=1))


@pytest.mark.unit
def test_options_are_checked() -> None:
    assert options_of({"budget": "2m"}).seconds == 120
    assert options_of({"programs": 3}).seconds is None
    assert seconds_of("budget", 0.5) == 0.5
    for given, message in (
        ({"budget": "soon"}, "budget: expected a duration"),
        ({"programs": 0}, "programs: expected an integer of at least 1, got 0"),
        ({"edit": 1}, "unknown option edit; known: budget, edits"),
    ):
        with pytest.raises(UsageError, match=message):
            options_of(given)
    with pytest.raises(UsageError, match="two independent components"):
        look_for_fault(lacking, Path(), ConverterOptions(targets=("reference",)))
    with pytest.raises(UsageError, match="draws no calls of 'Nonsense'"):
        look_for_fault(lacking, Path(), ConverterOptions(operators=["Nonsense"], programs=1))


@pytest.mark.unit
def test_every_test_has_a_folder_of_its_own() -> None:
    names = {folder_name(f"tests/test_a.py::test_x[{mark}]") for mark in ("a", "a/b", "a-b", "../..", "x" * 500)}
    assert len(names) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,100}", name) for name in names)
