"""``insert-layer``: every operator of opset 17 can be put into a program, runs there, and keeps the interface."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.insertion.data_dependent_size_fixing import Closing, close, draw_closing
from irfuzz.mutate.insertion.insert_layer import InsertLayer
from irfuzz.mutate.insertion.layer_sampling import layers
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import Specs, with_trait

SEVERAL = """
g (float[N, 3, 8, 8] x) => (float[N, 3, 8, 8] y) { h = Relu(x) s = Sigmoid(h) y = Mul(h, s) }
"""


class Only:
    """Novelty that makes all operators but one look worn out."""

    def __init__(self, op: str) -> None:
        self.op = op

    def weight(self, feature: tuple[Any, ...]) -> float:
        return 1e-9 if feature[0] == "operator" and feature[1] != self.op else 1.0


def inserted(specs: Specs, program: Program, op: str) -> Program | None:
    """A copy with the operator put behind an inner value, if one of some attempts does it."""
    mutator = InsertLayer(Context(specs, Only(op)))
    for seed in range(12):
        work = program.clone()
        answer = mutator.apply(work, "h", Choices.from_seed(seed))
        if not isinstance(answer, Skipped) and any(n.op_type == op for n in work.nodes()):
            return work
    return None


def test_every_operator_of_opset_17_goes_in_and_runs(
    specs: Specs, parse: Callable[..., Program], tmp_path: Path
) -> None:
    program = parse(SEVERAL)
    missing: list[str] = []
    wanted = [s.op for s in layers(specs, 17, ir.DataType.FLOAT)]
    for op in wanted:
        work = inserted(specs, program, op)
        if work is None:
            missing.append(op)
            continue
        assert [(v.name, work.fact(v)) for v in work.graph.outputs] == [
            (v.name, program.fact(v)) for v in program.graph.outputs
        ], op
        onnx.checker.check_model(work.to_proto(), full_check=True)
        (tmp_path / f"{op}.onnx").write_bytes(work.to_bytes())
        inputs = {k: v for k, v in make_inputs(work, 1).items() if isinstance(v, np.ndarray)}
        np.savez(tmp_path / f"{op}.npz", **inputs)
    # strings do not come back to numbers
    assert len(missing) <= 4, missing
    assert len(wanted) >= 140
    script = Path(__file__).with_name("run_models.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    failed = {a["name"]: a["error"] for a in answers if "error" in a}
    assert not failed, failed
    assert len(answers) == len(wanted) - len(missing)


@pytest.mark.parametrize("way", ["shape", "size", "reduce", "pad"])
@pytest.mark.parametrize("op", ["NonZero", "Unique"])
def test_sizes_that_depend_on_elements_are_closed(
    specs: Specs, parse: Callable[..., Program], op: str, way: str
) -> None:
    """What comes out has the promised shape, whatever the elements are: many, few or none that count."""
    from onnx.reference import ReferenceEvaluator

    program = parse("g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    node = program.insert(op, [program.graph.inputs[0]])
    fact = program.tensor(node.outputs[0])
    assert fact is not None
    assert None in (fact.shape or ())
    closing: Closing | None = None
    for seed in range(60):
        closing = draw_closing(specs, 17, fact, Choices.from_seed(seed))
        if closing is not None and closing.way == way:
            break
    assert closing is not None
    assert closing.way == way
    result = close(Inserter(program, None), node.outputs[0], closing)
    promised = program.tensor(result)
    assert promised is not None
    assert (promised.dtype, promised.shape) == (closing.fact.dtype, closing.fact.shape)
    program.add_output(result)
    evaluator = ReferenceEvaluator(program.to_proto())
    for x in (np.zeros((2, 3)), np.ones((2, 3)), np.arange(6).reshape(2, 3) - 2):
        assert evaluator.run(None, {"x": x.astype(np.float32)})[-1].shape == closing.fact.shape


def test_what_is_random_is_only_looked_at_for_its_size(specs: Specs) -> None:
    fact = TensorFact(ir.DataType.FLOAT, (2, 3))
    ways = {c.way for s in range(20) if (c := draw_closing(specs, 17, fact, Choices.from_seed(s), sizes_only=True))}
    assert ways == {"shape", "size"}
    assert {s.op for s in layers(specs, 17, ir.DataType.FLOAT)} & with_trait("random")


def test_rare_operators_come_first(specs: Specs, parse: Callable[..., Program]) -> None:
    mutator = InsertLayer(Context(specs, Only("Det")))
    texts = [mutator.apply(parse(SEVERAL), "h", Choices.from_seed(seed)) for seed in range(6)]
    assert all(isinstance(t, str) and t.startswith("Det on ") for t in texts)


@pytest.mark.parametrize(("read", "free"), [("limited", True), ("whole", False)])
def test_indices_within_constant_limits_leave_what_feeds_them_free(
    parse: Callable[..., Program], read: str, free: bool
) -> None:
    program = parse(f"""
    g (float[2, 4] x) => (float[2, 2, 4] y)
    <int64 low = {{0}}, int64 high = {{3}}>
    {{ h = Relu(x) whole = Cast <to = 7> (h) limited = Clip(whole, low, high) y = Gather <axis = 1> (x, {read}) }}
    """)
    assert (program.value("h") not in exact_values(program)) is free
