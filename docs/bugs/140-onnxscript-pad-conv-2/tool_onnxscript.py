"""A model enters, what onnxscript's optimizer or rewriter makes of it leaves."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import onnx
import onnx_ir.passes
import onnx_ir.passes.common as common_passes
import onnxscript
import onnxscript.optimizer
import onnxscript.rewriter


def version() -> str:
    """Of the installed onnxscript."""
    return str(onnxscript.__version__)


def passes() -> list[str]:
    """What ``off`` may name: the rewrite rules, and the passes around them."""
    return [*_rules(), *(name for name in _passes() if name != "RewritePass")]


def convert(model: bytes, do: str, off: str = "") -> bytes:
    """``optimize`` or ``rewrite`` with the defaults, but for rules and passes that are left out."""
    proto = onnx.load_model_from_string(model)
    with _without([name for name in off.split(",") if name]):
        made = onnxscript.optimizer.optimize(proto) if do == "optimize" else onnxscript.rewriter.rewrite(proto)
    return made.SerializeToString()


def _rules() -> dict[str, Any]:
    """The default rules by name; one without a name of its own has its place in the list."""
    rules = getattr(onnxscript.rewriter, "_DEFAULT_REWRITE_RULES", ())
    named: dict[str, Any] = {}
    for place, rule in enumerate(rules):
        name = rule.name if rule.name and rule.name not in named else f"rule {place}"
        named[name] = rule
    return named


def _passes() -> dict[str, Any]:
    """Classes of passes by name, of which an instance does its work in ``call``."""
    found = {name: getattr(common_passes, name) for name in dir(common_passes) if name.endswith("Pass")}
    for name in ("FoldConstantsPass", "RewritePass"):
        folding = getattr(onnxscript.optimizer, "_constant_folding", None)
        for module in (onnxscript.optimizer, folding, onnxscript.rewriter):
            if module is not None and hasattr(module, name):
                found[name] = getattr(module, name)
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and "call" in vars(kind)}


@contextlib.contextmanager
def _without(names: list[str]) -> Generator[None, None, None]:
    """While it is open, rules and passes of these names do nothing."""
    rules, kinds = _rules(), _passes()
    kept = tuple(rule for name, rule in rules.items() if name not in names)
    stopped = [kind for name, kind in kinds.items() if name in names]
    if rules and not kept and "RewritePass" in kinds:
        stopped.append(kinds["RewritePass"])  # it takes no empty list
        kept = tuple(rules.values())
    before = {kind: kind.call for kind in stopped}
    if len(kept) != len(rules):
        onnxscript.rewriter._DEFAULT_REWRITE_RULES = kept  # type: ignore[attr-defined]  # noqa: SLF001
    for kind in stopped:
        kind.call = _nothing
    try:
        yield
    finally:
        if rules:
            onnxscript.rewriter._DEFAULT_REWRITE_RULES = tuple(rules.values())  # type: ignore[attr-defined]  # noqa: SLF001
        for kind, call in before.items():
            kind.call = call


def _nothing(_self: Any, model: Any) -> Any:
    return onnx_ir.passes.PassResult(model, modified=False)
