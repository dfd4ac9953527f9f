"""The inputs that the search for witnesses tries first."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.analyze.abstract_domain.interval import Range
from irfuzz.analyze.failing_inputs.input_candidates import Box

pytestmark = pytest.mark.unit


def box() -> Box:
    base = {"far": np.zeros((2, 3), np.float32), "still": np.zeros(2, np.float32), "near": np.zeros((3, 4), np.int64)}
    bounds = {"far": Range(-1, 1), "still": Range(5, 5), "near": Range(-4, 9)}
    return Box(base, bounds, ["far", "still", "near"], np.random.default_rng(0))


def test_a_place_fills_an_input_between_its_ends() -> None:
    made = box().filled({"far": 0.25, "still": 1.0, "near": np.array([[0.0, 0.5, 1.0, 1.0]])})
    assert made["far"].shape == (2, 3)
    assert made["far"].dtype == np.float32
    assert set(made["far"].reshape(-1)) == {-0.5}
    assert made["near"].tolist() == [[-4, 2, 9, 9]] * 3
    assert made["still"].tolist() == [5, 5]
    made["far"][0, 0] = 3  # each input is an array of its own
    assert made["far"][1, 1] == -0.5


def test_halves_of_the_nearest_input_come_right_after_the_ends() -> None:
    first = [next(iter_) for iter_ in [box().likely()] for _ in range(6)]
    assert [set(f["far"].reshape(-1)) for f in first[:3]] == [{-1.0}, {1.0}, {0.0}]
    assert first[4]["near"].tolist() == [[9, 9, -4, -4]] * 3  # along the last axis, the others high
    assert set(first[4]["far"].reshape(-1)) == {1.0}
    assert set(first[5]["far"].reshape(-1)) == {-1.0}
    # An input of one number only is not halved.
    assert len(list(box().likely())) == 4 + 6 + 6


def test_draws_stay_within_the_ends() -> None:
    for made in box().draws(12):
        assert made["far"].min() >= -1
        assert made["far"].max() <= 1
        assert made["near"].min() >= -4
        assert made["near"].max() <= 9
