"""An npz becomes samples: rows that are inputs or parts of them, or the inputs themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.api.npz_sample_reading import arrays_in, check_sizes, read_array, read_values, samples_of
from irfuzz.errors import UsageError
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

F = np.float32


def program(inputs: str) -> Program:
    body = "y = Constant<value_floats=[1.0, 2.0]>()"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[2] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def shapes(inputs: str, **data: np.ndarray) -> list[dict[str, tuple[int, ...]]]:
    rows = samples_of(program(inputs), data, "--data d.npz")
    return [{name: np.shape(value) for name, value in row.items()} for row in rows]


def test_a_row_is_an_input_as_a_whole_or_its_part_along_the_first_axis() -> None:
    assert shapes("float[3] x", x=np.zeros((2, 3), F)) == [{"x": (3,)}] * 2
    assert shapes("float[N,3] x", x=np.zeros((2, 3), F)) == [{"x": (1, 3)}] * 2
    assert shapes("float[1,3] x", x=np.zeros((2, 3), F)) == [{"x": (1, 3)}] * 2
    assert shapes("float[N,3] x, int64 n", x=np.zeros((2, 3), F), n=np.arange(2)) == [{"x": (1, 3), "n": ()}] * 2


def test_arrays_that_are_the_inputs_are_one_sample() -> None:
    assert shapes("float[2,3] x", x=np.zeros((2, 3), F)) == [{"x": (2, 3)}]
    data = {"x": np.zeros((4, 3), F), "n": np.array(7), "s": np.zeros((2, 1, 5), F)}
    assert shapes("float[N,3] x, int64 n, float[2,B,5] s", **data) == [{"x": (4, 3), "n": (), "s": (2, 1, 5)}]
    assert shapes("float[N,3] x, float[M,3] z", x=np.zeros((4, 3), F), z=np.zeros((5, 3), F)) == [
        {"x": (4, 3), "z": (5, 3)}
    ]


@pytest.mark.parametrize(
    ("inputs", "data", "says"),
    [
        ("float[2,3] x", {"x": np.zeros((3, 3), F)}, "'x' has shape [3, 3], expected samples of [2,3], or one of them"),
        ("float[N,3] x", {"x": np.zeros((0, 3), F)}, "expected at least one sample, got arrays without rows"),
        (
            "float[N,3] x, float[N,3] z",
            {"x": np.zeros((4, 3), F), "z": np.zeros((5, 3), F)},
            "expected as many samples of each input, got [4, 5]",
        ),
        ("float[N,3] x, float[3] z", {"x": np.zeros((4, 3), F)}, "no array for input 'z'; it has x"),
        ("float[N,3] x", {"x": np.zeros((4, 3))}, "'x' is float64, expected float32"),
        ("seq(float[3]) x", {"x": np.zeros((4, 3), F)}, "input 'x' is no tensor"),
    ],
)
def test_what_does_not_fit_is_told(inputs: str, data: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        samples_of(program(inputs), data, "--data d.npz")
    assert str(caught.value) == f"--data d.npz: {says}"


def test_samples_have_the_sizes_that_are_said_and_one_for_each_name() -> None:
    model = program("float[N,H] x, float[H] z, float[?] u")
    row = {"x": np.zeros((1, 4), F), "z": np.zeros(4, F), "u": np.zeros(6, F)}
    check_sizes(model, [row], InputSpec(shapes={"u": (6,)}, sizes={"H": 4}), "--data d.npz")
    for spec, says in (
        (InputSpec(sizes={"H": 5}), r"sample 0: 'x' has shape \[1, 4\]; axis 1 \(H\) is said to be 5"),
        (InputSpec(shapes={"u": (7,)}), r"'u' has shape \[6\]; axis 0 is said to be 7"),
    ):
        with pytest.raises(UsageError, match=says):
            check_sizes(model, [row], spec, "--data d.npz")
    with pytest.raises(UsageError, match=r"sample 1: 'z' has shape \[5\]; axis 0 \(H\) is in another input 4"):
        check_sizes(model, [row, {**row, "z": np.zeros(5, F)}], InputSpec(), "--data d.npz")


def test_strings_are_read_as_objects_and_files_without_arrays_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", s=np.array(["a", "bc"]))
    assert arrays_in(read_values(tmp_path / "d.npz", "--data"), "--data")["s"].dtype == object
    np.savez(tmp_path / "none.npz")
    with pytest.raises(UsageError, match="--data none: it holds no arrays"):
        arrays_in(read_values(tmp_path / "none.npz", "--data none"), "--data none")
    with pytest.raises(UsageError, match="--data gone: No such file"):
        arrays_in(read_values(tmp_path / "gone.npz", "--data gone"), "--data gone")


def test_an_array_takes_no_more_memory_than_its_file_has(tmp_path: Path) -> None:
    path = tmp_path / "labels.npy"
    np.save(path, np.arange(6))
    assert read_array(path, "--labels").tolist() == [*range(6)]
    whole = path.read_bytes()
    spoilt = {
        "larger": whole.replace(b"(6,), }           ", b"(60000000000,), }"),
        "open": whole.replace(b"(6,), }", b"(6,,, ("),
        "cut": whole[:20],
        "empty": b"",
    }
    for name, data in spoilt.items():
        assert data != whole, name
        path.write_bytes(data)
        with pytest.raises(UsageError, match="--labels: not an npy file: "):
            read_array(path, "--labels")
    np.savez(tmp_path / "labels.npz", a=np.arange(6))
    with pytest.raises(UsageError, match="but an npz of several"):
        read_array(tmp_path / "labels.npz", "--labels")
