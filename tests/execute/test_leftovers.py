"""Runs leave nothing behind: a small sample of what ``benchmarks/leftovers.py`` does in full."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from irfuzz.execute.target_table import resolve


@pytest.mark.backend
def test_a_sample_of_programs_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("leftovers", root / "benchmarks" / "leftovers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "leftovers", module)
    spec.loader.exec_module(module)
    targets = resolve(["onnxruntime:all", "torch:eager", "torch:export"])
    found = module.leftovers(10, 2, targets)
    assert found["ends"]["onnxruntime:all ok"] > 4
    assert found["ends"]["torch:export ok"] > 0
    assert not {kind: found[kind] for kind in module.LEFT if found[kind]}
    assert len(found["memory_mb"]) == len(module.MEMORY_AT)
