"""Scripts of findings in which a target contradicts itself carry the other way to run it, complete."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from irfuzz.findings.finding import TargetRun
from irfuzz.report.repro_scripts.two_form_script import with_both_forms

MODEL = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Abs (x) }'
)
FILES = {
    "repro.py": b"# The first is blamed, the others bear witness.\n",
    "report.md": b"",
    "original/model.onnx": MODEL.SerializeToString(),
}


def bundle(component: str, way: str) -> dict[str, bytes]:
    run = TargetRun(f"{component}+{way}", component, {"way": way})
    made = with_both_forms(FILES, run, [], {})
    return {name: data for name, data in made.items() if name.startswith("ways_")}


def test_a_way_of_onnxruntime_is_one_file() -> None:
    assert bundle("onnxruntime", "ort-format").keys() == {"ways_onnxruntime.py"}


@pytest.mark.backend
@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_ways_of_frameworks_need_nothing_beside_their_files(framework: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    for name, data in bundle(framework, "recurrent-layer").items():
        (tmp_path / name).write_bytes(data)
    code = f"""
import ways_{framework} as ways
run = lambda weights, inputs: {{"y": rnn(**inputs)}}
seen = []
def rnn(x, w, r, activations):
    return "steps"
def layer(kind, given, active):
    seen.append((kind, active))
    return None if given["w"].shape[0] == 2 else "layer"
class Array:
    def __init__(self, *shape): self.shape = shape
def call(directions, *names):
    inputs = dict(x=Array(2, 1, 3), w=Array(directions, 4, 3), r=None, activations=[(n, None, None) for n in names])
    return ways.through_layers({{"forward": run}}, {{}}, inputs, layer)
print(call(1, "relu"))
for given in ((1, "affine"), (2, "relu", "relu"), (2, "relu", "tanh")):
    try:
        call(*given)
    except NotImplementedError as error:
        print(error)
print(seen)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = "nothing in it is a layer of the framework's"
    assert done.stdout.splitlines() == ["{'y': 'layer'}", said, said, said, "[('rnn', 'relu'), ('rnn', 'relu')]"], (
        done.stderr
    )
