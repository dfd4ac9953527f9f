"""The shipped seeds are what their index says, are valid, give the same everywhere, and are alive."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.errors import Unsupported
from irfuzz.execute.adapters.generated_source import TENSORFLOW
from irfuzz.export import array, tensorflow, torch
from irfuzz.facts import SequenceFact, TensorFact
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program
from irfuzz.mutate.traced_mutant_generation import mutate_many
from tests.export.frameworks import loaded_worker
from tests.seeds.shipped import BY_NAME, ENTRIES, INDEX, ROOT, SEEDS, distance, each, feed, load, reference, session
from tests.seeds.shipped import samples as samples_of

MAX_BYTES = 300_000
MAX_NODES = 500
TOLERANCE = 1e-4
LARGE = {"densenet121", "light_densenet121"}
each_seed = each(ENTRIES)


def count(entry: dict[str, Any]) -> int:
    """How many samples a test runs."""
    return min(entry["data"]["samples"], 4)


@cache
def program_of(name: str) -> Program:
    return Program.from_bytes((SEEDS / f"{name}.onnx").read_bytes())


def described(value: onnx.ValueInfoProto) -> tuple[str, str, list[int | str]]:
    tensor = value.type.tensor_type
    shape = [d.dim_param or d.dim_value for d in tensor.shape.dim]
    if tensor.elem_type == onnx.TensorProto.STRING:
        return value.name, "string", shape
    return value.name, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name, shape


def nodes_of(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """All nodes, those of inner graphs too."""
    found: list[onnx.NodeProto] = []
    for node in graph.node:
        found.append(node)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                found += nodes_of(inner)
    return found


def test_index_lists_exactly_the_files_in_the_folder() -> None:
    assert INDEX["schema"] == 1
    assert {e["file"] for e in ENTRIES} == {p.name for p in SEEDS.glob("*.onnx")}
    assert {e["data"]["file"] for e in ENTRIES} == {p.name for p in SEEDS.glob("*.npz")}
    assert {"lenet5", "resnet", "lstm", "transformer", "qcnn"} <= set(BY_NAME)
    assert len(BY_NAME) == len(ENTRIES)


@each_seed
def test_provenance_is_complete(entry: dict[str, Any]) -> None:
    for key in ("title", "origin", "reference", "licence"):
        assert entry[key].strip(), key
    assert any(str(year) in entry["reference"] for year in range(1948, 2027)), "cites no publication"
    assert (ROOT / entry["script"]).is_file()
    assert entry["built_with"]
    assert entry["data"]["licence"]
    assert entry["data"]["origin"]
    assert all(value["meaning"] for value in (*entry["inputs"], *entry["outputs"]))


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
    assert len(model.graph.node) <= MAX_NODES or entry["name"] in LARGE
    assert sorted({n.op_type for n in nodes_of(model.graph)}) == entry["operators"]
    for values, entries in ((model.graph.input, entry["inputs"]), (model.graph.output, entry["outputs"])):
        assert [described(v) for v in values] == [(e["name"], e["dtype"], e["shape"]) for e in entries]


@each_seed
def test_names_are_unique_and_mean_something(entry: dict[str, Any]) -> None:
    graph = load(entry["name"]).graph
    everything = nodes_of(graph)
    nodes = [n.name for n in everything]
    assert len(set(nodes)) == len(nodes)
    made = [v for n in everything for v in n.output] + [i.name for i in graph.initializer]
    assert not [v for v in made if v.startswith("onnx::") or v.isdigit()]
    used = {v for n in everything for v in n.input}
    assert {i.name for i in graph.initializer} <= used


@each_seed
def test_samples_lie_in_the_declared_ranges(entry: dict[str, Any]) -> None:
    arrays = samples_of(entry["name"])
    labels = {entry["data"]["labels"]} if "labels" in entry["data"] else set()
    assert set(arrays) == {i["name"] for i in entry["inputs"]} | labels
    assert entry["data"]["samples"] >= 2
    for each_input in entry["inputs"]:
        array = arrays[each_input["name"]]
        assert len(array) == entry["data"]["samples"]
        for actual, declared in zip(feed(entry, 0)[each_input["name"]].shape, each_input["shape"], strict=True):
            assert actual == declared or isinstance(declared, str)
        if each_input["dtype"] == "string":
            assert array.dtype == object
            continue
        assert array.dtype.name == each_input["dtype"]
        assert each_input["low"] <= array.min()
        assert array.max() <= each_input["high"]


@each_seed
def test_every_output_moves_with_every_input(entry: dict[str, Any]) -> None:
    """Another sample's value for one input, and all others as they were."""
    runner = reference(load(entry["name"]))
    base = feed(entry, 0)
    before = runner.run(None, base)
    for each_input in entry["inputs"]:
        name, moved = each_input["name"], [0.0] * len(before)
        for index in range(1, min(entry["data"]["samples"], 12)):
            if all(m > 0.01 for m in moved):
                break
            after = runner.run(None, {**base, name: feed(entry, index)[name]})
            moved = [max(m, distance(a, b)) for m, a, b in zip(moved, after, before, strict=True)]
        assert all(m > 0.01 for m in moved), (name, moved)


@pytest.mark.backend
@each_seed
def test_onnxruntime_agrees_with_the_reference_evaluator(entry: dict[str, Any]) -> None:
    model = load(entry["name"])
    expected, runner = reference(model), session(model, "DISABLE_ALL")
    for index in range(min(count(entry), 3)):
        inputs = feed(entry, index)
        for actual, wanted in zip(runner.run(None, inputs), expected.run(None, inputs), strict=True):
            assert distance(actual, wanted) <= TOLERANCE


@pytest.fixture(scope="module", params=["torch", "tensorflow", "numpy"])
def worker(request: pytest.FixtureRequest) -> ModuleType:
    """The worker of a framework, with what exports to it as ``exporter``."""
    # TensorFlow reads these when it is imported.
    for name, value in TENSORFLOW.env.items():
        os.environ.setdefault(name, value)
    pytest.importorskip(request.param)
    module = loaded_worker(ROOT / "irfuzz", request.param)
    module.exporter = {"torch": torch, "tensorflow": tensorflow, "numpy": array}[request.param]  # type: ignore[attr-defined]
    return module


REFUSED = {("text", "torch"), ("text", "array")}
"""Seeds with strings, of which PyTorch and NumPy have no tensors."""


@pytest.mark.backend
@each_seed
def test_the_lowerings_agree_with_the_reference(entry: dict[str, Any], worker: ModuleType) -> None:
    program = program_of(entry["name"])
    if (entry["name"], worker.exporter.__name__.rpartition(".")[2]) in REFUSED:
        with pytest.raises(Unsupported):
            worker.exporter.lower(program)
        return
    source = worker.exporter.lower(program)
    expected = reference(load(entry["name"]))
    for index in range(min(count(entry), 2)):
        inputs = feed(entry, index)
        request = {
            "do": "run",
            "source": source.source,
            "arrays": list(source.arrays),
            "inputs": [{"name": name} for name in inputs],
            "variants": [{"mode": "eager"}],
        }
        answer, values = worker.handle(request, [*source.arrays.values(), *inputs.values()])
        assert answer["runs"][0]["exit"] == "ok", answer
        for actual, wanted in zip(values, expected.run(None, inputs), strict=True):
            assert distance(actual, wanted) <= TOLERANCE


@pytest.mark.backend
@each_seed
def test_facts_hold_and_inner_values_are_alive(entry: dict[str, Any]) -> None:
    """All values become outputs; of what depends on the samples, most elements differ between them."""
    program = program_of(entry["name"]).clone()
    shown = {value.name for value in program.graph.outputs}
    reads = {value.name for value in program.graph.inputs}
    for node in program.graph:
        # What is computed from a shape only is the same for all samples of one shape.
        if node.op_type not in ("Shape", "Size") and reads & {value.name for value in node.inputs if value is not None}:
            reads |= {value.name for value in node.outputs}
        for value in node.outputs:
            if value.name and value.name not in shown and isinstance(program.fact(value), TensorFact | SequenceFact):
                program.add_output(value)
    runner = session(program.to_proto(), "DISABLE_ALL")
    runs = [runner.run(None, feed(entry, index)) for index in range(count(entry))]
    alive = considered = 0
    for position, value in enumerate(program.graph.outputs):
        arrays = [run[position] for run in runs]
        for given in arrays:
            assert contradiction(program.fact(value), given) is None, value.name
        if isinstance(arrays[0], list) or arrays[0].dtype.kind != "f" or value.name not in reads:
            continue
        assert all(np.isfinite(array).all() for array in arrays), value.name
        if len({array.shape for array in arrays}) == 1:
            stacked = np.stack(arrays).astype(np.float64)
            moves = stacked.std(axis=0).reshape(-1) > 1e-3 * min(1, np.abs(stacked).max(initial=0))
            considered += 1
            alive += bool(moves.size and moves.mean() > 0.25)
    assert alive >= 0.9 * considered


@pytest.mark.backend
@each_seed
def test_drawn_inputs_run(entry: dict[str, Any]) -> None:
    program = program_of(entry["name"])
    runner = session(load(entry["name"]), "DISABLE_ALL")
    for seed in range(3):
        inputs = make_inputs(program, seed, ranges=seed_ranges()[entry["file"]])
        assert len(runner.run(None, inputs)) == len(entry["outputs"])


@each_seed
def test_mutants_are_valid(entry: dict[str, Any]) -> None:
    for mutant in mutate_many([(entry["name"], program_of(entry["name"]))], seed=1, n=2):
        onnx.checker.check_model(onnx.load_from_string(mutant.to_bytes()))


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


@pytest.mark.backend
def test_a_sample_of_the_scripts_builds_the_committed_bytes(tmp_path: Path) -> None:
    """``python -m seeds.scripts.build --check`` does so for all; weights here do not depend on the processor's sums."""
    pytest.importorskip("torch")
    built_here = [e["name"] for e in ENTRIES if set(e["built_with"]) <= {"numpy", "onnx", "torch"}]
    picked = sorted(built_here, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:5]
    command = [sys.executable, "-m", "seeds.scripts.build", *picked, "-o", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "7"}, check=True, capture_output=True)
    for name in picked:
        for suffix in (".onnx", ".inputs.npz"):
            assert (tmp_path / f"{name}{suffix}").read_bytes() == (SEEDS / f"{name}{suffix}").read_bytes(), name


def test_the_build_command_refuses_an_unknown_seed() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "seeds.scripts.build", "nonsense"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "unknown seed 'nonsense': expected one of lenet5" in result.stderr
