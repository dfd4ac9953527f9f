"""The examples of docs/extending.md work as they stand there, and are as short as they claim to be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import irfuzz
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.runs_to_judge import Case, Leaf
from irfuzz.oracle.verdict import Symptom
from irfuzz.shipped_folders import ops_dir, seeds_dir
from irfuzz.spec import Specs, check_call, load_specs, sample_call

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 34


def example(language: str, containing: str, name: str = "extending.md") -> str:
    """The one block of code of a page that holds a text."""
    page = (ROOT / "docs" / name).read_text()
    (code,) = [code for kind, code in FENCE.findall(page) if kind == language and containing in code]
    assert len(code.splitlines()) <= MOST_LINES
    return code


def parsed(graph: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {graph}'))


def python(
    words: list[str], cwd: Path, *path: Path, environment: Mapping[str, str] | None = None, code: int = 0
) -> str:
    """Run Python with the irfuzz that is tested; what it says."""
    result = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": ":".join(map(str, [*path, Path(irfuzz.__file__).parents[1]])),
        },
        check=False,
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout


def offered(folder: Path, module: str, code: str, group: str, line: str) -> None:
    """Install a distribution with one module and one entry point, in ``folder / "path"``."""
    package = folder / "path" / "my_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / f"{module}.py").write_text(code)
    about = folder / "path" / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{line}\n")


@pytest.mark.backend
def test_an_operator(tmp_path: Path) -> None:
    """Without its file it is never drawn; with it valid calls are, they run, and broken ones are refused."""
    ops = tmp_path / "ops"
    shutil.copytree(ops_dir(), ops)
    (ops / "ai.onnx" / "SpaceToDepth.toml").unlink()
    before = Specs(ops).get("SpaceToDepth", 17)
    assert before is not None
    assert sample_call(before, {}, Choices.from_seed(0)) is None
    (ops / "SpaceToDepth.toml").write_text(example("toml", 'op = "SpaceToDepth"'))
    spec = Specs(ops).get("SpaceToDepth", 17)
    assert spec is not None
    sizes = set()
    for seed in range(20):
        call = sample_call(spec, {}, Choices.from_seed(seed))
        assert call is not None
        assert call.inputs[0] is not None
        fact = call.inputs[0].fact
        assert isinstance(fact, TensorFact)
        assert not check_call(spec, [fact], call.attrs)
        size = call.attrs["blocksize"]
        sizes.add(size)
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=size)],
            "g",
            [onnx.helper.make_tensor_value_info("x", fact.dtype.value, fact.shape)],
            [onnx.helper.make_tensor_value_info("y", fact.dtype.value, None)],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        assert fact.static_shape is not None
        n, c, y, x = fact.static_shape
        (got,) = ReferenceEvaluator(model).run(None, {"x": np.zeros((n, c, y, x), fact.dtype.numpy())})
        assert got.shape == (n, c * size**2, y // size, x // size)
        assert check_call(spec, [fact], {"blocksize": 1000})
    assert len(sizes) > 1


@pytest.mark.plugin
@pytest.mark.timeout(300)
def test_an_operator_of_a_domain_of_ones_own(tmp_path: Path) -> None:
    """One file: its calls are drawn, run on classes of one's own, and the fault in one of these is found."""
    (tmp_path / "my_ops").mkdir()
    (tmp_path / "my_ops" / "Blend.toml").write_text(example("toml", 'domain = "test.custom"'))
    (tmp_path / "blend.py").write_text(example("python", "class Wrong(Right)"))
    shutil.copy(seeds_dir() / "lenet5.onnx", tmp_path / "model.onnx")
    export, *commands = example("text", "IRFUZZ_OPS").splitlines()
    name, _, value = export.removeprefix("export ").partition("=")
    told = {
        words[1]: python(
            ["-m", "irfuzz", *words[1:], *MORE.get(words[1], ())],
            tmp_path,
            environment={name: value},
            code=int(words[1] == "fuzz"),  # there are findings
        )
        for words in map(str.split, commands)
    }
    assert "alpha: FLOAT, default 0.5" in told["ops"]
    assert "calls are drawn with:\n  T in double, float\n" in told["ops"]
    assert "ONNXRuntime" not in told["ops"]
    for folder, count in (("models", 10), ("mutants", 10)):
        models = [onnx.load(path) for path in sorted((tmp_path / folder).glob("*.onnx"))]
        assert len(models) == count
        assert any(node.domain == "test.custom" for model in models for node in model.graph.node)
    assert re.search(r"blend\.py:Wrong gives .* instead of .* in test\.custom\.Blend", told["fuzz"])
    found = list((tmp_path / "campaign" / "findings").iterdir())
    assert found
    assert all("Blend" in finding.joinpath("report.md").read_text() for finding in found)


MORE = {"fuzz": ("--out", "campaign", "--mutators", "insert-layer", "--seed", "1", "--jobs", "1", "--time", "4m")}
"""What makes a documented command the same everywhere."""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("containing", "place", "page"),
    [
        ("class NegateFirst", "irfuzz/mutate/negate_first.py", "extending.md"),
        ("def _inverted", "irfuzz/rewrite/bits.py", "extending.md"),
        ("def _of_strings", "irfuzz/oracle/strings.py", "extending.md"),
        ("def too_slow", "irfuzz/oracle/too_slow.py", "oracles.md"),
        ("class Evaluator", "irfuzz/execute/evaluator.py", "extending.md"),
    ],
)
def test_examples_pass_the_linters(containing: str, place: str, page: str) -> None:
    """As modules of irfuzz that the project's own rules hold for."""
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", place, "-"]
        code = example("python", containing, page)
        linted = subprocess.run(command, cwd=ROOT, input=code, capture_output=True, text=True, check=False)
        assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.unit
def test_a_rewrite() -> None:
    """It fits integers alone, and the form computes the same."""
    made: dict[str, Any] = {}
    exec(compile(example("python", "def _inverted"), "bits.py", "exec"), made)
    (rewrite,) = made["REWRITES"]
    program = parsed("g (int64[3] x, float[3] f) => (int64[3] y, float[3] h) { y = Abs(x) h = Neg(f) }")
    before = onnx.load_model_from_string(program.to_bytes())
    sites = rewrite.sites(program, load_specs())
    assert set(sites) <= {"x", "y"}
    assert sites
    assert rewrite.apply(program, load_specs(), sites[0], Choices.from_seed(0)) == f"{sites[0]}: x -> ~~x"
    after = onnx.load_model_from_string(program.to_bytes())
    assert sum(node.op_type == "BitwiseNot" for node in after.graph.node) == 2
    inputs = {"x": np.array([-(2**63) + 1, -1, 7]), "f": np.ones(3, np.float32)}
    for one, two in zip(*(ReferenceEvaluator(m).run(None, inputs) for m in (before, after)), strict=True):
        np.testing.assert_array_equal(one, two)


ORACLES = """
from irfuzz.oracle.oracle_table import oracles
one = oracles()["too-slow"]
print(f"{one.__module__}.{one.__name__}")
"""


@pytest.mark.plugin
def test_an_oracle(tmp_path: Path) -> None:
    """Another distribution offers it, and it tells who is slow from who is not."""
    code = example("python", "def too_slow", "oracles.md")
    made: dict[str, Any] = {}
    exec(compile(code, "too_slow.py", "exec"), made)
    quick, usual, slow = (
        RunResult(Target(f"{n}:x", n), Stage.RUN, Exit.OK, outputs={}, seconds=seconds)
        for n, seconds in (("one", 0.01), ("two", 1.0), ("three", 1.01))
    )
    program = parsed("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    verdicts = list(made["too_slow"](Case(program, {}, [quick, usual, slow])))
    assert [(v.oracle, v.target, v.suspect) for v in verdicts] == [("too-slow", "three:x", True)]
    offered(tmp_path, "oracles", code, "irfuzz.oracles", "too-slow = my_package.oracles:too_slow")
    assert python(["-c", ORACLES], tmp_path, tmp_path / "path").strip() == "my_package.oracles.too_slow"


@pytest.mark.plugin
def test_a_target(tmp_path: Path) -> None:
    """The class runs beside a runtime, by its file and by the name under which another distribution offers it."""
    code = example("python", "class Evaluator")
    (tmp_path / "evaluator.py").write_text(code)
    offered(tmp_path, "targets", code, "irfuzz.targets", "mine = my_package.targets:Evaluator")
    shutil.copy(seeds_dir() / "lenet5.onnx", tmp_path / "model.onnx")
    words = example("text", "evaluator.py:Evaluator").split()[1:]
    for target in ("evaluator.py:Evaluator", "mine"):
        said = json.loads(
            python(
                ["-m", "irfuzz", *(w.replace("evaluator.py:Evaluator", target) for w in words), "--json"],
                tmp_path,
                tmp_path / "path",
            )
        )
        assert target in json.dumps(said)


@pytest.mark.unit
@pytest.mark.parametrize(("dtype", "excused"), [(object, True), (np.float32, False)])
def test_an_excuse(dtype: type, excused: bool) -> None:
    """It applies to strings alone."""
    made: dict[str, Any] = {}
    exec(compile(example("python", "def _of_strings"), "strings.py", "exec"), made)
    targets = tuple(Target(name=f"{n}:x", component=n) for n in ("one", "two", "three"))
    program = parsed("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    case = Case(program, {"x": np.ones(2, np.float32)}, [])
    leaf = Leaf("y", "y", program.value("y"), {target.name: np.zeros(2, dtype) for target in targets})
    dispute = Dispute(case, Symptom.DIFFERENCE, targets[0], targets[1:], leaf=leaf)
    assert bool(made["EXCUSE"].why(dispute)) == excused
    assert made["EXCUSE"].about == "Strings of which nothing says how they are encoded."


MUTATE = """
import sys
from irfuzz.cli.main import main
sys.exit(main(["mutate", "seed.onnx", "-o", "mutants", "-n", "3", "--seed", "1", "--mutators", "negate-first"]))
"""


@pytest.mark.plugin
def test_a_mutator(tmp_path: Path) -> None:
    """Another distribution offers it, ``irfuzz mutate`` uses it, and the mutants are valid."""
    code, entry = example("python", "class NegateFirst"), example("toml", "irfuzz.mutators")
    (group, entry_line) = entry.split("\n")[:2]
    assert group == '[project.entry-points."irfuzz.mutators"]'
    offered(tmp_path, "mutators", code, "irfuzz.mutators", entry_line.replace('"', ""))
    shutil.copy(seeds_dir() / "lenet5.onnx", tmp_path / "seed.onnx")
    python(["-c", MUTATE], tmp_path, tmp_path / "path")
    mutants = sorted((tmp_path / "mutants").glob("*.onnx"))
    assert len(mutants) == 3
    for path in mutants:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        assert any(node.op_type == "Neg" for node in model.graph.node)


@pytest.mark.backend
def test_a_seed(tmp_path: Path) -> None:
    """Two builds give the same bytes and an entry in the index, and the output depends on the input."""
    pytest.importorskip("torch")
    scripts = tmp_path / "seeds" / "scripts"
    shutil.copytree(ROOT / "seeds" / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "seeds" / "__init__.py").touch()
    (scripts / "wave.py").write_text(example("python", 'Graph("wave"'))
    build = (scripts / "build.py").read_text()
    head = "BUILDERS: dict[str, str] = {\n"
    assert head in build
    (scripts / "build.py").write_text(build.replace(head, f'{head}    "wave": "wave:build",\n'))
    for out in ("one", "two"):
        python(["-m", "seeds.scripts.build", "wave", "-o", out], tmp_path, tmp_path)
    one, two = ((tmp_path / out / "wave.onnx").read_bytes() for out in ("one", "two"))
    assert one == two
    assert 'name = "wave"' in (tmp_path / "one" / "index.toml").read_text()
    session = ReferenceEvaluator(onnx.load_from_string(one))
    with np.load(tmp_path / "one" / "wave.inputs.npz") as samples:
        (a,), (b,) = (session.run(None, {"sound": sound}) for sound in samples["sound"][:2])
    assert np.abs(a - b).max() > 1e-3
