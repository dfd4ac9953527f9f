"""The bugs of ``bugs.toml`` with their models, inputs and right answers, and in which half each is."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import parser
from onnx.helper import tensor_dtype_to_np_dtype

LIST = Path(__file__).parent / "bugs.toml"

HALVES = ("work", "end")
"""What is worked on, and what is opened at the end alone."""

LEVELS = ("disabled", "all")
"""Of onnxruntime, unless a bug says otherwise."""

NEWEST_IR = 10


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug of a released version.

    Attributes:
        name: short; never asked for by irfuzz.
        link: of the issue or change that describes it.
        component: as targets call it.
        shows: version that has it.
        fixed: version that has not; empty if there is none yet.
        symptoms: any of which a finding may have.
        operators: any of which a finding must name.
        passes: any of which must be blamed; empty for kernels, and where tools have no passes.
        quote: a sentence of the thread.
        got: pattern that the faulty version's answer matches, beside not being right.
        opset: of the model.
        graph: of the model, in ONNX's text syntax.
        inputs: nested lists by name.
        right: the answers by output.
        variants: of the component's targets.
        also: what else pip needs for the environment.
        witnesses: other targets; empty for the usual ones.
    """

    name: str
    component: str
    shows: str
    fixed: str
    symptoms: tuple[str, ...]
    operators: tuple[str, ...]
    opset: int
    graph: str
    link: str = ""
    quote: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    right: Mapping[str, Any] = field(default_factory=dict[str, Any])
    got: str = ""
    passes: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()

    @property
    def half(self) -> str:
        """Decided by a hash of the link, so that nobody chooses."""
        return HALVES[hashlib.sha256(self.link.encode()).digest()[0] % 2]

    def targets(self, version: str) -> list[str]:
        """The component's targets in a version."""
        variants = self.variants or (LEVELS if self.component == "onnxruntime" else ("",))
        return [f"{self.component}{f'@{version}' if version else ''}{f':{v}' if v else ''}" for v in variants]

    def model(self) -> onnx.ModelProto:
        """The model."""
        ir_version = 8 if self.opset < 19 else 9 if self.opset < 21 else NEWEST_IR
        return parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {self.opset}]>\n{self.graph}')

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The inputs."""
        return {v.name: _array(v, self.inputs[v.name]) for v in self.model().graph.input}

    def answers(self) -> dict[str, NDArray[Any]]:
        """The right outputs."""
        return {v.name: _array(v, self.right[v.name]) for v in self.model().graph.output}


def _array(value: onnx.ValueInfoProto, data: Any) -> NDArray[Any]:
    kind = value.type.tensor_type
    array = np.array(data, tensor_dtype_to_np_dtype(kind.elem_type))
    if array.size:
        return array
    return array.reshape([d.dim_value for d in kind.shape.dim])


def bugs(half: str = "", names: Sequence[str] = ()) -> list[Bug]:
    """The bugs of a half, or of both."""
    listed = [Bug(**_tuples(entry)) for entry in _entries()]
    return [b for b in listed if half in ("", b.half) and (not names or b.name in names)]


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(held) if isinstance(held, list) else held for key, held in entry.items()}


def _entries() -> list[dict[str, Any]]:
    return tomllib.loads(LIST.read_text())["bug"]
