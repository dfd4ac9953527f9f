"""``irfuzz`` as the shell would run it, without paying for its imports each time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest

from tests.campaign.running import ENV

TINY = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }'

# Every command runs in a process of its own, forked from one that has imported irfuzz.
SERVER = """
import json, os, sys
import irfuzz.cli.main, irfuzz.cli.progress_display, irfuzz.mutate.traced_mutant_generation, irfuzz.execute.target_table
import irfuzz.frontends.isolated_onnx_calls, irfuzz.frontends.onnx_file
from irfuzz.spec import load_specs
load_specs()
irfuzz.cli.progress_display.FIRST = 600.0  # how many lines there are is not to hang on the machine
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.chdir(job["cwd"])
        for fd, name in ((0, os.devnull), (1, job["out"]), (2, job["err"])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), fd)
        sys.argv = ["irfuzz", *job["words"]]
        code = 70
        try:
            code = irfuzz.cli.main.main()
            sys.stdout.flush(), sys.stderr.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(code, flush=True)
"""


@dataclass(frozen=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str


Irfuzz = Callable[..., Result]


class Server:
    """The process that commands are forked from; started again if a test of interrupts has ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, job: dict[str, object]) -> int:
        """Run a command and return its exit code."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.communicate()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def irfuzz(server: Server, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Irfuzz:
    """Run ``irfuzz WORDS`` in the test's folder."""

    def run(*words: object) -> Result:
        told = tmp_path_factory.mktemp("told")
        job = {"cwd": str(tmp_path), "words": [str(w) for w in words], "out": f"{told}/out", "err": f"{told}/err"}
        code = server.ask(job)
        return Result(code, (told / "out").read_text(), (told / "err").read_text())

    return run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two nodes."""
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    onnx.save(onnx.parser.parse_model(TINY), path)
    return path
