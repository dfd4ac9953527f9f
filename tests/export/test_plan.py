"""What the lowerings compute with sizes alone, against what ONNX's inference and Python's own slices say."""

from __future__ import annotations

import ast
from importlib import resources

import onnx
import pytest

from irfuzz.export.size_arithmetic.resized_axes import region_ends, resize_targets, resized_axes
from irfuzz.export.size_arithmetic.result_shapes import (
    depth_steps,
    flat_sizes,
    reduced_axes,
    reshaped_sizes,
    space_steps,
)
from irfuzz.export.size_arithmetic.slice_and_pad_positions import (
    centered_amounts,
    equal_parts,
    pad_amounts,
    range_count,
    slice_plan,
)
from irfuzz.export.size_arithmetic.window_sizes import (
    column_plan,
    pool_geometry,
    transposed_crops,
    unpooled_sizes,
    window_pads,
)
from irfuzz.export.source.support_function_source import PLAN, pieces

pytestmark = pytest.mark.unit


def inferred(text: str) -> list[list[int]]:
    """Sizes of the outputs of a model."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 22]> g {text}')
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    return [[d.dim_value for d in value.type.tensor_type.shape.dim] for value in graph.output]


def test_the_plan_knows_no_framework() -> None:
    for file in resources.files(PLAN).iterdir():
        if file.name.endswith(".py"):
            tree = ast.parse(file.read_text())
            names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
            names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
            assert names <= {"__future__", "math", "numpy"}, file.name


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_modules_of_every_framework_carry_it_ahead_of_their_own(framework: str) -> None:
    table = pieces(f"irfuzz.export.{framework}.support")
    assert "pool_geometry" in table["max_pool"].uses
    assert table["pool_geometry"].order < table["max_pool"].order


# Of ceil_mode beside auto_pad ONNX's text and its inference say different things.
@pytest.mark.parametrize(
    ("auto", "ceil"), [("NOTSET", 0), ("NOTSET", 1), ("VALID", 0), ("SAME_UPPER", 0), ("SAME_LOWER", 0)]
)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_a_pool_has_the_windows_that_onnx_infers(auto: str, stride: int, ceil: int, size: int) -> None:
    pads = ", pads = [1, 1]" if auto == "NOTSET" else ""
    (sizes,) = inferred(
        f"(float[1, 1, {size}] x) => (float[a, b, c] y) {{ y = MaxPool <kernel_shape = [3], strides = [{stride}], "
        f'ceil_mode = {ceil}, auto_pad = "{auto}"{pads}> (x) }}'
    )
    *_, counts = pool_geometry([size], [3], [stride], None, [1, 1] if pads else None, auto, ceil)
    assert counts == sizes[2:]


def test_odd_padding_falls_at_the_end_or_at_the_beginning() -> None:
    assert window_pads([4], [2], [1], [1], None, "SAME_UPPER") == [(0, 1)]
    assert window_pads([4], [2], [1], [1], None, "SAME_LOWER") == [(1, 0)]
    assert window_pads([4, 5], [3, 3], [1, 1], [1, 1], (0, 1, 2, 3), "NOTSET") == [(0, 2), (1, 3)]


def test_a_transposed_convolution_is_cropped_by_pads_or_to_a_shape() -> None:
    assert transposed_crops([7], [3], [2], (1, 2), "NOTSET", (0,), None) == [(-1, -2)]
    assert transposed_crops([7], [3], [2], None, "NOTSET", (1,), None) == [(0, 1)]
    assert transposed_crops([7], [3], [2], None, "SAME_UPPER", (0,), None) == [(0, -1)]
    assert transposed_crops([7], [3], [2], None, "SAME_LOWER", (0,), None) == [(-1, 0)]
    assert transposed_crops([7], [3], [2], None, "NOTSET", (0,), (4,)) == [(-2, -1)]


def test_unpooling_and_columns_undo_windows() -> None:
    assert unpooled_sizes([2, 3], [2, 2], [2, 3], [0, 1, 0, 1]) == [4, 6]
    assert unpooled_sizes([2], [2], None, None) == [3]
    assert column_plan([4], [3], [2], None, [1, 0]) == (
        [2], [1], [5], [2], (slice(None), slice(None), slice(1, 5)),
    )  # fmt: skip


@pytest.mark.parametrize("step", [-9, -3, -1, 1, 3, 9, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_slices_are_pythons(size: int, step: int) -> None:
    ends = [-(2**63), -size - 1, -size, -1, 0, 1, size - 1, size, size + 1, 2**63 - 1]
    for start in ends:
        for end in ends:
            ((axis, first, count, taken),) = slice_plan([size], [start], [end], None, [step])
            assert axis == 0
            # ONNX clamps a beginning to the first element if it goes backwards, Python to the place before it.
            begin = max(start, -size) if step < 0 and size else start
            assert [first + i * taken for i in range(count)] == list(range(size))[begin:end:step], (start, end)


def test_parts_pads_and_crops() -> None:
    assert equal_parts(7, 3) == [3, 3, 1]
    assert equal_parts(2, 3) == [1, 1, 0]
    assert pad_amounts(3, (1, 2, 3, 4), (-1, 0)) == [(2, 4), (0, 0), (1, 3)]
    assert pad_amounts(2, (1, 2, 3, 4), None) == [(1, 3), (2, 4)]
    assert centered_amounts([5, 4], (2, 7), None) == [(-1, -2), (1, 2)]
    assert centered_amounts([5, 4], (4,), (1,)) == [(0, 0), (0, 0)]


@pytest.mark.parametrize(
    ("first", "last", "step", "count"),
    [(0, 6, 3, 2), (0, 7, 3, 3), (0, 0, 1, 0), (3, 0, 1, 0), (5, 0, -2, 3), (0.0, 1.0, 0.3, 4), (1.0, 0.0, 0.5, 0)],
)
def test_a_range_ends_before_its_limit(first: float, last: float, step: float, count: int) -> None:
    assert range_count(first, last, step) == count


def test_axes_and_shapes() -> None:
    assert (reduced_axes(3, (-1, 0), 0), reduced_axes(3, (), 0), reduced_axes(3, None, 1)) == ([2, 0], [0, 1, 2], [])
    assert reduced_axes(0, (0,), 0) == []
    assert (flat_sizes([2, 3, 4], -1), flat_sizes([2, 3, 4], 0)) == ((6, 4), (1, 24))
    assert reshaped_sizes([2, 3], (0, -1), 0, lambda: 6) == [2, -1]
    assert reshaped_sizes([0, 3], (0, -1), 0, lambda: 0) == [0, 0]
    assert reshaped_sizes([0, 3], (3, 0), 1, lambda: 0) == [3, 0]
    assert depth_steps((1, 8, 2, 3), 2, "DCR") == ((1, 2, 2, 2, 2, 3), (0, 3, 4, 1, 5, 2), (1, 2, 4, 6))
    assert depth_steps((1, 8, 2, 3), 2, "CRD")[1] == (0, 1, 4, 2, 5, 3)
    assert space_steps((1, 2, 4, 6), 2, "DCR") == ((1, 2, 2, 2, 3, 2), (0, 3, 5, 1, 2, 4), (1, 8, 2, 3))


def test_resized_sizes() -> None:
    assert resized_axes(3, None) == (0, 1, 2)
    assert resized_axes(3, (-1,)) == (2,)
    assert resize_targets([10], [0.7], None, (0,), "stretch") == [(0, 0.7, 7, 7.0)]
    assert resize_targets([4, 8], None, (2, 2), (0, 1), "not_larger") == [(0, 0.25, 1, 1.0), (1, 0.25, 2, 2.0)]
    assert resize_targets([4, 8], None, (2, 2), (0, 1), "not_smaller") == [(0, 0.5, 2, 2.0), (1, 0.5, 4, 4.0)]
    assert region_ends((0.1, 0.2, 0.8, 0.9), 1, 2) == (0.2, 0.9)
    assert region_ends(None, 1, 2) == (0.0, 1.0)
