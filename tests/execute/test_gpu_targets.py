"""Targets on a GPU: what is declared of each, why it is skipped where it cannot run, and that it runs where it can.

Tests marked ``gpu`` run a target on the device; they are skipped, with the reason that ``irfuzz targets`` gives, where
it is not usable.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.adapters import gpu_variants
from irfuzz.execute.adapters.adapter import GPU_HANDLER
from irfuzz.execute.run_types import Exit, Target
from irfuzz.execute.runner import GPU_LIBRARIES, Runner, _key, _limits_of
from irfuzz.export.module_file_writing import npz_of
from irfuzz.findings.finding import TargetRun
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle.verdict import Symptom
from irfuzz.oracle.witnesses_and_blame import flushes
from irfuzz.report.repro_scripts.full_script import ReproSpec, repro_source
from tests.export.frameworks import loaded_worker

NAMES = (
    "onnxruntime:disabled@cuda", "onnxruntime:all@cuda", "onnxruntime:all@tensorrt", "torch:eager@cuda",
    "torch:compile@cuda", "jax:eager@cuda", "jax:jit@cuda", "tensorflow:eager@cuda", "tensorflow:xla@cuda",
)  # fmt: skip
MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 17]> g (float[3,3] x, int64[2] i) => (float[3,3] y, float[2,3] z)
    <float[3,3] w = {1, 2, 3, -1, 0.5, 0, 2, 2, 1}> { a = MatMul(x, w) b = Relu(a) y = Exp(b) z = Gather(x, i) }"""
)
X, ROWS = np.eye(3, dtype=np.float32) / 4, np.array([2, 0])
W = np.array([[1, 2, 3], [-1, 0.5, 0], [2, 2, 1]], np.float32)
EXPECTED = {"y": np.exp(np.maximum(X @ W, 0)), "z": X[ROWS]}


def known() -> dict[str, target_table.Availability]:
    return {a.target.name: a for a in target_table.describe() if a.target.device != "cpu" and not a.target.environment}


# ---- what is declared ---------------------------------------------------------------------------


@pytest.mark.unit
def test_every_variant_is_declared() -> None:
    targets = {name: a.target for name, a in known().items()}
    assert tuple(targets) == NAMES
    for name, target in targets.items():
        assert target.device == name.partition("@")[2]
        assert target.options["tf32"] is False
        assert target.process == name.partition(":")[2]
    assert len({_key(target) for target in targets.values()}) == len(NAMES), "each has a worker of its own"
    assert [t.name for t in targets.values() if t.slow] == [
        n for n in NAMES if "compile" in n or "jax" in n or "xla" in n or "tensorrt" in n
    ]


@pytest.mark.unit
def test_nothing_is_hidden_from_their_workers() -> None:
    for name, a in known().items():
        env = target_table.adapter_of(a.target).env
        assert env.get("CUDA_VISIBLE_DEVICES") is None, name
        assert env.get("JAX_PLATFORMS", "cuda,cpu") == "cuda,cpu"
        assert env["NVIDIA_TF32_OVERRIDE"] == "0"
        assert env["IRFUZZ_GPU_WORKER"] == a.target.component
        assert target_table.adapter_of(a.target).handler == GPU_HANDLER
        assert not target_table.adapter_of(a.target).preload, "what a driver knows is lost in a fork"


@pytest.mark.unit
def test_they_are_used_only_where_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("adapter", "generated_source"):
        monkeypatch.setattr(f"irfuzz.execute.adapters.{module}.why_no_gpu", lambda: "")
        monkeypatch.setattr(f"irfuzz.execute.adapters.{module}.why_no_cuda", lambda component: "")
    there = [name for name in NAMES if name.partition(":")[0] in ("onnxruntime", "torch")]
    assert set(there) <= set(NAMES) - {n for n, a in known().items() if a.why_not}
    assert [t.name for t in target_table.resolve(["torch:*@cuda"])] == ["torch:eager@cuda", "torch:compile@cuda"]
    assert {"torch:eager@cuda", "onnxruntime:all@cuda"} <= {t.name for t in target_table.resolve(["*@cuda"])}
    assert "onnxruntime:all@tensorrt" not in {t.name for t in target_table.resolve(["*@cuda"])}
    for names in (None, ["torch"], ["torch:*"], ["all"]):
        assert all(t.device == "cpu" for t in target_table.resolve(names, slow=True)), names


@pytest.mark.unit
def test_they_may_take_cudas_libraries_besides() -> None:
    limits, target = Limits(memory_bytes=1 << 30), Target("a:b", "a")
    assert _limits_of(target, limits, 60).memory_bytes == 1 << 30
    assert _limits_of(replace(target, device="cuda"), limits, 60).memory_bytes == (1 << 30) + GPU_LIBRARIES
    assert _limits_of(replace(target, device="cuda"), Limits(memory_bytes=None), 60).memory_bytes is None


@pytest.mark.unit
def test_what_compiles_flushes_on_every_device() -> None:
    assert flushes(Target("torch:compile@cuda", "torch"))
    assert not flushes(Target("torch:eager@cuda", "torch"))


# ---- without a GPU ------------------------------------------------------------------------------


def test_each_is_skipped_with_one_line() -> None:
    """``irfuzz targets`` as a user without a GPU sees it; one that is there is hidden."""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-P", "-m", "irfuzz", "targets"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=250)
    rows = dict(
        line.split(maxsplit=1) for line in done.stdout.splitlines() if re.match(r"\w+:\S+@(cuda|tensorrt) ", line)
    )
    assert tuple(rows) == NAMES
    for name, row in rows.items():
        assert "CUDA_VISIBLE_DEVICES hides every GPU" in row, name


@pytest.mark.unit
def test_what_the_extra_brings_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``irfuzz[gpu]`` alone it is the GPU that ONNXRuntime lacks, and others lack their packages, too."""
    found = {"onnxruntime-gpu": "1.32.0"}
    for module in ("adapter", "generated_source"):
        monkeypatch.setattr(f"irfuzz.execute.adapters.{module}.why_no_gpu", lambda: "no NVIDIA GPU here")
    monkeypatch.setattr(
        "irfuzz.execute.adapters.adapter.why_no_cuda", lambda component: target_table.why_no_cuda(component, found.get)
    )
    frameworks = {"torch", "jax", "tensorflow"}
    there = gpu_variants.GPU_SOURCE[0].__class__._not_installed
    monkeypatch.setattr(
        "irfuzz.execute.adapters.generated_source.importlib.util.find_spec",
        lambda name: None if name in frameworks else ModuleSpec(name, None),
    )
    assert there(gpu_variants.GPU_SOURCE[0]) == "torch is not installed; pip install torch"
    reasons = {name: a.why_not for name, a in known().items()}
    assert {reasons[n] for n in NAMES if n.startswith("onnxruntime")} == {"no NVIDIA GPU here"}
    assert reasons["torch:eager@cuda"] == "no NVIDIA GPU here, and torch is not installed; pip install torch"
    assert reasons["jax:jit@cuda"].endswith("jax is not installed; pip install 'jax[cuda12]', or 'jax[cuda13]'")
    assert reasons["tensorflow:xla@cuda"].endswith("pip install 'tensorflow[and-cuda]'")
    with pytest.raises(UsageError, match="no NVIDIA GPU here"):
        target_table.resolve(["*@cuda"])


# ---- where things are placed --------------------------------------------------------------------


MAKING = (
    "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Exp(a) y = Softmax(b) }",
    "g (float[1,1,4,4] x) => (float[1,1,3,3] y) {y = AveragePool<kernel_shape=[2,2],strides=[2,2],pads=[1,1,1,1]>(x)}",
    "g (float[1,1,4,4] x) => (float[1,1,3,3] y) {y = MaxPool<kernel_shape=[2,2],strides=[2,2],pads=[1,1,1,1]>(x)}",
    "g (int64[2,3] x) => (int64[2] y) { y = ReduceMean<axes=[1],keepdims=0>(x) }",
    "g (float[3,3] x) => (float[3,3] y) { y = Trilu(x) }",
    "g (float[3,3] x) => (float[3,3] y) { y = EyeLike(x) }",
    "g (float[3] x) => (float[3] y) <float low = {0}> { y = Clip(x, low) }",
    "g (float[3] x) => (float[3] y) <int64 axis = {0}> { y = CumSum(x, axis) }",
    "g (float[1,1,4,4] x) => (float[1,1,2,2] y) <float[1,1,3,3] w = {1,1,1,1,1,1,1,1,1}> { y = Conv(x, w) }",
    "g (float[2,4] x) => (float[2,4] y) <float[4] s = {1,1,1,1}> { y = LayerNormalization(x, s) }",
    "g (int64[2] x) => (float[2,3] y) <int64 depth = {3}, float[2] v = {0,1}> { y = OneHot(x, depth, v) }",
    "g (float[3] x) => (float[3] y) <float zero = {0}> { c = Greater(x, zero) y = Where(c, x, zero) }",
    "g (float[3] x) => (uint8[3] y) <float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }",
    "g (float[3] x) => (float[5] y) <int64[2] p = {1,1}> { y = Pad(x, p) }",
)
"""Programs whose lowering makes tensors that are neither weights nor inputs, and some others."""


@pytest.mark.backend
def test_torch_programs_do_not_mix_devices(root: Path) -> None:
    """In PyTorch's own mode that knows devices and computes nothing; what reads numbers cannot run in it."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from irfuzz.export.torch import lower

    worker = loaded_worker(root / "irfuzz", "torch")
    load = sys.modules[f"{worker.__name__}.generated_module_runner"].load
    placed: list[str] = []
    failed: list[str] = []
    for text in MAKING:
        program = Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))
        shape, kind = program.tensor(program.graph.inputs[0]).shape, program.tensor(program.graph.inputs[0]).dtype
        x = np.ones([int(size) for size in shape], kind.numpy())
        source = lower(program)
        arrays = {name: getattr(value, "raw", value) for name, value in source.arrays.items()}
        module = load(source.source)
        try:
            # With its number: a build without CUDA cannot tell which device is the current one.
            with FakeTensorMode(allow_non_fake_inputs=True), worker._placed(module, "cuda:0"), torch.no_grad():
                outputs = module["forward"](*module["tensors"](arrays, {"x": x}))
        except Exception as error:
            failed.append(f"{text}: {type(error).__name__}: {error}"[:300])
            continue
        placed += [value.device.type for value in outputs.values()]
    # A build without CUDA cannot index what is there.
    assert not [why for why in failed if "DataDependent" not in why and "not linked with support for cuda" not in why]
    assert set(placed) == {"cuda"}
    assert len(placed) >= 8


@pytest.mark.backend
def test_reduced_precision_is_off_on_a_device(root: Path) -> None:
    import torch

    worker = loaded_worker(root / "irfuzz", "torch")
    kept = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        torch.set_float32_matmul_precision("high")
        with worker._placed({"tensors": None}, ""):
            assert torch.get_float32_matmul_precision() == "high"
        with worker._placed({"tensors": None}, "cpu"):
            assert torch.get_float32_matmul_precision() == "highest"
            assert not torch.backends.cudnn.allow_tf32
            assert not torch.backends.cuda.matmul.allow_tf32
            assert not torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    finally:
        torch.set_float32_matmul_precision(kept[0])
        torch.backends.cudnn.allow_tf32 = kept[1]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("error", "spent"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", True),
        ("AcceleratorError: CUDA error: device-side assert triggered", True),
        ("INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered", True),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB", False),
        ("IndexError: index 7 is out of bounds for dimension 0 with size 3", False),
    ],
)
def test_after_some_errors_a_process_is_of_no_use(error: str, spent: bool, root: Path) -> None:
    loaded_worker(root / "irfuzz", "numpy")
    runs = sys.modules["numpy_worker.runs"]
    answer, _ = runs.each([{}], lambda place, options: ({"exit": "rejected", "error": error}, []))
    assert answer.get("spent", False) is spent


# ---- on a GPU -----------------------------------------------------------------------------------


def usable(name: str) -> Target:
    found = known()[name]
    if found.why_not:
        pytest.skip(f"{name}: {found.why_not}")
    return found.target


def runner_of(target: Target) -> Runner:
    """A runner of the target; skips if its worker says that the device cannot be used."""
    runner = Runner([target], Limits(seconds=120.0), required=False)
    try:
        return runner.__enter__()
    except UsageError as error:
        pytest.skip(f"{target.name}: {error}")


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_it_computes_on_the_device(name: str) -> None:
    runner = runner_of(usable(name))
    try:
        (result,) = runner.run(Program.from_proto(MODEL), {"x": X, "i": ROWS})
    finally:
        runner.close()
    assert result.exit is Exit.OK, result.error
    for output, expected in EXPECTED.items():
        np.testing.assert_allclose(result.outputs[output], expected, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_float32_is_not_rounded_to_tf32(name: str) -> None:
    """1 + 2**-12 is 1 in TensorFloat-32, and so would be its products with ones, added up."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[256,256] a, float[256,256] b) => (float[256,256] y) '
        "{ y = MatMul(a, b) }"
    )
    near = np.full((256, 256), 1 + 2.0**-12, np.float32)
    runner = runner_of(usable(name))
    try:
        (result,) = runner.run(Program.from_proto(model), {"a": near, "b": np.ones_like(near)})
    finally:
        runner.close()
    assert result.exit is Exit.OK, result.error
    np.testing.assert_allclose(result.outputs["y"], 256 * (1 + 2.0**-12), rtol=1e-5)


def script_of(folder: Path, blamed: TargetRun) -> list[str]:
    """The command of a finding's script, for which every difference between target and reference is one."""
    from irfuzz.export.lowerings import LOWERINGS

    onnx.save(MODEL, folder / "model.onnx")
    np.savez(folder / "inputs.npz", x=X, i=ROWS)
    if blamed.component in LOWERINGS:
        lowered = LOWERINGS[blamed.component](Program.from_proto(MODEL))
        (folder / f"{blamed.component}_model.py").write_text(lowered.source)
        (folder / f"{blamed.component}_weights.npz").write_bytes(npz_of(lowered.arrays))
    scene: dict[str, Any] = {"output": "y", "place": ((), (0, 1)), "bound": -1.0, "outputs": ["y", "z"]}
    witness = TargetRun("reference", "reference", {}, "1")
    (folder / "repro.py").write_text(repro_source(ReproSpec("none", Symptom.DIFFERENCE, blamed, (witness,), **scene)))
    return [sys.executable, "-P", str(folder / "repro.py")]


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_a_findings_script_runs_on_the_device(name: str, tmp_path: Path) -> None:
    target = usable(name)
    runner_of(target).close()
    blamed = TargetRun(name, target.component, dict(target.options), target.version)
    done = subprocess.run(script_of(tmp_path, blamed), capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{name}: 'y'[0, 1] is 1.64872" in done.stdout
    assert "left out" not in done.stdout


@pytest.mark.backend
def test_a_findings_script_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    blamed = TargetRun("torch:eager@cuda", "torch", {"mode": "eager", "device": "cuda", "tf32": False}, "1")
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        script_of(tmp_path, blamed), env=env, capture_output=True, text=True, check=False, timeout=250
    )
    assert (done.returncode, "torch finds no GPU here" in done.stdout) == (2, True), done.stdout + done.stderr
    text = (tmp_path / "repro.py").read_text().replace("'device': 'cuda'", "'device': 'cpu'")
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run([sys.executable, str(tmp_path / "repro.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
