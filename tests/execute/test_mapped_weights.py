"""Models that refer to their weights: which do, what they say, and that all targets compute the same from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irfuzz.execute.adapters import mapped_weights as mapping
from irfuzz.execute.adapters.mapped_weights import LARGE_WEIGHT, mapped_bytes, mapped_model
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.frontends import onnx_file
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

SIDE = 512
"""A weight of so many rows and columns takes 1 MiB."""


@pytest.fixture(autouse=True)
def _low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_file, "MAPPED", 1 << 20)
    monkeypatch.setattr(mapping, "LARGE_MODEL", 1 << 20)


def proto(count: int = 2, side: int = SIDE) -> onnx.ModelProto:
    """A chain of matrix products, without zeros."""
    draw = np.random.default_rng(0)
    names = ["x", *(f"m{i}" for i in range(count))]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(count)]
    weights = [
        numpy_helper.from_array(draw.standard_normal((side, side), np.float32) / 20, f"w{i}") for i in range(count)
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [1, side])],
        [value(names[-1], TensorProto.FLOAT, [1, side])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def whole(data: bytes, folder: Path) -> Program:
    """What onnx makes of a model and the folder of its external data."""
    model = onnx.ModelProto.FromString(data)
    onnx.load_external_data_for_model(model, str(folder))
    return Program.from_proto(model)


def large(folder: Path, *, external: bool = False, count: int = 2) -> Program:
    """The chain, loaded from a file."""
    path = folder / "model.onnx"
    onnx.save(proto(count), path, save_as_external_data=external, location="model.data")
    return load_seed(path)


@pytest.mark.unit
@pytest.mark.parametrize("external", [False, True])
def test_a_loaded_model_keeps_its_weights_in_the_file(tmp_path: Path, *, external: bool) -> None:
    program = large(tmp_path, external=external)
    assert mapped_bytes(program) == 2 << 20
    assert mapped_bytes(program.clone()) == 2 << 20
    assert program.to_bytes() == Program.from_proto(proto()).to_bytes()
    assert mapped_bytes(Program.from_bytes(program.to_bytes())) == 0


@pytest.mark.unit
def test_weights_are_left_in_the_file_from_the_threshold_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = large(tmp_path)
    monkeypatch.setattr(mapping, "LARGE_MODEL", 2 << 20)
    assert mapped_model(program) is not None
    monkeypatch.setattr(mapping, "LARGE_MODEL", (2 << 20) + 1)
    assert mapped_model(program) is None


@pytest.mark.unit
def test_a_mapped_model_is_the_same_model(tmp_path: Path) -> None:
    program = large(tmp_path)
    found = mapped_model(program)
    assert found is not None
    assert (found.folder, found.weights) == (tmp_path.resolve(), 2 << 20)
    assert len(found.data) < 1000
    assert whole(found.data, tmp_path).digest == program.digest
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.unit
def test_a_model_behind_a_symbolic_link_is_found_in_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    large(tmp_path / "own")
    (tmp_path / "link.onnx").symlink_to(tmp_path / "own" / "model.onnx")
    found = mapped_model(load_seed(tmp_path / "link.onnx"))
    assert found is not None
    assert found.folder == (tmp_path / "own").resolve()


@pytest.mark.unit
def test_a_changed_weight_stands_in_the_model_itself(tmp_path: Path) -> None:
    mutant = large(tmp_path).clone()
    value = mutant.value("w0")
    assert value is not None
    mutant.set_constant(value, np.ones((SIDE, SIDE), np.float32))
    assert mapped_bytes(mutant) == 1 << 20
    found = mapped_model(mutant)
    assert found is not None
    assert 1 << 20 < len(found.data) < (1 << 20) + 1000
    assert whole(found.data, tmp_path).digest == mutant.digest


@pytest.mark.unit
def test_weights_of_another_folder_stand_in_the_model(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    program, other = large(tmp_path), large(tmp_path / "more", count=1)
    value, weight = program.value("w0"), other.graph.initializers["w0"].const_value
    assert value is not None
    value.const_value = weight
    found = mapped_model(program)
    assert found is not None
    assert found.weights == 1 << 20
    assert mapped_bytes(program) == 2 << 20
    assert whole(found.data, found.folder).digest == program.digest


@pytest.mark.unit
def test_a_small_weight_stands_in_the_model(tmp_path: Path) -> None:
    side = 128
    assert 4 * side * side == LARGE_WEIGHT
    for count, bytes_less in ((17, 0), (17, 4)):
        model = proto(count, side)
        if bytes_less:
            last = model.graph.initializer[-1]
            last.raw_data, last.dims[:] = last.raw_data[:-bytes_less], [side * side - 1]
            del model.graph.node[-1]
            model.graph.node.append(helper.make_node("ReduceSum", [last.name], [f"m{count - 1}"]))
            del model.graph.output[0].type.tensor_type.shape.dim[:]
            model.graph.output[0].type.tensor_type.shape.dim.add(dim_value=1)
        onnx.save(model, tmp_path / "m.onnx")
        assert mapped_bytes(load_seed(tmp_path / "m.onnx")) == (count - (bytes_less > 0)) * LARGE_WEIGHT


@pytest.mark.backend
@pytest.mark.parametrize("external", [False, True])
def test_targets_compute_the_same_from_the_file_as_from_the_bytes(tmp_path: Path, *, external: bool) -> None:
    program = large(tmp_path, external=external)
    unmapped = Program.from_bytes(program.to_bytes())
    inputs = [{"x": np.full((1, SIDE), n + 1, np.float32)} for n in range(3)]
    targets = resolve(["reference", "ort:disabled", "ort:all", "torch:eager"])
    with Runner(targets, required=False) as runner:
        from_file = runner.run_all([Task(program, i) for i in inputs])
        from_bytes = runner.run_all([Task(unmapped, i) for i in inputs])
        alone = [runner.run(program, i) for i in inputs]
    for rows in zip(from_file, from_bytes, alone, strict=True):
        for results in zip(*rows, strict=True):
            assert [r.exit for r in results] == [Exit.OK] * 3, results
            assert len({np.asarray(r.outputs["m1"]).tobytes() for r in results}) == 1


@pytest.mark.backend
def test_one_session_serves_all_inputs(tmp_path: Path) -> None:
    """The second input of a row costs a run, the first a session, too."""
    program = large(tmp_path, count=24)
    inputs = [{"x": np.full((1, SIDE), n + 1, np.float32)} for n in range(4)]
    with Runner(resolve(["ort:disabled", "ort:all"])) as runner:
        rows = runner.run_all([Task(program, i) for i in inputs])
        for place in range(2):
            first, *later = [row[place].seconds for row in rows]
            assert max(later) < first


@pytest.mark.backend
def test_weights_are_not_sent_and_not_held_twice(tmp_path: Path) -> None:
    """24 MiB of weights and 8 inputs under a limit of 80 MiB: sent with each input they would take 400."""
    program = large(tmp_path, count=24)
    inputs = [{"x": np.full((1, SIDE), n + 1, np.float32)} for n in range(8)]
    with Runner(resolve(["ort:disabled", "ort:all"]), Limits(memory_bytes=80 << 20)) as runner:
        rows = runner.run_all([Task(program, i) for i in inputs])
    assert {r.exit for row in rows for r in row} == {Exit.OK}


@pytest.mark.backend
def test_a_model_too_large_for_one_message_runs_where_it_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irfuzz.ir.serialization.model_encoding.MAX_BYTES", 1 << 20)
    program = large(tmp_path)
    plugin = Path(__file__).parents[1] / "planted_targets" / "faults.py"
    with Runner(resolve(["ort:all", f"{plugin}:Raises"])) as runner:
        mapped, sent = runner.run(program, {"x": np.ones((1, SIDE), np.float32)})
    assert mapped.exit is Exit.OK
    assert sent.exit is Exit.UNSUPPORTED
    assert "one ONNX file holds at most" in sent.error
