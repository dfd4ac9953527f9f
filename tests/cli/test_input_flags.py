"""The flags that say what inputs are: the same on every command, in ``irfuzz.toml`` too, and honoured to the end."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.user_given_seed_inputs import KEY
from irfuzz.cli.main import main
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_domain import input_domain, input_sizes
from irfuzz.ir.program import Program
from irfuzz.store.database import Database
from irfuzz.store.npz_tensors import unpack

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3,H,W] image, float[?,2] extra) => (float[N,P] y, float[?,2] z) <float[4,3,5,5] k> {
  c = Conv<strides=[2, 2]>(image, k) r = Relu(c) y = Flatten(r) z = Neg(extra)
}"""
TWO = ["--targets", "reference,onnxruntime:disabled"]
SAID = ["--input-shapes", "image:1x3x12x16", "extra:[7,2]", "--range", "image=0,255"]
SHAPES = {"image": (1, 3, 12, 16), "extra": (7, 2)}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that runs on images of five rows and more alone; the working folder is its own."""
    proto = onnx.parser.parse_model(TEXT)
    kernel = np.random.default_rng(0).standard_normal((4, 3, 5, 5), np.float32)
    del proto.graph.initializer[:]
    proto.graph.initializer.append(onnx.numpy_helper.from_array(kernel, "k"))
    onnx.save(proto, tmp_path / "open.onnx")
    monkeypatch.chdir(tmp_path)
    return Path("open.onnx")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    image, extra = rng.random((3, 3, 12, 16), np.float32), rng.random((3, 7, 2), np.float32)
    np.savez(tmp_path / "data.npz", image=image, extra=extra, truth=np.arange(3))
    return Path("data.npz")


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(value) for name, value in unpack(path.read_bytes()).items()}


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The line of a command that ends with 2 and leaves nothing."""
    before = sorted(p.name for p in Path.cwd().iterdir())
    assert main([str(word) for word in words]) == 2
    got = capsys.readouterr()
    assert (got.out, sorted(p.name for p in Path.cwd().iterdir())) == ("", before)
    return got.err.splitlines()[-1].removeprefix("irfuzz: error: ")


# ---- what is wrong ------------------------------------------------------------------------------

COMMANDS: dict[str, list[object]] = {
    "check": ["check", "open.onnx", *TWO],
    "fuzz": ["fuzz", "open.onnx", "--time", "5s", *TWO],
    "equiv": ["equiv", "open.onnx", "--targets", "reference", "-o", "kept"],
    "evolve": ["evolve", "open.onnx", "--targets", "reference", "-o", "kept"],
    "synthesize": ["synthesize", "open.onnx", "-o", "small"],
    "mutate": ["mutate", "open.onnx", "-o", "mutants"],
    "analyze": ["analyze", "open.onnx", "-o", "kept"],
    "reduce": ["reduce", "open.onnx", "--check", "true", "-o", "small.onnx"],
}


@pytest.mark.unit
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_refuses_what_is_wrong_and_writes_nothing(
    model: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = COMMANDS[command]
    assert refused(capsys, *words, "--size", "Q=4") == "--size Q=4: no such dimension 'Q'; the model has 'N', 'H', 'W'"
    said = refused(capsys, *words, "--input-shapes", "image:1x4x12x16")
    assert said == "--input-shapes image:1x4x12x16: axis 1 of input 'image' is fixed at 3 ([N,3,H,W]), got 4"
    assert "no such input" in refused(capsys, *words, "--range", "imag=0,1")
    (Path.cwd() / "irfuzz.toml").write_text("[inputs]\nsize = 1\n")
    assert "unknown key size in table [inputs]" in refused(capsys, *words)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--size", "H=0"], "--size: expected DIM=N with N of at least 1, got 'H=0'"),
        (["--size", "H"], "--size: expected DIM=N"),
        (["--size", "H=4", "H=5"], "--size H=5: dimension 'H' is 5 here and 4 in --size H=4"),
        (["--input-shapes", "image"], "--input-shapes: expected NAME:1x3x48x160 or NAME:[1,3,48,160], got 'image'"),
        (["--input-shapes", "image:1x3x0x5"], "--input-shapes: 'image': expected sizes of at least 1, got 1x3x0x5"),
        (["--input-shapes", "image:1x3x5"], "input 'image' has rank 4 ([N,3,H,W]), got 3 sizes"),
        (["--size", "H=4", "--input-shapes", "image:1x3x5x5"], "dimension 'H' is 5 here and 4 in --size H=4"),
        (["--range", "image=2,1"], "--range: expected NAME=LO,HI with LO <= HI, got 'image=2,1'"),
        (["--ranges", "gone.toml"], "--ranges gone.toml: cannot be read: No such file"),
        (["--data", "gone.npz"], "--data gone.npz: No such file"),
        (["--samples", "2"], "--samples: it is about data; give --data too"),
    ],
)
def test_bad_words(model: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in refused(capsys, "check", model, *words)


@pytest.mark.unit
def test_samples_that_contradict_a_flag_are_refused(
    model: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "check", model, "--data", data, "--size", "H=11")
    assert said == "--data data.npz: sample 0: 'image' has shape [1, 3, 12, 16]; axis 2 (H) is said to be 11"


# ---- several words and several models -----------------------------------------------------------


@pytest.mark.unit
def test_a_flag_takes_several_words_and_leaves_models_alone(model: Path) -> None:
    words = ["-n", "1", "-o", "m", "--input-shapes", "image:1x3x12x16", "extra:[7,2]", "open.onnx"]
    assert main(["mutate", *words]) == 0
    assert main(["mutate", "--size", "N=1", "H=12", "W=16", "open.onnx", "-n", "1", "-o", "n"]) == 0
    for folder, extra in (("m", (7, 2)), ("n", None)):
        mutant = Program.from_bytes(Path(folder, "000000.onnx").read_bytes())
        sizes = {n: s for v in mutant.graph.inputs for n, s in input_sizes(v).items()}
        assert (sizes["N"], sizes["H"], sizes["W"]) == ((1,), (12,), (16,))
        assert ((7,) in sizes.values()) == (extra is not None)


@pytest.mark.unit
def test_a_name_of_one_of_several_models_is_enough(model: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", str(model), str(tiny), "-n", "2", "-o", "m", "--size", "H=12", "--range", "x=0,1"]) == 0
    capsys.readouterr()
    assert "the models have" in refused(capsys, "mutate", model, tiny, "-n", "1", "-o", "k", "--range", "w=0,1")


@pytest.mark.unit
def test_data_that_fits_one_of_several_models_is_used_for_it(
    model: Path, tiny: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mutate", str(model), str(tiny), "-n", "2", "-o", "m", "--data", str(data)]) == 0
    assert "its inputs are drawn: --data data.npz: no array for input 'x'" in capsys.readouterr().err
    assert "no array for input 'x'" in refused(capsys, "mutate", tiny, "-n", "1", "-o", "k", "--data", data)


# ---- honoured by every command ------------------------------------------------------------------


@pytest.mark.backend
def test_check_runs_what_is_said(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(model), *TWO, *SAID, "--seeds", "3", "--save-inputs", "in.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agree"]
    arrays = unpack(Path("in.npz").read_bytes())
    assert {name: np.shape(value)[1:] for name, value in arrays.items()} == SHAPES
    image = np.asarray(arrays["image"])
    assert 100 < image.max() <= 255
    assert image.min() >= 0


@pytest.mark.backend
def test_check_takes_one_sample_without_an_axis_of_samples(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("one.npz", image=np.ones((2, 3, 6, 6), np.float32), extra=np.ones((5, 2), np.float32))
    assert main(["check", str(model), *TWO, "--data", "one.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 1


@pytest.mark.backend
def test_equiv_compares_forms_on_what_is_said(model: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["equiv", str(model), "--targets", "onnxruntime:disabled", "--forms", "4", "--json"]
    assert main([*words, *SAID]) == 0
    drawn = json.loads(capsys.readouterr().out)
    assert main([*words, "--data", str(data), "--samples", "2"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows["forms"] == {name: 2 * count for name, count in drawn["forms"].items()}
    assert set(rows["answers"]["onnxruntime:disabled"]) == {"same"}


@pytest.mark.backend
def test_evolve_starts_from_what_is_said(model: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evolve", str(model), "--targets", "onnxruntime:disabled", "--generations", "2", "--json"]
    assert main([*words, *SAID]) == 0
    assert json.loads(capsys.readouterr().out)["genes"] == 3 * 12 * 16 + 7 * 2
    assert main([*words, "--data", str(data)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["genes"] == 3 * 12 * 16 + 7 * 2
    assert found["best"][-1] < 100, "what evolves stays in the range of the data, which is 0 to 1"


@pytest.mark.unit
def test_synthesize_makes_models_of_the_sizes_that_are_said(model: Path) -> None:
    assert main(["synthesize", str(model), "-o", "small", *SAID]) == 0
    small = Program.from_bytes(Path("small/open.onnx").read_bytes())
    assert {v.name: tuple(v.shape.numpy()) for v in small.graph.inputs if v.shape is not None} == SHAPES
    image = small.value("image")
    assert image is not None
    domain = input_domain(image)
    assert domain is not None
    assert (domain.low, domain.high) == (0, 255)


@pytest.mark.backend
def test_mutants_keep_what_is_said_and_check_honours_it(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mutate", str(model), "-o", "m", "-n", "6", "--mutators", "duplicate-layer,swap-layers"]
    assert main([*words, *SAID]) == 0
    for path in sorted(Path("m").glob("*.onnx")):
        mutant = Program.from_bytes(path.read_bytes())
        made = make_inputs(mutant, 3)
        assert {name: np.shape(value) for name, value in made.items() if name in SHAPES} == SHAPES
        assert {n: s for v in mutant.graph.inputs for n, s in input_sizes(v).items()}.items() >= {("H", (12,))}
    capsys.readouterr()
    assert main(["check", "m/000000.onnx", *TWO, "--seeds", "1", "--save-inputs", "again.npz", "--json"]) in (0, 1)
    assert shapes_in(Path("again.npz"))["image"] == (1, *SHAPES["image"])
    assert main(["replay", "m/000000.trace.json", "-o", "again.onnx"]) == 0
    assert Path("again.onnx").read_bytes() == Path("m/000000.onnx").read_bytes()


@pytest.mark.backend
def test_reduce_draws_what_is_said(model: Path) -> None:
    judge = Path("judge.py")
    judge.write_text(
        "import sys, pathlib, numpy\n"
        "inputs = numpy.load(pathlib.Path(sys.argv[1]).with_name('inputs.npz'))\n"
        "sys.exit(0 if 'image' in inputs and inputs['image'].shape == (1, 3, 12, 16) else 1)\n"
    )
    assert main(["reduce", str(model), "--check", "python judge.py", "-o", "small.onnx", *SAID, "--jobs", "1"]) == 0
    assert shapes_in(Path("small.npz"))["image"] == SHAPES["image"]


@pytest.mark.unit
def test_reduce_of_a_finding_has_no_such_flags(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "they go with --check" in refused(capsys, "reduce", model, "--size", "H=12")


@pytest.mark.backend
def test_analyze_takes_ranges_from_data_unless_they_are_said(
    model: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Log(x) }'
        ),
        "log.onnx",
    )
    np.savez("x.npz", x=np.array([[1.0], [2.0]], np.float32).reshape(2, 1))
    assert main(["analyze", "log.onnx", "--no-witness", "--data", "x.npz"]) == 0
    assert main(["analyze", "log.onnx", "--no-witness", "--data", "x.npz", "--range", "x=-1,1"]) == 1


# ---- campaigns ----------------------------------------------------------------------------------


def fuzz(*words: object) -> int:
    common = ["fuzz", "open.onnx", "--jobs", "1", "--time", "60s", "--targets", "onnxruntime:disabled,reference", "-q"]
    return main([*common, "--sprouts", "0", "-o", "out", *(str(word) for word in words)])


def stored(query: str) -> list[Any]:
    with sqlite3.connect("out/campaign.sqlite") as connection:
        return list(connection.execute(query))


@pytest.mark.backend
def test_a_campaign_keeps_what_is_said_for_its_mutants_and_for_later_runs(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz(*SAID, "--programs", "6") in (0, 1)
    assert fuzz("--programs", "10") in (0, 1), "with nothing said it goes on with what was said"
    assert fuzz(*SAID, "--programs", "12") in (0, 1), "and with the same said again"
    ((count,),) = stored("select count(*) from program where parent = ''")
    assert count == 1
    database = Database(Path("out/campaign.sqlite"))
    corpus = Corpus(database)
    models = [corpus.load(digest) for (digest,) in stored("select digest from program")]
    database.close()
    drawn = [make_inputs(program, 1) for program in models]
    shapes = [np.shape(made["image"]) for made in drawn if isinstance(made.get("image"), np.ndarray)]
    assert shapes.count(SHAPES["image"]) > 0.6 * len(shapes)
    capsys.readouterr()
    assert fuzz("--size", "H=13", "--programs", "14") == 2
    assert "out holds this seed with image:1x3x12x16, extra:7x2" in capsys.readouterr().err


@pytest.mark.backend
def test_inputs_cannot_be_said_of_a_seed_that_runs_already(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz("--programs", "2", "--time", "20s") in (0, 1, 2)
    if not Path("out/campaign.sqlite").exists():
        pytest.skip("nothing ran, so nothing is held")
    capsys.readouterr()
    assert fuzz("--size", "H=13", "--programs", "4") == 2
    assert "with nothing said of its inputs; now it is given with H=13" in capsys.readouterr().err


@pytest.mark.backend
def test_a_campaign_runs_seeds_and_mutants_on_data(model: Path, data: Path) -> None:
    assert fuzz("--data", data, "--programs", "16") in (0, 1)
    (entry,) = json.loads(stored(f"select value from setting where key = '{KEY}'")[0][0]).values()
    assert entry["said"]["samples"] == 3
    assert Path(f"out/samples/{entry['seed']}.npz").exists()
    assert fuzz("--programs", "18") in (0, 1)


@pytest.mark.backend
def test_a_campaign_of_self_tests_runs_on_data(model: Path, data: Path) -> None:
    assert fuzz("--equiv", "--data", data, "--programs", "4") in (0, 1)
    (entry,) = json.loads(stored(f"select value from setting where key = '{KEY}'")[0][0]).values()
    assert entry["said"]["samples"] == 3


# ---- irfuzz.toml --------------------------------------------------------------------------------

TOML = """
[inputs]
shapes = { image = [1, 3, 12, 16], extra = [7, 2] }
ranges = { image = [0, 255] }
"""


def checked(*words: object) -> dict[str, tuple[int, ...]]:
    common = ["check", "open.onnx", *TWO, "--seeds", "1", "--save-inputs", "seen.npz"]
    assert main([*common, *(str(word) for word in words)]) == 0
    return {name: shape[1:] for name, shape in shapes_in(Path("seen.npz")).items()}


@pytest.mark.backend
def test_the_file_says_what_flags_do_not(model: Path) -> None:
    Path("irfuzz.toml").write_text(TOML)
    assert checked() == SHAPES
    assert np.asarray(unpack(Path("seen.npz").read_bytes())["image"]).max() > 100
    assert checked("--size", "H=20") == {"image": (1, 3, 20, 16), "extra": (7, 2)}
    assert checked("--input-shapes", "image:2x3x6x6") == {"image": (2, 3, 6, 6), "extra": (7, 2)}
    checked("--range", "image=0,1")
    assert np.asarray(unpack(Path("seen.npz").read_bytes())["image"]).max() <= 1


@pytest.mark.backend
def test_data_of_the_file_is_found_beside_it_and_left_out_where_flags_say_otherwise(
    model: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    data.rename("elsewhere/data.npz")
    Path("irfuzz.toml").write_text('[inputs]\ndata = "elsewhere/data.npz"\n')
    assert main(["check", str(model), *TWO, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 3
    assert main(["check", str(model), *TWO, "--seeds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2, "a flag that asks for drawn ones wins, too"
    assert main(["check", str(model), *TWO, "--size", "H=20", "W=20", "N=1", "--seeds", "2", "--json"]) == 0
    got = capsys.readouterr()
    assert json.loads(got.out)["samples"] == 2
    assert "(H) is said to be 20; the data is left out" in got.err


@pytest.mark.unit
def test_the_file_is_checked_as_flags_are(model: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path.cwd() / "irfuzz.toml"
    file.write_text("[inputs]\nsizes = { Q = 1 }\n")
    assert refused(capsys, "check", model) == (
        f"{file}: inputs.sizes: Q = 1: no such dimension 'Q'; the model has 'N', 'H', 'W'; what other models have "
        "goes into their own tables"
    )
    file.write_text('[models."open.onnx".inputs]\nshapes = { image = [1, 3, 5] }\n')
    assert f'{file}: models."open.onnx".inputs.shapes: image = [1, 3, 5]: input' in refused(capsys, "check", model)
    file.write_text('[inputs]\nsizes = { H = 11 }\ndata = "data.npz"\n')
    assert "inputs.data data.npz: sample 0: 'image' has shape" in refused(capsys, "check", model).replace(
        f"{file.parent}/", ""
    )
    file.write_text('[models."other.onnx".inputs]\nsizes = { Q = 1 }\n')
    assert main(["mutate", str(model), "-n", "1", "-o", "m"]) == 0, "it is about another model"
