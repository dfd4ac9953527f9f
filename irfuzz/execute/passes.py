"""The optimiser passes that versions of onnxruntime are known to have, for those that do not name them themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("onnxruntime_passes.toml")


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
