"""Whatever is wrong with the input or a flag: one line that names it, exit code 2, and nothing on the disk."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from tests.campaign.running import ENV, command, planted
from tests.cli.conftest import Irfuzz, Result

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y)'


def one_line(result: Result, *parts: str) -> None:
    """The contract for bad input."""
    assert result.code == 2, result.err
    assert result.out == ""
    lines = result.err.splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("irfuzz: error: ")
    for part in parts:
        assert re.search(part, lines[0]), f"{part!r} is not in {lines[0]!r}"


# ---- files that are no models ---------------------------------------------------------------


def truncated(path: Path) -> None:
    path.write_bytes(onnx.parser.parse_model(f"{HEAD} {{ y = Relu(x) }}").SerializeToString()[:-7])


def noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(3000))


def empty(path: Path) -> None:
    path.touch()


def oversized(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)  # sparse: takes no room


def text(path: Path) -> None:
    path.write_text("import onnx\n")


def cyclic(path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ a = Add(x, b) b = Relu(a) y = Neg(b) }}"), path)


def ill_typed(path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ a = Cast<to = 7>(x) y = Add(x, a) }}"), path)


def ill_shaped(path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ a = Constant<value_floats = [1.0, 2.0]>() y = Add(x, a) }}"), path)


def _with_external(path: Path, location: str) -> None:
    model = onnx.parser.parse_model(f"{HEAD} {{ y = Add(x, w) }}")
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    model.graph.initializer.append(weight)
    path.write_bytes(model.SerializeToString())


def external_missing(path: Path) -> None:
    _with_external(path, "weights.bin")


def external_outside(path: Path) -> None:
    (path.parent.parent / "outside.bin").write_bytes(bytes(12))
    _with_external(path, "../outside.bin")


def external_absolute(path: Path) -> None:
    _with_external(path, "/etc/hostname")


def unknown_operator(path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ y = Rleu(x) }}"), path)


def unknown_opset(path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD.replace('17', '999')} {{ y = Relu(x) }}"), path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


BAD: dict[Callable[[Path], None], str] = {
    truncated: "truncated",
    noise: "not an ONNX model",
    empty: "empty",
    oversized: "3221225472 bytes; at most",
    text: "not an ONNX model",
    cyclic: "sorted|cycl|order",
    ill_typed: "Add|type",
    ill_shaped: "Add|shape|broadcast",
    external_missing: "weights.bin.*No such file",
    external_outside: "outside of the model's folder",
    external_absolute: "outside of the model's folder",
    unknown_operator: "unknown operator Rleu",
    unknown_opset: "opset 999",
    pipe: "not a plain file",
}


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_bad_model(make: Callable[[Path], None], irfuzz: Irfuzz, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "bad.onnx"
    make(path)
    for words in (["mutate", path, "-o", "out"], ["fuzz", folder, "-o", "out"]):
        one_line(irfuzz(*words), re.escape(str(path)), BAD[make])
        assert not (tmp_path / "out").exists()


def test_one_bad_seed_among_many_is_named_and_skipped(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(tiny, folder / "good.onnx")
    truncated(folder / "cut.onnx")
    unknown_operator(folder / "odd.onnx")
    result = irfuzz("mutate", folder, "-o", "out", "-n", 2)
    assert result.code == 0
    assert [line.split(": ")[:3] for line in result.err.splitlines()] == [
        ["irfuzz", "skipped", str(folder / "cut.onnx")],
        ["irfuzz", "skipped", str(folder / "odd.onnx")],
    ]
    assert (tmp_path / "out" / "000001.onnx").exists()


def test_no_models(irfuzz: Irfuzz, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    one_line(irfuzz("mutate", "none", "-o", "out"), "none: no .*onnx")
    one_line(irfuzz("fuzz", "none", "-o", "out"), "none: no .*onnx")
    one_line(irfuzz("fuzz", "absent", "-o", "out"), "absent: No such file")
    assert not (tmp_path / "out").exists()


def test_not_one_mutant(irfuzz: Irfuzz, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f"{HEAD} {{ y = Relu(x) }}")
    del model.graph.output[:]
    onnx.save(model, tmp_path / "mute.onnx")
    one_line(irfuzz("mutate", "mute.onnx", "-o", "out", "-n", 3), "-n 3: not one mutant")
    assert [p.name for p in tmp_path.iterdir()] == ["mute.onnx"]


@pytest.mark.parametrize(("opset", "said"), [(8, ["irfuzz: old.onnx: opset 8, converted to 9"]), (9, [])])
def test_models_of_old_opsets_are_converted_and_named(
    opset: int, said: list[str], irfuzz: Irfuzz, tmp_path: Path
) -> None:
    model = onnx.parser.parse_model(f"{HEAD.replace('17', str(opset))} {{ y = Relu(x) }}")
    onnx.save(model, tmp_path / "old.onnx")
    result = irfuzz("mutate", "old.onnx", "-o", "out", "-n", 2)
    assert result.code == 0
    assert [line.partition(": irfuzz")[0] for line in result.err.splitlines()] == said


@pytest.mark.backend
def test_an_operator_that_nobody_knows_is_mutated_around_and_named_where_it_has_to_run(
    irfuzz: Irfuzz, tmp_path: Path
) -> None:
    text = HEAD.replace('["" : 17]', '["" : 17, "com.example" : 1]')
    onnx.save(onnx.parser.parse_model(f"{text} {{ y = com.example.Gelu(x) }}"), tmp_path / "bad.onnx")
    assert irfuzz("mutate", "bad.onnx", "-o", "out", "-n", 2).code == 0
    for path in (tmp_path / "out").glob("*.onnx"):
        assert "Gelu" in {node.op_type for node in onnx.load(path).graph.node}
    one_line(irfuzz("check", "bad.onnx"), "no target runs the model .*com.example.Gelu")


def test_inputs_beyond_memory_are_named(irfuzz: Irfuzz, tmp_path: Path) -> None:
    sizes = f"[{1 << 40},{1 << 20}]"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float{sizes} x) => (float{sizes} y) {{ y = Relu(x) }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "huge.onnx")
    for command_ in ("mutate", "fuzz"):
        one_line(
            irfuzz(command_, "huge.onnx", "-o", "out"), "huge.onnx: it cannot be mutated: input 'x' has 115292150460684"
        )
    for words in (["check"], ["reduce", "--check", "true", "-o", "out"]):
        one_line(irfuzz(words[0], "huge.onnx", *words[1:]), "huge.onnx: input generation does not support .*'x'")
    assert not (tmp_path / "out").exists()


# ---- flags ----------------------------------------------------------------------------------

FLAGS = [
    (["mutate", "SEED", "-o", "out", "-n", "-5"], "-n/--count: .*at least 0, got '-5'"),
    (["mutate", "SEED", "-o", "out", "-n", "many"], "-n/--count: .*whole number.*'many'"),
    (["mutate", "SEED", "-o", "out", "--seed", "-1"], "--seed: "),
    (["mutate", "SEED", "-o", "out", "--max-nodes", "0"], "--max-nodes: .*at least 1"),
    (["mutate", "SEED", "-o", "out", "--mutators", "insert-layer,nonsense"], "--mutators: .*'nonsense'.*insert-layer"),
    (["mutate", "SEED", "-o", "out", "--mutators", ","], "--mutators: expected names"),
    (["mutate", "SEED"], "-o/--out"),
    (["mutate", "", "-o", "out"], "SEED: expected a path, got ''"),
    (["mutate", "SEED", "-o", ""], "-o/--out: expected a path, got ''"),
    (["mutate", "n" * 300, "-o", "out"], f"SEED: {'n' * 40}...: File name too long"),
    (["findings", "list", "n" * 300], f"PATH: {'n' * 40}...: File name too long"),
    (["fuzz", "SEED", "--out", "n" * 300], f"-o/--out: {'n' * 40}...: File name too long"),
    (["mutate", "-o", "out"], "SEED"),
    (["mutate", "SEED", "-o", "out", "--colour"], "--colour"),
    (["fuzz", "SEED", "-o", "out", "--time", "soon"], "--time: expected a time such as 90s.*'soon'"),
    (["fuzz", "SEED", "-o", "out", "--time", "0s"], "--time: expected more than no time"),
    (["fuzz", "SEED", "-o", "out", "--time", "-3"], "--time: "),
    (["fuzz", "SEED", "-o", "out", "--jobs", "0"], "--jobs: .*at least 1, got '0'"),
    (["fuzz", "SEED", "-o", "out", "--jobs", "-2"], "--jobs: "),
    (["fuzz", "SEED", "-o", "out", "--search", "luck"], "--search: expected one of thompson, .* got 'luck'"),
    (["fuzz", "SEED", "-o", "out", "--search", ""], "--search: expected one of thompson, .* got ''"),
    (["fuzz", "SEED", "-o", "out", "--hunt="], "--hunt: expected one of both, .* got ''"),
    (["fuzz", "SEED", "-o", "out", "--hunt", "bears"], "--hunt: expected one of both, .* got 'bears'"),
    (["fuzz", "SEED", "-o", "out", "--timeout", "nan"], "--timeout: .*above 0"),
    (["fuzz", "SEED", "-o", "out", "--memory", "0"], "--memory: "),
    (["fuzz", "SEED", "-o", "out", "--programs", "0"], "--programs: "),
    (["fuzz", "SEED", "-o", "out", "--targets", "onxruntime"], "--targets: unknown target 'onxruntime'.*onnxruntime"),
    (["fuzz", "SEED", "-o", "out", "--target", "nonsense"], "--target: unknown target 'nonsense'"),
    (
        ["fuzz", "SEED", "-o", "out", "--target", "absent.py:Target"],
        "--target: target 'absent.py:Target' cannot be used: .*no such file",
    ),
    (["fuzz", "SEED", "-o", "out", "--target", "no_package.x:Target"], "cannot be used: no module named 'no_package'"),
    (["fuzz", "SEED", "-o", "out", "--mutators", "nonsense"], "--mutators: .*'nonsense'"),
    (["ops", "Convv"], "'Convv' is not an operator.*Conv"),
    (["ops", "--opset", "0"], "--opset: "),
    (["ops", "--opset", "9999"], "--opset: .*at most"),
    (["replay", "absent.json"], "absent.json.*No such file"),
    (["replay", "."], "directory"),
    (["replay"], "TRACE"),
    (["nonsense"], "unknown command 'nonsense'"),
    (["mutat"], "did you mean mutate"),
    (["--nonsense"], "unknown flag '--nonsense'"),
]


@pytest.mark.parametrize(("words", "says"), FLAGS, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_bad_flag(words: list[str], says: str, irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    one_line(irfuzz(*[str(tiny) if w == "SEED" else w for w in words]), says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command_", ["fuzz", "check", "equiv", "evolve"])
def test_nothing_to_compare(command_: str, irfuzz: Irfuzz, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g () => () {}'), tmp_path / "none.onnx")
    one_line(irfuzz(command_, "none.onnx"), "none.onnx: the graph has no outputs, so nothing of it can be compared")
    assert [p.name for p in tmp_path.iterdir()] == ["none.onnx"]


# ---- places that cannot be written ----------------------------------------------------------


@pytest.mark.parametrize("place", ["below-a-file", "proc", "a-file"])
def test_unwritable_output(place: str, irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    out = {"below-a-file": file / "out", "proc": Path("/proc/irfuzz/out"), "a-file": file}[place]
    for command_ in ("mutate", "fuzz"):
        one_line(irfuzz(command_, tiny, "--out", out), f"--out {re.escape(str(out))}: cannot be written")
    assert file.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_unwritable_replay(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    assert irfuzz("mutate", tiny, "-o", "out", "-n", 1).code == 0
    one_line(irfuzz("replay", "out/000000.trace.json", "-o", "no/such/place.onnx"), "--out no/such/place.onnx: cannot")
    assert not (tmp_path / "no").exists()


def test_out_folder_with_something_else_in_it(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "campaign.sqlite").write_text("no database")
    one_line(irfuzz("fuzz", tiny, "-o", "out"), "campaign.sqlite: ")
    assert (tmp_path / "out" / "campaign.sqlite").read_text() == "no database"
    assert len(list((tmp_path / "out").iterdir())) == 1


@pytest.mark.parametrize("existed", [False, True])
def test_a_target_that_does_not_start_leaves_nothing(existed: bool, irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    if existed:
        (tmp_path / "deep" / "out").mkdir(parents=True)
        (tmp_path / "deep" / "out" / "mine.txt").write_text("mine")
    words = [
        "fuzz",
        tiny,
        "-q",
        "-o",
        "deep/out",
        "--jobs",
        1,
        "--targets",
        "reference",
        "--target",
        planted("Nothing"),
    ]
    one_line(irfuzz(*words), "Nothing' cannot be used: .*no attribute 'Nothing'")
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*"))
    assert left == (["deep", "deep/out", "deep/out/mine.txt"] if existed else [])


# ---- traces ---------------------------------------------------------------------------------


def damage_json(data: dict) -> str:
    return json.dumps(data)[:-10]


def damage_schema(data: dict) -> str:
    return json.dumps({**data, "schema": 99})


def damage_mutator(data: dict) -> str:
    data["edits"][0]["mutator"] = "nonsense"
    return json.dumps(data)


def damage_hash(data: dict) -> str:
    return json.dumps({**data, "sha256": "0" * 64})


def damage_seed(data: dict) -> str:
    data["seed"]["digest"] = "f" * 64
    return json.dumps(data)


def damage_choices(data: dict) -> str:
    data["edits"][0]["choices"] = ["a"]
    return json.dumps(data)


def damage_all(data: dict) -> str:
    return "[" * 100_000


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (damage_json, "not JSON"),
        (damage_schema, "schema.*expected 1, got 99"),
        (damage_mutator, "unknown mutator 'nonsense'"),
        (damage_hash, "expected a model with sha256 0000"),
        (damage_seed, "f{64}.*needs it"),
        (damage_choices, r"edits\[0\].choices\[0\].*number"),
        (damage_all, "not JSON"),
    ],
)
def test_damaged_trace(damage: Callable[[dict], str], says: str, irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    assert irfuzz("mutate", tiny, "-o", "out", "-n", 1).code == 0
    trace = tmp_path / "out" / "000000.trace.json"
    trace.write_text(damage(json.loads(trace.read_text())))
    one_line(irfuzz("replay", trace, "-o", "again.onnx"), says)
    assert not (tmp_path / "again.onnx").exists()


def test_replay_without_its_seeds(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    assert irfuzz("mutate", tiny, "-o", "out", "-n", 1).code == 0
    shutil.copy(tmp_path / "out" / "000000.trace.json", tmp_path / "alone.json")
    one_line(irfuzz("replay", "alone.json"), "no folder seeds.*--seeds")
    one_line(irfuzz("replay", "alone.json", "--seeds", "absent"), "--seeds absent: No such file")
    again = irfuzz("replay", "alone.json", "--seeds", tiny, "-o", "again.onnx")
    assert again.code == 0, again.err
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out" / "000000.onnx").read_bytes()


# ---- and once as the shell does it ----------------------------------------------------------


def test_through_the_interpreter(tmp_path: Path) -> None:
    noise(tmp_path / "noise.onnx")
    result = subprocess.run(
        command("mutate", "noise.onnx", "-o", "out"), cwd=tmp_path, env=ENV, capture_output=True, text=True, check=False
    )
    one_line(Result(result.returncode, result.stdout, result.stderr), "noise.onnx: not an ONNX model")


# ---- operators of one's own -----------------------------------------------------------------


def test_a_wrong_file_of_an_operator_of_ones_own_is_bad_input(tmp_path: Path) -> None:
    def ops(folder: Path) -> Result:
        words = [sys.executable, "-m", "irfuzz", "ops"]
        env = {**ENV, "IRFUZZ_OPS": str(folder)}
        ran = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return Result(ran.returncode, ran.stdout, ran.stderr)

    one_line(ops(tmp_path / "none"), "IRFUZZ_OPS: expected folders of TOML files")
    (tmp_path / "Mine.toml").write_text('op = "Mine"\ndomain = "test.mine"\ndoc = "Mine-1"\n[odd]\n')
    one_line(ops(tmp_path), r"IRFUZZ_OPS: Mine\.toml: unknown key 'odd'")


def test_a_shipped_file_of_an_operator_that_is_damaged_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ops" / "ai.onnx").mkdir(parents=True)
    (tmp_path / "ops" / "ai.onnx" / "Relu.toml").write_text('op = "Relu"\n[odd]\n')
    words = "import sys; from pathlib import Path; from irfuzz import shipped_folders as shipped; "
    words += "shipped.ops_dir = lambda: Path('ops'); from irfuzz.cli.main import main; sys.exit(main(['ops']))"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", words], env=ENV, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    result = Result(ran.returncode, ran.stdout, ran.stderr)
    one_line(result, r"ai\.onnx/Relu\.toml: unknown key 'odd'.*a file that irfuzz ships is damaged: install it again")
