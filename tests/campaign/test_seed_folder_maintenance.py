"""Folders of seeds: what is listed is there, what is added is alive and once, and nothing half-made stays."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.campaign.corpus import seed_folder_maintenance
from irfuzz.campaign.corpus.seed_candidate_check import examine
from irfuzz.campaign.corpus.seed_folder_maintenance import Provenance, add_seed, build_seeds, list_seeds
from irfuzz.cli.main import main
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.ir.program import Program
from irfuzz.shipped_folders import seeds_dir

pytestmark = pytest.mark.backend

ENTRY = """schema = 1
[[seeds]]
name = "a"
file = "a.onnx"
origin = "o"
licence = "MIT"
sha256 = "0"
opset = 17
"""
ABOUT = Provenance("written by hand", "MIT", 'a "paper", 2026', "two\ttabs")


def program(body: str, signature: str = "(float[n, 3] x) => (float[n, 3] y)") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {{ {body} }}'
    return Program.from_bytes(onnx.parser.parse_model(text).SerializeToString())


def added(folder: Path, name: str, model: Program, **options: object) -> Path:
    settings = {"max_bytes": 300_000, "ranges": {}, **options}
    return add_seed(folder, name, examine(model, **settings), ABOUT)  # type: ignore[arg-type]


def test_the_shipped_seeds_are_what_their_index_says() -> None:
    found = list_seeds(seeds_dir())
    assert {"lenet5", "transformer"} <= {s.name for s in found}
    assert all(s.verified for s in found)
    lenet = next(s for s in found if s.name == "lenet5")
    assert lenet.bytes == (seeds_dir() / "lenet5.onnx").stat().st_size
    assert (lenet.nodes, lenet.opset, lenet.licence) == (12, 17, "Apache-2.0")


def test_a_changed_file_and_a_missing_one_are_not_verified(tmp_path: Path) -> None:
    for name in ("index.toml", "lstm.onnx", "qcnn.onnx"):
        shutil.copy(seeds_dir() / name, tmp_path)
    with (tmp_path / "qcnn.onnx").open("ab") as file:
        file.write(b"\0")
    states = {s.name: (s.verified, s.bytes > 0) for s in list_seeds(tmp_path)}
    assert states["lstm"] == (True, True)
    assert states["qcnn"] == (False, True)
    assert states["lenet5"] == (False, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("schema = [", "not TOML"),
        ("schema = 9", "schema is 9; expected 1"),
        ('schema = 1\n[[seeds]]\nname = "a"', "seed 'a' has no file, licence, nodes"),
        ("schema = 1\nseeds = 3", "expected a table \\[\\[seeds\\]\\] for each seed, got seeds = 3"),
        ('schema = 1\nseeds = ["a"]', "expected a table .* got seeds = \\['a'\\]"),
        (f"{ENTRY}nodes = 'x'\noperators = []", "seed 'a': nodes is 'x'; expected a whole number"),
        (f"{ENTRY}nodes = 1\noperators = [2]", "seed 'a': operators are \\[2\\]; expected names"),
    ],
)
def test_an_index_that_cannot_be_read_says_why(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "index.toml").write_text(text)
    with pytest.raises(UsageError, match=why):
        list_seeds(tmp_path)


def test_an_index_names_files_of_its_own_folder_only(tmp_path: Path) -> None:
    text = (seeds_dir() / "index.toml").read_text().replace('file = "lstm.onnx"', 'file = "../lstm.onnx"')
    (tmp_path / "index.toml").write_text(text)
    with pytest.raises(UsageError, match=r"'\.\./lstm\.onnx' is in another folder"):
        list_seeds(tmp_path)


def test_an_added_model_is_listed_with_samples_and_ranges(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "seeds"
    path = added(folder, "softsign", program("y = Softsign(x)"), ranges={"x": (-0.5, 2.0)})
    assert path == folder / "softsign.onnx"
    (listed,) = list_seeds(folder)
    assert (listed.name, listed.nodes, listed.operators, listed.verified) == ("softsign", 1, ("Softsign",), True)
    (entry,) = tomllib.loads((folder / "index.toml").read_text())["seeds"]
    assert (entry["reference"], entry["title"]) == (ABOUT.reference, ABOUT.title)
    assert entry["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["n", 3], "low": -0.5, "high": 2.0}]
    assert entry["outputs"] == [{"name": "y", "dtype": "float32", "shape": ["n", 3]}]
    data = folder / entry["data"]["file"]
    assert hashlib.sha256(data.read_bytes()).hexdigest() == entry["data"]["sha256"]
    with np.load(data, allow_pickle=False) as samples:
        assert samples["x"].shape == (entry["data"]["samples"], 2, 3)
        assert -0.5 <= samples["x"].min() < samples["x"].max() <= 2.0


def test_without_ranges_they_are_those_of_what_irfuzz_draws(tmp_path: Path) -> None:
    model = program("y = Gather(w, i)", "(int64[4] i) => (float[4] y) <float[3] w = {1.0, 2.0, 4.0}>")
    added(tmp_path, "pick", model)
    (entry,) = tomllib.loads((tmp_path / "index.toml").read_text())["seeds"]
    assert -3 <= entry["inputs"][0]["low"] <= 0
    assert 0 < entry["inputs"][0]["high"] <= 2


def test_operators_of_inner_graphs_are_listed(tmp_path: Path) -> None:
    then, other = "t () => (float[3] a) { a = Exp(x) }", "e () => (float[3] b) { b = Abs(x) }"
    body = f"y = If(c) <then_branch = {then}, else_branch = {other}>"
    added(tmp_path, "branches", program(body, "(bool c, float[3] x) => (float[3] y)"))
    assert list_seeds(tmp_path)[0].operators == ("Abs", "Exp", "If")


def test_other_entries_stay_as_they_were(tmp_path: Path) -> None:
    before = (seeds_dir() / "index.toml").read_text()
    (tmp_path / "index.toml").write_text(before)
    added(tmp_path, "mine", program("y = Softplus(x)"))
    assert (tmp_path / "index.toml").read_text().startswith(before)
    assert [s.name for s in list_seeds(tmp_path)][-1] == "mine"


def test_a_model_is_in_a_folder_once(tmp_path: Path) -> None:
    added(tmp_path, "one", program("a = Neg(x) y = Exp(a)"))
    names = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(InvalidProgram, match="has this model already, as one"):
        added(tmp_path, "two", program("b = Neg(x) y = Exp(b)"))
    with pytest.raises(UsageError, match="has a seed of that name"):
        added(tmp_path, "one", program("y = Abs(x)"))
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    added(tmp_path, "three", program("b = Exp(x) y = Neg(b)"))


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        (program("y = Mul(x, z)", "(float[3] x) => (float[3] y) <float[3] z = {0, 0, 0}>"), {}, "no output moves"),
        (program("y = Neg(x) c = Neg(w)", "(float[3] x) => (float[3] y, float[1] c) <float[1] w = {1}>"), {}, "'c' is"),
        (program("s = Shape(u) y = Neg(x)", "(float[3] x, float[3] u) => (float[3] y, int64[1] s)"), {}, "input 'u'"),
        (program("y = Neg(w)", "() => (float[1] y) <float[1] w = {1}>"), {}, "has no inputs"),
        (program("y = Neg(x)"), {"max_bytes": 20}, "a seed has at most 20"),
        (program("y = Reshape(x, s)", "(float[6] x) => (float[4, 2] y) <int64[2] s = {4, 2}>"), {}, "cannot be run"),
    ],
)
def test_what_is_no_seed(model: Program, options: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProgram, match=why):
        added(tmp_path, "no", model, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_range_of_no_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--range z: no such input; the model has x"):
        added(tmp_path, "a", program("y = Neg(x)"), ranges={"z": (0.0, 1.0)})


def test_nothing_stays_of_what_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(tmp_path, "one", program("y = Neg(x)"))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    write = seed_folder_maintenance._write

    def full(path: Path, data: bytes) -> None:
        if path.name == "index.toml":
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(seed_folder_maintenance, "_write", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        added(tmp_path, "two", program("y = Abs(x)"))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_build_compares_with_what_is_shipped(tmp_path: Path) -> None:
    """Scripts that write one file as recorded and another one not."""
    (tmp_path / "seeds" / "scripts").mkdir(parents=True)
    for name in ("index.toml", "lstm.onnx", "lstm.inputs.npz", "qcnn.onnx", "qcnn.inputs.npz"):
        shutil.copy(seeds_dir() / name, tmp_path / "seeds")
    (tmp_path / "seeds" / "__init__.py").touch()
    (tmp_path / "seeds" / "scripts" / "__init__.py").touch()
    script = tmp_path / "seeds" / "scripts" / "build.py"
    script.write_text(
        "import sys, shutil, pathlib\n"
        "*names, _, out = sys.argv[1:]\n"
        "pathlib.Path(out).mkdir(exist_ok=True)\n"
        "for name in names:\n"
        "    for end in ('.onnx', '.inputs.npz'):\n"
        "        shutil.copy(f'seeds/{name}{end}', out)\n"
        "open(f'{out}/qcnn.onnx', 'ab').write(b'x')\n"
        "print('built', *names)\n"
    )
    told: list[str] = []
    same = build_seeds(tmp_path / "seeds", tmp_path / "out", ["lstm", "qcnn"], told.append)
    assert same == {"lstm": True, "qcnn": False}
    assert told == ["built lstm qcnn"]
    script.write_text("raise SystemExit('no torch here')")
    with pytest.raises(UsageError, match=r"the scripts failed \(no torch here\)"):
        build_seeds(tmp_path / "seeds", None, ["lstm"], told.append)
    with pytest.raises(UsageError, match="--only nonsense: no such seed"):
        build_seeds(tmp_path / "seeds", None, ["nonsense"], told.append)
    with pytest.raises(UsageError, match="these are the shipped seeds"):
        build_seeds(tmp_path / "seeds", tmp_path / "seeds", ["lstm"], told.append)
    script.unlink()
    with pytest.raises(UsageError, match="in a checkout only"):
        build_seeds(tmp_path / "seeds", None, ["lstm"], told.append)


def test_the_command_adds_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "tiny.onnx"
    model.write_bytes(program("y = Erf(x)").to_bytes())
    words = ["seeds", "add", str(model), "--dir", str(tmp_path / "s"), "--origin", "mine", "--licence", "MIT"]
    assert main([*words, "--range", "x=-1,1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranges"] == {"x": [-1.0, 1.0]}
    assert main([*words, "--name", "other"]) == 2
    assert "tiny.onnx: " in (told := capsys.readouterr().err)
    assert "has this model already, as tiny" in told
    assert main([*words[:3], "--dir", str(tmp_path / "t"), *words[5:], "--range", "x=-1:1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranges"] == {"x": [-1.0, 1.0]}, "as it was written before"
    assert main(["seeds", "list", "--dir", str(tmp_path / "s"), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["name"] == "tiny"
    assert listed["verified"]
    (tmp_path / "s" / "tiny.onnx").unlink()
    assert main(["seeds", "--dir", str(tmp_path / "s")]) == 1
    assert "MISSING" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["add"], "expected MODEL"),
        (["add", "m.onnx", "--dir", "s", "--origin", "x"], "expected --licence"),
        (["add", "m.onnx", "--dir", "s", "--range", "x=2:1"], "--range: expected a range such as image=0,1"),
        (["list", "m.onnx"], "expected no model"),
        (["list", "--only", "lstm"], "--only belongs to seeds build"),
        (["add", "none.onnx", "--dir", "s", "--origin", "x", "--licence", "y"], "none.onnx: No such file"),
        (["grow"], "invalid choice: 'grow'"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["seeds", *words]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert len(told.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
