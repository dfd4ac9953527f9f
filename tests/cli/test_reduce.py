"""``irfuzz reduce`` from its words to its exit code: a command that judges models, and folders of findings."""

from __future__ import annotations

import fcntl
import importlib.util
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.cli.main import main
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.finding_folder_writer import write_bundle

pytestmark = pytest.mark.backend

TEXT = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 6] x, float[6, 6] w) => (float[2, 6] y)'
    " { a = Tanh(x) b = MatMul(a, w) c = Relu(b) d = Softmax <axis = 1> (c) e = Abs(d) y = Neg(e) }"
)
FAULT = "tests/planted_targets/kernels.py:FirstAxis"
CHECK = """
test -s "${2%.onnx}.onnx" -a -s "${2%model.onnx}inputs.npz" || exit 9
echo asked >> "$1"
grep -qa Relu "$2" && grep -qa Softmax "$2"
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return path


@pytest.fixture
def words(model: Path, tmp_path: Path) -> list[str]:
    (tmp_path / "check.sh").write_text(CHECK)
    check = f"sh '{tmp_path / 'check.sh'}' '{tmp_path / 'log'}'"
    return ["reduce", str(model), "--check", check, "-o", str(tmp_path / "out" / "small.onnx"), "--json"]


def test_a_command_judges(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--jobs", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    small = onnx.load(told["model"])
    assert [n.op_type for n in small.graph.node] == told["operators"] == ["Relu", "Softmax"]
    assert (told["before"], told["nodes"], told["complete"]) == (6, 2, True)
    assert [d.dim_value for d in small.graph.input[0].type.tensor_type.shape.dim] == [1, 1]
    assert not list(Path(told["state"]).glob("candidate-*"))
    asked = (tmp_path / "log").read_text().count("\n")
    assert asked >= told["tries"] > 3
    # The same call again has nothing left to do; another question is another reduction.
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 2
    assert (tmp_path / "log").read_text().count("\n") == asked
    assert main([*words, "--fail-is-interesting"]) == 2
    assert "another question" in capsys.readouterr().err


def test_a_long_model_of_open_sizes_takes_few_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its sizes are bound first: what has an open size cannot become an input in the middle."""
    names = ["x", *(f"t{i}" for i in range(94)), "y"]
    calls = " ".join(f"{b} = {'Softmax' if a == 't50' else 'Sin'}({a})" for a, b in itertools.pairwise(names))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[N, 6] x) => (float[N, 6] y) {{ {calls} }}'
    (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    (tmp_path / "check.sh").write_text(f'echo asked >> {tmp_path / "log"}; grep -qa Softmax "$1"')
    check = f"sh {tmp_path / 'check.sh'}"
    words = ["reduce", str(tmp_path / "m.onnx"), "--check", check, "-o", str(tmp_path / "small.onnx"), "--json"]
    assert main([*words, "--jobs", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"] == ["Softmax"]
    assert len((tmp_path / "log").read_text().splitlines()) <= 20


def test_inputs_have_to_fit(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros((3, 2, 6), np.float32), w=np.zeros((6, 6), np.float32))
    assert main([*words, "--inputs", str(tmp_path / "in.npz")]) == 2
    assert "'x' has shape [3, 2, 6], expected [2, 6]" in capsys.readouterr().err
    assert not (tmp_path / "out" / "small.onnx.state").exists()


def test_a_reduction_goes_on(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--time", "0.001s"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["complete"]
    assert main(words) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["complete"], again["nodes"]) == (True, 2)
    state = tmp_path / "out" / "small.onnx.state"
    (state / "candidate-left").mkdir()  # of one that was killed
    assert main(words) == 0
    assert not list(state.glob("candidate-*"))
    with (state / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(words) == 2
    assert "another irfuzz process" in capsys.readouterr().err
    failed = (state / "failed.txt").read_text().split()
    assert len(failed) == len(set(failed)), "what failed was asked again"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--check": "no-such-program-at-all"}, "expected a program that can be run"),
        ({"--check": "false"}, "is not interesting as it is: --check 'false' exits with 1"),
        ({"-o": None}, "expected -o OUT"),
    ],
)
def test_what_cannot_be_reduced(
    words: list[str], change: dict[str, str | None], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for flag, value in change.items():
        at = words.index(flag)
        words[at : at + 2] = [] if value is None else [flag, value]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert not list(tmp_path.glob("out/*")), "the same --out could not be used with another --check"


def test_failing_can_be_what_is_interesting(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words[words.index("--check") + 1] = "false"
    assert main([*words, "--fail-is-interesting"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 1


@pytest.mark.planted
def test_a_finding(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    folder = tmp_path / "0001"
    seed = Program.from_proto(onnx.parser.parse_model(TEXT))
    rng = np.random.default_rng(0)
    names = {"x": (2, 6), "w": (6, 6)}
    inputs = {name: rng.normal(size=shape).astype(np.float32) for name, shape in names.items()}
    with Runner(resolve([FAULT, "reference", "onnxruntime:disabled"])) as runner:
        for mutant in mutate_many([("seed", seed)], seed=3, n=40, mutators=["insert-layer"], edits=3):
            watch = FaultPredicate([runner], Verdict("", Symptom.DIFFERENCE, FAULT), mutant.program)
            verdicts, results = watch.judged(mutant.program, inputs)
            found = [v for v in verdicts if (v.symptom, v.target, v.suspect) == (Symptom.DIFFERENCE, FAULT, False)]
            if found:
                break
    case = FailingCase(mutant.program, inputs)
    write_bundle(folder, Finding(found[0], case, case, results, trace=mutant.trace, label="mine").signed())
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "seed.onnx").write_bytes(seed.to_bytes())
    words = ["reduce", str(folder), "--original", "--seeds", str(seeds), "--jobs", "2", "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["nodes"], told["edits"], told["complete"], told["shown"]) == (1, 0, True, True)
    about = json.loads((folder / "finding.json").read_text())
    assert (about["symptom"], about["target"], about["label"]) == ("difference", FAULT, "mine")
    assert about["signature"] == told["signature"] == f"difference|{FAULT}|Softmax|"
    assert json.loads((folder / "trace.json").read_text())["edits"] == []
    if importlib.util.find_spec("torch") is not None:  # the rule that found it is the one that makes it small
        assert found[0].rule == about["verdict"]["evidence"]["rule"] == "float64 shadow"
    for name in ("model.onnx", "inputs.npz"):  # as if it had never been made small
        (folder / name).write_bytes((folder / "original" / name).read_bytes())
    shutil.rmtree(tmp_path / "0001.state")
    for before in (len(mutant.program.graph), 1):  # its folder is replaced, and the same call goes on there
        assert main(["reduce", str(folder), "--jobs", "1", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["before"], told["nodes"]) == (before, 1)
    assert main([*words[:1], str(tmp_path / "nothing")]) == 2
    assert "not the folder of a finding" in capsys.readouterr().err
    for out, said in ((seeds, "holds files that are no finding"), (seeds / "seed.onnx", "is a file")):
        assert main([*words[:2], "-o", str(out)]) == 2
        assert said in capsys.readouterr().err
    assert (seeds / "seed.onnx").is_file()
