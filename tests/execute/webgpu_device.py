"""Prints after each of some programs how it ended and whether the WebGPU provider's device is open.

Runs in the provider's environment. The programs are one that runs, one that it has no kernel for, one of which it makes
an invalid shader (docs/bugs/303), and the first again.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import onnx.parser

TOOL = Path(__file__).parents[2] / "irfuzz" / "execute" / "workers" / "tools" / "webgpu.py"

FINE = "g (float[1,4] x, float[2,1] w) => (float[2,4] y) { y = Add(x, w) }"
GAP = "g (float[1,4] x, float[2,1] w) => (float[1,4] y) { y = Bernoulli(x) }"
FAULT = "g (float[1,4] x, float[2,1] w) => (float[2,4] y) { y = Pow(x, w) }"


def main() -> None:
    """Print one line a program."""
    spec = importlib.util.spec_from_file_location("webgpu", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.warm()
    inputs = {"x": np.ones((1, 4), "float32"), "w": np.ones((2, 1), "float32")}
    for text in (FINE, GAP, FAULT, FINE):
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        how = "ran"
        try:
            tool.load(model.SerializeToString())(inputs)
        except Exception as error:
            how = "gap" if tool.GAP.search(str(error)) else "fault"
        sys.stdout.write(f"{how} {'open' if tool._held else 'closed'}\n")


if __name__ == "__main__":
    main()
