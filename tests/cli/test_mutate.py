"""``irfuzz mutate`` between other programs: standard input and output, jobs, inputs, JSON lines, shared weights."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.cli.main import main
from irfuzz.embed import parallel_mutant_stream
from irfuzz.embed.stream_framing import read_frames
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import rebuild
from irfuzz.mutate.traced_mutant_generation import mutate
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import with_trait
from tests.campaign.running import ENV, command
from tests.cli.conftest import TINY, Irfuzz

KEYS = {"schema", "model", "trace", "inputs", "digest", "sha256", "seed", "invalid", "edits"}


def piped(given: bytes, *words: object) -> tuple[int, bytes, str]:
    """Exit code, standard output and standard error of ``irfuzz mutate WORDS`` with standard input."""
    done = subprocess.run(
        command("mutate", *words), input=given, env=ENV, capture_output=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr.decode()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def model() -> bytes:
    return onnx.parser.parse_model(TINY).SerializeToString()


# ---- standard input and output --------------------------------------------------------------


def test_a_model_in_and_a_mutant_out(model: bytes) -> None:
    code, out, err = piped(model, "-", "--seed", 3)
    assert (code, err) == (0, "")
    (first,) = mutate(model, seed=3, n=1)
    assert out == first.to_bytes()
    onnx.checker.check_model(out)


def test_several_stand_each_behind_its_length(model: bytes) -> None:
    code, out, err = piped(model, "-", "--seed", 3, "-n", 5)
    assert (code, err) == (0, "")
    assert list(read_frames(io.BytesIO(out))) == [m.to_bytes() for m in mutate(model, seed=3, n=5)]
    code, one, _ = piped(model, "-", "--seed", 3, "--format", "framed")
    assert list(read_frames(io.BytesIO(one))) == list(read_frames(io.BytesIO(out)))[:1]


def test_lines_hold_all_that_a_replay_and_a_run_need(model: bytes) -> None:
    code, out, _ = piped(model, "-", "-n", 3, "--format", "jsonl", "--inputs")
    assert code == 0
    program = Program.from_bytes(model)
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 3
    for row in rows:
        made = base64.b64decode(row["onnx"])
        assert row["schema"] == 1
        assert row["seed"] == "standard input"
        assert row["sha256"] == hashlib.sha256(made).hexdigest()
        assert row["digest"] == Program.from_bytes(made).digest
        assert rebuild(row["trace"], {program.digest: program}.get) == made
        inputs = np.load(io.BytesIO(base64.b64decode(row["inputs"])))
        assert set(inputs) == {v.name for v in onnx.load_model_from_string(made).graph.input}


def test_a_file_in_and_a_pipe_out(tiny: Path, model: bytes) -> None:
    code, out, _ = piped(b"", tiny, "-o", "-", "--seed", 4)
    assert code == 0
    assert out == piped(model, "-", "--seed", 4)[1]


@pytest.mark.parametrize(
    ("given", "words", "why"),
    [
        (b"", ["-"], "SEED -: expected an ONNX model on standard input, got nothing"),
        (b"no model", ["-"], "standard input: not an ONNX model"),
        (None, ["-", "--inputs"], "--inputs: standard output holds models alone; expected --format jsonl, or -o DIR"),
        (None, ["-", "--json"], "--json: standard output holds the mutants; --format jsonl tells about each"),
        (None, ["-", "-n", 2, "--format", "raw"], "--format raw: it holds one model, got -n 2"),
        (None, ["-", "-"], "SEED -: standard input holds one model"),
        (None, ["-", "--ops", "Relo"], "--ops: unknown operator 'Relo'; did you mean Relu?"),
        (None, ["-", "--keep", "nobody"], "--keep: no model has a node 'nobody'"),
        (None, ["-", "-o", "out", "--format", "raw"], "--format: it is about standard output"),
    ],
)
def test_what_does_not_fit_is_one_line(
    given: bytes | None, words: list[object], why: str, model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = piped(model if given is None else given, *words)
    assert (code, out) == (2, b"")
    assert err.startswith(f"irfuzz: error: {why}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_or_a_pipe_has_to_be_named(irfuzz: Irfuzz, tiny: Path) -> None:
    told = irfuzz("mutate", tiny)
    assert told.code == 2
    assert "-o/--out: expected a folder, or - for standard output" in told.err


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\3\0\0\0\0\0\0\0ab", "frame 0: expected 3 bytes, got 2"),
        (b"\2\0\0\0\0\0\0\0ab\1", "frame 1: expected 8 bytes of its length, got 1"),
        (b"\xff" * 8, "frame 0: expected a length of at most"),
    ],
)
def test_a_stream_that_is_cut(data: bytes, why: str) -> None:
    with pytest.raises(Exception, match=why):
        list(read_frames(io.BytesIO(data)))


# ---- jobs -----------------------------------------------------------------------------------


def test_jobs_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_mutant_stream, "BLOCK", 8)
    monkeypatch.setattr(parallel_mutant_stream, "BLOCK_LEAST", 8)
    seeds = [seeds_dir() / "lenet5.onnx", seeds_dir() / "film.onnx"]
    words = [*map(str, seeds), "-n", "20", "--seed", "7", "--inputs"]
    for jobs in ("1", "2", "3"):
        assert main(["mutate", *words, "-o", str(tmp_path / jobs), "--jobs", jobs]) == 0
    assert tree(tmp_path / "1") == tree(tmp_path / "2") == tree(tmp_path / "3")
    assert len(list((tmp_path / "1").glob("*.onnx"))) == 20
    # The first block is what the same arguments give in Python, and no block repeats another.
    models = [path.read_bytes() for path in sorted((tmp_path / "1").glob("*.onnx"))]
    assert models[:8] == [m.to_bytes() for m in mutate(seeds, seed=7, n=8, max_nodes=200)]
    assert len(set(models)) > 18


def test_blocks_hang_on_the_seeds_alone() -> None:
    program = Program.from_proto(onnx.parser.parse_model(TINY))
    assert parallel_mutant_stream.blocks_of([("", program)], 256) == [256]
    assert parallel_mutant_stream.blocks_of([("", program)], 257) == [256, 1]
    assert parallel_mutant_stream.blocks_of([("", program)], 0) == []
    many = "".join(f"a{i + 1} = Neg(a{i}) " for i in range(3000))
    text = TINY.replace("a = Relu(x) y = Neg(a)", f"a0 = Relu(x) {many} y = Neg(a3000)")
    large = Program.from_proto(onnx.parser.parse_model(text))
    assert parallel_mutant_stream.blocks_of([("", large)], 40) == [16, 16, 8]
    assert parallel_mutant_stream.block_seed(7, 0) == 7
    assert len({parallel_mutant_stream.block_seed(s, b) for s in range(3) for b in range(4)}) == 12


def test_a_wrong_argument_is_told_with_jobs_too(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", str(tiny), "-o", str(tmp_path / "out"), "-n", "600", "--jobs", "2", "--keep", "x"]) == 2
    assert "--keep: no model has a node 'x'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# ---- beside each mutant ---------------------------------------------------------------------


def test_inputs_that_run_lie_beside_each_mutant(irfuzz: Irfuzz, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    told = irfuzz("mutate", seeds_dir() / "gpt.onnx", "-o", "out", "-n", 20, "--inputs", "--json")
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert len(rows) == 20
    ran = 0
    for row in rows:
        assert set(row) == KEYS
        assert row["inputs"] == row["model"].replace(".onnx", ".inputs.npz")
        data = (tmp_path / row["model"]).read_bytes()
        inputs = dict(np.load(tmp_path / row["inputs"]))
        session = runtime.InferenceSession(data)
        assert {i.name for i in session.get_inputs()} == set(inputs)
        session.run(None, inputs)
        ran += 1
    assert ran == 20


def test_inputs_that_numpy_has_no_type_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (seq(float[2]) s, float[2] x) => (float[2] y)
    <int64 i = {0}> { a = SequenceAt(s, i) y = Add(a, x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    words = ["mutate", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "out"), "-n", "2", "--inputs", "--json"]
    assert main(words) == 0
    from irfuzz.store.npz_tensors import unpack

    for line in capsys.readouterr().out.splitlines():
        values = unpack(Path(json.loads(line)["inputs"]).read_bytes())
        assert isinstance(values["s"], list)


def test_earlier_inputs_are_not_overwritten(irfuzz: Irfuzz, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "000000.inputs.npz").touch()
    told = irfuzz("mutate", tiny, "-o", "out", "-n", 1, "--inputs")
    assert told.code == 2
    assert "000000.inputs.npz is there already" in told.err


def test_a_node_is_kept_and_operators_are_few(irfuzz: Irfuzz, tmp_path: Path) -> None:
    seed = seeds_dir() / "lenet5.onnx"
    nodes = onnx.load(seed).graph.node
    first, own = nodes[0], {node.op_type for node in nodes}
    told = irfuzz("mutate", seed, "-o", "out", "-n", 10, "--keep", first.output[0], "--ops", "Sigmoid,Mul")
    assert told.code == 0, told.err
    for path in sorted((tmp_path / "out").glob("*.onnx")):
        nodes = onnx.load(path).graph.node
        (kept,) = [node for node in nodes if first.output[0] in node.output]
        assert (kept.op_type, list(kept.attribute)) == (first.op_type, list(first.attribute))
        assert {node.op_type for node in nodes} <= own | with_trait("adapts") | {"Sigmoid", "Mul"}


# ---- large models ---------------------------------------------------------------------------

BODY = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 256] x) => (float[1, 256] y)
{ a = MatMul(x, w) b = Relu(a) c = MatMul(b, v) y = Tanh(c) }"""


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of half a megabyte, which counts as large here."""
    monkeypatch.setattr(parallel_mutant_stream, "LARGE", 1 << 18)
    rng = np.random.default_rng(0)
    proto = onnx.parser.parse_model(BODY)
    for name in ("w", "v"):
        weight = rng.standard_normal((256, 256)).astype(np.float32) / 16
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    onnx.save(proto, tmp_path / "large.onnx")
    return tmp_path / "large.onnx"


def test_mutants_of_a_large_model_share_its_weights(
    large: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["mutate", str(large), "-n", "30", "--seed", "2", "--json", "--mutators"]
    mutators = "insert-layer,wrap-if,wrap-scan,swap-layers,store-constant,outline-function"
    assert main([*words, mutators, "-o", str(out)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(list((out / "weights").iterdir())) >= 2
    # A weight of 256 kB is written into none of them, nor into the seed, but for those in functions.
    whole = [row for row in rows if Path(row["model"]).stat().st_size > 1 << 18]
    assert all(any(e["mutator"] == "outline-function" for e in row["edits"]) for row in whole)
    moved = {"wrap-if", "wrap-scan", "store-constant"}
    assert any(moved & {e["mutator"] for e in row["edits"]} for row in rows if row not in whole)
    (seed,) = out.glob("*.onnx.seed")
    assert seed.stat().st_size < 1 << 17
    for row in rows:
        mutant = onnx.load(row["model"])
        onnx.checker.check_model(row["model"])
        assert Program.from_proto(mutant).digest == row["digest"]
    assert main(["replay", rows[-1]["trace"], "-o", str(tmp_path / "again.onnx")]) == 0
    assert hashlib.sha256((tmp_path / "again.onnx").read_bytes()).hexdigest() == rows[-1]["sha256"]


def test_a_model_just_below_is_written_whole(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2 * 256 * 256 * 4
    for limit, shared in ((size, True), (size + 1, False)):
        monkeypatch.setattr(parallel_mutant_stream, "LARGE", limit)
        out = tmp_path / str(limit)
        assert main(["mutate", str(large), "-n", "1", "-o", str(out), "--mutators", "insert-layer"]) == 0
        assert (out / "weights").exists() is shared
        assert ((out / "000000.onnx").stat().st_size < size) is shared
        assert (out / "seeds").exists() is not shared


def test_they_run_where_weights_are_in_bodies(large: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    out = tmp_path / "out"
    words = ["mutate", str(large), "-n", "12", "-o", str(out), "--inputs"]
    assert main([*words, "--mutators", "wrap-if,wrap-scan,store-constant"]) == 0
    for number in range(12):
        inputs = dict(np.load(out / f"{number:06d}.inputs.npz"))
        runtime.InferenceSession(out / f"{number:06d}.onnx").run(None, inputs)


def test_a_large_model_streams_whole(large: Path) -> None:
    assert parallel_mutant_stream.is_large(Program.from_bytes(large.read_bytes()))
    code, out, _ = piped(large.read_bytes(), "-", "--jobs", 2, "--mutators", "insert-layer")
    assert code == 0
    assert len(out) > 2 * 256 * 256 * 4
