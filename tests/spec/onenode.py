"""One-node models of sampled calls, and ONNXRuntime's answers to them (crashes too)."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from irfuzz.facts import OptionalFact, SequenceFact, TensorFact
from irfuzz.spec import OpSpec, SampledCall, SampledInput

IR_VERSION = {**dict.fromkeys(range(1, 18), 8), 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13}


def array_for(plan: SampledInput, rng: np.random.Generator) -> np.ndarray:
    """Elements that respect a plan's dtype, shape, range and exact value."""
    if plan.value is not None:
        return plan.value
    fact = plan.fact
    shape = fact.static_shape
    assert shape is not None
    name = fact.dtype.name
    if fact.known and fact.value is not None:
        return np.array(fact.value).astype(fact.dtype.numpy()).reshape(shape)
    if name == "STRING":
        return rng.choice(np.array(["", "a", "bc"], dtype=object), size=shape).reshape(shape)
    if name == "BOOL":
        return rng.random(shape) < 0.5
    low = -3.0 if plan.low is None else plan.low
    high = 3.0 if plan.high is None else plan.high
    if "INT" in name:
        low = max(low, 0) if name.startswith("U") else low
        values = rng.integers(int(low), int(high), size=shape, endpoint=True)
        return np.asarray(values).astype(fact.dtype.numpy())
    return np.asarray(rng.uniform(low, high, size=shape)).astype(fact.dtype.numpy())


def _nested(name: str, plan: SampledInput, made: list[str]) -> onnx.NodeProto:
    """The node that makes a sequence or optional of tensors."""
    if isinstance(plan.outer, OptionalFact):
        return helper.make_node("Optional", made, [name])
    if not made:
        return helper.make_node("SequenceEmpty", [], [name], dtype=int(plan.fact.dtype))
    return helper.make_node("SequenceConstruct", made, [name])


def model_of(spec: OpSpec, call: SampledCall, opset: int, rng: np.random.Generator) -> onnx.ModelProto:
    """One node, with those that make its sequences and optionals.

    Parameters, exact values and what stands in sequences are initializers, other inputs are graph inputs with a
    default value.
    """
    before: list[onnx.NodeProto] = []
    names: list[str] = []
    inputs: list[onnx.ValueInfoProto] = []
    values: list[onnx.TensorProto] = []
    for i, plan in enumerate(call.inputs):
        if plan is None:
            names.append("")
            continue
        name = f"x{i}"
        names.append(name)
        if plan.outer is not None:
            count = plan.outer.length if isinstance(plan.outer, SequenceFact) else 1
            made = [f"{name}_{k}" for k in range(2 if count is None else count)]
            shape = tuple(d if isinstance(d, int) else 2 for d in plan.fact.shape or ())
            dtype = plan.fact.dtype
            for item in made:
                array = array_for(SampledInput(TensorFact(dtype, shape)), rng)
                text = dtype == ir.DataType.STRING
                tensor = None if text else ir.serde.serialize_tensor(ir.tensor(array, dtype=dtype, name=item))
                values.append(tensor or onnx.numpy_helper.from_array(array, item))
            before.append(_nested(name, plan, made))
            continue
        array = array_for(plan, rng)
        tensor = (
            ir.serde.serialize_tensor(ir.tensor(array, dtype=plan.fact.dtype, name=name))
            if plan.fact.dtype != ir.DataType.STRING
            else onnx.numpy_helper.from_array(array, name)
        )
        values.append(tensor)
        if plan.value is None and not plan.is_parameter:
            inputs.append(helper.make_tensor_value_info(name, int(plan.fact.dtype), list(array.shape)))
    outputs = [f"y{i}" for i in range(call.outputs)]
    node = helper.make_node(spec.op, names, outputs, domain=spec.domain)
    for name, value in call.attrs.items():
        node.attribute.append(_attribute(spec, name, value))
    results = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph([*before, node], "g", inputs, results, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION[opset])


def _attribute(spec: OpSpec, name: str, value: Any) -> onnx.AttributeProto:
    kind = getattr(onnx.AttributeProto, spec.attrs[name].type)
    if isinstance(value, np.ndarray):
        value = onnx.numpy_helper.from_array(value)
    return helper.make_attribute(name, value, attr_type=kind)


class OrtWorker:
    """ONNXRuntime in a process of its own, started again after each crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("ort_worker.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        return self._process

    def run(self, model: bytes) -> dict[str, Any]:
        """``{"stage": "done", "shapes": [...]}``, or the stage and error; a crash is the stage ``crash``."""
        p = self._start()
        assert p.stdin
        assert p.stdout
        try:
            p.stdin.write(struct.pack("<Q", len(model)) + model)
            p.stdin.flush()
            line = p.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            return {"stage": "crash", "error": f"exit code {p.wait()}"}
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
