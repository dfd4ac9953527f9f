"""Programs that share their weights by digest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.store import shared_weight_serialization
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.model_blob_packing import LARGE_PROGRAM, blobs_named
from irfuzz.store.shared_weight_serialization import SHARED, shared_bytes, shared_program

pytestmark = pytest.mark.unit


def make(sizes: dict[str, int], rng: int = 0) -> Program:
    """``x`` plus each of some float vectors of so many bytes, which are pairwise different."""
    draw = np.random.default_rng(rng)
    weights = [numpy_helper.from_array(draw.random(n // 4, np.float32), name) for name, n in sizes.items()]
    nodes = [helper.make_node("ReduceSum", [name], [f"s_{name}"], keepdims=0) for name in sizes]
    nodes.append(helper.make_node("Sum", ["x", *(f"s_{name}" for name in sizes)], ["y"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])], weights
    )
    return Program.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def test_weights_from_the_threshold_on_stand_outside_and_come_back(tmp_path: Path) -> None:
    program = make({"under": SHARED - 4, "at": SHARED, "over": SHARED + 4})
    blobs = FolderBlobs(tmp_path)
    data = shared_bytes(program, blobs)
    assert len(data) < len(program.to_bytes()) - 2 * SHARED + 700
    assert sorted(blobs_named(data)) == sorted(blobs.digests())
    assert [p.stat().st_size for p in sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_size)] == [
        SHARED,
        SHARED + 4,
    ]
    again = shared_program(data, blobs)
    assert again.digest == program.digest
    assert again.to_bytes() == program.to_bytes()
    assert shared_bytes(again, blobs) == data


def test_a_model_without_references_is_read_whole(tmp_path: Path) -> None:
    program = make({"w": 64})
    assert shared_program(program.to_bytes(), FolderBlobs(tmp_path)).digest == program.digest


def test_a_mutant_stores_only_the_weight_that_changed(tmp_path: Path) -> None:
    seed = make({"a": 4 * SHARED, "b": 8 * SHARED})
    blobs = FolderBlobs(tmp_path)
    shared_bytes(seed, blobs)
    mutant = seed.clone()
    value = mutant.value("a")
    assert value is not None
    mutant.set_constant(value, np.zeros(SHARED, np.float32))
    data = shared_bytes(mutant, blobs)
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) == (4 + 8 + 4) * SHARED
    assert shared_program(data, blobs).digest == mutant.digest


def test_what_is_not_to_be_kept_is_written_into_the_model(tmp_path: Path) -> None:
    seed = make({"a": 4 * SHARED})
    blobs = FolderBlobs(tmp_path)
    data = shared_bytes(seed, blobs, keep=lambda tensor: False)
    assert data == seed.to_bytes()
    assert list(blobs.digests()) == []


def test_a_saved_model_is_what_onnx_and_irfuzz_load(tmp_path: Path) -> None:
    program = make({"a": LARGE_PROGRAM, "b": SHARED})
    data = shared_bytes(program, FolderBlobs(tmp_path / "weights"), folder="weights")
    for name in ("one.onnx", "two.onnx"):
        (tmp_path / name).write_bytes(data)
    assert len(list((tmp_path / "weights").iterdir())) == 2
    assert Program.from_proto(onnx.load(tmp_path / "one.onnx")).digest == program.digest
    onnx.checker.check_model(str(tmp_path / "two.onnx"))
    assert load_seed(tmp_path / "two.onnx").digest == program.digest


@pytest.mark.parametrize(("dtype", "count"), [(TensorProto.INT4, 4096), (TensorProto.BFLOAT16, 1024)])
def test_types_that_are_packed_or_that_numpy_lacks_are_shared_too(tmp_path: Path, dtype: int, count: int) -> None:
    weight = helper.make_tensor("w", dtype, [count], bytes(range(256)) * 8, raw=True)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])], "g", [],
        [helper.make_tensor_value_info("y", dtype, [count])], [weight],
    )  # fmt: skip
    program = Program.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    blobs = FolderBlobs(tmp_path)
    again = shared_program(shared_bytes(program, blobs), blobs)
    assert len(list(blobs.digests())) == 1
    assert again.digest == program.digest


def test_other_external_data_are_refused(tmp_path: Path) -> None:
    program = make({"a": 4 * SHARED})
    data = shared_bytes(program, FolderBlobs(tmp_path)).replace(b".bin", b".dat")
    with pytest.raises(InvalidProgram, match="no blob of irfuzz"):
        shared_program(data, FolderBlobs(tmp_path))


def test_a_blob_of_another_length_is_refused(tmp_path: Path) -> None:
    program = make({"a": 4 * SHARED})
    blobs = FolderBlobs(tmp_path)
    data = shared_bytes(program, blobs)
    (digest,) = blobs.digests()
    blobs.path(digest).write_bytes(b"short")
    with pytest.raises(InvalidProgram, match="takes 4096 bytes, got 5"):
        shared_program(data, FolderBlobs(tmp_path))


def test_the_digest_of_a_weight_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make({"a": 4 * SHARED})
    blobs = FolderBlobs(tmp_path)
    data = shared_bytes(program, blobs)
    again = shared_program(data, blobs)
    monkeypatch.setattr(shared_weight_serialization, "digest_of", lambda data: pytest.fail("taken again"))
    assert shared_bytes(program.clone(), blobs) == shared_bytes(again, blobs) == data
