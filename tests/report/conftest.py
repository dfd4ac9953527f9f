"""Findings of real runs, as a campaign stores them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

from irfuzz.execute import target_table
from irfuzz.execute.run_types import RunResult
from irfuzz.execute.runner import Runner
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.npz_tensors import pack

FAULTS = "tests/planted_targets/faults.py"
WRONG = "tests/report/wrong.py"
WITNESSES = ("reference", f"{WRONG}:Right")
LIMITS = Limits(seconds=3, memory_bytes=256 << 20)

RELU = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"
TRACE = {"seed": {"name": "`seed`\n"}, "edits": [{"mutator": "insert_layer", "site": "a`b", "detail": "| <i> \n# x"}]}


def parse(text: str, opset: int = 17) -> Program:
    """A program from ONNX's text format."""
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}'))


@pytest.fixture(scope="session")
def run_on(root: Path) -> Callable[..., list[RunResult]]:
    """Runs a program on targets by name; plug-ins are found from the checkout."""

    def run(program: Program, inputs: Mapping[str, Any], names: Sequence[str]) -> list[RunResult]:
        with contextlib.chdir(root), Runner(target_table.resolve(names), LIMITS) as runner:
            return runner.run(program, inputs)

    return run


@pytest.fixture(scope="session")
def finding(run_on: Callable[..., list[RunResult]]) -> Callable[..., Finding]:
    """The finding that judging a run of a program on a faulty target and its witnesses gives, made once."""
    made: dict[tuple[Any, ...], Finding] = {}

    def make(program: Program, inputs: Mapping[str, Any], faulty: str, witnesses: Sequence[str] = WITNESSES) -> Finding:
        key = (program.to_bytes(), pack(inputs), faulty, *witnesses)
        if key not in made:
            results = run_on(program, inputs, [faulty, *witnesses])
            verdict = next(v for v in judge(program, inputs, results) if v.target == faulty)
            made[key] = finding_of(program, inputs, results, verdict)
        return made[key]

    return make


def finding_of(program: Program, inputs: Mapping[str, Any], results: Sequence[RunResult], verdict: Verdict) -> Finding:
    """What a campaign would store."""
    case = FailingCase(program, inputs)
    return Finding(verdict, case, case, results, trace=TRACE, iteration=3).signed()


def run_script(folder: Path, cwd: Path, **env: str) -> tuple[int, str]:
    """Exit code and output of a folder's ``repro.py``, which must find its files by itself."""
    done = subprocess.run(
        [sys.executable, "-B", str(folder / "repro.py")],
        cwd=cwd,
        check=False,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr
