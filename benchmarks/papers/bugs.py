"""Reads the list of bugs (``bugs.toml``), and gives the program and inputs with which one is looked for."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnx.parser

from benchmarks.papers import faults

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WRONG = "tests/planted_targets/wrong.py"
OWN = "benchmarks/papers/faults.py"

Way = Literal["planted", "not expressible", "not described"]


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug of a paper.

    Attributes:
        paper: its name.
        number: among the bugs of the paper in this list.
        library: the framework and version that had it.
        operator: whose it is there.
        symptom: of the paper: crash, NaN, inconsistency or missing check.
        what: what is wrong, in one sentence, and where the paper says so.
        way: how it is looked for; ``not described``: the paper does not say enough of it to plant it.
        reason: why it is not looked for.
        fault: the planted target.
        blame: operators of ONNX, one of which has to be named.
        graph: the program in ONNX's text syntax; that of the planted fault if empty.
        opset: of the program.
        sizes: of dimensions that the program leaves open, by name.
        inputs: numbers by input name; of others they are drawn.
        invalid: attributes that the node gets once the program is read, for a check that is missing.
        again: what shows the bug itself in the version that had it.
    """

    paper: str
    number: int
    library: str
    operator: str
    symptom: str
    what: str
    way: Way
    reason: str = ""
    fault: str = ""
    blame: tuple[str, ...] = ()
    graph: str = ""
    opset: int = 17
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    invalid: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    again: str = ""

    @property
    def name(self) -> str:
        """Paper and number."""
        return f"{self.paper} {self.number}"

    @property
    def target(self) -> str:
        """The planted target's name, for ``--targets``."""
        return f"{WRONG if self.fault in faults.wrong.BY_NAME else OWN}:{self.fault}"

    def model(self) -> onnx.ModelProto:
        """The program in which it shows."""
        if not self.graph:
            return faults.wrong.model_of(faults.wrong.BY_NAME[self.fault])
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {self.opset}]> {self.graph}')
        rng = np.random.default_rng(0)
        for value in model.graph.value_info:  # what the text declares and gives no elements is a weight
            shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
            drawn = rng.normal(0, 0.5, shape).astype(np.float32)
            model.graph.initializer.append(onnx.numpy_helper.from_array(drawn, value.name))
        del model.graph.value_info[:]
        return model

    def arrays(self) -> dict[str, np.ndarray]:
        """The inputs with which it shows."""
        if not self.graph:
            return faults.wrong.inputs_of(faults.wrong.BY_NAME[self.fault])
        rng = np.random.default_rng(1)
        found: dict[str, np.ndarray] = {}
        for value in self.model().graph.input:
            kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = [self.sizes.get(d.dim_param, d.dim_value) for d in value.type.tensor_type.shape.dim]
            given = self.inputs.get(value.name)
            drawn = rng.normal(0, 1, shape) if given is None else np.array(given, dtype=kind).reshape(shape)
            found[value.name] = drawn.astype(kind)
        return found


def bugs(paper: str = "") -> list[Bug]:
    """The bugs of a paper, or all of them."""
    listed: list[dict[str, Any]] = tomllib.loads((HERE / "bugs.toml").read_text())["bug"]
    for entry in listed:
        entry["blame"] = tuple(entry.get("blame", ()))
    found = [Bug(**entry) for entry in listed]
    return [bug for bug in found if paper in ("", bug.paper)]
