"""``irfuzz.toml`` is found beside the model or above the working folder, and every key that is not known is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.frontends.project_file import NAME, find_project_file, read_project_file

pytestmark = pytest.mark.unit

WHOLE = """
[inputs]
shapes = { image = [1, 3, 48, 160], flag = [] }
sizes = { H = 48 }
ranges = { image = [0, 255] }
data = "inputs.npz"

[models."ocr.onnx".inputs]
sizes = { W = 1 }

[models."deep/er.onnx".inputs]
ranges = { x = [-1.5, -1.5] }
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(text)
    return folder / NAME


def test_all_keys_are_read(tmp_path: Path) -> None:
    file = read_project_file(write(tmp_path, WHOLE))
    assert file.inputs is not None
    assert file.inputs.shapes == {"image": (1, 3, 48, 160), "flag": ()}
    assert file.inputs.sizes == {"H": 48}
    assert file.inputs.ranges == {"image": (0.0, 255.0)}
    assert file.inputs.data == tmp_path / "inputs.npz", "relative to the file"
    assert file.inputs.place == f"{tmp_path / NAME}: inputs"
    assert file.models["ocr.onnx"].sizes == {"W": 1}
    assert file.models["deep/er.onnx"].ranges == {"x": (-1.5, -1.5)}


def test_a_table_of_a_model_comes_after_that_of_all(tmp_path: Path) -> None:
    file = read_project_file(write(tmp_path, WHOLE))
    assert file.tables_of(tmp_path / "other.onnx") == [file.inputs]
    assert file.tables_of(tmp_path / "ocr.onnx") == [file.inputs, file.models["ocr.onnx"]]
    assert file.tables_of(tmp_path / "any" / "ocr.onnx") == [file.inputs, file.models["ocr.onnx"]]
    assert file.tables_of(tmp_path / "deep" / "er.onnx") == [file.inputs, file.models["deep/er.onnx"]]
    assert file.tables_of(tmp_path / "er.onnx") == [file.inputs], "the path says which one is meant"
    assert read_project_file(write(tmp_path, "")).tables_of(tmp_path / "m.onnx") == []


def test_the_file_beside_the_model_is_first_then_the_nearest_above_the_working_folder(tmp_path: Path) -> None:
    work, model = tmp_path / "project" / "work", tmp_path / "models" / "m.onnx"
    top = write(tmp_path / "project", "")
    assert find_project_file(model, work) == top
    nearer = write(work, "")
    assert find_project_file(model, work) == nearer
    beside = write(model.parent, "")
    assert find_project_file(model, work) == beside


def test_no_file_is_found_where_there_is_none(tmp_path: Path) -> None:
    found = find_project_file(tmp_path / "m.onnx", tmp_path)
    assert found is None or not found.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[input]", "unknown key input in the file; known are inputs, models, fuzz"),
        ("[inputs]\nshape = {}", "unknown key shape in table [inputs]; known are shapes, sizes, ranges, data"),
        ('[models."a.onnx"]\nsizes = {}', 'unknown key sizes in table [models."a.onnx"]; known are inputs'),
        (
            '[models."a.onnx".inputs]\n"what else" = 1',
            'unknown key "what else" in table [models."a.onnx".inputs]; known are shapes, sizes, ranges, data',
        ),
        ("inputs = 1", "inputs: expected a table, got 1"),
        ("[inputs]\nsizes = [1]", "inputs.sizes: expected a table, got [1]"),
        ("[inputs]\nsizes = { H = 0 }", "inputs.sizes: H: expected a size of at least 1, got 0"),
        ("[inputs]\nsizes = { H = 1.5 }", "inputs.sizes: H: expected a size of at least 1, got 1.5"),
        ("[inputs]\nsizes = { H = true }", "inputs.sizes: H: expected a size of at least 1, got True"),
        ("[inputs]\nshapes = { x = [1, 0] }", "inputs.shapes: x: expected sizes of at least 1, such as"),
        ("[inputs]\nshapes = { x = 3 }", "inputs.shapes: x: expected sizes of at least 1, such as"),
        ("[inputs]\nranges = { x = [1, 0] }", "inputs.ranges: x: expected [LO, HI] with LO <= HI, got [1, 0]"),
        ("[inputs]\nranges = { x = [nan, 0] }", "inputs.ranges: x: expected [LO, HI]"),
        ("[inputs]\nranges = { x = [0] }", "inputs.ranges: x: expected [LO, HI]"),
        ("[inputs]\nranges = { x = [true, true] }", "inputs.ranges: x: expected [LO, HI]"),
        ("[inputs]\ndata = 1", "inputs.data: expected the path of an npz, got 1"),
        ("[inputs", "not TOML: "),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_project_file(path)
    assert str(caught.value).startswith(f"{path}: {says}")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_project_file(tmp_path / NAME)
