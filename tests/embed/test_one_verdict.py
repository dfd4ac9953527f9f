"""One case, one verdict: ``irfuzz.judge``, a campaign's triage, ``irfuzz.check`` and the plug-ins agree about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import onnx
import pytest

from irfuzz.api.judge import judge
from irfuzz.embed.converter_campaign import ConverterFault, ConverterOptions, judged, look_for_fault
from irfuzz.embed.inprocess_runner import OWN, InProcessRunner
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import FindingReproducer
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.localize.comparison.failed_run_disagreements import DEATHS
from irfuzz.localize.target_comparison import CheckSetting, NothingCompared, check
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.npz_tensors import unpack

pytestmark = pytest.mark.backend

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ROOT / "docs" / "bugs"
OTHERS = ("reference", "torch:eager", "numpy:eager")
RECORDED = [f for f in sorted(FOLDERS.iterdir()) if re.match(r"\d+-(onnxruntime|reference)-", f.name)]
WHOLE = ("038-onnxruntime-maxpool-infinity", "070-onnxruntime-resize-same-length", "014-reference-lrn-channels")
"""Tried in the plug-in for pytest as a whole, which starts workers each time."""


class Ways:
    """What each of the ways says of a case: the symptoms that it firmly blames on one target."""

    def __init__(self, blamed: str) -> None:
        self.blamed = blamed
        names = [blamed, *(n for n in (*OTHERS, "onnxruntime:disabled") if n != blamed)][:4]
        self.runner = Runner(resolve(names), Limits(seconds=60))
        self.beside = InProcessRunner(self.converter, names[1:])

    def __enter__(self) -> Self:
        self.runner.__enter__()
        self.beside.__enter__()
        return self

    def __exit__(self, *how: object) -> None:
        self.beside.__exit__(None, None, None)
        self.runner.__exit__(None, None, None)

    def of(self, folder: Path) -> dict[str, frozenset[str]]:
        program = Program.from_bytes((folder / "model.onnx").read_bytes())
        inputs = unpack((folder / "inputs.npz").read_bytes(), str(folder))
        results = self.runner.run(program, inputs)
        everybody = self.runner.targets
        bench = FindingReproducer(
            [self.runner], lambda _: everybody, lambda _: everybody, _as_it_is, lambda *_: "", lambda _: ""
        )
        report = check(self.runner, program, [inputs], locate=False, setting=CheckSetting(distrust=wrong_here))
        apart = [d for d in report.disagreements if d.firm and not d.undecided]
        said = {
            "judge": self._firm(judge(program, inputs, results, runner=self.runner)),
            "campaign": self._firm(bench.judge(FailingCase(program, inputs), results, invalid=False)),
            "check": frozenset(d.symptom.value for d in apart if self.blamed in (d.target, *d.also)),
        }
        # A converter is called in the test's own process, and cannot die alone.
        if not any(r.exit in DEATHS for r in results if r.target.name == self.blamed):
            said["plug-in"] = self._firm(judged(self.beside, program, inputs)[0], OWN.name)
        return said

    def _firm(self, verdicts: Sequence[Verdict], target: str = "") -> frozenset[str]:
        return frozenset(v.symptom.value for v in verdicts if (target or self.blamed) in v.blamed and not v.suspect)

    def converter(self, model: onnx.ModelProto) -> Callable[[Mapping[str, np.ndarray]], Mapping[str, Value]]:
        """Stands for the target that is blamed."""
        program = Program.from_proto(model)
        (target,) = [t for t in self.runner.targets if t.name == self.blamed]

        def run(inputs: Mapping[str, np.ndarray]) -> Mapping[str, Value]:
            (result,) = self.runner.run(program, inputs, [target])
            if result.exit is Exit.UNSUPPORTED:
                raise NotImplementedError(result.error)
            if result.exit is not Exit.OK:
                raise RuntimeError(result.error)
            return result.outputs

        return run


def _as_it_is(finding: Finding, _watch: object) -> FailingCase:
    return finding.case


@pytest.fixture(scope="module", params=["onnxruntime:disabled", "onnxruntime:all", "reference"])
def ways(request: pytest.FixtureRequest) -> Iterator[Ways]:
    try:
        made = Ways(request.param)
    except UsageError as error:
        pytest.skip(str(error))
    with made:
        yield made


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f.name)
def test_every_way_says_the_same(ways: Ways, folder: Path) -> None:
    if folder.name.split("-")[1] != ways.blamed.partition(":")[0]:
        pytest.skip("another component's")
    try:
        said = ways.of(folder)
    except NothingCompared as error:
        pytest.skip(str(error))
    assert len(set(said.values())) == 1, said


@pytest.mark.parametrize("folder", [FOLDERS / name for name in WHOLE], ids=lambda f: f.name)
def test_the_marker_of_pytest_says_it_too(ways: Ways, folder: Path, tmp_path: Path) -> None:
    """As a stored finding, which a test with the marker replays before anything else."""
    if folder.name.split("-")[1] != ways.blamed.partition(":")[0]:
        pytest.skip("another component's")
    stored = tmp_path / "one"
    stored.mkdir()
    for name in ("model.onnx", "inputs.npz"):
        (stored / name).write_bytes((folder / name).read_bytes())
    (stored / "finding.json").write_text(json.dumps({"origin": "recorded"}))
    names = [t.name for t in ways.beside.witnesses]
    found = look_for_fault(ways.converter, tmp_path, ConverterOptions(targets=names, seconds=0.0, programs=1))
    said = {found.finding.verdict.symptom.value} if isinstance(found, ConverterFault) else set[str]()
    assert said == ways.of(folder)["judge"]
