"""``irfuzz.fuzz``: what is wrong with its arguments, and how a campaign goes on."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import irfuzz
from irfuzz.errors import UsageError

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }'
)
TWO = ["onnxruntime:all", "onnxruntime:disabled"]

pytestmark = pytest.mark.backend


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"targets": ["nonsense"]}, "targets: .*nonsense"),
        ({"targets": "reference"}, "targets: expected a list of names, got the text 'reference'"),
        ({"options": irfuzz.FuzzOptions(mutators=["nonsense"])}, "mutators: unknown mutator 'nonsense'"),
        ({"options": irfuzz.FuzzOptions(search="nonsense")}, "search: expected one of"),
        ({"seconds": -1.0}, "seconds: expected a number above 0, got -1"),
        ({"options": irfuzz.FuzzOptions(jobs=0)}, "jobs: expected at least 1, got 0"),
        ({"equiv": True, "options": irfuzz.FuzzOptions(hunt="nan")}, "hunt: has no meaning with"),
    ],
)
def test_a_wrong_argument_is_named_before_a_folder_is_made(
    arguments: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        irfuzz.fuzz(MODEL, tmp_path / "out", **{"targets": TWO, **arguments})  # pyright: ignore[reportArgumentType]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.planted
def test_a_planted_fault_is_found_and_the_folder_is_continued(tmp_path: Path) -> None:
    target = f"{Path(__file__).resolve().parents[1] / 'planted_targets' / 'rewritten.py'}:RepeatsTheFirstRow"
    product = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 2] y)
    <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { a = Tanh(x) y = MatMul(a, w) }""")
    updates: list[irfuzz.Update] = []
    options = irfuzz.FuzzOptions(jobs=1, sprouts=0.0, reduce=2.0)
    targets = ["reference", "onnxruntime:disabled", target]
    first = irfuzz.fuzz(
        product, tmp_path / "out", targets=targets, seconds=60, programs=12, options=options, progress=updates.append
    )
    blamed = [finding.verdict.target for finding in first.findings]
    assert target in blamed
    assert all(folder.is_dir() for folder in first.folders)
    assert first.exit_code == 1
    assert not first.continued
    assert str(first).splitlines()[0].startswith(f"{first.progress.seconds:.0f} s, {first.progress.programs} programs")
    assert [row["target"] for row in first.to_json()["list"]] == blamed
    assert [u.doing for u in updates if u.doing][-1] == "fuzzing"
    again = irfuzz.fuzz(product, tmp_path / "out", targets=targets, seconds=60, programs=12, options=options)
    assert again.continued
    assert again.progress.programs_this_run == 0, "there were enough"
    assert len(again.findings) == len(first.findings)
    with pytest.raises(UsageError, match=r"seed: .*holds a campaign with seed 0"):
        irfuzz.fuzz(product, tmp_path / "out", targets=targets, options=irfuzz.FuzzOptions(seed=1))
