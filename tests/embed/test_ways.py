"""Each way of docs/embedding.md as a reader types it: in a folder of their own, with the code that stands there."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from irfuzz.choices import Choices
from irfuzz.embed.byte_choices import choices_from
from irfuzz.embed.single_call_model import OPSET, single_call
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.oracle import judge
from irfuzz.spec import load_specs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "embedding.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PLUGIN = "irfuzz.embed.pytest_plugin"
LOAD = () if any(e.value == PLUGIN for e in entry_points(group="pytest11")) else ("-p", PLUGIN)

CONVERTER = """
from onnx.reference import ReferenceEvaluator


def convert(model):
    if {"Gather", "Loop"} & {node.op_type for node in model.graph.node}:
        raise NotImplementedError
    session = ReferenceEvaluator(model)
    return lambda inputs: session.run(None, inputs)
"""

WRONG = """
    from onnx import helper
    for node in model.graph.node:
        if not node.attribute:
            node.attribute.append(helper.make_attribute("axis", DEFAULT))"""


def block(word: str) -> str:
    (found,) = [code for code in BLOCKS if word in code]
    return found


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=folder, env=env)


@pytest.mark.unit
def test_every_way_is_short() -> None:
    assert len(BLOCKS) >= 4
    for code in BLOCKS:
        assert len([line for line in code.splitlines() if line.strip()]) <= 20, code


@pytest.mark.backend
@pytest.mark.skipif(find_spec("atheris") is None, reason="needs Atheris: pip install atheris")
@pytest.mark.parametrize("consumer", ["onnx", "onnxruntime", pytest.param("onnx2torch", marks=pytest.mark.slow)])
def test_the_harness_runs_under_atheris(consumer: str, tmp_path: Path) -> None:
    if find_spec(consumer) is None:
        pytest.skip(f"needs {consumer}")
    (tmp_path / "harness.py").write_text(block("atheris.Fuzz()"))
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for spec in (load_specs().get(op, OPSET) for op in ("Relu", "Concat", "Softmax")):
        assert spec is not None
        model = single_call(spec, OPSET, Choices.from_seed(0), 0)
        assert model is not None
        (corpus / spec.op).write_bytes(model.SerializeToString())
    limits = ["-runs=25", "-seed=1", "-max_len=1000000", "-keep_seed=1"]
    done = run(tmp_path, "harness.py", consumer, str(corpus), *limits)
    if consumer == "onnx2torch" and "operator torchvision::nms does not exist" in done.stderr:
        (tmp_path / "harness.py").write_text(block("torch.library.define") + block("atheris.Fuzz()"))
        done = run(tmp_path, "harness.py", consumer, str(corpus), *limits)
    assert "found LLVMFuzzerCustomMutator" in done.stderr
    assert "Done 25 runs" in done.stderr, done.stderr[-2000:]
    assert done.returncode == 0


@pytest.mark.backend
def test_hypothesis_and_pytest_as_they_are_written(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "my_converter.py").write_text(CONVERTER)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    few = "from hypothesis import settings\n\nsettings.register_profile('few', max_examples=3, deadline=None)\n"
    few += "settings.load_profile('few')\n"
    for number, word in enumerate(("test_one_operator", "test_what_it_has")):
        (tmp_path / f"test_{number}.py").write_text(few + block(word))
    assert 'budget="20s"' in block("irfuzz_differential")
    (tmp_path / "test_2.py").write_text(block("irfuzz_differential").replace('budget="20s"', "programs=2"))
    done = run(tmp_path, "-m", "pytest", "-q", *LOAD)
    assert "4 passed" in done.stdout, done.stdout[-3000:]


@pytest.mark.plugin
def test_a_target_of_the_readers_own_is_blamed_for_its_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "my_module.py").write_text(block("class MyConverter"))
    program = Program.from_proto(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }'
        )
    )
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    told: list[list[tuple[str, bool]]] = []
    for axis in (-1, 0):
        code = CONVERTER.replace("convert(model):", f"convert(model):{WRONG.replace('DEFAULT', str(axis))}")
        (tmp_path / "my_converter.py").write_text(code)
        with Runner(resolve(["reference", "onnxruntime:disabled", "my_package.my_module:MyConverter"])) as runner:
            verdicts = judge(program, inputs, runner.run(program, inputs))
        told.append([(v.target, v.suspect) for v in verdicts])
    assert told == [[], [("my_package.my_module:MyConverter", False)]]


@pytest.mark.unit
def test_bytes_steer_a_mutator() -> None:
    program = Program.from_bytes((ROOT / "seeds" / "diabetes.onnx").read_bytes())
    engine = Engine(load_specs())
    drawn = [random.Random(seed).randbytes(300) for seed in (1, 2, 3, 3)]
    made = [engine.mutate(program, choices_from(data)) for data in drawn]
    texts = [mutant.to_bytes() if mutant else b"" for mutant in made]
    assert texts[2] == texts[3]
    assert len(set(texts)) == 3
