"""A shape that a model declares of what it computes otherwise is replaced and told; a type is not."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.inference import misdeclared_shapes


def saved(folder: Path, declared: list[onnx.ValueInfoProto], dtype: int = TensorProto.FLOAT) -> Path:
    """``x`` reshaped to its own shape [2, N, 3] again and again, in a way that onnx's checker does not follow."""
    names = ["x", *(info.name for info in declared), "y"]
    one = onnx.numpy_helper.from_array(np.array([1], np.int64), "one")
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Sub", ["one", "one"], ["begin"]),
        helper.make_node("Shape", ["sizes"], ["end"]),
        helper.make_node("Slice", ["sizes", "begin", "end"], ["shape"]),
    ]
    nodes += [helper.make_node("Reshape", [a, "shape"], [b]) for a, b in itertools.pairwise(names)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "N", 3])],
        [helper.make_tensor_value_info("y", dtype, [1, "length"])],
        [one],
        value_info=declared,
    )
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def words(count: int) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(f"h{i}", TensorProto.FLOAT, [7, "N", 3]) for i in range(count)]


def test_a_wrong_rank_of_an_output_is_replaced_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    program = load_seed(saved(tmp_path, []), tell=told.append)
    fact = program.tensor(program.graph.outputs[0])
    assert fact is not None
    assert fact.shape == (2, "N", 3)
    (line,) = told
    assert line.startswith(f"{tmp_path / 'm.onnx'}: output 'y' is declared [1,length], but it is [2,N,3]; ")
    onnx.checker.check_model(program.to_proto(), full_check=True)


def test_several_are_told_in_one_line(tmp_path: Path) -> None:
    told: list[str] = []
    load_seed(saved(tmp_path, words(2)), tell=told.append)
    (line,) = told
    assert "output 'h0' is declared [7,N,3], but it is [2,N,3] (and 2 more); " in line


def test_a_wrong_element_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProgram, match=r"elem type differs|declared INT64"):
        load_seed(saved(tmp_path, [], TensorProto.INT64))


@pytest.mark.parametrize(("count", "taken"), [(misdeclared_shapes.MOST - 1, True), (misdeclared_shapes.MOST, False)])
def test_only_so_many_may_be_wrong(tmp_path: Path, count: int, taken: bool) -> None:
    path = saved(tmp_path, words(count))  # and the output
    if taken:
        load_seed(path)
        return
    with pytest.raises(InvalidProgram, match="'y' is declared"):
        load_seed(path)
