"""The runner: all targets on the seeds, order, determinism, pipelining, and one variant's crash among others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.execute.adapters.adapter import ModelAdapter
from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

pytestmark = pytest.mark.backend

SEEDS = ("lenet5", "lstm", "qcnn", "resnet", "transformer")
RELU = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
).SerializeToString()
NEG = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
).SerializeToString()
X = {"x": np.array([-1, 2], np.float32)}


@pytest.fixture(scope="module")
def everything():
    with Runner(resolve(["reference", "onnxruntime", "torch:eager"])) as opened:
        yield opened


@pytest.mark.parametrize("seed", SEEDS)
def test_all_targets_agree_on_the_seeds(root: Path, everything: Runner, seed: str) -> None:
    program = Program.from_bytes((root / "seeds" / f"{seed}.onnx").read_bytes())
    inputs = make_inputs(program, 3)
    results = everything.run(program, inputs)
    assert [r.target for r in results] == list(everything.targets)
    assert len(results) == 7
    ran = [r for r in results if r.exit is Exit.OK]
    # onnx's reference evaluator has no DequantizeLinear below opset 19, and says so.
    gaps = [r.target.name for r in results if r.exit is Exit.UNSUPPORTED]
    assert gaps == (["reference"] if seed == "qcnn" else []), [(r.target.name, r.error) for r in results]
    assert len(ran) + len(gaps) == 7
    assert all(r.stage is Stage.RUN and r.seconds > 0 for r in ran)
    for result in ran:
        assert list(result.outputs) == [o.name for o in program.graph.outputs]
        for name, value in result.outputs.items():
            scale = np.abs(ran[0].outputs[name]).max()
            np.testing.assert_allclose(
                value, ran[0].outputs[name], atol=2e-2 * scale if seed == "qcnn" else 1e-4 * scale
            )
    again = everything.run(program, inputs)
    for first, second in zip(results, again, strict=True):
        for name in first.outputs:
            assert first.outputs[name].tobytes() == second.outputs[name].tobytes(), (first.target.name, name)


def test_gap_of_the_reference_evaluator_and_of_the_lowering(everything: Runner) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "a.b" : 1]> g (float[2] x) => (float[2] y) { y = a.b.Foo(x) }'
    ).SerializeToString()
    by_name = {r.target.name: r for r in everything.run(model, X)}
    assert (by_name["reference"].exit, by_name["reference"].stage) == (Exit.UNSUPPORTED, Stage.COMPILE)
    assert (by_name["torch:eager"].exit, by_name["torch:eager"].stage) == (Exit.UNSUPPORTED, Stage.CONVERT)
    assert by_name["onnxruntime:all"].exit is Exit.UNSUPPORTED


def test_rubbish_is_rejected_everywhere(everything: Runner) -> None:
    assert {r.exit for r in everything.run(b"\x08\x08rubbish", X)} == {Exit.REJECTED}
    assert {r.exit for r in everything.run(RELU, X)} == {Exit.OK}


def test_broken_model_is_refused_at_run_by_the_reference(everything: Runner) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[a,b] x, float[c,d] z) => (y) { y = MatMul(x, z) }'
    ).SerializeToString()
    inputs = {"x": np.zeros((2, 3), np.float32), "z": np.zeros((4, 5), np.float32)}
    results = everything.run(model, inputs)
    assert {r.exit for r in results} == {Exit.REJECTED}
    assert {r.stage for r in results} == {Stage.RUN}
    assert all(r.error and not r.outputs for r in results)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4", "float32", "uint64"])
def test_every_target_takes_every_dtype(everything: Runner, name: str) -> None:
    """A target gives the very elements back, or says that it has no kernel; it never misreads them."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    x, y = (onnx.helper.make_tensor_value_info(n, kind, [3, 1]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    given = np.array([[1], [3], [2]]).astype(dtype)
    results = everything.run(model.SerializeToString(), {"x": given})
    assert results[0].exit is Exit.OK, results[0]
    for result in results:
        if result.exit is Exit.OK:
            assert result.outputs["y"].dtype == dtype, result.target.name
            np.testing.assert_array_equal(result.outputs["y"], given)
        else:
            assert result.exit is Exit.UNSUPPORTED, result


def test_subset_in_the_callers_order(everything: Runner) -> None:
    wanted = [everything.targets[i] for i in (4, 0, 2)]
    assert [r.target for r in everything.run(RELU, X, wanted)] == wanted
    assert everything.run(RELU, X, []) == []


def test_target_of_somebody_else(everything: Runner) -> None:
    with pytest.raises(UsageError, match="'theirs' is not one of"):
        everything.run(RELU, X, [replace(everything.targets[0], name="theirs")])


def test_program_is_on_disk_before_it_runs(everything: Runner, tmp_path: Path) -> None:
    path = tmp_path / "inflight.onnx"
    pending = everything.submit(NEG, X, inflight=path)
    assert path.read_bytes() == NEG
    everything.collect(pending)


def test_submitted_programs_do_not_mix_and_may_be_edited(everything: Runner) -> None:
    program = Program.from_bytes(RELU)
    first = everything.submit(program, X)
    node = program.insert("Neg", [program.graph.inputs[0]])
    program.replace_uses(program.graph.outputs[0], node.outputs[0], outputs=True)
    second = everything.submit(program, X)
    for pending, expected in ((first, [0, 2]), (second, [1, -2])):
        for result in everything.collect(pending):
            (value,) = result.outputs.values()
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"x": 3}, "input 'x': expected a numpy array, a list of them or None, got int"),
        ({"x": [1.0, 2.0]}, "input 'x': expected a numpy array, a list of them or None, got float"),
        ([X["x"]], "inputs: expected arrays by input name, got list"),
    ],
)
def test_what_is_no_value_is_refused(everything: Runner, inputs: object, said: str) -> None:
    for run in (everything.run, everything.run_fresh, everything.submit):
        with pytest.raises(UsageError, match=re.escape(said)):
            run(RELU, inputs)  # type: ignore[operator]
    (result,) = everything.run(RELU, {"x": None}, resolve(["onnxruntime:all"]))  # an optional that holds nothing
    assert result.exit is Exit.REJECTED


def test_what_is_no_program_is_refused(everything: Runner) -> None:
    with pytest.raises(UsageError, match="program: expected a Program or the bytes of a model, got ModelProto"):
        everything.run(onnx.ModelProto(), X)  # type: ignore[arg-type]


def test_a_runner_has_a_target() -> None:
    with pytest.raises(UsageError, match="targets: expected at least one, got none"):
        Runner([])


def test_closed_runner_says_so() -> None:
    runner = Runner(resolve(["reference"]))
    with pytest.raises(InternalError, match="not open"):
        runner.run(RELU, X)


def test_device_is_looked_for_in_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the CPU build, the session on the CUDA provider cannot be opened whatever the metadata promise."""
    monkeypatch.setattr("irfuzz.execute.adapters.adapter.why_no_gpu", lambda: "")
    monkeypatch.setattr("irfuzz.execute.adapters.adapter.why_no_cuda", lambda component: "")
    targets = resolve(["onnxruntime:all", "onnxruntime:all@cuda"])
    with (
        pytest.raises(UsageError, match="'onnxruntime:all@cuda' cannot be used: not part of this build"),
        Runner(targets),
    ):
        pytest.fail("the runner opened")
    with Runner(targets, required=False) as runner:
        assert [a.target.name for a in runner.absent] == ["onnxruntime:all@cuda"]
        assert [r.exit for r in runner.run(RELU, X)] == [Exit.OK]


# One component with several variants, one of which takes the process down.


def variants(root: Path, **behaviours: str) -> ModelAdapter:
    return ModelAdapter(
        component="several",
        handler=root / "tests/planted_targets/variants.py",
        package="numpy",
        distributions=("numpy",),
        variants={name: {"behaviour": behaviour} for name, behaviour in behaviours.items()},
    )


def run_variants(adapter: ModelAdapter, times: int = 1) -> list[list[RunResult]]:
    adapters = {target.name: adapter for target in adapter.targets}
    with Runner(adapter.targets, Limits(seconds=1.0), adapters=adapters) as runner:
        assert {t.version for t in runner.targets} == {"7"}
        return [runner.run(b"", X) for _ in range(times)]


@pytest.mark.planted
@pytest.mark.parametrize(
    ("fault", "expected"), [("crash", Exit.CRASH), ("hang", Exit.HANG), ("raise", Exit.UNSUPPORTED)]
)
def test_crash_of_one_variant_costs_no_other(root: Path, fault: str, expected: Exit) -> None:
    for results in run_variants(variants(root, a="fine", b=fault, c="reject", d="fine"), times=2):
        assert [r.exit for r in results] == [Exit.OK, expected, Exit.REJECTED, Exit.OK]
        assert [r.target.name for r in results] == [f"several:{v}" for v in "abcd"]
        np.testing.assert_array_equal(results[3].outputs["y"], X["x"])
        assert results[1].stage is Stage.RUN
        assert results[2].stage is Stage.COMPILE
        assert "irfuzz-at" not in results[1].log


@pytest.mark.planted
def test_crash_that_needs_the_variants_before_it_is_not_lost(root: Path) -> None:
    (results,) = run_variants(variants(root, a="fine", b="fine", c="crash after others"))
    assert [r.exit for r in results] == [Exit.OK, Exit.OK, Exit.CRASH]
    assert "not seen when run alone" in results[2].log


def test_nothing_is_left_running(root: Path) -> None:
    def children() -> set[str]:
        found = set()
        for task in Path("/proc/self/task").iterdir():
            found.update((task / "children").read_text().split())
        return found

    before = children()
    with Runner(resolve(["reference", "onnxruntime:all"])) as runner:
        runner.run(RELU, X)
        assert len(children() - before) == 2
    assert children() <= before
