"""Which coordinates of a Resize correct components may read differently, and which they may not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irfuzz.execute.run_types import Value
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.ambiguous_resize_coordinates import fractional_length, rounded_coordinate, rounds_sums
from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

Parse = Callable[..., Program]


def call_of(program: Program, fed: dict[str, Value], opset: int) -> FedCall:
    node = program.nodes()[-1]
    spec = load_specs().get(node.op_type, opset)
    assert spec is not None
    return FedCall(program, node, spec, fed, set(node.outputs), ExactIntegers(program, fed))


def resize(
    parse: Parse,
    *,
    size: object = 4,
    scale: float | None = None,
    length: int | None = None,
    opset: int = 18,
    kind: str = "float",
    known: bool = True,
    **attrs: str,
) -> FedCall:
    """A Resize of one axis by a scale or to a length, both fed, or of which neither is known."""
    given = ", ".join(f'{name}="{text}"' for name, text in attrs.items())
    # Versions 11 and 12 want a region, of whatever they make nothing.
    operands = "x, s" if opset < 11 else "x, r, s" if opset < 13 else "x, , s" if scale is not None else "x, , , n"
    fed: dict[str, Value] = {}
    if known:
        fed = {"s": np.array([scale], np.float32)} if scale is not None else {"n": np.array([length], np.int64)}
    inputs = f"{kind}[{size}] x, float[1] s, int64[1] n, float[2] r"
    text = f"g ({inputs}) => ({kind}[M] y) {{ y = Resize<{given}>({operands}) }}"
    return call_of(parse(text, opset), fed, opset)


LENGTHS = ("align_corners", "pytorch_half_pixel", "tf_crop_and_resize")


@pytest.mark.parametrize("mode", [*LENGTHS, "half_pixel", "asymmetric"])
@pytest.mark.parametrize(("scale", "fractional"), [(0.5, False), (0.6, True), (1.25, False), (1.2, True)])
def test_a_length_that_is_no_whole_number(parse: Parse, mode: str, scale: float, fractional: bool) -> None:
    call = resize(parse, scale=scale, mode="linear", coordinate_transformation_mode=mode)
    assert fractional_length(call) == (fractional and mode in LENGTHS)


def test_a_length_that_is_given_is_whole_and_one_that_nobody_knows_may_be_none(parse: Parse) -> None:
    mode = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    assert not fractional_length(resize(parse, length=3, **mode))
    assert fractional_length(resize(parse, scale=0.5, known=False, **mode))
    assert fractional_length(resize(parse, scale=0.5, size="N", **mode))
    assert not fractional_length(resize(parse, scale=0.5, known=False, mode="linear"))


@pytest.mark.parametrize(
    ("mode", "rounding", "size", "scale", "unclear"),
    [
        # Halves that powers of two give are exact in every formula.
        ("half_pixel", "floor", 4, 2.0, False),
        ("half_pixel", "round_prefer_floor", 4, 0.5, False),
        ("half_pixel", "ceil", 4, 0.5, False),
        ("half_pixel", "round_prefer_ceil", 4, 0.5, False),
        ("asymmetric", "floor", 4, 2.0, False),
        ("pytorch_half_pixel", "floor", 4, 2.0, False),
        ("tf_half_pixel_for_nn", "floor", 4, 2.0, False),
        ("half_pixel_symmetric", "floor", 4, 2.0, False),
        # A coordinate on an edge, up to rounding.
        ("asymmetric", "floor", 3, 3.0, True),
        ("asymmetric", "round_prefer_floor", 3, 3.0, False),
        ("half_pixel", "floor", 3, 3.0, True),
        ("half_pixel", "round_prefer_floor", 3, 3.0, False),
        ("half_pixel", "round_prefer_floor", 6, 1.5, True),
        ("half_pixel", "floor", 6, 1.5, False),
        ("tf_half_pixel_for_nn", "floor", 3, 3.0, False),
        ("tf_half_pixel_for_nn", "ceil", 3, 3.0, False),
        ("tf_half_pixel_for_nn", "round_prefer_floor", 3, 3.0, True),
        ("half_pixel_symmetric", "floor", 3, 3.0, True),
        ("half_pixel_symmetric", "round_prefer_ceil", 3, 3.0, False),
        ("tf_crop_and_resize", "floor", 4, 2.0, True),
        ("align_corners", "floor", 3, 3.0, False),
        ("align_corners", "floor", 5, 3.0, True),
        ("align_corners", "round_prefer_floor", 4, 0.5, False),
    ],
)
def test_the_nearest_element(parse: Parse, mode: str, rounding: str, size: int, scale: float, unclear: bool) -> None:
    call = resize(
        parse, size=size, scale=scale, mode="nearest", nearest_mode=rounding, coordinate_transformation_mode=mode
    )
    assert rounded_coordinate(call) == unclear


def test_only_the_nearest_element_is_chosen_and_by_default_it_is(parse: Parse) -> None:
    tie = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    assert rounded_coordinate(resize(parse, size=3, scale=3.0, mode="nearest", **tie))
    assert rounded_coordinate(resize(parse, size=3, scale=3.0, **tie))
    for mode in ("linear", "cubic"):
        assert not rounded_coordinate(resize(parse, size=3, scale=3.0, mode=mode, **tie))


def test_what_is_not_known_and_what_stays_as_it_is(parse: Parse) -> None:
    tie = {"mode": "nearest", "nearest_mode": "floor"}
    assert rounded_coordinate(resize(parse, size=4, scale=2.0, known=False, **tie))
    assert rounded_coordinate(resize(parse, size="N", scale=2.0, **tie))
    assert not rounded_coordinate(resize(parse, size=3, scale=1.0, **tie))
    crop = {**tie, "coordinate_transformation_mode": "tf_crop_and_resize"}
    assert not rounded_coordinate(resize(parse, size=3, scale=1.0, **crop))
    assert rounded_coordinate(resize(parse, size=3, scale=1.1, **crop))
    assert not rounded_coordinate(resize(parse, size=0, scale=3.0, **tie))
    assert not rounded_coordinate(resize(parse, size=3, length=3, **tie))
    assert not rounded_coordinate(resize(parse, size=4, length=8, **tie))
    assert rounded_coordinate(resize(parse, size=3, length=9, **tie))
    assert rounded_coordinate(resize(parse, size=0, length=9, **tie))


def test_the_default_of_each_version(parse: Parse) -> None:
    """Version 10 is asymmetric and rounds down; later ones take the half pixel and prefer the floor."""
    assert rounded_coordinate(resize(parse, size=3, scale=3.0, mode="nearest", opset=10))
    assert not rounded_coordinate(resize(parse, size=4, scale=2.0, mode="nearest", opset=10))
    assert not rounded_coordinate(resize(parse, size=3, scale=3.0, mode="nearest", opset=11))
    assert not rounded_coordinate(resize(parse, size=3, scale=3.0, mode="nearest", opset=18))
    assert rounded_coordinate(resize(parse, size=3, scale=3.0, mode="nearest", nearest_mode="floor", opset=11))


@pytest.mark.parametrize(
    ("axes", "scales", "unclear"), [("1", [3.0], True), ("0", [2.0], False), ("0, 1", [2.0, 3.0], True)]
)
def test_chosen_axes(parse: Parse, axes: str, scales: list[float], unclear: bool) -> None:
    program = parse(
        f"g (float[4,3] x, float[{len(scales)}] s) => (float[M,N] y) "
        f'{{ y = Resize<axes=[{axes}], mode="nearest", nearest_mode="floor">(x, , s) }}',
        18,
    )
    call = call_of(program, {"s": np.array(scales, np.float32)}, 18)
    assert rounded_coordinate(call) == unclear
    assert rounded_coordinate(call_of(program, {"s": np.array([1.0] * 3, np.float32)}, 18)), "of no such call"


@pytest.mark.parametrize(
    ("kind", "mode", "sums"),
    [
        ("uint8", "linear", True),
        ("int32", "cubic", True),
        ("uint8", "nearest", False),
        ("float", "linear", False),
    ],
)
def test_whole_numbers_of_weighted_sums(parse: Parse, kind: str, mode: str, sums: bool) -> None:
    assert rounds_sums(resize(parse, kind=kind, scale=2.0, mode=mode)) == sums
    assert not rounds_sums(call_of(parse(f"g ({kind}[4] x) => ({kind}[4] y) {{ y = Identity(x) }}"), {}, 18))


def test_lengths_beside_an_empty_tensor_of_scales_count(parse: Parse) -> None:
    """Versions 11 and 12 cannot leave the scales out."""
    program = parse(
        "g (float[4] x, float[2] r, float[0] s, int64[1] n) => (float[M] y) "
        '{ y = Resize<mode="nearest", coordinate_transformation_mode="align_corners">(x, r, s, n) }',
        11,
    )
    call = call_of(program, {"n": np.array([3], np.int64)}, 11)
    assert not fractional_length(call)
    assert rounded_coordinate(call)  # 1.5 is between two elements
    assert not rounded_coordinate(call_of(program, {"n": np.array([2], np.int64)}, 11))
