"""``irfuzz check`` from its words to its exit code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.cli.main import main
from irfuzz.execute.run_types import TargetRole
from irfuzz.execute.target_table import BUILT_IN

pytestmark = pytest.mark.backend

FAULT = "tests/planted_targets/kernels.py:FirstAxis"


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


@pytest.fixture
def model(tmp_path: Path) -> str:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (float[1, 4] y) { a = Tanh(x) y = Softmax(a) }'
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return str(path)


def test_agreement_and_what_it_saves(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, outputs = tmp_path / "in.npz", tmp_path / "out.npz"
    words = ["check", model, "--targets", "reference,ort:all", "--json"]
    assert main([*words, "--seeds", "3", "--save-inputs", str(saved), "--save-outputs", str(outputs)]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["agree"], first["samples"], first["located"]) == (True, 3, [])
    with np.load(saved) as arrays:
        assert arrays["x"].shape == (3, 1, 4)
    with np.load(outputs) as arrays:
        assert arrays["onnxruntime:all/y"].shape == arrays["reference/y"].shape == (3, 1, 4)
    assert main([*words, "--data", str(saved)]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["largest_difference"] == first["largest_difference"]


def drawn(page: Path) -> Any:
    """The data of a page's first map."""
    return json.loads(page.read_text().split('id="map0-data">')[1].split("</script>")[0])


@pytest.mark.planted
def test_disagreement_with_labels_and_map(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.eye(4, dtype=np.float32)[[0, 1, 2, 3]]
    np.savez(tmp_path / "data.npz", x=x, truth=np.arange(4))
    page = tmp_path / "map.html"
    words = ["check", model, "--targets", f"reference,{FAULT}", "--data", str(tmp_path / "data.npz")]
    assert main([*words, "--labels", "truth", "--map", str(page), "--causes"]) == 1
    text = capsys.readouterr().out
    assert "(AUDEE, algorithm 2)" in text
    assert "DISAGREE on 4 of 4 inputs" in text
    assert "class distance to the labels: 1 of 1 pairs" in text
    (graph,) = drawn(page)["graphs"]
    assert [node["op"] for node in graph["nodes"]] == ["Tanh", "Softmax"]
    assert [node.get("mark", [""])[0] for node in graph["nodes"]] == ["", "blamed"]  # Softmax differs alone


@pytest.mark.planted
def test_a_script_gives_data_and_saved_outputs_are_compared_with(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, saved = tmp_path / "data.py", str(tmp_path / "out.npz")
    script.write_text(
        "import numpy as np\n\ndef load_data():\n    while True:\n"
        "        yield {'x': np.eye(4, dtype=np.float32)[[1]], 'truth': np.array(1)}\n"
    )
    words = ["check", model, "--data-loader-script", str(script), "--samples", "2", "--labels", "truth", "--json"]
    assert main([*words, "--targets", "reference,ort:all", "--save-outputs", saved]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["samples"], len(first["inconsistencies"])) == (2, 1)
    assert main([*words, "--targets", "ort:disabled", "--load-outputs", saved]) == 0
    assert list(json.loads(capsys.readouterr().out)["targets"])[1:] == ["saved:reference", "saved:onnxruntime:all"]
    assert main([*words, "--targets", FAULT, "--load-outputs", saved, "--base", "saved:reference"]) == 1
    wrong = json.loads(capsys.readouterr().out)
    assert {d["target"] for d in wrong["disagreements"]} == {FAULT}
    assert wrong["located"] == []
    assert main([*words[:5], "3", "--targets", "ort:all", "--load-outputs", saved]) == 2
    assert "has 2 samples, and 3 are run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("yield {'x': np.ones((1, 4))}", "sample 0: 'x' is float64, expected float32"),
        ("yield {'w': 1}", "no array for input 'x'; it has w"),
        ("yield 1", "gave int as sample 0; expected a dict"),
        ("yield 1 / 0", "load_data() raised ZeroDivisionError"),
        ("return []", "gave no sample"),
    ],
)
def test_a_script_that_does_not_fit(
    model: str, body: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "data.py"
    script.write_text(f"import numpy as np\n\ndef load_data():\n    {body}\n")
    assert main(["check", model, "--data-loader-script", str(script)]) == 2
    got = capsys.readouterr()
    assert says in got.err
    assert (got.out, got.err.count("\n")) == ("", 1)


@pytest.mark.planted
def test_every_value_an_output_and_odd_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There are no hidden states to read, and still a map; it is well-formed whatever things are called."""
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (float[1, 4] y) { y = Softmax(x) }'
    model = onnx.parser.parse_model(text)
    model.graph.output[0].name = model.graph.node[0].output[0] = 'a<b>&"\x1b[31m'
    path, page = tmp_path / "m.onnx", tmp_path / "map.html"
    path.write_bytes(model.SerializeToString())
    words = ["check", str(path), "--targets", f"reference,{FAULT}", "--seeds", "1", "--map", str(page), "--causes"]
    assert main([*words, "--json"]) == 1
    (located,) = json.loads(capsys.readouterr().out)["located"]
    assert [layer["op"] for layer in located["map"]["layers"]] == ["Softmax"]
    assert [s["op"] for s in located["causes"]["sources"]] == ["Softmax"]
    (graph,) = drawn(page)["graphs"]
    assert [node["op"] for node in graph["nodes"]] == ["Softmax"]
    assert "a<b>" not in page.read_text()
    assert "\x1b" not in page.read_text()


def test_outputs_whose_shape_varies_are_saved(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (int64[2, N] y) { y = NonZero(x) }'
    path, saved = tmp_path / "m.onnx", str(tmp_path / "out.npz")
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    np.savez(tmp_path / "in.npz", x=np.triu(np.ones((4, 4), np.float32)))
    words = ["check", str(path), "--load-inputs", str(tmp_path / "in.npz"), "--targets", "ort:all"]
    assert main([*words[:-1], "reference,ort:all", "--save-outputs", saved]) == 0
    assert main([*words, "--load-outputs", saved]) == 0


def test_strings_are_data_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", str(root / "seeds/text.onnx"), "--data", str(root / "seeds/text.inputs.npz")]
    assert main([*words, "--targets", "reference,ort:all", "--samples", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--targets", "reference"], "at least two"),
        (["--rtol", "z:1"], "'z' is no output of the model"),
        (["--atol", "-1"], "NUMBER of at least 0"),
        (["--labels", "x.npy"], "--data is needed"),
        (["--metric", "mad"], "give --labels too"),
        (["--threshold", "nan"], "a number above 0"),
        (["--samples", "3"], "give --data too"),
        (["--data", "missing.npz"], "No such file"),
        (["--data", "README.md"], "not an npz"),
    ],
)
def test_bad_words(model: str, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", model, *words]) == 2
    got = capsys.readouterr()
    assert says in got.err
    assert got.out == ""


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros((2, 4)), "float64, expected float32"),
        (np.zeros((2, 5), np.float32), "expected samples of"),
        (np.zeros((0, 4), np.float32), "at least one sample"),
    ],
)
def test_data_that_does_not_fit(
    model: str, array: np.ndarray, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "data.npz", x=array)
    assert main(["check", model, "--data", str(tmp_path / "data.npz")]) == 2
    assert says in capsys.readouterr().err


def test_help_names_what_is_left_out_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    """The targets that are slow, as the table has them: by component if all of it is, by variant otherwise."""
    assert main(["check", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # lines break behind hyphens
    runtimes = [
        t for adapter in BUILT_IN for t in adapter.targets if t.role is TargetRole.RUNTIME and t.device == "cpu"
    ]
    for target in (t for t in runtimes if t.slow):
        whole = all(t.slow for t in runtimes if t.component == target.component)
        assert (target.component if whole else target.name) in told
    for flag in ("--strict", "--time TIME", "--timeout SECONDS", "--memory MIB"):
        assert flag in told


def test_first_line_tables_and_json_of_a_healthy_model(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", model, "--targets", "ort:disabled,ort:all,torch:eager", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{model}: 3 targets agree ")
    assert lines[0].endswith(" on 2 inputs")
    assert lines[1].startswith("inputs: x float32[1,4] in ")
    head = next(line for line in lines if line.startswith("output "))
    assert head.split()[1:10] == ["min", "max", "mean", "largest", "mean", "median", "99%", "atol", "rtol"]
    assert main(["check", model, "--targets", "ort:disabled,ort:all", "--seeds", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "2 targets agree" in told["headline"]
    assert "all of them onnxruntime" in told["headline"]
    (output,) = told["outputs"]
    assert (output["name"], output["count"], output["empty"]) == ("y", 8, False)
    assert [d["target"] for d in output["differences"]] == ["onnxruntime:all"]
    assert (told["causes"], told["unclear"], told["stopped"]) == ([], [], "")


@pytest.mark.parametrize(("body", "code"), [("y = Log(x)", 1), ("y = Exp(x)", 0)])
def test_strict_wants_something_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, code: int
) -> None:
    path = write(tmp_path, f"(float[1, 2] x) => (float[1, 2] y) {{ {body} }}")
    np.savez(tmp_path / "data.npz", x=np.full((2, 1, 2), -1, np.float32))
    words = ["check", str(path), "--targets", "ort:disabled,ort:all", "--data", str(tmp_path / "data.npz")]
    assert main(words) == 0
    assert ("NOTHING COMPARED of output 'y'" in capsys.readouterr().out.splitlines()[0]) is bool(code)
    assert main([*words, "--strict"]) == code


def test_a_broken_rule_is_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path,
        "(float[1, 64] x) => (float[a, b, c, d] y) { s = Constant<value = int64 {8}>() "
        "n = Constant<value = int64 {16}>() y = STFT(x, s, , n) }",
    )
    assert main(["check", str(path), "--targets", "ort:disabled,torch:eager", "--seeds", "1"]) == 1
    text = capsys.readouterr().out
    assert "breaks a rule of ONNX: STFT 'y': signal: expected rank 3" in text.splitlines()[0]
    assert "only onnxruntime:disabled accepts it" in text.splitlines()[0]
    assert "Traceback" not in text
    assert "IndexError" not in text  # what a lowering says of it is no help


def test_an_operator_that_nobody_has_is_the_only_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = onnx.helper.make_node("Unheard", ["x"], ["y"], domain="own.domain")
    sides = ([onnx.helper.make_tensor_value_info(name, 1, [2])] for name in "xy")
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own.domain", 1)]
    path = tmp_path / "unheard.onnx"
    onnx.save(
        onnx.helper.make_model(onnx.helper.make_graph([node], "g", *sides), opset_imports=opsets, ir_version=8), path
    )
    assert main(["check", str(path), "--targets", "ort:disabled,ort:all"]) == 2
    assert "no target runs the model (onnxruntime:disabled, onnxruntime:all: no own.domain.Unheard)" in (
        capsys.readouterr().err
    )


@pytest.mark.planted
def test_what_nobody_runs_names_inputs_and_flags(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    faults = "tests/planted_targets/faults.py:Raises,tests/planted_targets/faults.py:Choosy"
    assert main(["check", model, "--targets", faults, "--seeds", "1"]) == 2
    told = capsys.readouterr().err
    assert "no target runs the model" in told
    assert "drawn inputs: x float32[1,4] in " in told
    assert "(;" not in told
    assert "--data" in told


@pytest.mark.planted
def test_causes_are_one_line_each(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", model, "--targets", f"ort:disabled,torch:eager,{FAULT}", "--seeds", "3", "--no-localise"]
    assert main(words) == 1
    text = capsys.readouterr().out
    assert "1 of 3 targets DISAGREE on 3 of 3 inputs" in text.splitlines()[0]
    assert sum("output 'y' differs" in line for line in text.splitlines()) == 1
    assert "on 3 of 3 inputs, worst " in text


@pytest.mark.planted
def test_ctrl_c_prints_what_is_known(tmp_path: Path) -> None:
    """The second input keeps a target busy; what the first one showed is printed all the same."""
    path = write(tmp_path, "(float[1, 2] x) => (float[1, 2] y) { y = Tanh(x) }")
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time\nimport numpy as np\n\n\nclass Slow:\n    irfuzz_allow = ('files',)\n    count = 0\n\n"
        "    def run(self, model, inputs):\n        Slow.count += 1\n        if Slow.count > 1:\n"
        f"            open({str(tmp_path / 'busy')!r}, 'w').close()\n            time.sleep(60)\n"
        "        return {'y': np.tanh(inputs['x'])}\n"
    )
    words = ["check", str(path), "--targets", f"ort:disabled,{slow}:Slow", "--seeds", "2", "--timeout", "100"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "irfuzz", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            if (tmp_path / "busy").exists():
                break
            time.sleep(0.1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - began < 6  # two seconds, and what a busy machine adds
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "2 targets agree" in out.splitlines()[0]
    assert "on 1 of 2 inputs; stopped by Ctrl-C" in out.splitlines()[0]


def write(folder: Path, text: str) -> Path:
    path = folder / "m.onnx"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    path.write_bytes(model.SerializeToString())
    return path
