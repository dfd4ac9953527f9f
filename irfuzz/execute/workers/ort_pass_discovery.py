"""Which graph transformers and rewrite rules ONNXRuntime has, and which of them changed a model.

Runs in the worker's interpreter: imports only the standard library. Nothing but its log tells of graph
transformers, and that says nothing of the rewrite rules of a rule-based transformer. Which rules there are shows when
all but one are left out: a transformer without rules is not registered.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias  # of Python 3.10

Begin: TypeAlias = "Callable[[Sequence[str], Any], Any]"
"""Makes a session without some passes, with these options."""

MODIFIED = re.compile(rb"GraphTransformer (\w+) modified: 1 ")
REGISTERED = re.compile(rb"(?:GraphTransformer (\w+) modified: |Applying graph transformer (\w+) on step)")
RULES = re.compile(r"Level\d_RuleBasedTransformer")

_LOG: list[int] = []
"""The file that takes what onnxruntime logs, once it is asked for."""


def logged(begin: Callable[[], Any], told: list[str], pattern: re.Pattern[bytes]) -> Any:
    """What ``begin`` gives; ``told`` gets the names that its log has, also if it raises."""
    if not _LOG:
        _LOG.append(os.memfd_create("passes"))
    (log,) = _LOG
    os.ftruncate(log, 0)
    os.lseek(log, 0, os.SEEK_SET)
    own = os.dup(2)
    os.dup2(log, 2)
    try:
        return begin()
    finally:
        os.dup2(own, 2)
        os.close(own)
        found = pattern.findall(os.pread(log, os.fstat(log).st_size, 0))
        names = (name if isinstance(name, bytes) else next(filter(None, name)) for name in found)
        told += dict.fromkeys(name.decode() for name in names)


def registered(begin: Begin, options: Callable[[], Any], off: Sequence[str], rules: Sequence[str]) -> list[str]:
    """All passes that this version registers: graph transformers, and those of ``rules`` that it has.

    A rule-based transformer that has more rules stands there by its own name. Nothing, if the version does not tell.
    """

    def ask(without: Sequence[str]) -> list[str]:
        told: list[str] = []
        given = options()
        given.log_severity_level = 0
        logged(lambda: begin([*off, *without], given), told, REGISTERED)
        return told

    every = ask(())
    holders = [name for name in every if RULES.fullmatch(name)]
    if not holders:
        return every
    more = [name for name in ask(rules) if name in holders]
    found = [rule for rule in rules if set(ask([r for r in rules if r != rule])) & {*holders} - {*more}]
    # With a rule of another name in it a transformer stays whatever is left out, and its known rules do not show.
    found += [] if not more else [rule for rule in rules if rule not in found]
    return [*found, *(name for name in every if name not in holders or name in more)]


def fired_rules(begin: Begin, options: Callable[[], Any], off: Sequence[str], rules: Sequence[str]) -> list[str]:
    """Those of ``rules`` that change the model by themselves, all other rules of ``off`` left out."""

    def change(some: Sequence[str]) -> bool:
        told: list[str] = []
        given = options()
        given.log_severity_level = 1
        left = [*off, *(rule for rule in rules if rule not in some)]
        logged(lambda: begin(left, given), told, MODIFIED)
        return any(RULES.fullmatch(name) for name in told)

    return _among(change, rules)


def _among(change: Callable[[Sequence[str]], bool], rules: Sequence[str]) -> list[str]:
    if not rules or not change(rules):
        return []
    half = len(rules) // 2
    return [*rules] if len(rules) == 1 else [*_among(change, rules[:half]), *_among(change, rules[half:])]


def saved(model: bytes, begin: Callable[[bytes, Any], Any], options: Any) -> bytes:
    """The model as a session with these options leaves it behind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "optimised.onnx")
        options.optimized_model_filepath = str(path)
        begin(model, options)
        return path.read_bytes()
