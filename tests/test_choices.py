"""Draws are recorded, equal seeds draw alike, and a record that does not fit is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram


def draw_everything(choices: Choices) -> list[object]:
    return [
        choices.integer(-5, 5),
        choices.pick("abcdef"),
        choices.weighted("xyz", [1, 5, 1]),
        choices.sample(range(10), 4),
        choices.boolean(0.3),
        choices.real(-1.0, 1.0),
        choices.seed(),
        choices.integer(3, 3),
    ]


@given(st.integers(0, 2**64))
def test_a_record_replays(seed: int) -> None:
    first = Choices.from_seed(seed)
    drawn = draw_everything(first)
    again = Choices.from_record(first.record)
    assert draw_everything(again) == drawn
    assert again.record == first.record


def test_equal_seeds_draw_alike_in_another_process() -> None:
    code = "from irfuzz.choices import Choices; c = Choices.from_seed('a/1'); print([c.seed() for _ in range(5)])"
    outputs = {
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True).stdout for _ in range(2)
    }
    assert len(outputs) == 1


def test_different_seeds_draw_differently() -> None:
    assert draw_everything(Choices.from_seed(1)) != draw_everything(Choices.from_seed(2))


def test_weights_decide_without_entering_the_record() -> None:
    drawn = [Choices.from_seed(i).weighted("ab", [1.0, 0.0]) for i in range(50)]
    assert set(drawn) == {"a"}
    assert Choices.from_record([1]).weighted("ab", [1.0, 0.0]) == "b"


@pytest.mark.parametrize("record", [[], [11], ["x"], [True], [1.5]])
def test_a_record_that_does_not_fit_is_refused(record: list[object]) -> None:
    with pytest.raises(InvalidProgram, match="trace"):
        Choices.from_record(record).integer(0, 10)  # type: ignore[arg-type]


@given(st.integers(0, 2**64), st.integers(0, 20), st.integers(0, 20))
def test_items_too_many_to_copy_are_drawn_as_few_are(seed: int, size: int, count: int) -> None:
    copied, named = Choices.from_seed(seed), Choices.from_seed(seed)
    expected = copied.sample(range(size), count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("irfuzz.choices.COPIED", -1)
        assert named.sample(range(size), count) == expected
    assert named.record == copied.record


def test_a_range_longer_than_memory_is_drawn_from() -> None:
    drawn = Choices.from_seed(1).sample(range(1, 2**62), 5)
    assert len(set(drawn)) == 5
