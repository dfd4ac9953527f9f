"""What NumPy's lowering shares with PyTorch's and TensorFlow's: the text of modules and the plan of sizes, no more."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.errors import Unsupported
from irfuzz.export.array.source_conventions import ARRAY
from irfuzz.export.lowerings import LOWERINGS
from irfuzz.export.source.emitter_context import EmitterContext
from irfuzz.ir.program import Program
from tests.export.cases import KINDS, cases, model_of

pytestmark = pytest.mark.unit

WRITING = {
    "irfuzz.export.source": {"program_to_module_source"},
    "irfuzz.export.source.emitter_context": {
        "Code",
        "Emitted",
        "Emitter",
        "EmitterContext",
        "StatementBlock",
        "TupleExpression",
        "comment",
        "literal",
    },
    "irfuzz.export.source.framework_description": {"FrameworkDescription"},
    "irfuzz.export.source.module_source": {"ModuleSource"},
}
"""What writes modules, and knows no operator."""

READING = ("attr", "form", "ints", "is_float", "is_plain")
"""Methods of ``EmitterContext`` that read an operator as PyTorch's and TensorFlow's lowerings do."""


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def test_emitters_import_what_writes_modules_and_nothing_that_reads_operators(root: Path) -> None:
    for file in (root / "irfuzz/export/array").glob("*.py"):
        for module, name in imported(file):
            if module.startswith("irfuzz") and not module.startswith("irfuzz.export.array"):
                assert name in WRITING.get(module, ()), f"{file.name}: {module}.{name}"
        used = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
        assert not used & set(READING), file.name


def test_support_functions_import_the_plan_of_sizes_alone(root: Path) -> None:
    for file in (root / "irfuzz/export/array/support").glob("*.py"):
        modules = {module for module, _ in imported(file) if not module.startswith("irfuzz.export.array.support")}
        outside = {module for module in modules if not module.startswith("irfuzz.export.size_arithmetic.")}
        assert outside <= {"__future__", "itertools", "math", "ml_dtypes", "numpy"}, file.name


def test_every_emitter_is_its_own() -> None:
    assert {emitter.__module__.rpartition(".")[0] for emitter in ARRAY.emitters.values()} == {"irfuzz.export.array"}
    assert not ARRAY.forms


def broken(*_args: Any, **_kwargs: Any) -> Any:
    raise AssertionError("a reading that is not NumPy's own")


@pytest.fixture
def without_shared_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads nodes for the emitters of ``irfuzz.export.source`` raises."""
    for name in READING:
        monkeypatch.setattr(EmitterContext, name, broken)
    monkeypatch.setattr("irfuzz.export.source.emitter_context.attribute_defaults", broken)


@pytest.mark.usefixtures("without_shared_reading")
def test_every_case_of_onnx_is_lowered_without_a_shared_reading() -> None:
    lowered = 0
    for case in (case for kind in KINDS for case in cases(kind)):
        try:
            LOWERINGS["numpy"](Program.from_proto(model_of(case)))
        except Unsupported:
            continue
        lowered += 1
    assert lowered > 1700


MODEL = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[2, 3] x) => (float[2, 1] y, float[2, 3] z) <int64[1] axes = {1}>
{ y = ReduceSum <keepdims = 1> (x, axes) z = Softmax <axis = 0> (x) }
"""


def of(component: str, name: str) -> np.ndarray:
    """An output of the model, computed by a lowering that is made now."""
    lowered = LOWERINGS[component](Program.from_proto(onnx.parser.parse_model(MODEL)))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    return module["run"](lowered.arrays, {"x": np.arange(6, dtype=np.float32).reshape((2, 3))})[name]


def other_axis(right: Callable[..., Any]) -> Callable[..., Any]:
    """Reads 1 for every attribute of that name."""
    return lambda ctx, node, name, default=None: 1 if name == "axis" else right(ctx, node, name, default)


@pytest.mark.backend
@pytest.mark.parametrize(
    ("reading", "wrong", "name"),
    [("ints", lambda _: lambda ctx, node, index: (0,), "y"), ("attr", other_axis, "z")],
)
def test_a_fault_in_the_shared_reading_makes_torch_wrong_and_numpy_not(
    monkeypatch: pytest.MonkeyPatch, reading: str, wrong: Callable[[Any], Any], name: str
) -> None:
    right = of("numpy", name)
    np.testing.assert_allclose(of("torch", name), right, rtol=1e-6)
    monkeypatch.setattr(EmitterContext, reading, wrong(getattr(EmitterContext, reading)))
    np.testing.assert_array_equal(of("numpy", name), right)
    faulty = of("torch", name)
    assert faulty.shape != right.shape or not np.allclose(faulty, right)
