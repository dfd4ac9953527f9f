"""ONNX's own node cases, with the values that ONNX expects of them."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from irfuzz.conformance.case_types import SEVERAL, CaseRun, CaseSource, ConformanceCase
from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program

_PACKAGE = "onnx.backend.test.case.node"


def node_cases(ops: Collection[str] | None = None) -> list[ConformanceCase]:
    """The node cases of the installed onnx, in the order of their names.

    Values that they draw come from one fixed seed for each of onnx's modules, so that a process that asks for a few
    operators gets the same cases as one that asks for all.

    Args:
        ops: names of operators, those of other domains with the domain in front; all if ``None``.
    """
    found = {case.name: case for case in _collected(ops)}
    operators = {name: _own_operator(case) for name, case in found.items()}
    made: list[ConformanceCase] = []
    for name, case in sorted(found.items()):
        plain, expanded, _ = name.partition("_expanded")
        operator = operators.get(plain, SEVERAL) if expanded else operators[name]
        if ops is None or operator in ops:
            made += _cases_of(name.removeprefix("test_"), case, operator)
    return made


def plain_value(value: Any) -> Any:
    """A value of onnx's test cases as an array, list or ``None``.

    Args:
        value: an array, a tensor of protobuf, or a list of them.
    """
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return array.astype(object) if array.dtype.kind in "US" else array
    return value


def _collected(ops: Collection[str] | None) -> Iterator[Any]:
    """The test cases that onnx's modules define when they are imported, of modules that may be about ``ops``."""
    collected: list[Any] | None = getattr(importlib.import_module(_PACKAGE), "_NodeTestCases", None)
    if collected is None:  # the public way imports all modules, which takes most of a minute
        collected, ops = load_model_tests(kind="node"), ()
    kept = np.random.get_state()  # the modules draw from NumPy's own generator
    try:
        for module in _modules():
            if ops is None or _may_be_about(module, ops):
                np.random.seed(0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # some divide by zero on purpose
                    importlib.import_module(module)
    finally:
        np.random.set_state(kept)
    yield from (case for case in collected if case.model is not None and case.data_sets is not None)


def _modules() -> list[str]:
    folder = importlib.import_module(_PACKAGE).__path__
    return sorted(found.name for found in pkgutil.walk_packages(folder, f"{_PACKAGE}.") if not found.ispkg)


def _may_be_about(module: str, ops: Collection[str]) -> bool:
    """Whether the name of one of the operators stands in the module's source."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return False
    words = set(re.findall(r"\w+", Path(spec.origin).read_text(encoding="utf-8")))
    return any(op.rpartition(".")[2] in words for op in ops)


def _own_operator(case: Any) -> str:
    nodes = {(node.domain, node.op_type) for node in case.model.graph.node}
    if len(nodes) != 1:
        return SEVERAL
    domain, name = nodes.pop()
    return f"{domain}.{name}" if domain not in ("", "ai.onnx") else name


def _cases_of(name: str, case: Any, operator: str) -> Iterator[ConformanceCase]:
    """A case for each set of values; most have one."""
    for number, (inputs, outputs) in enumerate(case.data_sets):
        label = f"{CaseSource.NODE}/{name}" + (f"/{number}" if number else "")

        def make(inputs: Any = inputs, outputs: Any = outputs) -> CaseRun:
            return CaseRun(
                Program.from_proto(case.model),
                _named(case.model.graph.input, inputs),
                _named(case.model.graph.output, outputs),
            )

        yield ConformanceCase(label, CaseSource.NODE, operator, make)


def _named(ends: Any, values: Any) -> dict[str, Value]:
    return {end.name: plain_value(value) for end, value in zip(ends, values, strict=False)}
