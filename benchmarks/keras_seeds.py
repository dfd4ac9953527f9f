"""Every seed as a Keras model, run as it is and converted: how each ends, and how far it is from ONNXRuntime.

    python benchmarks/keras_seeds.py [--seeds lenet5,gru] [--targets keras,keras-onnx]

A distance is a part of the output's largest magnitude. Exit code 1 where one is over 1e-4.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from irfuzz.execute.run_types import Exit, TargetRole, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

SEEDS = Path(__file__).resolve().parents[1] / "seeds"
CLOSE = 1e-4


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", default="keras,keras-onnx")
    parser.add_argument("--seeds", default=",".join(sorted(path.stem for path in SEEDS.glob("*.onnx"))))
    parser.add_argument("--seconds", type=float, default=300.0)
    args = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    with Runner(resolve(["onnxruntime:disabled", *args.targets.split(",")]), Limits(seconds=args.seconds)) as runner:
        for name in args.seeds.split(","):
            program = Program.from_bytes((SEEDS / f"{name}.onnx").read_bytes())
            right, *others = runner.run(program, make_inputs(program, 1))
            assert right.target.role is TargetRole.RUNTIME
            for result in others:
                end, says = str(result.exit), result.error
                if result.exit is Exit.OK:
                    far = distance(result.outputs, right.outputs)
                    end, says = "close" if far <= CLOSE else "far", f"{far:.1e}"
                counts[result.target.name, end] += 1
                print(f"{name:<20} {result.target.name:<24} {end:<12} {says}", flush=True)
    for target in dict.fromkeys(t for t, _ in counts):
        print(f"{target:<24} { {e: n for (t, e), n in counts.items() if t == target} }")
    return int(any(end == "far" for _, end in counts))


def distance(found: Mapping[str, Value], right: Mapping[str, Value]) -> float:
    """The largest difference of all outputs; infinite where a type or shape differs, or a value is no number."""
    worst = 0.0
    for name, value in right.items():
        other = found[name]
        alike = isinstance(value, np.ndarray) and isinstance(other, np.ndarray)
        if not alike or (other.dtype, other.shape) != (value.dtype, value.shape):
            return float("inf")
        most = max(float(np.abs(value.astype(np.float64)).max(initial=0)), 1e-30)
        part = float(np.abs(other.astype(np.float64) - value.astype(np.float64)).max(initial=0)) / most
        worst = max(worst, part if np.isfinite(part) else float("inf"))
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
