"""The shipped seeds are what their index says, are valid, give the same everywhere, and are alive."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import pytest
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "seeds"
INDEX: dict[str, Any] = tomllib.loads((SEEDS / "index.toml").read_text(encoding="utf-8"))
ENTRIES: list[dict[str, Any]] = INDEX["seeds"]
MAX_BYTES = 300_000
LEVELS = ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_LAYOUT", "ENABLE_ALL")
NAMED = [e for e in ENTRIES if any(isinstance(d, str) for i in e["inputs"] for d in i["shape"])]
each_seed = pytest.mark.parametrize("entry", ENTRIES, ids=[e["name"] for e in ENTRIES])


@cache
def load(name: str) -> onnx.ModelProto:
    return onnx.load(SEEDS / f"{name}.onnx")


@cache
def samples(name: str) -> dict[str, np.ndarray]:
    with np.load(SEEDS / f"{name}.inputs.npz", allow_pickle=False) as archive:
        return dict(archive)


def feed(entry: dict[str, Any], index: int, count: int = 1) -> dict[str, np.ndarray]:
    return {i["name"]: samples(entry["name"])[i["name"]][index : index + count] for i in entry["inputs"]}


def reference(model: onnx.ModelProto) -> ReferenceEvaluator:
    # onnx 1.23's evaluator has DequantizeLinear from opset 19 on only; for bytes the versions mean the same.
    if any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        model = onnx.version_converter.convert_version(model, 19)
    return ReferenceEvaluator(model)


def session(model: onnx.ModelProto, level: str) -> Any:
    ort = pytest.importorskip("onnxruntime")
    chosen = getattr(ort.GraphOptimizationLevel, f"ORT_{level}", None)
    if chosen is None:
        pytest.skip(f"onnxruntime {ort.__version__} has no level {level}")
    options = ort.SessionOptions()
    options.graph_optimization_level = chosen
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def scores_of(runner: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    (scores,) = runner.run(None, inputs)
    return scores


def described(value: onnx.ValueInfoProto) -> tuple[str, str, list[int | str]]:
    tensor = value.type.tensor_type
    shape = [d.dim_param or d.dim_value for d in tensor.shape.dim]
    return value.name, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name, shape


def test_index_lists_exactly_the_files_in_the_folder() -> None:
    assert INDEX["schema"] == 1
    assert {e["file"] for e in ENTRIES} == {p.name for p in SEEDS.glob("*.onnx")}
    assert {e["data"]["file"] for e in ENTRIES} == {p.name for p in SEEDS.glob("*.npz")}
    assert {"lenet5", "resnet", "lstm", "transformer", "qcnn"} <= {e["name"] for e in ENTRIES}


@each_seed
def test_provenance_is_complete(entry: dict[str, Any]) -> None:
    for key in ("title", "origin", "reference", "licence"):
        assert entry[key].strip(), key
    assert (ROOT / entry["script"]).is_file()
    assert entry["built_with"]
    assert entry["data"]["licence"]
    assert entry["data"]["origin"]


@each_seed
def test_files_have_the_recorded_digests_and_are_small(entry: dict[str, Any]) -> None:
    for described_file in (entry, entry["data"]):
        content = (SEEDS / described_file["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == described_file["sha256"]
        assert len(content) < MAX_BYTES


@each_seed
def test_model_is_valid_and_as_described(entry: dict[str, Any]) -> None:
    model = load(entry["name"])
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", entry["opset"])] == [("", 17)]
    assert model.ir_version == entry["ir_version"] == 8
    assert len(model.graph.node) == entry["nodes"]
    assert sorted({n.op_type for n in model.graph.node}) == entry["operators"]
    for values, entries in ((model.graph.input, entry["inputs"]), (model.graph.output, entry["outputs"])):
        assert [described(v) for v in values] == [(e["name"], e["dtype"], e["shape"]) for e in entries]


@each_seed
def test_names_are_unique_and_mean_something(entry: dict[str, Any]) -> None:
    graph = load(entry["name"]).graph
    nodes = [n.name for n in graph.node]
    assert len(set(nodes)) == len(nodes)
    made = [v for n in graph.node for v in n.output] + [i.name for i in graph.initializer]
    assert not [v for v in made if v.startswith("onnx::") or v.isdigit()]
    used = {v for n in graph.node for v in n.input}
    assert {i.name for i in graph.initializer} <= used


@each_seed
def test_samples_lie_in_the_declared_ranges(entry: dict[str, Any]) -> None:
    arrays = samples(entry["name"])
    assert set(arrays) == {i["name"] for i in entry["inputs"]} | {entry["data"]["labels"]}
    labels = arrays[entry["data"]["labels"]]
    assert len(labels) == entry["data"]["samples"] >= 100
    assert set(labels.tolist()) == set(range(10))
    for each in entry["inputs"]:
        array = arrays[each["name"]]
        assert len(array) == len(labels)
        assert array.dtype.name == each["dtype"]
        assert list(array.shape[1:]) == each["shape"][1:]
        assert each["low"] <= array.min()
        assert array.max() <= each["high"]


@pytest.mark.backend
@each_seed
def test_accuracy_on_the_held_out_samples_is_the_recorded_one(entry: dict[str, Any]) -> None:
    runner = session(load(entry["name"]), "ENABLE_ALL")
    labels = samples(entry["name"])["labels"]
    right = sum(int(scores_of(runner, feed(entry, i)).argmax() == label) for i, label in enumerate(labels))
    # One sample whose two best scores nearly tie may fall on the other side on another processor.
    assert right / len(labels) == pytest.approx(entry["data"]["accuracy"], abs=1.5 / len(labels))
    assert right / len(labels) > (0.97 if entry["name"] == "lenet5" else 0.95)


@pytest.mark.backend
@each_seed
@pytest.mark.parametrize("level", LEVELS)
def test_onnxruntime_agrees_with_the_reference_evaluator(entry: dict[str, Any], level: str) -> None:
    model = load(entry["name"])
    expected, runner = reference(model), session(model, level)
    # Power-of-two scales make every step of the quantised network exact.
    atol = 0.0 if entry["name"] == "qcnn" else 1e-4
    for i in range(5):
        inputs = feed(entry, i)
        np.testing.assert_allclose(scores_of(runner, inputs), scores_of(expected, inputs), rtol=0, atol=atol)


@each_seed
def test_output_moves_with_every_input(entry: dict[str, Any]) -> None:
    runner = reference(load(entry["name"]))
    base = feed(entry, 0)
    before = scores_of(runner, base)
    assert np.isfinite(before).all()
    assert np.ptp(before) > 1
    for each in entry["inputs"]:
        moved = base[each["name"]].copy()
        moved[0, ..., moved.shape[-1] // 2] = each["low"] + each["high"] - moved[0, ..., moved.shape[-1] // 2]
        after = scores_of(runner, {**base, each["name"]: moved})
        assert np.abs(after - before).max() > 0.1, each["name"]


@pytest.mark.backend
@each_seed
def test_every_inner_value_is_alive(entry: dict[str, Any]) -> None:
    """Whatever depends on the samples differs between them, is finite, and is not small or saturated throughout."""
    model = onnx.ModelProto()
    model.CopyFrom(load(entry["name"]))
    depends = {i["name"] for i in entry["inputs"]}
    shown: list[str] = []
    for node in model.graph.node:
        # What is computed from a shape only is the same for all samples of one shape.
        if node.op_type != "Shape" and depends & set(node.input):
            depends |= set(node.output)
            shown += [v for v in node.output if v]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(v) for v in shown)
    runner = session(model, "DISABLE_ALL")
    runs = [runner.run(None, feed(entry, i)) for i in range(20)]
    assert len(shown) >= len(entry["operators"]) // 2
    for name, arrays in zip(shown, zip(*runs, strict=True), strict=True):
        stacked = np.stack(arrays).astype(np.float64)
        assert np.isfinite(stacked).all(), name
        moves = stacked.std(axis=0).reshape(-1) > 1e-3
        assert moves.mean() > 0.25, f"{name}: {moves.mean():.0%} of its elements differ between samples"


@pytest.mark.backend
@pytest.mark.parametrize("entry", NAMED, ids=[e["name"] for e in NAMED])
def test_a_named_batch_can_have_any_size(entry: dict[str, Any]) -> None:
    for runner in (reference(load(entry["name"])), session(load(entry["name"]), "ENABLE_ALL")):
        single = np.concatenate([scores_of(runner, feed(entry, i)) for i in range(3)])
        np.testing.assert_allclose(scores_of(runner, feed(entry, 0, 3)), single, rtol=0, atol=1e-4)


def test_the_transformer_ignores_rows_that_its_mask_hides() -> None:
    entry = next(e for e in ENTRIES if e["name"] == "transformer")
    runner = reference(load("transformer"))
    inputs = feed(entry, 0)
    mask = np.ones_like(inputs["attention_mask"])
    mask[0, 3] = 0
    changed = inputs["rows"].copy()
    changed[0, 3] = 1 - changed[0, 3]
    hidden = [scores_of(runner, {"rows": rows, "attention_mask": mask}) for rows in (inputs["rows"], changed)]
    np.testing.assert_allclose(hidden[0], hidden[1], rtol=0, atol=1e-5)


def test_the_quantised_network_is_exact_in_float32() -> None:
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in load("qcnn").graph.initializer}
    scales = {name: array for name, array in tensors.items() if name.endswith(".scale")}
    assert scales
    for name, array in scales.items():
        assert (np.frexp(array)[0] == 0.5).all(), f"{name} is not a power of two"
    for name in ("stem", "conv", "depthwise", "pointwise", "dense"):
        weight = tensors[f"{name}.weight"].astype(np.int64)
        # Pairs of products must fit in 16 bits on processors without VNNI, sums in float32's 24 bits.
        assert np.abs(weight).max() <= 63
        largest = 255 * np.abs(weight).reshape(len(weight), -1).sum(axis=1) + np.abs(tensors[f"{name}.bias"])
        assert largest.max() < 2**24


@pytest.mark.backend
def test_a_script_builds_the_same_bytes_twice(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    folders = [tmp_path / "first", tmp_path / "second"]
    command = [sys.executable, "-m", "seeds.scripts.build", "lstm", "-o"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen([*command, str(f)], cwd=ROOT, env=env, stdout=subprocess.DEVNULL) for f in folders]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    for name in ("lstm.onnx", "lstm.inputs.npz", "index.toml"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    # The data does not depend on the processor, so it is also the committed one.
    assert (folders[0] / "lstm.inputs.npz").read_bytes() == (SEEDS / "lstm.inputs.npz").read_bytes()


def test_the_build_command_refuses_an_unknown_seed() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "seeds.scripts.build", "nonsense"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "unknown seed 'nonsense': expected one of lenet5" in result.stderr
