"""``irfuzz reduce MODEL --check CMD`` beside ``polygraphy debug reduce`` (bisection), on a model of 95 nodes.

The model has an open batch size. Both get it and the same check, in alternating pairs. Seconds of a processor are
those of the tool, its workers and every check that it started (user and system); the clock is printed as well, and is
of use on an idle machine alone. Three checks: an operator is in the file (``grep``), two operators that are far from
each other, and what onnxruntime computes is not finite.

Polygraphy needs onnx-graphsurgeon beside it: ``python -m venv pg; pg/bin/pip install polygraphy onnx onnxruntime
onnx-graphsurgeon``. Run ``python -m benchmarks.reduction_command --polygraphy pg/bin/polygraphy [--pairs 5] [--json
FILE]``; exit code 1 where irfuzz takes more than 1.5 times as much by the median, or its result is the larger one.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCKS = 19
MOST_RATIO = 1.5

GREP = """#!/bin/sh
echo >> {calls}
{condition} && exit 1
exit 0
"""

RUNS = """
import pathlib, sys
import numpy as np, onnxruntime
open({calls!r}, "a").write("\\n")
beside = pathlib.Path(sys.argv[1]).with_name("inputs.npz")
given = dict(np.load(beside)) if beside.exists() else {{}}
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
drawn = np.random.default_rng(0)
for one in session.get_inputs():
    if one.name not in given:
        given[one.name] = drawn.standard_normal([n if isinstance(n, int) else 1 for n in one.shape]).astype(np.float32)
sys.exit(not all(np.isfinite(value).all() for value in session.run(None, given)))
"""


def model_of(odd: str) -> onnx.ModelProto:
    """Nineteen blocks of five nodes, of which one has the operator ``odd`` where the others have a Sigmoid."""
    drawn = np.random.default_rng(0)
    nodes, stored, last = [], [], "x"
    for block in range(BLOCKS):
        stored += [
            numpy_helper.from_array(drawn.standard_normal((8, 8, 3, 3)).astype(np.float32) * 0.1, f"w{block}"),
            numpy_helper.from_array(drawn.standard_normal((8, 1, 1)).astype(np.float32), f"s{block}"),
        ]
        nodes += [
            helper.make_node("Conv", [last, f"w{block}"], [f"c{block}"], pads=[1, 1, 1, 1]),
            helper.make_node("Add", [f"c{block}", f"s{block}"], [f"a{block}"]),
            helper.make_node(odd if block == 11 else "Sigmoid", [f"a{block}"], [f"g{block}"]),
            helper.make_node("Mul", [f"a{block}", f"g{block}"], [f"m{block}"]),
            helper.make_node("Add", [f"m{block}", last], [f"x{block}"]),
        ]
        last = f"x{block}"
    typed = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["batch", 8, 16, 16]) for n in ("x", last)]
    graph = helper.make_graph(nodes, "blocks", typed[:1], typed[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@dataclass(frozen=True, slots=True)
class Reduction:
    """What one call came to.

    Attributes:
        cpu: seconds of a processor, user and system, of the tool and all that it started.
        clock: seconds.
        checks: how often the check ran.
        nodes: of the result.
    """

    cpu: float
    clock: float
    checks: int
    nodes: int


def measured(words: Sequence[str], folder: Path, out: Path) -> Reduction:
    """Run a reduction and count its checks."""
    calls = folder / "calls"
    calls.write_text("")
    before, began = os.times(), time.monotonic()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    after, clock = os.times(), time.monotonic() - began
    if not out.exists():
        raise SystemExit(f"{shlex.join(words)}: no result\n{done.stderr[-2000:]}{done.stdout[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Reduction(round(cpu, 2), round(clock, 2), len(calls.read_text()), len(onnx.load(out).graph.node))


def compare(name: str, odd: str, check: str, polygraphy: str, pairs: int) -> dict[str, object]:
    """Alternating pairs on one model and check."""
    ours: list[Reduction] = []
    theirs: list[Reduction] = []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            model, out, other = folder / "model.onnx", folder / "ours.onnx", folder / "theirs.onnx"
            onnx.save(model_of(odd), model)
            script = folder / "check"
            script.write_text(check.format(calls=str(folder / "calls"), condition=f'grep -q {odd} "$1"'))
            script.chmod(0o755)
            command = [str(script)] if check.startswith("#!") else [sys.executable, str(script)]
            ours.append(
                measured(
                    [sys.executable, "-m", "irfuzz", "reduce", str(model), "--check", shlex.join(command),
                     "--fail-is-interesting", "-o", str(out)],
                    folder, out,
                )
            )  # fmt: skip
            theirs.append(
                measured(
                    [polygraphy, "debug", "reduce", str(model), "-o", str(other), "--check", *command,
                     "polygraphy_debug.onnx"],
                    folder, other,
                )
            )  # fmt: skip
    ratio = statistics.median(a.cpu / b.cpu for a, b in zip(ours, theirs, strict=True))
    clock = statistics.median(a.clock / b.clock for a, b in zip(ours, theirs, strict=True))
    print(f"{name}: {ratio:.2f} times the processor time, {clock:.2f} times the clock (medians of {pairs} pairs)")
    for tool, rows in (("irfuzz", ours), ("polygraphy", theirs)):
        cpu, seconds = (statistics.median(values) for values in zip(*((r.cpu, r.clock) for r in rows), strict=True))
        print(
            f"  {tool:<11}{cpu:6.2f} s, {seconds:6.2f} s by the clock, {rows[0].checks} checks, {rows[0].nodes} nodes"
        )
    passed = ratio <= MOST_RATIO and ours[0].nodes <= theirs[0].nodes
    return {
        "check": name, "ratio": ratio, "clock": clock, "passed": passed,
        "irfuzz": [asdict(r) for r in ours], "polygraphy": [asdict(r) for r in theirs],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polygraphy", default="polygraphy")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    args = parser.parse_args()
    both = GREP.replace("{condition}", '{condition} && grep -q Conv "$1"')
    cases = (("an operator", "Erf", GREP), ("two operators", "Erf", both), ("values", "Log", RUNS))
    rows = [compare(name, odd, check, args.polygraphy, args.pairs) for name, odd, check in cases]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["passed"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
