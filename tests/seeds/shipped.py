"""The shipped seeds for tests: index entries, models, samples, and the runtimes that judge them."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from seeds.scripts.evaluator import reference

__all__ = ["reference"]

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "seeds"
INDEX: dict[str, Any] = tomllib.loads((SEEDS / "index.toml").read_text(encoding="utf-8"))
ENTRIES: list[dict[str, Any]] = INDEX["seeds"]
BY_NAME: dict[str, dict[str, Any]] = {e["name"]: e for e in ENTRIES}


def each(entries: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """A test for each of some entries, by the name of the seed."""
    return pytest.mark.parametrize("entry", entries, ids=[e["name"] for e in entries])


@cache
def load(name: str) -> onnx.ModelProto:
    return onnx.load(SEEDS / f"{name}.onnx")


@cache
def samples(name: str) -> dict[str, np.ndarray]:
    with np.load(SEEDS / f"{name}.inputs.npz", allow_pickle=False) as archive:
        return {key: a.astype(object) if a.dtype.kind == "U" else a for key, a in archive.items()}


def feed(entry: dict[str, Any], index: int, count: int = 1) -> dict[str, np.ndarray]:
    """Sample ``index``; of labelled data up to ``count`` samples as one batch."""
    arrays = {i["name"]: samples(entry["name"])[i["name"]] for i in entry["inputs"]}
    if "labels" in entry["data"]:
        return {name: array[index : index + count] for name, array in arrays.items()}
    return {name: np.asarray(array[index]) for name, array in arrays.items()}


def session(model: onnx.ModelProto, level: str) -> Any:
    ort = pytest.importorskip("onnxruntime")
    chosen = getattr(ort.GraphOptimizationLevel, f"ORT_{level}", None)
    if chosen is None:
        pytest.skip(f"onnxruntime {ort.__version__} has no level {level}")
    options = ort.SessionOptions()
    options.graph_optimization_level = chosen
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def distance(actual: Any, expected: Any) -> float:
    """Largest difference by the largest expected magnitude; what is no float is equal (0) or not (infinite)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return float("inf")
    if expected.dtype.kind in "OU":
        return 0.0 if actual.astype(str).tolist() == expected.astype(str).tolist() else float("inf")
    if actual.dtype != expected.dtype:
        return float("inf")
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    if not np.isfinite(expected).all() or not np.isfinite(actual).all():
        return float("inf")
    return float(np.abs(actual - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-30))
