"""Speed of isolation: programs a second in process, in one worker, in two, with a fork a run and with a spawn a run.

A program is a model of 30 nodes that ONNXRuntime loads and runs once without and once with all optimisations. The file
is its own handler: in process and in the worker the same ``handle`` runs. Rates are compared in pairs of slices that
follow each other at once, because other work on the machine comes and goes; medians of the pairs' ratios are reported.
A worker that dies of a segmentation fault is forked anew for the next program: how much longer that takes is told too.

Run ``python benchmarks/isolation.py [--pairs 9] [--slice 1.0] [--pin] [--json]``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

NODES = 30
LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)


def warm() -> None:
    ort.set_default_logger_severity(3)


def handle(request: dict[str, Any], values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Run ``values[0]`` (ONNX bytes) on ``values[1]`` at each level; the outputs of all of them."""
    if request.get("die"):
        os.kill(os.getpid(), signal.SIGSEGV)
    outputs: list[Any] = []
    for level in LEVELS:
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = ort.InferenceSession(values[0], options, providers=["CPUExecutionProvider"])
        outputs += session.run(None, {"x": values[1]})
    return {}, outputs


def program() -> bytes:
    """Thirty nodes, 30 kB: convolutions with a residual connection each, and a classifier."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"

    def weight(name: str, *shape: int) -> str:
        weights.append(numpy_helper.from_array((0.1 * rng.standard_normal(shape)).astype(np.float32), name))
        return name

    for i in range((NODES - 3) // 3):
        conv = [last, weight(f"w{i}", 8, 8, 3, 3), weight(f"b{i}", 8)]
        nodes += [
            helper.make_node("Conv", conv, [f"c{i}"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"c{i}"], [f"r{i}"]),
            helper.make_node("Add", [f"r{i}", last], [f"a{i}"]),
        ]
        last = f"a{i}"
    nodes += [
        helper.make_node("Flatten", [last], ["f"]),
        helper.make_node("MatMul", ["f", weight("dense", 512, 5)], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])
    graph = helper.make_graph(nodes, "thirty", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def drive(core: int | None) -> None:
    """A driver process: reads ``mode seconds`` from standard input, runs programs so long, prints the rate."""
    from irfuzz.isolate import Worker, WorkerSpec

    if core is not None:
        os.sched_setaffinity(0, {core})
    spec = WorkerSpec("onnxruntime", Path(__file__), preload=("onnxruntime",))
    values = [program(), np.random.default_rng(1).standard_normal((1, 8, 8, 8)).astype(np.float32)]
    warm()
    with Worker(spec) as worker:

        def isolated(fresh: bool = False) -> None:
            reply = worker.call({}, values, fresh=fresh)
            assert reply.exit == "ok", reply

        def spawned() -> None:
            with Worker(spec) as another:
                reply = another.call({}, values)
                assert reply.exit == "ok", reply

        def crashed() -> None:
            reply = worker.call({"die": True}, values)
            assert reply.exit == "crash", reply
            isolated()

        modes = {
            "in process": lambda: handle({}, values),
            "worker": isolated,
            "fork": lambda: isolated(fresh=True),
            "spawn": spawned,
            "crash": crashed,
        }
        for run in (modes["in process"], isolated):
            for _ in range(20):
                run()
        print("ready", flush=True)
        for line in sys.stdin:
            mode, seconds = line.rsplit(None, 1)
            run, count, began = modes[mode], 0, time.perf_counter()
            while (passed := time.perf_counter() - began) < float(seconds):
                run()
                count += 1
            print(count / passed, flush=True)


class Drivers:
    """Two driver processes, asked one or both at a time."""

    def __init__(self, pin: bool) -> None:
        cores = sorted(os.sched_getaffinity(0))
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
        self.processes = [
            subprocess.Popen(
                [sys.executable, __file__, "--drive", str(cores[i % len(cores)] if pin else -1)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
            )
            for i in range(2)
        ]  # fmt: skip
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def rate(self, mode: str, seconds: float, count: int = 1) -> float:
        """Programs a second of ``count`` drivers together."""
        chosen = self.processes[:count]
        for process in chosen:
            assert process.stdin is not None
            process.stdin.write(f"{mode} {seconds}\n")
            process.stdin.flush()
        return sum(float(process.stdout.readline()) for process in chosen if process.stdout is not None)

    def close(self) -> None:
        for process in self.processes:
            process.communicate()


def measure(pairs: int, seconds: float, pin: bool) -> dict[str, Any]:
    """All rates, and the two ratios that are asked for, as medians over the pairs."""
    rates: dict[str, list[float]] = {}
    drivers = Drivers(pin)
    try:
        for _ in range(pairs):
            for name, mode, count in (
                ("in process", "in process", 1),
                ("worker", "worker", 1),
                ("two workers", "worker", 2),
                ("two in process", "in process", 2),
            ):
                rates.setdefault(name, []).append(drivers.rate(mode, seconds, count))
        for mode in ("fork", "spawn"):
            rates[f"{mode} a run"] = [drivers.rate(mode, seconds) for _ in range(3)]
        crashes = [1e3 / drivers.rate("crash", seconds) for _ in range(5)]
    finally:
        drivers.close()

    def ratio(above: str, below: str) -> float:
        return statistics.median(a / b for a, b in zip(rates[above], rates[below], strict=True))

    return {
        "programs_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "worker_over_in_process": round(ratio("worker", "in process"), 3),
        "two_workers_over_one": round(ratio("two workers", "worker"), 3),
        "two_workers_over_two_in_process": round(ratio("two workers", "two in process"), 3),
        "two_in_process_over_one": round(ratio("two in process", "in process"), 3),
        "overhead_ms": round(
            statistics.median(1e3 / w - 1e3 / p for w, p in zip(rates["worker"], rates["in process"], strict=True)), 3
        ),
        "back_after_crash_ms": round(
            statistics.median(crashes) - statistics.median(1e3 / r for r in rates["worker"]), 1
        ),
        "pairs": pairs,
        "slice_seconds": seconds,
        "pinned": pin,
        "load": [round(x, 2) for x in os.getloadavg()],
        "onnxruntime": ort.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=9, help="how often each pair of slices is repeated")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds a slice")
    parser.add_argument("--pin", action="store_true", help="keep each driver and its worker on one core")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--drive", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive is not None:
        drive(None if options.drive < 0 else options.drive)
        return
    result = measure(options.pairs, options.slice, options.pin)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, rate in result["programs_per_second"].items():
        print(f"{name:16} {rate:8.1f} programs/s")
    print(f"one worker / in process   {result['worker_over_in_process']:.3f}   (wanted: 0.9)")
    print(f"two workers / one         {result['two_workers_over_one']:.3f}   (wanted: 1.8)")
    print(f"two workers / two in process {result['two_workers_over_two_in_process']:.3f}")
    print(f"two in process / one      {result['two_in_process_over_one']:.3f}   (what this machine can give)")
    print(f"overhead                  {result['overhead_ms']:.3f} ms a program")
    print(f"back after a crash        {result['back_after_crash_ms']:.1f} ms, the crash included   (wanted: 300)")
    print(f"load average {result['load']}, {result['pairs']} pairs of {result['slice_seconds']} s")


if __name__ == "__main__":
    main()
