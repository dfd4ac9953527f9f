"""The optimiser passes of onnxruntime: which a version has, as the library says, and which the CPU cannot reach."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.parser

from irfuzz.ir.program import Program

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Target
    from irfuzz.execute.runner import Runner

FILE = Path(__file__).with_name("onnxruntime_passes.toml")

_PLAIN = '<ir_version: 8, opset_import: ["": 13]> probe (float[1] x) => (float[1] y) { y = Relu(x) }'
"""A program that every version runs unchanged, and for which each lists its passes."""


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def rules() -> Mapping[str, tuple[str, ...]]:
    """Names of rewrite rules, by the graph transformer that holds them and that alone stands in the log."""
    return {name: tuple(names) for name, names in _table()["rules"].items()}


def known_passes() -> tuple[str, ...]:
    """Names of all rewrite rules and graph transformers that some version has."""
    return tuple(dict.fromkeys([*(n for names in rules().values() for n in names), *_table()["transformers"]["names"]]))


def rule_names() -> tuple[str, ...]:
    """Names of all rewrite rules."""
    return tuple(dict.fromkeys(name for names in rules().values() for name in names))


def excluded() -> Mapping[str, str]:
    """Names of passes that no program can fire on the CPU, with the reason."""
    return _table()["excluded"]


def registered(runner: Runner, target: Target) -> tuple[str, ...]:
    """All passes of a target's optimiser, as any program makes it tell; none if it does not.

    Args:
        runner: open; it runs a small model on the target.
        target: one of the runner's.

    Returns:
        Their names.
    """
    plain = Program.from_proto(onnx.parser.parse_model(_PLAIN))
    options = {"tell": "registered", "rules": ",".join(rule_names())}
    return runner.run_as(plain, {"x": np.zeros(1, np.float32)}, target, options).passes
