"""The table of oracles: complete, extended by entry points, and strict about names."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

from irfuzz.errors import UsageError
from irfuzz.oracle import Symptom, Verdict, judge
from irfuzz.oracle.oracle_table import BUILT_IN, GROUP, oracles

pytestmark = pytest.mark.plugin


def mine(case):
    """An oracle of somebody else: it does not like the number 13."""
    for result in case.ran:
        if any((np.asarray(v) == 13).any() for v in result.outputs.values()):
            yield Verdict("mine", Symptom.DIFFERENCE, result.target.name)


class Entry:
    """What ``importlib.metadata`` hands out, for an oracle of this file."""

    dist = None

    def __init__(self, name, value=mine):
        self.name, self.value, self._loaded = name, f"tests:{name}", value

    def load(self):
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def entries(monkeypatch):
    found = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found if group == GROUP else [])
    oracles.cache_clear()
    yield found
    oracles.cache_clear()


def test_an_oracle_of_an_entry_point_is_asked(entries, gemm, fed, run):
    entries.append(Entry("mine"))
    assert list(oracles()) == [*BUILT_IN, "mine"]
    y = np.full((2, 3), 13, np.float32)
    found = judge(gemm, fed, [run("a", y), run("b", y)])
    assert [(v.oracle, v.target) for v in found] == [("mine", "a"), ("mine", "b")]
    assert judge(gemm, fed, [run("a", y + 1), run("b", y + 1)]) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry("crash"), "'crash'.*taken"),
        (Entry("other", ImportError("no such module")), "cannot be loaded: no such module"),
        (Entry("other", 7), "is int, not a function"),
    ],
)
def test_a_name_clash_and_what_is_no_oracle_are_errors(entries, entry, message):
    entries.append(entry)
    with pytest.raises(UsageError, match=message):
        oracles()
