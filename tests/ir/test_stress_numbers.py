"""Special elements stand alone, in a line or everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.ir.evaluation.stress_numbers import struck

pytestmark = pytest.mark.unit


def test_lines_and_whole_tensors_become_special() -> None:
    array = np.full((3, 4), 0.5, np.float32)
    everything = lines = some = 0
    for seed in range(200):
        found = struck(array, np.random.default_rng(seed))
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        special = ~(found == 0.5)
        everything += bool(special.all())
        lines += any(bool(special.all(axis).any()) for axis in (0, 1)) and not special.all()
        some += 0 < special.sum() < 12
    assert everything > 20
    assert lines > 40
    assert some > 80
    assert (array == 0.5).all()  # it stays as it is


def test_what_is_special_may_be_said_and_empty_tensors_have_none() -> None:
    pool = np.array([-np.inf], np.float64)
    for seed in range(20):
        found = struck(np.zeros((2, 2)), np.random.default_rng(seed), pool)
        assert set(found.ravel().tolist()) <= {0.0, -np.inf}
    assert struck(np.zeros((0, 2)), np.random.default_rng(0)).shape == (0, 2)
    assert struck(np.zeros(()), np.random.default_rng(3), pool).shape == ()
