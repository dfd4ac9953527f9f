"""Large weights are taken out of a file and stay where they were read; what the program says and writes is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.onnx_file import load_file, load_seed
from irfuzz.frontends.serialized_weight_separation import LARGE, joined, split
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.lazy_tensor import LazyTensor

LENGTH = 300_000


def model(*weights: onnx.TensorProto, more: tuple[onnx.TensorProto, ...] = ()) -> onnx.ModelProto:
    """Each weight is an output; ``more`` are inputs as well."""
    nodes = [helper.make_node("Identity", [w.name], [f"y{i}"]) for i, w in enumerate((*weights, *more))]
    outputs = [
        helper.make_tensor_value_info(f"y{i}", w.data_type, list(w.dims)) for i, w in enumerate((*weights, *more))
    ]
    inputs = [helper.make_tensor_value_info(w.name, w.data_type, list(w.dims)) for w in more]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [*weights, *more])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def weight(name: str = "w", dtype: object = np.float32, size: int = LENGTH) -> onnx.TensorProto:
    return numpy_helper.from_array((np.arange(size) % 100).astype(np.dtype(dtype)), name)  # type: ignore[arg-type]


def written(tmp_path: Path, made: onnx.ModelProto | bytes) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    return path


def test_the_program_is_that_of_the_whole_model(tmp_path: Path) -> None:
    told = weight("told")
    told.doc_string = "kept"
    told.metadata_props.add(key="k", value="v")
    told.data_location = TensorProto.DEFAULT
    small = weight("small", size=3)
    packed = helper.make_tensor("nibbles", TensorProto.INT4, [2 * LENGTH], bytes(LENGTH), raw=True)
    both = weight("both", np.int64)
    made = model(small, weight("half", ml_dtypes.bfloat16), told, packed, weight("yes", np.bool_), more=(both,))
    skeleton, held = split(made.SerializeToString())
    assert sorted(held) == [1, 2, 3, 4, 5]
    assert len(skeleton) < LARGE
    assert joined(onnx.ModelProto.FromString(skeleton), {**held}) == made
    path = written(tmp_path, made)
    assert load_file(path) == made
    program, whole = load_seed(path), Program.from_proto(made)
    assert program.to_bytes() == whole.to_bytes()
    assert program.to_proto() == Program.from_bytes(made.SerializeToString()).to_proto()
    assert program.digest == whole.digest
    kept = {n: v.const_value for n, v in program.graph.initializers.items()}
    assert {n for n, t in kept.items() if isinstance(t, LazyTensor)} == {"half", "told", "yes", "both"}
    for name, tensor in kept.items():
        expected = whole.graph.initializers[name].const_value
        assert tensor is not None
        assert expected is not None
        assert tensor.dtype == expected.dtype
        np.testing.assert_array_equal(tensor.numpy(), expected.numpy())
    assert not kept["told"].numpy().flags.writeable  # type: ignore[union-attr]
    assert program.clone().to_bytes() == whole.to_bytes()


def test_external_weights_stay_as_they_were_read(tmp_path: Path) -> None:
    made = model(weight("a"), weight("b", size=5))
    digest = Program.from_proto(made).digest
    onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    program = load_seed(tmp_path / "m.onnx")
    kept = {n: type(v.const_value) is LazyTensor for n, v in program.graph.initializers.items()}
    assert kept == {"a": True, "b": False}
    assert program.digest == digest


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, LENGTH + 1), "takes 1200004 bytes, got 1200000"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, -1), "negative size"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 99), "element type 99"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 8), "string tensors have no raw form"),
        (lambda m: m.graph.initializer[0].float_data.append(1.0), "data stand twice"),
        (lambda m: m.graph.initializer.add().CopyFrom(m.graph.initializer[0]), "two initializers are called 'w'"),
        (lambda m: setattr(m.graph.node[0], "op_type", "Nope"), "unknown operator Nope"),
        (lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 7), "onnx.checker"),
        (lambda m: m.graph.input.add(name="w").type.tensor_type.shape.dim.add(dim_value=3), "onnx.checker"),
    ],
)
def test_what_is_wrong_with_a_large_model_is_said_as_of_a_small_one(tmp_path: Path, change: object, why: str) -> None:
    made = model(weight())
    change(made)  # type: ignore[operator]
    with pytest.raises(InvalidProgram, match=why):
        load_seed(written(tmp_path, made))


def test_what_is_not_plainly_written_is_left_to_protobuf(tmp_path: Path) -> None:
    data = model(weight()).SerializeToString()
    for cut in (1, 100, len(data) // 2, len(data) - 1):
        assert split(data[:-cut]) == (data[:-cut], {})
        with pytest.raises(InvalidProgram, match="not an ONNX model"):
            load_seed(written(tmp_path, data[:-cut]))
    twice = data + onnx.ModelProto(graph=onnx.GraphProto(doc_string="merged")).SerializeToString()
    assert split(twice) == (twice, {})
    assert load_file(written(tmp_path, twice)).graph.doc_string == "merged"
    assert split(b"\xff" * 2_000_000) == (b"\xff" * 2_000_000, {})


def test_a_process_holds_a_model_once(tmp_path: Path) -> None:
    size = 60_000_000
    path = written(tmp_path, model(weight(size=size // 4)))
    code = (
        "import resource, sys; from pathlib import Path; from irfuzz.frontends.onnx_file import load_seed\n"
        "from irfuzz.ir.program import Program\n"
        "peak = lambda: 1024 * max(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, "
        "resource.RUSAGE_CHILDREN))\n"
        "before = peak(); program = load_seed(Path(sys.argv[1])); print(peak() - before)"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1.4 * size
