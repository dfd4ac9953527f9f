"""Every native test runs on each instruction set that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from irfuzz import _native


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)
