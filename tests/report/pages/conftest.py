"""A browser for pages, findings to show on them, and models as large as they get."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u202e"
"""A name that becomes code wherever it is not escaped."""

SIZES = ((1440, 1000), (390, 844))


@pytest.fixture(scope="session")
def browser() -> Generator[Any]:
    """Chromium without a screen; tests that need it are skipped if there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (`pip install playwright`)"
    )
    found = os.environ.get("IRFUZZ_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no Chromium: none of {', '.join(BROWSERS)} is on PATH, and IRFUZZ_CHROMIUM names none")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def screenshots(root: Path) -> Path:
    """The folder in which a run leaves its screenshots; git ignores it."""
    folder = root / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def axe(root: Path) -> str:
    """The source of axe-core, which looks for what some people cannot use."""
    path = root / "irfuzz" / "report" / "pages" / "script" / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        pytest.skip(f"no axe-core: `npm ci --ignore-scripts` in {path.parents[2]} brings it")
    return path.read_text()


def finding(name: str = "y", *, wide: int = 24) -> Finding:
    """A finding of two nodes whose values differ here and there, as a campaign stores it, with values of both sides."""
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], [f"{name}_c"], name=f"{name} conv", kernel_shape=[3, 3]),
            helper.make_node("Relu", [f"{name}_c"], [name], name=f"{name} relu"),
        ],
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, wide + 2, wide + 2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, wide, wide])],
        [numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    expected = np.abs(np.sin(np.arange(wide * wide, dtype=np.float32))).reshape(1, 1, wide, wide)
    got = expected.copy()
    got[..., 3:6, 5:9] *= 1.25
    got[0, 0, 1, 1] = np.nan
    results = [
        RunResult(Target(target, component, version="1.0"), Stage.RUN, Exit.OK, {name: values})
        for target, component, values in (
            ("onnxruntime:all", "onnxruntime", got),
            ("reference", "reference", expected),
        )
    ]
    verdict = Verdict(
        "numeric", Symptom.DIFFERENCE, "onnxruntime:all", ("reference",), output=name, distance=0.25, bound=1e-5,
        element=f"{name}[0, 0, 3, 5]", got="0.7", expected="0.56", operator="Relu",
    )  # fmt: skip
    inputs = {"x": np.zeros((1, 1, wide + 2, wide + 2), np.float32)}
    case = FailingCase(Program.from_proto(model), inputs)
    trace = {"seed": {"name": name}, "edits": [{"mutator": "insert-layer", "site": name, "detail": f"Relu {name}"}]}
    return Finding(verdict, case, case, results, trace=trace, iteration=3).signed()


def layers(many: int) -> onnx.ModelProto:
    """A network of equal layers of 14 nodes each."""
    nodes: list[onnx.NodeProto] = []
    value = "x"
    for at in range(many):

        def call(op: str, inputs: list[str], name: str, at: int = at, **attributes: Any) -> str:
            nodes.append(helper.make_node(op, inputs, [f"{name}{at}"], name=f"/layer{at}/{op}", **attributes))
            return f"{name}{at}"

        query, key, held = (call("MatMul", [value, "w"], letter) for letter in "qkv")
        scores = call("MatMul", [query, call("Transpose", [key], "t", perm=[0, 2, 1])], "s")
        mixed = call("MatMul", [call("Softmax", [scores], "p", axis=-1), held], "a")
        added = call("Add", [mixed, value], "r")
        moved = call("Add", [added, "b"], "m")
        gated = call("Mul", [moved, call("Sigmoid", [moved], "g")], "h")
        value = call("Tanh", [call("Add", [call("MatMul", [gated, "w"], "o"), added], "e")], "z")
    weights = [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in (("w", (8, 8)), ("b", (8,)))]
    return _model(nodes, value, [1, 4, 8], weights)


def tangle(many: int) -> onnx.ModelProto:
    """Nodes that read what lies at most twelve nodes before them, at random: nothing in it repeats."""
    draw = np.random.default_rng(1)
    names, nodes = ["x"], []
    for at in range(many):
        op = str(draw.choice(["Add", "Mul", "Sub", "Relu", "Tanh", "Neg", "Sigmoid", "Max"]))
        inputs = [str(draw.choice(names[-12:])) for _ in range(2 if op in ("Add", "Mul", "Sub", "Max") else 1)]
        nodes.append(helper.make_node(op, inputs, [f"v{at}"], name=f"n{at}"))
        names.append(f"v{at}")
    return _model(nodes, names[-1], [2, 3], [])


def _model(nodes: list[onnx.NodeProto], last: str, shape: list[int], weights: list[Any]) -> onnx.ModelProto:
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name in ("x", last)]
    graph = helper.make_graph(nodes, "large", *ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
