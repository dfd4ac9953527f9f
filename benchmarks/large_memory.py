"""Time and memory of ``irfuzz check`` on large models, beside Polygraphy's comparison of the same two runs.

    python benchmarks/large_memory.py [--polygraphy DIR] [--models chain-0.4 chain-1.0 conv-0.4] [--out FILE]

Each model has random weights: chains of matrix products of 0.4 and 1 GB in one file, and a convolutional network with
its weights in a file of their own. Both programs run onnxruntime without and with full optimisation on eight random
inputs, irfuzz also with ``--map``. Memory is the largest sum of the proportional set sizes (PSS) of a process and all
that stem from it: pages that several of them map count once. Polygraphy is installed by
``pip install --target DIR polygraphy==0.53.6 --no-deps``; without ``--polygraphy`` irfuzz runs alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irfuzz.isolate.linux import descendants

INPUTS = 8
SAMPLE_SECONDS = 0.03
GB = 1e9

WALL_RATIO, MOST_SECONDS = 2.0, 60.0
MEMORY, MEMORY_WITH_MAP, BASE = 2.0, 2.5, 0.4 * GB
"""Times the model, and bytes on top."""

POLYGRAPHY = """
import sys
sys.path.insert(0, sys.argv[1])
import onnxruntime as ort
from polygraphy.backend.onnxrt import OnnxrtRunner
from polygraphy.comparator import Comparator, CompareFunc, DataLoader

def session(level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return lambda: ort.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])

levels = ort.GraphOptimizationLevel
runners = [OnnxrtRunner(session(level)) for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL)]
results = Comparator.run(runners, data_loader=DataLoader(iterations=int(sys.argv[3]), seed=1))
sys.exit(not Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(rtol=1e-3, atol=1e-3)))
"""


def chain(path: Path, count: int, side: int = 5120) -> None:
    """``count`` products with square matrices, and Relu between them; 105 MB each."""
    draw = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value = "x"
    for place in range(count):
        weight = draw.standard_normal((side, side), np.float32) / np.float32(side**0.5)
        weights.append(numpy_helper.from_array(weight, f"w{place}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{place}"], [f"m{place}"]))
        value = f"m{place}"
        if place < count - 1:
            nodes.append(helper.make_node("Relu", [value], [f"r{place}"]))
            value = f"r{place}"
    onnx.save(_model(nodes, weights, [1, side], value, [1, side]), path)


def convolutions(path: Path, count: int = 11, channels: int = 1024) -> None:
    """``count`` convolutions of 38 MB with their weights in another file, pooling and a Relu between them."""
    draw = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value = "x"
    for place in range(count):
        scale = np.float32((9 * channels) ** 0.5)
        weight = draw.standard_normal((channels, channels, 3, 3), np.float32) / scale
        weights.append(numpy_helper.from_array(weight, f"w{place}"))
        nodes.append(helper.make_node("Conv", [value, f"w{place}"], [f"c{place}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{place}"], [f"r{place}"]))
        value = f"r{place}"
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["y"]))
    model = _model(nodes, weights, [1, channels, 7, 7], "y", [1, channels, 1, 1])
    onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data")


def _model(
    nodes: Sequence[onnx.NodeProto],
    weights: Sequence[onnx.TensorProto],
    shape: Sequence[int],
    output: str,
    result: Sequence[int],
) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, shape)], [value(output, TensorProto.FLOAT, result)], weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


MODELS: dict[str, Callable[[Path], None]] = {
    "chain-0.4": lambda path: chain(path, 4),
    "chain-1.0": lambda path: chain(path, 10),
    "conv-0.4": convolutions,
}


def pss(pid: int) -> int:
    """Bytes of a process, shared pages by its share of them."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def measured(command: Sequence[str]) -> dict[str, float]:
    """Run a command: seconds on the clock and of the processors, and the largest sum of PSS in bytes.

    Raises:
        SystemExit: it failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(pss, {process.pid, *descendants(process.pid)})))
            time.sleep(SAMPLE_SECONDS)
        seconds = time.monotonic() - began
        if process.returncode:
            log.seek(0)
            sys.exit(f"{' '.join(command[:4])}: exit {process.returncode}\n{log.read().decode()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "processor seconds": round(used, 2), "peak": peak}


def row_of(name: str, path: Path, polygraphy: Path | None) -> dict[str, object]:
    """What all of them take for one model."""
    size = sum(p.stat().st_size for p in path.parent.iterdir() if p.name.startswith(path.name))
    check = [sys.executable, "-m", "irfuzz", "check", str(path), "--targets", "ort:disabled,ort:all"]
    check += ["--seeds", str(INPUTS)]
    found: dict[str, object] = {"model": name, "bytes": size}
    found["irfuzz"] = plain = measured(check)
    found["irfuzz --map"] = mapped = measured([*check, "--map", str(path.parent / "map.html")])
    met = {
        "memory": plain["peak"] <= MEMORY * size + BASE,
        "memory with --map": mapped["peak"] <= MEMORY_WITH_MAP * size + BASE,
        "time": max(plain["seconds"], mapped["seconds"]) < MOST_SECONDS,
    }
    if polygraphy is not None:
        command = [sys.executable, "-c", POLYGRAPHY, str(polygraphy), str(path), str(INPUTS)]
        found["polygraphy"] = other = measured(command)
        met["time beside polygraphy"] = plain["seconds"] <= WALL_RATIO * other["seconds"]
        found["time over polygraphy's"] = round(plain["seconds"] / other["seconds"], 2)
    found["peak over model"] = round(plain["peak"] / size, 2)
    found["peak over model with --map"] = round(mapped["peak"] / size, 2)
    found["met"] = met
    return found


def told(row: dict[str, object]) -> str:
    """A row for people."""
    lines = [f"{row['model']}: {int(str(row['bytes'])) / GB:.2f} GB"]
    for name in ("irfuzz", "irfuzz --map", "polygraphy"):
        took = row.get(name)
        if isinstance(took, dict):
            lines.append(
                f"  {name:14} {took['seconds']:6.1f} s, {took['processor seconds']:6.1f} s of a processor, "
                f"{took['peak'] / GB:.2f} GB"
            )
    met = row["met"]
    assert isinstance(met, dict)
    return "\n".join([*lines, *(f"  {'met' if good else 'NOT met'}: {what}" for what, good in met.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polygraphy", type=Path, help="folder in which it is installed")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--folder", type=Path, help="for the models; 2 GB are needed (default: a temporary one)")
    parser.add_argument("--out", type=Path, help="JSON to write")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="irfuzz-large-", dir=options.folder))
    rows: list[dict[str, object]] = []
    try:
        for name in options.models:
            path = folder / f"{name}.onnx"
            MODELS[name](path)
            rows.append(row_of(name, path, options.polygraphy))
            print(told(rows[-1]), flush=True)
            for file in folder.iterdir():
                file.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    machine = {"processor": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0))}
    if options.out is not None:
        options.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    sys.exit(any(not all(row["met"].values()) for row in rows if isinstance(row["met"], dict)))


if __name__ == "__main__":
    main()
