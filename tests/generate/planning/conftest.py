"""A runtime that is shared, and one that only counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from irfuzz.execute.quickest_installed_runtime import QuickRuntime
from irfuzz.generate.input_planning import TrialRun
from irfuzz.ir.program import Program


@pytest.fixture(scope="session")
def quick() -> Iterator[QuickRuntime]:
    with QuickRuntime() as runtime:
        yield runtime


class Pretended:
    """Ends as it is told to, and keeps what it was given."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], TrialRun]) -> None:
        self.answer = answer
        self.given: list[Mapping[str, Any]] = []

    def __call__(self, program: Program, inputs: Mapping[str, Any]) -> TrialRun:
        self.given.append(inputs)
        return self.answer(inputs)


@pytest.fixture
def pretended() -> type[Pretended]:
    return Pretended
