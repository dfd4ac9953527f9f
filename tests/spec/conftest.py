from __future__ import annotations

import pytest

from irfuzz.spec import Specs, load_specs


@pytest.fixture(scope="session")
def specs() -> Specs:
    return load_specs()
