"""The code of workers is read by the oldest Python that workers may have, if there is one on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.execute.versions.interpreters import OLDEST, find_interpreter
from irfuzz.isolate import Limits, Worker, WorkerSpec

HERE = Path(irfuzz.__file__).parent
VERSION = ".".join(map(str, OLDEST))
READ_THERE = [
    *(HERE / "isolate" / f"{name}.py" for name in ("child", "folder_removal", "line_tracer", "linux", "sandbox")),
    *(HERE / "isolate" / f"{name}.py" for name in ("transport", "zygote")),
    *sorted((HERE / "execute" / "workers").rglob("*.py")),
    *sorted((HERE / "export" / "keras" / "support").glob("*.py")),
]


@pytest.fixture(scope="module")
def old() -> str:
    try:
        return find_interpreter(VERSION)
    except UsageError as error:
        pytest.skip(str(error))


def test_it_can_be_read(old: str) -> None:
    read = "import sys, tokenize\nfor f in sys.argv[1:]: compile(tokenize.open(f).read(), f, 'exec')"
    done = subprocess.run([old, "-c", read, *map(str, READ_THERE)], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.slow
def test_a_worker_of_it_answers(old: str, tmp_path: Path) -> None:
    subprocess.run([old, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "install", "-q", "numpy"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install numpy for Python {VERSION}")
    handler = tmp_path / "handler.py"
    handler.write_text("def handle(request, values):\n    return {'got': request}, [values[0] * 2, *values[1:]]\n")
    with Worker(WorkerSpec("old", handler, (), str(python)), Limits(seconds=60)) as worker:
        reply = worker.call({"a": 1}, [np.arange(6.0).reshape(2, 3), np.ones(2, np.int8)])
        texts = worker.call({"b": 2}, [np.array(["x"], object)])
    assert (reply.exit, reply.response) == ("ok", {"got": {"a": 1}})
    (doubled, _), (text,) = reply.values, texts.values
    assert isinstance(doubled, np.ndarray)
    assert isinstance(text, np.ndarray)
    np.testing.assert_array_equal(doubled, 2 * np.arange(6.0).reshape(2, 3))
    assert texts.exit == "ok"
    assert text.tolist() == ["xx"]


@pytest.mark.unit
def test_a_version_is_looked_for_among_those_of_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("3.7.9", "3.7.16", "3.71.1"):
        python = tmp_path / "versions" / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch(mode=0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert find_interpreter("3.7") == str(tmp_path / "versions/3.7.16/bin/python")
    assert find_interpreter("3.7.9") == str(tmp_path / "versions/3.7.9/bin/python")
    assert find_interpreter("/usr/bin/python3") == "/usr/bin/python3"
    with pytest.raises(UsageError, match=r"no python3\.8"):
        find_interpreter("3.8")
    with pytest.raises(UsageError, match="workers need"):
        find_interpreter("3.6")


def test_what_needs_no_component_can_be_imported(old: str) -> None:
    """Annotations are text there, but aliases and base classes are computed."""
    code = "import sys\nsys.path += sys.argv[1:]\nimport workers.generated_module_runner, workers.ways.layers"
    command = [old, "-c", code, str(HERE / "execute")]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
