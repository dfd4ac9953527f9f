"""Other versions of a component: names of targets, records, runs in another interpreter, and how building fails."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import environments, installation
from irfuzz.execute.versions.environments import Environment, version_key
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.model_interface.convert_opset import IR_VERSIONS, newest_for
from tests.execute.other_python import make_python, put

RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
LEVELS = ["disabled", "basic", "extended", "layout", "all"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of environments."""
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))
    return tmp_path / "home" / "environments"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_python(tmp_path_factory.mktemp("python") / "env")


def names(*wanted: str) -> list[str]:
    return [t.name for t in target_table.resolve(wanted)]


# ---- records --------------------------------------------------------------------------------


@pytest.mark.unit
def test_where_environments_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environments.HOME)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert environments.folder() == tmp_path / "irfuzz" / "environments"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environments.folder() == tmp_path / ".local/share/irfuzz/environments"
    assert environments.installed() == ()


@pytest.mark.unit
def test_a_record_comes_back_and_half_an_environment_does_not_count(home: Path) -> None:
    made = put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable, opset=21, ir=10)
    (home / "onnxruntime-1.23.2" / "bin").mkdir(parents=True)
    (home / "onnxruntime-1.23.2" / "environment.draft").write_text("{}")
    assert environments.installed() == (made,)
    installation.remove("onnxruntime-1.23.2")
    assert not (home / "onnxruntime-1.23.2").exists()
    installation.remove("onnxruntime-1.20.1")
    assert environments.installed() == ()
    with pytest.raises(UsageError, match=r"no environment 'onnxruntime-1\.20\.1'; there are: none"):
        installation.remove("onnxruntime-1.20.1")
    with pytest.raises(UsageError, match="no environment"):
        installation.remove("..")


@pytest.mark.unit
@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": 2}'])
def test_a_record_that_cannot_be_read_says_so(text: str) -> None:
    put("a-1", "a", "1", "", sys.executable)
    environments.record("a-1").write_text(text)
    with pytest.raises(UsageError, match=r"a-1.*irfuzz env remove"):
        environments.installed()


@pytest.mark.unit
def test_versions_are_sorted_by_number() -> None:
    wanted = ["1.4", "1.20.1", "1.31.0.dev1", "1.31.0rc1", "1.31.0", "1.31.0.post1", "1.31.1", "2.13.0+cpu"]
    assert sorted(sorted(wanted), key=version_key) == wanted


# ---- names of targets -----------------------------------------------------------------------


@pytest.mark.unit
def test_versions_in_target_names(home: Path) -> None:
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable, opset=21, ir=10)
    put("onnxruntime-1.3.0", "onnxruntime", "1.3.0", "onnxruntime", sys.executable)
    put("onnx-1.22.0", "onnx", "1.22.0", "reference", sys.executable)
    put("tensorflow-2.15.0", "tensorflow", "2.15.0", "", sys.executable)
    assert names("ort@1.20.1:all") == names("onnxruntime@1.20.1:all") == ["onnxruntime@1.20.1:all"]
    assert names("ort:all", "ort@1.20.1:all") == ["onnxruntime:all", "onnxruntime@1.20.1:all"]
    assert names("ort@1.20.1") == names("ort@1.20.1:*") == [f"onnxruntime@1.20.1:{level}" for level in LEVELS]
    assert names("ort@*:disabled") == ["onnxruntime@1.3.0:disabled", "onnxruntime@1.20.1:disabled"]
    assert names("reference@1.22.0") == ["reference@1.22.0"]
    (target,) = target_table.resolve(["ort@1.20.1:all"])
    assert (target.version, target.opset, target.ir, target.environment) == ("1.20.1", 21, 10, "onnxruntime-1.20.1")
    assert target.requirement == "onnxruntime==1.20.1 numpy"
    # The version of irfuzz's own environment is that one, and other names mean no other version.
    assert names(f"ort@{onnxruntime.__version__}:all") == ["onnxruntime:all"]
    assert not any("@" in name for name in [*names("onnxruntime"), *(t.name for t in target_table.resolve(None))])


@pytest.mark.unit
def test_an_environment_of_another_name_is_named_or_found_by_its_version() -> None:
    put("np1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable)
    assert names("ort@np1:all") == names("ort@1.20.1:all") == ["onnxruntime@np1:all"]
    put("np2", "onnxruntime", "1.20.1", "onnxruntime", sys.executable)
    with pytest.raises(UsageError, match=r"more than one environment has 1\.20\.1.*onnxruntime@np1, onnxruntime@np2"):
        names("ort@1.20.1:all")
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable)
    assert names("ort@1.20.1:all") == ["onnxruntime@1.20.1:all"]


@pytest.mark.unit
def test_versions_that_are_not_there_say_how_to_get_them() -> None:
    with pytest.raises(UsageError, match=r"no onnx 1\.22\.0 .*irfuzz env add onnx==1\.22\.0"):
        names("reference@1.22.0")
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", "/nowhere/python")
    with pytest.raises(UsageError, match=r"/nowhere/python is gone; run `irfuzz env remove onnxruntime-1\.20\.1`"):
        names("ort@1.20.1:all")
    with pytest.raises(
        UsageError, match=r"unknown target 'ort@1\.20\.1:fastest'; known: onnxruntime@1\.20\.1:disabled"
    ):
        names("ort@1.20.1:fastest")
    reasons = {a.target.name: a.why_not for a in target_table.describe()}
    assert "is gone" in reasons["onnxruntime@1.20.1:basic"]


@pytest.mark.unit
def test_devices_are_those_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_table, "why_no_gpu", lambda: "")
    put("onnxruntime-gpu-1.29.0", "onnxruntime-gpu", "1.29.0", "onnxruntime", sys.executable)
    put("onnxruntime-1.29.0", "onnxruntime", "1.29.0", "onnxruntime", sys.executable)
    assert names("ort@1.29.0:all") == ["onnxruntime@1.29.0:all"]
    with pytest.raises(UsageError, match="unknown target"):
        names("ort@1.29.0:all@cuda")
    assert names("ort@onnxruntime-gpu-1.29.0:all@cuda") == ["onnxruntime@onnxruntime-gpu-1.29.0:all@cuda"]
    put("torch-2.9.0+cpu", "torch", "2.9.0+cpu", "torch", sys.executable)
    with pytest.raises(UsageError, match=r"torch 2\.9\.0\+cpu has no CUDA"):
        names("torch@2.9.0+cpu:eager@cuda")
    monkeypatch.setattr(target_table, "why_no_gpu", lambda: "no NVIDIA GPU here")
    with pytest.raises(UsageError, match="no NVIDIA GPU here"):
        names("ort@onnxruntime-gpu-1.29.0:all@cuda")


@pytest.mark.unit
def test_mutation_stays_below_the_lowest_of_the_targets() -> None:
    assert newest_for([]) == newest_for([(0, 0), (26, 13)]) == 26
    assert newest_for([(21, 13), (26, 13)]) == 21
    assert newest_for([(26, 13), (19, 9)]) == 19
    assert newest_for([(26, 8)]) == max(n for n, ir in IR_VERSIONS.items() if ir <= 8)
    assert newest_for([(12, 7)]) == 12
    assert newest_for([(8, 3)]) == 0


# ---- running --------------------------------------------------------------------------------


@pytest.mark.backend
def test_a_version_runs_in_its_own_interpreter_beside_ours(other: Path) -> None:
    """Its packages are the same here; that old ones work is shown by the environment that is really built, below."""
    put("onnxruntime-1.0.0", "onnxruntime", "1.0.0", "onnxruntime", other)
    put("onnx-1.0.0", "onnx", "1.0.0", "reference", other)
    put("torch-1.0.0", "torch", "1.0.0", "torch", other)
    program = Program.from_proto(onnx.parser.parse_model(RELU))
    chosen = target_table.resolve(["ort@1.0.0:all", "ort:all", "reference@1.0.0", "torch@1.0.0:eager"])
    with Runner(chosen, Limits()) as runner:
        versions = [t.version for t in runner.targets]
        assert versions[:3] == [onnxruntime.__version__, onnxruntime.__version__, onnx.__version__]
        assert all(t.opset >= 26 and t.ir >= 13 for t in runner.targets[:3])
        results = runner.run(program, {"x": np.array([-1, 2], np.float32)})
        for result in results:
            assert (result.exit, result.error) == (Exit.OK, "")
            np.testing.assert_array_equal(result.outputs["y"], np.array([0, 2], np.float32))  # type: ignore[arg-type]
        commands = {Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode() for pid in below(os.getpid())}
    assert {str(other), sys.executable} <= commands


def below(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split() if Path(f"/proc/{word}/exe").exists()]


# ---- building -------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("onnxruntime==1.29.0", ("onnxruntime", "1.29.0")),
        (" Onnxruntime_GPU == 1.29.0 ", ("onnxruntime-gpu", "1.29.0")),
        ("torch==2.13.0+cpu", ("torch", "2.13.0+cpu")),
    ],
)
def test_what_can_be_asked_for(text: str, wanted: tuple[str, str]) -> None:
    wish = installation.read_wish(text)
    assert (wish.distribution, wish.version) == wanted
    assert wish.given == f"{wanted[0]}=={wanted[1]}"


@pytest.mark.unit
@pytest.mark.parametrize(
    "text", ["", "onnxruntime", "onnxruntime>=1.2", "onnx==1.*", "--help==1", "a==1; b", "x.whl", "a @ git+https://b"]
)
def test_what_cannot(text: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        installation.read_wish(text)


@pytest.mark.unit
def test_a_wheel_says_what_it_is(tmp_path: Path) -> None:
    wheel = tmp_path / "onnxruntime_gpu-1.32.0.dev1-cp311-cp311-linux_x86_64.whl"
    wheel.write_bytes(b"")
    wish = installation.read_wish(str(wheel))
    assert (wish.distribution, wish.version, wish.given) == ("onnxruntime-gpu", "1.32.0.dev1", str(wheel))


@pytest.mark.unit
@pytest.mark.parametrize("name", ["a:b", "a@b", "../x", "a,b", "-x", "a*", "x."])
def test_names_that_would_break_target_names(name: str) -> None:
    with pytest.raises(UsageError, match="environment's name"):
        installation.add(installation.read_wish("onnx==1.22.0"), name=name)


@pytest.mark.unit
def test_what_pip_says_ends_in_one_line_with_advice() -> None:
    missing = (
        "Looking in links: x\nERROR: Could not find a version that satisfies the requirement onnx==9.9 (from versions: "
        "1.0, 1.1)\nERROR: No matching distribution found for onnx==9.9\n"
    )
    told = installation._explain(missing, ["onnx==9.9", "numpy"], None)
    assert "\n" not in told
    assert "(from versions: 1.0, 1.1)" in told
    assert "--python" in told
    unreachable = "WARNING: Retrying ... NewConnectionError('<...>: Failed to establish a new connection')\n" + missing
    for said in (unreachable, missing.replace("1.0, 1.1", "none")):
        told = installation._explain(said, ["onnx==9.9", "numpy<2"], None)
        assert "pip download -d DIR onnx==9.9 'numpy<2'` where there is one, and add --wheels DIR here" in told
    assert "pip download" in installation._explain(missing, ["onnx==9.9"], Path("wheels"))
    assert "--with 'numpy<2'" in str(
        installation._unusable("it", "ImportError: x", "A module that was compiled using NumPy 1.x cannot")
    )
    assert "--with tensorflow" in str(installation._unusable("it", "ModuleNotFoundError: No module named 'tensorflow'"))


def test_a_failure_leaves_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with pytest.raises(UsageError, match=r"pip cannot install onnx==1\.22\.0 numpy: .*onnx==1\.22\.0.*lacks a wheel"):
        installation.add(installation.read_wish("onnx==1.22.0"), source=installation.PackageSource(tmp_path / "wheels"))
    assert [p.name for p in home.iterdir()] == ["onnx-1.22.0.lock"]
    with pytest.raises(UsageError, match="/nowhere/python is no program"):
        installation.add(installation.read_wish("onnx==1.22.0"), python="/nowhere/python")
    with pytest.raises(UsageError, match="cannot make a virtual environment"):
        installation.add(installation.read_wish("onnx==1.22.0"), python="/bin/false")
    assert environments.installed() == ()


@pytest.mark.unit
def test_a_second_builder_waits_and_takes_what_the_first_has_made(home: Path) -> None:
    home.mkdir(parents=True)
    told: list[str] = []
    found: list[tuple[Environment, bool]] = []
    with (home / "onnx-1.22.0.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wish = installation.read_wish("onnx==1.22.0")
        second = threading.Thread(target=lambda: found.append(installation.add(wish, say=told.append)))
        second.start()
        while not told:
            time.sleep(0.01)
        assert "another process" in told[0]
        assert not found
        made = put("onnx-1.22.0", "onnx", "1.22.0", "reference", sys.executable)
    second.join()
    assert found == [(made, False)]
    with pytest.raises(UsageError, match=r"is there already, made of onnx==1\.22\.0 numpy; .*--name"):
        installation.add(wish, others=["numpy==1.26.4"])


def test_a_killed_builder_leaves_nothing_that_counts(home: Path, tmp_path: Path) -> None:
    code = "from irfuzz.cli.main import main; main(['env', 'add', 'onnx==1.22.0', '--wheels', '.'])"
    builder = subprocess.Popen([sys.executable, "-P", "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while not (home / "onnx-1.22.0" / "bin").exists():
        assert builder.poll() is None
        time.sleep(0.01)
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    assert environments.installed() == ()
    with pytest.raises(
        UsageError, match="pip cannot install"
    ):  # the lock is free, and what was left is in nobody's way
        installation.add(installation.read_wish("onnx==1.22.0"), source=installation.PackageSource(tmp_path))
    assert not (home / "onnx-1.22.0").exists()


@pytest.mark.slow
@pytest.mark.backend
def test_an_older_version_is_built_and_shows_what_was_fixed_since(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The only test that needs a package index: onnx 1.22.0's evaluator ignores ``auto_pad=VALID`` of Conv."""
    from irfuzz.cli.main import main

    if main(["env", "add", "onnx==1.22.0", "--json"]) != 0:
        told = capfd.readouterr().err
        if "no package index that can be reached" in told:
            pytest.skip(f"needs a package index: {told.splitlines()[-1]}")
        pytest.fail(told)
    about = json.loads(capfd.readouterr().out)
    assert (about["built"], about["component"], about["version"]) == (True, "reference", "1.22.0")
    assert about["opset"] >= 26
    assert about["ir"] >= 13
    assert about["numpy"]
    assert Path(about["interpreter"]).is_relative_to(home)
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,H,W] y) { y = Conv<auto_pad = "VALID">(x, w) }"""
    program = Program.from_proto(onnx.parser.parse_model(text))
    inputs = {"x": np.ones((1, 1, 4, 4), np.float32), "w": np.ones((1, 1, 3, 3), np.float32)}
    with Runner(target_table.resolve(["reference@1.22.0", "reference"]), Limits()) as runner:
        old, new = runner.run(program, inputs)
    assert old.target.version == "1.22.0"
    assert np.shape(old.outputs["y"]) == (1, 1, 4, 4)  # type: ignore[arg-type]
    assert np.shape(new.outputs["y"]) == (1, 1, 2, 2)  # type: ignore[arg-type]
