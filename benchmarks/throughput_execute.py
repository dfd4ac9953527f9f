"""How many small programs a second two ONNXRuntime levels run: in process, isolated, pipelined.

Usage: ``python benchmarks/throughput_execute.py [--nodes 30] [--count 600]``; prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")


def chain(nodes: int) -> bytes:
    """A chain of small layers on a [1, 8, 8, 8] tensor, Conv and Relu and elementwise ones in turn."""
    rng = np.random.default_rng(0)
    made, weights, value = [], [], "x"
    for i in range(nodes):
        out = "y" if i == nodes - 1 else f"v{i}"
        if i % 3 == 0:
            weight = onnx.numpy_helper.from_array(rng.normal(0, 0.2, (8, 8, 3, 3)).astype(np.float32), f"w{i}")
            weights.append(weight)
            made.append(onnx.helper.make_node("Conv", [value, f"w{i}"], [out], pads=[1, 1, 1, 1]))
        elif i % 3 == 1:
            made.append(onnx.helper.make_node("Relu", [value], [out]))
        else:
            made.append(onnx.helper.make_node("Add", [value, value], [out]))
        value = out
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 8, 8, 8]) for n in ("x", "y"))
    graph = onnx.helper.make_graph(made, "chain", [x], [y], weights)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


def in_process(model: bytes, inputs: dict[str, np.ndarray]) -> None:
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        session.run(None, inputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument("--count", type=int, default=600)
    args = parser.parse_args()
    program = Program.from_bytes(chain(args.nodes))
    model = program.to_bytes()
    inputs = make_inputs(program, 1)
    arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    rounds: dict[str, list[float]] = {"in_process": [], "isolated": [], "pipelined": []}
    with Runner(resolve(["onnxruntime:disabled", "onnxruntime:all"])) as runner:
        for _ in range(20):
            in_process(model, arrays)
            runner.run(model, inputs)
        # In turn, in small blocks: other load on the machine hits all three alike.
        block = max(args.count // 20, 1)
        for _ in range(20):
            began = time.perf_counter()
            for _ in range(block):
                in_process(model, arrays)
            rounds["in_process"].append((time.perf_counter() - began) / block)
            began = time.perf_counter()
            for _ in range(block):
                runner.run(model, inputs)
            rounds["isolated"].append((time.perf_counter() - began) / block)
            began = time.perf_counter()
            pending = runner.submit(model, inputs)
            for _ in range(block - 1):
                following = runner.submit(model, inputs)
                runner.collect(pending)
                pending = following
            runner.collect(pending)
            rounds["pipelined"].append((time.perf_counter() - began) / block)
    seconds = {name: statistics.median(times) for name, times in rounds.items()}
    began = time.perf_counter()
    for seed in range(500):
        make_inputs(program, seed)
    print(
        json.dumps(
            {
                "nodes": args.nodes,
                "programs_per_second": {name: round(1 / value, 1) for name, value in seconds.items()},
                "isolated_over_in_process": round(seconds["in_process"] / seconds["isolated"], 3),
                "make_inputs_ms": round((time.perf_counter() - began) / 500 * 1e3, 4),
                "onnxruntime": onnxruntime.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
