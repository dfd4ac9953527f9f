"""External data are read from the model's own folder only, and only if all of them are there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.onnx_file import load_file
from tests.frontends.models import add_weights, stored_outside

DATA = np.array([1, 2, 3], dtype="<f4").tobytes()


def write(folder: Path, model: onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("location", ["w.bin", "deep/er/w.bin", "./w.bin"])
def test_data_are_taken_in(tmp_path: Path, location: str) -> None:
    (tmp_path / location).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / location).write_bytes(b"skipped!" + DATA + b"rest")
    path = write(tmp_path, stored_outside(location, offset="8", length="12", checksum="unused"))
    assert load_file(path) == add_weights()


def test_data_in_subgraphs_and_attributes_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA)
    outside = stored_outside("w.bin").graph.initializer[0]
    model = add_weights()
    node = model.graph.node.add(op_type="If", output=["z"])
    branch = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    branch.initializer.add().CopyFrom(outside)
    constant = branch.node.add(op_type="Constant", output=["c"])
    constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(outside)
    model.functions.add().node.add().CopyFrom(constant)
    loaded = load_file(write(tmp_path, model))
    inner = loaded.graph.node[1].attribute[0].g
    assert inner.initializer[0].raw_data == DATA
    assert inner.node[0].attribute[0].t.raw_data == DATA
    assert loaded.functions[0].node[0].attribute[0].t.raw_data == DATA


@pytest.mark.parametrize("location", ["../w.bin", "sub/../../w.bin", "{parent}/w.bin", "link.bin", "linked/w.bin"])
def test_paths_out_of_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "w.bin").write_bytes(DATA)
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    (folder / "linked").symlink_to(tmp_path)
    path = write(folder, stored_outside(location.format(parent=tmp_path)))
    with pytest.raises(InvalidProgram, match=r"tensor 'w': .*(outside of the model's folder|symbolic link)") as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"location": "none.bin"}, "none.bin': No such file"),
        ({"location": "."}, "not a plain file"),
        ({"location": "fifo"}, "not a plain file"),
        ({"location": "w.bin", "offset": "4"}, ": 12 bytes; expected 12 from offset 4"),
        ({"location": "w.bin", "offset": "-4"}, "'offset' as '-4'"),
        ({"location": "w.bin", "length": "8"}, "take 12 bytes, but external_data gives length 8"),
        ({"location": "w.bin", "length": "9" * 5000}, "expected a count of bytes"),
        ({"location": ""}, "names no file"),
        ({"location": "w\0.bin"}, "names no file"),
    ],
)
def test_incomplete_data_are_refused(tmp_path: Path, entries: dict[str, str], reason: str) -> None:
    (tmp_path / "w.bin").write_bytes(DATA)
    os.mkfifo(tmp_path / "fifo")
    path = write(tmp_path, stored_outside(**entries))
    with pytest.raises(InvalidProgram, match=reason):
        load_file(path)


def test_a_huge_tensor_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA)
    model = stored_outside("w.bin")
    model.graph.initializer[0].dims[:] = [2**40, 2**20]
    with pytest.raises(InvalidProgram, match=r"tensor has the sizes \[1099511627776, 1048576\]; expected at most"):
        load_file(write(tmp_path, model))
    model.graph.initializer[0].dims[:] = [2**28]
    with pytest.raises(InvalidProgram, match=": 12 bytes; expected 1073741824"):
        load_file(write(tmp_path, model))
