"""Tests of exporters run once for each framework."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.export import frameworks


@pytest.fixture(params=frameworks.NAMES)
def framework(request: pytest.FixtureRequest) -> Iterator[str]:
    """A framework that is installed; ``frameworks.lower`` and ``lower_model`` use it."""
    pytest.importorskip(request.param)
    frameworks.chosen[0] = request.param
    yield request.param
    frameworks.chosen[0] = frameworks.NAMES[0]
