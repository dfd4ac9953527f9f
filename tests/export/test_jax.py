"""JAX modules: ONNX's own cases eagerly and compiled, what jit refuses, and a planted fault that is found."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

import irfuzz
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.export.lowerings import LOWERINGS
from irfuzz.ir.program import Program
from irfuzz.oracle.judge import judge
from irfuzz.oracle.verdict import Symptom
from irfuzz.oracle.witnesses_and_blame import flushes, witnesses_of
from tests.export import frameworks
from tests.export.cases import cases, data_of, difference, model_of

pytest.importorskip("jax")
pytestmark = pytest.mark.backend

CASES = (
    "test_averagepool_2d_ceil", "test_col2im_5d", "test_compress_1", "test_convtranspose_group_2", "test_dft",
    "test_edge_pad", "test_gelu_default_1", "test_maxunpool_export_without_output_shape", "test_reversesequence_batch",
    "test_resize_upsample_scales_nearest", "test_scatternd_add", "test_tensorscatter", "test_top_k",
)  # fmt: skip
"""What has a function of its own in ``replacements``, and what has its sizes from an input."""


@pytest.fixture(scope="module")
def worker() -> ModuleType:
    return frameworks.loaded_worker(Path(irfuzz.__file__).parent, "jax")


def ran(worker: ModuleType, model: onnx.ModelProto, inputs: dict[str, Any], mode: str, source: str = "") -> RunResult:
    """What the worker answers for one mode."""
    lowered = LOWERINGS["jax"](Program.from_proto(model))
    request = {
        "do": "run", "source": source or lowered.source, "arrays": list(lowered.arrays),
        "inputs": [{"name": name} for name in inputs], "variants": [{"mode": mode}],
    }  # fmt: skip
    answer, values = worker.handle(request, [*lowered.arrays.values(), *inputs.values()])
    (run,) = answer["runs"]
    names = [about["name"] for about in run.get("outputs", [])]
    return RunResult(
        Target(f"jax:{mode}", "jax"), Stage(run["stage"]), Exit(run["exit"]),
        outputs=dict(zip(names, map(np.asarray, values), strict=True)), error=run.get("error", ""),
    )  # fmt: skip


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')


@pytest.mark.conformance
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_a_case_of_onnx_passes(worker: ModuleType, name: str, mode: str) -> None:
    case = next(c for c in cases("node") if c.name == name)
    model = model_of(case)
    for inputs, expected in data_of(case, model):
        given = dict(zip((value.name for value in model.graph.input), inputs, strict=True))
        found = ran(worker, model, given, mode)
        assert found.exit is Exit.OK, found.error
        for output, right in zip(model.graph.output, expected, strict=True):
            assert difference(found.outputs[output.name], right, case.rtol, case.atol) == ""


def test_a_box_is_held_against_those_that_were_kept(worker: ModuleType) -> None:
    model = parsed(
        """g (float[1,3,4] b, float[1,1,3] s, float i) => (int64[N,3] y) <int64[1] m = {3}> {
        y = NonMaxSuppression(b, s, m, i)
        }"""
    )
    boxes = np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]]])
    inputs = {"b": boxes, "s": np.float32([[[0.8, 0.9, 0.7]]]), "i": np.float32(0.5)}
    found = ran(worker, model, inputs, "eager")
    assert found.exit is Exit.OK, found.error
    assert found.outputs["y"].tolist() == [[0, 0, 1], [0, 0, 2]]


def test_a_shape_that_depends_on_values_runs_eagerly_and_is_refused_by_jit(worker: ModuleType) -> None:
    model = parsed("g (float[4] x) => (int64[1,N] y) { y = NonZero(x) }")
    inputs = {"x": np.float32([0, 1, 0, 2])}
    assert ran(worker, model, inputs, "eager").outputs["y"].tolist() == [[1, 3]]
    refused = ran(worker, model, inputs, "jit")
    assert refused.exit is Exit.UNSUPPORTED
    assert "a shape, branch or index depends on an input" in refused.error


def test_sizes_that_are_computed_are_known_to_jit(worker: ModuleType) -> None:
    steps = "<int64[2] k = {1, 4}> { s = Shape(x) t = Mul(s, k) y = Expand(x, t) }"
    model = parsed(f"g (float[2,1] x) => (float[2,4] y) {steps}")
    assert ran(worker, model, {"x": np.float32([[1], [2]])}, "jit").outputs["y"].tolist() == [[1] * 4, [2] * 4]


def test_a_planted_fault_is_found_and_a_right_program_passes(worker: ModuleType) -> None:
    model = parsed("g (float[2,3] x, float[3,2] w) => (float[2,2] y) { y = MatMul(x, w) }")
    program = Program.from_proto(model)
    x, w = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[1, 0], [2, 1], [0, 3]])
    others = [
        RunResult(Target(name, name), Stage.RUN, Exit.OK, outputs={"y": x @ w}) for name in ("reference", "onnxruntime")
    ]
    right = LOWERINGS["jax"](program).source
    wrong = right.replace("np.matmul(wide(a), wide(b))", "np.matmul(wide(a), wide(b)) + 1")
    assert wrong != right
    for source, expected in ((right, []), (wrong, [("jax:jit", Symptom.DIFFERENCE)])):
        run = ran(worker, model, {"x": x, "w": w}, "jit", source)
        verdicts = judge(program, {"x": x, "w": w}, [*others, run])
        assert [(v.target, v.symptom) for v in verdicts if not v.suspect] == expected


@pytest.mark.unit
def test_jax_is_one_witness_with_numpy_and_flushes_subnormal_numbers() -> None:
    jax, numpy = Target("jax:jit", "jax"), Target("numpy:eager", "numpy")
    assert len(witnesses_of([jax, numpy])) == 1
    assert len(witnesses_of([jax, Target("torch:eager", "torch")])) == 2
    assert flushes(jax)
    assert not flushes(numpy)
