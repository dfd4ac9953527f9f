"""Measures how far above 1 runtimes compute Sigmoid, Softmax and Tanh, which are at most 1 by their formula.

Usage: ``python -m tests.spec.measure_excess [OP...] [--targets NAME...]`` from the repository's root. It prints the
trait ``excess`` of each operator, by component and element type, as it stands in ``ops/ai.onnx/``. Sigmoid and Tanh get
every number of half precision, and of the wider types those of an even grid and of every magnitude; Softmax gets rows
of 1 to 4,096 elements that lie up to 200 apart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from onnx import parser

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

OPS = ("Sigmoid", "Softmax", "Tanh")
TYPES = {"float": np.float32, "float16": np.float16, "double": np.float64}
TARGETS = ("onnxruntime:disabled", "onnxruntime:all", "torch:eager", "tensorflow:eager", "openvino")
SIZES = (1, 2, 3, 4, 7, 8, 10, 16, 31, 100, 1000, 4096)


def arguments_of(op: str, dtype: type) -> Iterator[np.ndarray]:
    """What an operator is run with: rows of equal length."""
    rng = np.random.default_rng(29)
    if op == "Softmax":
        for size in SIZES:
            rows = max(4, 20_000 // size)
            for scale in (0.01, 1.0, 10.0, 200.0):
                yield (rng.random((rows, size)) * scale).astype(dtype)
        return
    if dtype is np.float16:
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        yield every[np.isfinite(every)].reshape(1, -1)
        return
    yield np.linspace(-40, 40, 1 << 21).astype(dtype).reshape(1, -1)
    magnitudes = np.exp2(rng.uniform(-20, 60, 1 << 18))
    yield np.concatenate([magnitudes, -magnitudes]).astype(dtype).reshape(1, -1)


def measured(op: str, targets: Sequence[str]) -> dict[str, dict[str, float]]:
    """The largest excess by component and element type; what a component refuses is left out."""
    found: dict[str, dict[str, float]] = {}
    with Runner(resolve(targets)) as runner:
        for name, dtype in TYPES.items():
            text = f'<ir_version: 8, opset_import: ["": 17]> g ({name}[N,M] x) => ({name}[N,M] y) {{ y = {op}(x) }}'
            program = Program.from_proto(parser.parse_model(text))
            for array in arguments_of(op, dtype):
                for target, result in zip(runner.targets, runner.run(program, {"x": array}), strict=True):
                    if result.exit is not Exit.OK:
                        continue
                    largest = float(np.abs(np.asarray(result.outputs["y"], dtype=np.float64)).max())
                    of = found.setdefault(target.component, {})
                    of[name] = max(of.get(name, 0.0), largest - 1, 0.0)
    return found


def main() -> int:
    given = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    given.add_argument("ops", nargs="*", metavar="OP", default=OPS)
    given.add_argument("--targets", nargs="+", metavar="NAME", default=TARGETS)
    args = given.parse_args()
    for op in args.ops:
        rows = measured(op, args.targets)
        told = ", ".join(
            f"{component} = {{ {', '.join(f'{name} = {value:.3g}' for name, value in sorted(by_type.items()))} }}"
            for component, by_type in sorted(rows.items())
        )
        print(f"{op}: excess = {{ {told} }}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
