"""What is said of inputs: nothing, or something."""

from __future__ import annotations

import pytest

from irfuzz.generate.input_spec import InputSpec

pytestmark = pytest.mark.unit


def test_a_specification_that_says_nothing_is_false() -> None:
    assert not InputSpec()
    assert InputSpec() == InputSpec(shapes={}, sizes={}, ranges={}, samples=())


@pytest.mark.parametrize(
    "said",
    [
        InputSpec(shapes={"x": ()}),
        InputSpec(sizes={"N": 1}),
        InputSpec(ranges={"x": (0.0, 0.0)}),
        InputSpec(samples=[{}]),
    ],
)
def test_one_that_says_anything_is_true(said: InputSpec) -> None:
    assert said
