"""What each command promises, over the command line."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import irfuzz as package
from irfuzz.cli.main import COMMANDS, main
from tests.campaign.running import ENV, command, wait_until
from tests.cli.conftest import Irfuzz

NAMES = [c.NAME for c in COMMANDS]
HEAVY = {"numpy", "onnx", "onnx_ir", "sqlalchemy", "rich", "torch", "tensorflow", "onnxruntime", "sympy", "ml_dtypes"}


def hashes(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file()
    }


# ---- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_each_example_on_a_line_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    module = next(c for c in COMMANDS if name == c.NAME)
    examples = [line for line in module.EXAMPLES.splitlines() if line.startswith("  irfuzz ")]
    assert examples
    assert [e for e in examples if e not in lines] == []
    assert max(map(len, lines)) <= 120


def test_examples_use_flags_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for module in COMMANDS:
        for name, flag in re.findall(r"^  irfuzz (\w+).*?( -{1,2}[a-z]\S*)", module.EXAMPLES, re.MULTILINE):
            main([name, "--help"])
            assert flag.strip() in capsys.readouterr().out


def test_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert [name for name in NAMES if f"\n  {name} " not in text] == []
    assert main([]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", text)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"irfuzz {package.__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fuzz", "--help"], ["mutate", "x", "-n", "y"]])
def test_what_needs_nothing_imports_nothing(words: list[str]) -> None:
    code = f"""
import json, sys
from irfuzz.cli.main import main
code = main({words!r})
print(json.dumps([code, sorted({{name.partition(".")[0] for name in sys.modules}})]))
"""
    result = subprocess.run([sys.executable, "-P", "-c", code], env=ENV, capture_output=True, text=True, check=True)
    ended, loaded = json.loads(result.stdout.splitlines()[-1])
    assert ended == (2 if "y" in words else 0)
    assert HEAVY & set(loaded) == set()


def test_ops_and_targets_import_no_framework() -> None:
    code = """
import json, sys
from irfuzz.cli.main import main
assert main(["ops"]) == 0 and main(["targets"]) == 0
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    result = subprocess.run([sys.executable, "-P", "-c", code], env=ENV, capture_output=True, text=True, check=True)
    loaded = set(json.loads(result.stdout.splitlines()[-1]))
    assert {"sqlalchemy", "rich", "torch", "tensorflow", "onnxruntime"} & loaded == set()


# ---- mutate and replay ----------------------------------------------------------------------


def test_mutate_gives_n_valid_models_and_replay_rebuilds_them(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    result = irfuzz("mutate", tiny, "-o", "out", "-n", 20, "--seed", 3)
    assert result.code == 0, result.err
    assert result.out == "20 mutants of 1 models in out\n"
    assert result.err == ""
    out = tmp_path / "out"
    expected = {f"{i:06d}{end}" for i in range(20) for end in (".onnx", ".trace.json")}
    assert {p.name for p in out.iterdir()} == {*expected, "seeds"}
    for index in range(20):
        data = (out / f"{index:06d}.onnx").read_bytes()
        onnx.checker.check_model(onnx.load_model_from_string(data), full_check=True)
        if index % 4:
            continue
        again = irfuzz("replay", out / f"{index:06d}.trace.json", "-o", "again.onnx")
        assert again.code == 0, again.err
        assert (tmp_path / "again.onnx").read_bytes() == data
        assert hashlib.sha256(data).hexdigest() in again.out
    assert len({(out / f"{i:06d}.onnx").read_bytes() for i in range(20)}) > 15
    before = hashes(out)
    refused = irfuzz("mutate", tiny, "-o", "out", "-n", 2, "--seed", 4)
    assert refused.code == 2
    assert "000000.onnx (and 3 more) is there already" in refused.err
    assert hashes(out) == before
    assert irfuzz("mutate", tiny, "-o", "out", "-n", 2, "--seed", 4, "--force").code == 0
    assert hashes(out) != before


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert irfuzz("mutate", tiny, "-o", name, "-n", 8, "--seed", seed).code == 0
    a, b, c = (hashes(tmp_path / name) for name in "abc")
    assert a == b
    assert a.keys() == c.keys()
    assert sum(a[name] != c[name] for name in a if name.endswith("[0-9].onnx") or name.startswith("0")) > 8


def test_mutate_json(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    result = irfuzz("mutate", tiny, "-o", "out", "-n", 4, "--mutators", "insert-layer,change-weights", "--json")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert len(rows) == 4
    for row in rows:
        assert (tmp_path / row["model"]).is_file()
        assert json.loads((tmp_path / row["trace"]).read_text())["edits"] == row["edits"]
        assert {e["mutator"] for e in row["edits"]} <= {"insert-layer", "change-weights"}
        assert row["seed"] == "tiny.onnx"


def test_mutate_takes_files_and_folders_and_none_at_all(irfuzz: Irfuzz, tmp_path: Path, tiny: Path) -> None:
    assert irfuzz("mutate", tiny.parent, tiny, "-o", "out", "-n", 1).out == "1 mutants of 1 models in out\n"
    nothing = irfuzz("mutate", tiny, "-o", "none", "-n", 0)
    assert (nothing.code, nothing.out) == (0, "0 mutants of 1 models in none\n")


def test_ctrl_c_leaves_whole_files_only(tmp_path: Path, tiny: Path) -> None:
    process = subprocess.Popen(
        command("mutate", tiny, "-o", "out", "-n", 100_000),
        cwd=tmp_path, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    out = tmp_path / "out"
    assert wait_until(lambda: len(list(out.glob("*.trace.json"))) >= 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    found = re.fullmatch(r"irfuzz: stopped: (\d+) of 100000 mutants are in out\n", err)
    assert found, err
    made = int(found[1])
    names = {p.name for p in out.iterdir()} - {"seeds"}
    assert names == {f"{i:06d}{end}" for i in range(made) for end in (".onnx", ".trace.json")}
    for path in sorted(out.glob("*.onnx"))[-3:]:
        trace = json.loads(path.with_suffix(".trace.json").read_text())
        assert trace["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", f"{sys.executable} -P -m irfuzz ops | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, env=ENV, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 1


# ---- ops and targets ------------------------------------------------------------------------


def test_ops(irfuzz: Irfuzz) -> None:
    listing = irfuzz("ops").out
    assert re.search(r"^Conv +since 11 +overlay$", listing, re.MULTILINE)
    rows = json.loads(irfuzz("ops", "--json").out)
    assert {"op": "Conv", "since": 11, "overlay": True} in rows
    told = irfuzz("ops", "Conv").out
    assert "strides" in told
    assert "C % group == 0" in told
    about = json.loads(irfuzz("ops", "Conv", "--opset", 1, "--json").out)
    assert (about["op"], about["since"]) == ("Conv", 1)
    assert "runs on ONNXRuntime's CPU provider with:\n" in told


def test_every_operator_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--json"]) == 0
    names = [row["op"] for row in json.loads(capsys.readouterr().out)]
    for name in names:
        assert main(["ops", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["op"] == name
        assert main(["ops", name]) == 0
        assert name in capsys.readouterr().out


def test_targets(irfuzz: Irfuzz) -> None:
    rows = {row["name"]: row for row in json.loads(irfuzz("targets", "--json").out)}
    assert rows["reference"]["why_not"] == ""
    assert rows["reference"]["version"] == onnx.__version__
    lines = irfuzz("targets").out.splitlines()
    assert len(lines) == len(rows)
    for line in lines:
        name = line.split()[0]
        assert line.endswith(rows[name]["why_not"] or "ready")


# ---- in a terminal --------------------------------------------------------------------------


def test_mutate_shows_in_a_terminal_how_far_it_is_and_takes_that_away(tmp_path: Path, tiny: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("mutate", tiny, "-o", "out", "-n", 100_000),
        cwd=tmp_path, env={**ENV, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs, stdin=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    asked = False
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
        if not data:
            break
        shown += data
        if b" of 100000 mutants" in shown and not asked:
            asked = True
            process.send_signal(signal.SIGINT)
    os.close(ours)
    assert process.wait() == 130
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    assert re.fullmatch(
        rb"(\r\x1b\[Kirfuzz: mutating: \d+ of 100000 mutants, \d+ s)+\r\x1b\[K"
        rb"irfuzz: stopped: \d+ of 100000 mutants are in out\r\n",
        shown,
    ), shown


def test_output_that_cannot_be_written_is_one_line_and_exit_2() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("ops", "--json"),
            env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "irfuzz: error: the output: cannot be written: No space left on device\n"


def test_a_closed_output_changes_nothing_else() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" "$@" >&-', *command("ops", "--json")],
        env=ENV, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
