"""Seconds and memory of the static analysis of networks at full size and of graphs of growing size, as a table.

    python -m benchmarks.analysis_scale [--models FOLDER] [--nodes 1000 10000 ...] [--json FILE]

``FOLDER`` keeps the networks of ``benchmarks.large_models``; those that it lacks are built there. Each analysis is a
process of its own: seconds are CPU seconds of the analysis and of reading the model (checked as by ``irfuzz``); "peak"
is the most that the process, or one that it started, ever held, "added" what the analysis needed beyond reading.
"command" is ``irfuzz analyze MODEL`` as a whole, with its start and its workers: CPU seconds, wall seconds and peak.
The graphs that grow are residual blocks (MatMul, bias, layer norm, Relu, Add, Softmax) one after the other, eight nodes
each. Exit code 1 where the analysis of a network takes more than 2 s or its command more than 1 GiB, 200,000 nodes take
more than 60 s, or where the time for a node at the largest size is more than twice that at the smallest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

NODES = (1_000, 10_000, 50_000)
SECONDS, BYTES, LONG = 2.0, 1 << 30, 60.0
GROWTH = 2.0

MEASURE = """
import json, resource, sys, time
from pathlib import Path
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.garbage_collection import settle
path, given = Path(sys.argv[1]), json.loads(sys.argv[2])
parts = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
held = lambda: max(resource.getrusage(part).ru_maxrss for part in parts) * 1024
start = time.process_time()
program = load_seed(path)
read = time.process_time() - start
loaded = held()
settle()
start, wall = time.process_time(), time.perf_counter()
found = analyze(program, Ranges({n: tuple(r) for n, r in given.items()}))
print(json.dumps({
    "nodes": sum(1 for _ in program.model.graph.all_nodes()),
    "read_seconds": round(read, 3),
    "seconds": round(time.process_time() - start, 3),
    "wall": round(time.perf_counter() - wall, 3),
    "peak_bytes": held(),
    "added_bytes": held() - loaded,
    "warnings": len(found.warnings),
    "unproved": len(found.unjudged),
    "safe": sum(found.safe.values()),
    "unknown": sum(found.unknown.values()),
}))
"""


def blocks(nodes: int, width: int = 8) -> onnx.ModelProto:
    """Residual blocks one after the other, about ``nodes`` nodes in all; weights are shared by all blocks."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(width, width)) / width,
        "b": rng.normal(size=width) / 10,
        "s": np.full(width, 0.5),
        "z": np.zeros(width),
        "half": np.asarray(0.5),
    }
    made: list[onnx.NodeProto] = []
    last = "x"
    for block in range(max(nodes // 8, 1)):
        names = [f"b{block}_{i}" for i in range(8)]
        made += [
            helper.make_node("MatMul", [last, "w"], [names[0]]),
            helper.make_node("Add", [names[0], "b"], [names[1]]),
            helper.make_node("LayerNormalization", [names[1], "s", "z"], [names[2]]),
            helper.make_node("Relu", [names[2]], [names[3]]),
            helper.make_node("Add", [names[3], last], [names[4]]),
            helper.make_node("Mul", [names[4], "half"], [names[5]]),
            helper.make_node("Softmax", [names[5]], [names[6]]),
            helper.make_node("Mul", [names[5], names[6]], [names[7]]),
        ]
        last = names[7]
    graph = helper.make_graph(
        made,
        "blocks",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, width])],
        [helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, [4, width])],
        [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def measure(path: Path, given: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Analyse a model in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), json.dumps(given)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{path}: exit code {done.returncode}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {"model": path.stem, "file_bytes": path.stat().st_size, **found, "command": command(path, given)}


def command(path: Path, given: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """What ``irfuzz analyze`` takes as a whole, its workers included."""
    flags = [f"--range={name}={low},{high}" for name, (low, high) in given.items()]
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "irfuzz", "analyze", str(path), *flags], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"irfuzz analyze {path}: exit code {process.returncode}")
    return {
        "seconds": round(used.ru_utime + used.ru_stime, 3),
        "wall": round(time.perf_counter() - started, 3),
        "peak_bytes": used.ru_maxrss * 1024,
    }


def networks(folder: Path) -> list[dict[str, Any]]:
    """Of the networks at full size, built where the folder lacks them."""
    from benchmarks.large_models import MODELS

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in MODELS:
        path = folder / f"{name}.onnx"
        if not path.exists():
            subprocess.run([sys.executable, "-m", "benchmarks.large_models", str(folder), name], check=True)
        given = {"attended": (0.0, 1.0), "kinds": (0.0, 1.0), "ids": (0.0, 30521.0)}
        rows.append(measure(path, given if name == "transformer" else {"image": (-1.0, 1.0)}))
    return rows


def growing(sizes: list[int], folder: Path) -> list[dict[str, Any]]:
    """Of graphs of about these numbers of nodes."""
    rows = []
    for size in sizes:
        path = folder / f"blocks-{size}.onnx"
        onnx.save(blocks(size), path)
        rows.append(measure(path, {"x": (-1.0, 1.0)}))
        path.unlink()
    return rows


def faults(nets: list[dict[str, Any]], grown: list[dict[str, Any]]) -> list[str]:
    """What is slower or larger than it should be."""
    wrong = [f"{r['model']}: {r['seconds']} s" for r in nets if r["seconds"] > SECONDS]
    wrong += [
        f"{r['model']}: {r['command']['peak_bytes'] >> 20} MiB" for r in nets if r["command"]["peak_bytes"] > BYTES
    ]
    wrong += [f"{r['model']}: {r['seconds']} s" for r in grown if r["seconds"] + r["read_seconds"] > LONG]
    if len(grown) > 1:
        each = [r["seconds"] / r["nodes"] for r in (grown[0], grown[-1])]
        if each[1] > GROWTH * each[0]:
            first, last = (
                f"{1e6 * t:.0f} us in {r['model']}" for t, r in zip(each, (grown[0], grown[-1]), strict=True)
            )
            wrong.append(f"a node takes {first}, {last}")
    return wrong


def table(rows: list[dict[str, Any]]) -> str:
    """For people."""
    counts = ("warnings", "unproved", "safe", "unknown")
    head = (
        "model",
        "nodes",
        "analysis s",
        "us/node",
        "read s",
        "peak MiB",
        "added MiB",
        "command s",
        "wall s",
        "MiB",
        ", ".join(counts),
    )
    cells = [
        (
            r["model"],
            str(r["nodes"]),
            f"{r['seconds']:.2f}",
            f"{1e6 * r['seconds'] / r['nodes']:.0f}",
            f"{r['read_seconds']:.2f}",
            str(r["peak_bytes"] >> 20),
            str(r["added_bytes"] >> 20),
            f"{r['command']['seconds']:.2f}",
            f"{r['command']['wall']:.2f}",
            str(r["command"]["peak_bytes"] >> 20),
            ", ".join(str(r[c]) for c in counts),
        )
        for r in rows
    ]
    lines = [(name, "".join(f"{c:>11}" for c in rest), last) for name, *rest, last in (head, *cells)]
    return "\n".join(f"{name:20}{middle}  {last}" for name, middle, last in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", metavar="FOLDER", type=Path, help="where the networks are or will be; none without")
    parser.add_argument("--nodes", type=int, nargs="*", default=list(NODES), help="sizes of the graphs that grow")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    import tempfile

    nets = [] if options.models is None else networks(options.models)
    with tempfile.TemporaryDirectory() as folder:
        grown = growing(sorted(options.nodes), Path(folder))
    print(table([*nets, *grown]))
    wrong = faults(nets, grown)
    for line in wrong:
        print(f"too much: {line}")
    if options.json is not None:
        options.json.write_text(json.dumps({"networks": nets, "growing": grown}, indent=1) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
