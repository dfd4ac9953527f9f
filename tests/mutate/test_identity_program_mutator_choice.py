"""What follows drawn calls in the place of a copy."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.choices import Choices
from irfuzz.mutate.drawn_calls.identity_program_mutator_choice import OPENED, called

pytestmark = pytest.mark.unit


def test_sizes_and_declarations_are_opened_as_often_as_is_said() -> None:
    plans = [called(Choices.from_seed(seed), {*OPENED, "insert-neighbours"}) for seed in range(2000)]
    assert {plan[0] for plan in plans} == {"insert-neighbours"}
    followed = Counter(name for plan in plans for name in plan[1:])
    for name, share in OPENED.items():
        assert followed[name] / len(plans) == pytest.approx(share, abs=0.03)


def test_what_is_not_among_the_mutators_is_not_planned() -> None:
    assert {called(Choices.from_seed(seed), {"insert-neighbours"}) for seed in range(200)} == {("insert-neighbours",)}
