"""A distribution that is installed beside irfuzz brings a target, a mutator and an oracle of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import irfuzz

pytestmark = pytest.mark.plugin

HERE = Path(__file__).parent

SCRIPT = """
import json, sys
import numpy as np, onnx.parser
from irfuzz.choices import Choices
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.oracle import judge
from irfuzz.spec import load_specs

def program(body):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> '
    return Program.from_proto(onnx.parser.parse_model(text + body))

chain = program("{ m = MatMul(x, w) y = Relu(m) }")
x = {"x": np.array([[1, -1]], np.float32)}
told = {"listed": [a.target.name for a in describe() if a.target.name == "numpy-chain" and not a.why_not]}
told["default"] = "numpy-chain" in [t.name for t in resolve(None)]
mutant = Engine(load_specs(), ["negate-first"]).mutate(chain, Choices.from_seed(0), edits=1)
told["edits"] = [e.mutator for e in mutant.edits]
told["operators"] = [n.op_type for n in mutant.program.nodes()]
with Runner(resolve(["reference", "numpy-chain"])) as runner:
    told["version"] = runner.targets[1].version
    told["chain"] = [r.outputs["y"].tolist() for r in runner.run(chain, x)]
    told["mutant"] = [r.outputs["y"].tolist() for r in runner.run(mutant.program, x)]
    told["gap"] = [r.exit for r in runner.run(program("{ m = MatMul(x, w) y = Softmax(m) }"), x)]
    root = program("{ m = MatMul(x, w) y = Sqrt(m) }")
    verdicts = judge(root, x, runner.run(root, x))
    told["verdicts"] = [(v.oracle, v.suspect, v.output) for v in verdicts]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of packages into which pip has put it, without an index."""
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("needs scikit-build-core, which builds it")
    place = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(place / "packages"), str(HERE)], check=True, cwd=place
    )
    return place / "packages"


def test_its_extensions_are_found_and_used(installed: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(installed), str(Path(irfuzz.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["listed"] == ["numpy-chain"]
    assert told["default"]
    assert told["version"] == "0.3"
    assert told["edits"] == ["negate-first"]
    assert told["operators"] == ["MatMul", "Neg", "Relu"]
    assert told["chain"] == [[[0.0, 0.0]]] * 2
    assert told["mutant"] == [[[2.0, 2.0]]] * 2
    assert told["gap"] == ["ok", "unsupported"]
    assert told["verdicts"] == [["nan-everywhere", True, "y"]]
