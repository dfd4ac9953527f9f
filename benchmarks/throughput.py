"""Speed of the whole loop: mutate, run without and with full optimisation, judge; in process, in one job and in two.

Every rate is of complete programs a second, made, run and judged in rounds as campaigns do. ``in process`` calls the
same worker file in the benchmark's own process; ``isolated`` is what campaigns with one job do; ``two jobs`` is two
processes with a worker each, each pair on a core of its own as in campaigns with a job for each core. ``raw protobuf``
is the least that anybody pays, and what machines are compared by: one process that parses the model, moves a weight,
serializes, loads and runs it at both levels and compares, with nothing known of operators, types or limits. All take
turns in short slices, so that other work on the machine meets them alike; medians over the rounds and their ratios are
printed.

Run ``python benchmarks/throughput.py [--rounds 7] [--slice 2] [--json]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irfuzz.campaign.loop import ROUND
from irfuzz.choices import Choices
from irfuzz.execute.adapters.adapter import WORKERS
from irfuzz.execute.reply_parsing import answered
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import RunResult
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import adapter_of, resolve
from irfuzz.garbage_collection import settle
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits, Reply
from irfuzz.isolate.linux import stay_on_core
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.oracle import judge
from irfuzz.spec import load_specs

TARGETS = ("onnxruntime:disabled", "onnxruntime:all")
SIZES = (30, 10)

Run = Callable[[Sequence[Task]], Sequence[Sequence[RunResult]]]


def model(nodes: int) -> bytes:
    """A convolutional network of so many nodes: Conv, Relu, Add in turn, and a classifier; 8 channels, 8x8."""
    rng = np.random.default_rng(0)
    graph: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def weight(name: str, *shape: int) -> str:
        weights.append(numpy_helper.from_array((0.1 * rng.standard_normal(shape)).astype(np.float32), name))
        return name

    last, skip = "x", "x"
    while len(graph) < nodes - 3:
        kind = len(graph) % 3
        out = f"v{len(graph)}"
        if kind == 0:
            graph.append(
                helper.make_node(
                    "Conv", [last, weight(f"w{out}", 8, 8, 3, 3), weight(f"b{out}", 8)], [out], pads=[1, 1, 1, 1]
                )
            )
        elif kind == 1:
            graph.append(helper.make_node("Relu", [last], [out]))
        else:
            graph.append(helper.make_node("Add", [last, skip], [out]))
            skip = out
        last = out
    graph.append(helper.make_node("GlobalAveragePool", [last], ["pooled"]))
    graph.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    graph.append(helper.make_node("Gemm", ["flat", weight("wd", 8, 10), weight("bd", 10)], ["y"]))
    made = helper.make_graph(
        graph,
        f"{nodes} nodes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        weights,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


class Loop:
    """The loop over one seed; ``run`` decides where programs are executed."""

    def __init__(self, nodes: int, run: Run, first: int) -> None:
        self.seed = Program.from_bytes(model(nodes))
        self.seen = FeatureCounts()
        self.seen.add_program(self.seed)
        self.engine = Engine(load_specs(), seen=self.seen, max_nodes=nodes + 10)
        self.run = run
        self.number = first

    def make(self) -> Task | None:
        """The next program and its inputs."""
        self.number += 1
        mutant = self.engine.mutate(self.seed, Choices.from_seed(self.number), edits=1)
        if mutant is None:
            return None
        self.seen.add_mutant(mutant.program)
        return Task(mutant.program, make_inputs(mutant.program, self.number))

    def round(self) -> int:
        """As many programs as a round of a campaign has; how many were run."""
        tasks = [task for task in (self.make() for _ in range(ROUND)) if task is not None]
        for task, results in zip(tasks, self.run(tasks), strict=True):
            judge(cast("Program", task.program), task.inputs, results)
        return len(tasks)

    def for_seconds(self, seconds: float) -> tuple[int, float]:
        """``(programs, seconds)`` of working for at least so long."""
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            count += self.round()
        return count, passed


def in_process() -> Run:
    """Run in this very process, through the same adapter and the same worker file."""
    targets = resolve(TARGETS)
    adapter = adapter_of(targets[0])
    spec = importlib.util.spec_from_file_location(
        "worker", WORKERS / "onnxruntime.py", submodule_search_locations=[str(WORKERS)]
    )
    assert spec is not None
    assert spec.loader is not None
    worker = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)

    def run(task: Task) -> Sequence[RunResult]:
        request, blobs = adapter.prepare(task.program, task.data(), task.inputs, targets)
        # The worker marks its progress on standard error for the case that it dies; here nobody reads it.
        answer, values = worker.handle(request, blobs)
        return answered(Reply("ok", answer, values), targets)

    return lambda tasks: [run(task) for task in tasks]


class Raw:
    """The alternative: a weight of the model is moved by hand, and ONNXRuntime asked directly."""

    def __init__(self, nodes: int) -> None:
        # Only here, where nothing else runs it: what is measured as irfuzz keeps frameworks in workers.
        import onnxruntime

        self.onnxruntime = onnxruntime
        self.model = model(nodes)
        self.rng = np.random.default_rng(0)
        self.levels = [
            getattr(onnxruntime.GraphOptimizationLevel, name) for name in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
        ]

    def once(self) -> None:
        """One program."""
        proto = onnx.load_from_string(self.model)
        weight = proto.graph.initializer[self.rng.integers(len(proto.graph.initializer))]
        moved = numpy_helper.to_array(weight) + np.float32(self.rng.standard_normal())
        weight.CopyFrom(numpy_helper.from_array(moved, weight.name))
        data = proto.SerializeToString()
        feeds = {"x": self.rng.standard_normal((1, 8, 8, 8)).astype(np.float32)}
        found: list[Any] = []
        for level in self.levels:
            options = self.onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.graph_optimization_level = level
            session = self.onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            found.append(session.run(None, feeds)[0])
        if not np.allclose(*found, rtol=1e-3, atol=1e-3):
            raise SystemExit("onnxruntime's levels differ on the benchmark's own model")

    def for_seconds(self, seconds: float) -> tuple[int, float]:
        """As ``Loop.for_seconds``."""
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            self.once()
            count += 1
        return count, passed


def serve(kind: str, nodes: int) -> None:
    """One benchmark process: reads a number of seconds on standard input and prints programs and seconds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if kind == "raw protobuf":
        _serve(Raw(nodes))
        return
    if kind == "in process":
        _serve(Loop(nodes, in_process(), os.getpid() * 10**6))
        return
    if kind.startswith("job"):
        stay_on_core(int(kind.split()[1]), of=2)
    with Runner(resolve(TARGETS), Limits(seconds=20)) as runner:
        _serve(Loop(nodes, runner.run_all, os.getpid() * 10**6))


def _serve(loop: Loop | Raw) -> None:
    loop.for_seconds(1.0)
    settle()
    print("ready", flush=True)
    for line in sys.stdin:
        count, passed = loop.for_seconds(float(line))
        print(count, passed, flush=True)


class Process:
    """A benchmark process as its parent sees it."""

    def __init__(self, kind: str, nodes: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, "--nodes", str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        )

    def ask(self, text: str) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line of its answer."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def rate(self) -> float:
        """Programs a second of the slice that was asked for."""
        count, passed = self.line().split()
        return int(count) / float(passed)


def measure(nodes: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Rates for one size of program."""
    raw, here, alone, *jobs = (
        Process(kind, nodes) for kind in ("raw protobuf", "in process", "isolated", "job 0", "job 1")
    )
    processes = (raw, here, alone, *jobs)
    for process in processes:
        if process.line().strip() != "ready":
            raise SystemExit("a benchmark process did not start")
    rates: dict[str, list[float]] = {"raw protobuf": [], "in process": [], "isolated": [], "two jobs": []}
    for _ in range(rounds):
        for name, process in (("raw protobuf", raw), ("in process", here), ("isolated", alone)):
            process.ask(str(seconds))
            rates[name].append(process.rate())
        for process in jobs:
            process.ask(str(seconds))
        rates["two jobs"].append(sum(process.rate() for process in jobs))
    for process in processes:
        assert process.process.stdin is not None
        process.process.stdin.close()
        process.process.wait()
    pairs = list(zip(rates["in process"], rates["isolated"], rates["two jobs"], strict=True))
    least = zip(rates["raw protobuf"], rates["two jobs"], strict=True)
    return {
        "nodes": nodes,
        **{name: round(statistics.median(found), 1) for name, found in rates.items()},
        "isolated / in process": round(statistics.median(b / a for a, b, _ in pairs), 3),
        "two jobs / isolated": round(statistics.median(c / b for _, b, c in pairs), 3),
        "two jobs / raw protobuf": round(statistics.median(b / a for a, b in least), 3),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slice", type=float, default=2.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve")
    parser.add_argument("--nodes", type=int)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.nodes)
        return
    rows = [measure(nodes, args.rounds, args.slice) for nodes in SIZES]
    if args.json:
        print(
            json.dumps({"rows": rows, "cpus": os.cpu_count(), "machine": platform.machine(), "load": os.getloadavg()})
        )
        return
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()))
    print(f"load before and during: {os.getloadavg()}, {os.cpu_count()} cpus")


if __name__ == "__main__":
    main()
