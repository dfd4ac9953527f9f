"""Whether `irfuzz analyze` finds NaN in the root of a raw variance, mean(x * x) - mean(x) ** 2, behind dense layers.

    python -m benchmarks.raw_variance [--seeds 3] [--seconds 3] [--json FILE]

Each network is Input, then MatMul, Add and an activation for each layer, then the raw variance over the units and Sqrt,
with weights of a seed; inputs are in [-1, 1]. A row counts for how many of the seeds a witness is found, and for how
many it is proved that there is none, which is so of many whose units are as many as inputs, or more, and have a bias.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.warning_examination import WarningReport, judge
from irfuzz.ir.program import Program

RANGES = Ranges({"x": (-1.0, 1.0)})
MOMENTS = "q = Mul(h, h) a = ReduceMean<axes=[{axis}]>(q) m = ReduceMean<axes=[{axis}]>(h) b = Mul(m, m) v = Sub(a, b)"


@dataclass(frozen=True, slots=True)
class Net:
    """Dense layers, then the root of the variance of their units.

    Attributes:
        sizes: of the input and of each layer.
        layer: the activation.
        axis: along which the variance is.
        rows: of the input.
        bias: standard deviation of biases; weights have He's.
    """

    sizes: tuple[int, ...]
    layer: str = "Relu"
    axis: int = 1
    rows: int = 1
    bias: float = 0.1

    def program(self, seed: int) -> Program:
        """With the weights of a seed."""
        rng = np.random.default_rng(seed)
        lines: list[str] = []
        constants: dict[str, np.ndarray] = {}
        for k, (inner, outer) in enumerate(itertools.pairwise(self.sizes)):
            before, after = "x" if k == 0 else f"h{k}", "h" if k == len(self.sizes) - 2 else f"h{k + 1}"
            lines.append(f"p{k} = MatMul({before}, w{k}) z{k} = Add(p{k}, b{k}) {after} = {self.layer}(z{k})")
            constants[f"w{k}"] = rng.standard_normal((inner, outer)) * np.sqrt(2 / inner)
            constants[f"b{k}"] = rng.standard_normal(outer) * self.bias
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
            g (float[{self.rows}, {self.sizes[0]}] x) => (float[{self.rows}, {self.sizes[-1]}] h, float[?, ?] y)
            {{ {" ".join(lines)} {MOMENTS.format(axis=self.axis)} y = Sqrt(v) }}"""
        model = onnx.parser.parse_model(text)
        model.graph.initializer.extend(numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items())
        return Program.from_proto(model)


NETS: Sequence[Net] = (
    *(Net((inputs, units)) for inputs, units in ((24, 16), (64, 16), (96, 64), (128, 64), (300, 256), (784, 256))),
    Net((784, 256), rows=4),
    Net((16, 64), axis=0, rows=8),
    Net((128, 64), layer="Tanh"),
    Net((128, 64), layer="Sigmoid"),
    *(Net(sizes) for sizes in ((64, 128, 16), (128, 256, 16), (256, 256, 32))),
    *(Net((units, units), bias=0.0) for units in (16, 64, 256)),
    *(Net((units, units)) for units in (16, 64, 256)),
    Net((60, 64), bias=0.0),
    *(Net(sizes) for sizes in ((16, 64), (64, 256))),
)


def _said(report: WarningReport) -> str:
    if not report.judged:
        return "proved absent"
    (warning,) = report.judged
    return warning.undecided if warning.witness is None else f"found by {warning.witness.way}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="weights of each network")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each witness")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for net in NETS:
        reports = (judge(net.program(seed), RANGES, witness_seconds=options.seconds) for seed in range(options.seeds))
        told = [_said(report) for report in reports]
        found, proved = (sum(words.startswith(word) for words in told) for word in ("found", "proved"))
        rows.append({"sizes": net.sizes, "layer": net.layer, "axis": net.axis, "bias": net.bias, "told": told})
        shape = " -> ".join(map(str, net.sizes))
        print(
            f"{shape:<18}{net.layer:<9}rows {net.rows} axis {net.axis} bias {net.bias}: "
            f"found {found}, proved absent {proved}, undecided {len(told) - found - proved}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
