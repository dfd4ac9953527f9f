"""``irfuzz.check``: what the command does not reach, or says in other words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irfuzz
from irfuzz.errors import UsageError

TWO = ["onnxruntime:all", "onnxruntime:disabled"]
OPEN = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[N, 2] x) => (float[N, 2] y) { y = Tanh(x) }'
)
SAMPLE = {"x": np.array([[0.5, -2.0]], np.float32)}

pytestmark = pytest.mark.backend


def test_samples_and_files_of_inputs_and_outputs(tmp_path: Path) -> None:
    files = irfuzz.CheckOptions(save_inputs=tmp_path / "in.npz", save_outputs=str(tmp_path / "out.npz"))
    report = irfuzz.check(OPEN, targets=TWO, inputs=[SAMPLE, SAMPLE], options=files)
    assert report.agree
    assert report.report.samples == 2
    assert report.setup.inputs == "", "the caller gave them"
    assert np.load(tmp_path / "in.npz")["x"].shape == (2, 1, 2)
    same = irfuzz.CheckOptions(saved=tmp_path / "out.npz")
    assert irfuzz.check(OPEN, targets=TWO[:1], inputs=[SAMPLE, SAMPLE], options=same).agree
    wrong = {f"{TWO[1]}/y": np.load(tmp_path / "out.npz")[f"{TWO[1]}/y"] + 1}
    other = irfuzz.CheckOptions(saved=wrong, locate=False)
    apart = irfuzz.check(OPEN, targets=TWO[:1], inputs=[SAMPLE, SAMPLE], options=other)
    assert not apart.agree
    assert apart.to_json()["agree"] is False


def test_inputs_are_drawn_in_the_sizes_that_are_said() -> None:
    said = irfuzz.InputSpec(shapes={"x": (3, 2)}, ranges={"x": (0.0, 0.5)})
    report = irfuzz.check(OPEN, targets=TWO, inputs=said, draw=3)
    assert report.report.samples == 3
    assert report.setup.inputs.startswith("x float32[3,2] in 0")
    again = irfuzz.check(OPEN, targets=TWO, inputs=SAMPLE, draw=2)
    assert again.setup.inputs.endswith("(drawn)"), "draw= wins over samples"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"targets": TWO[:1]}, "targets: expected at least two to compare, got onnxruntime:all"),
        ({"targets": "onnxruntime:all"}, "targets: expected a list of names, got the text"),
        ({"draw": 0}, "draw: expected at least 1, got 0"),
        ({"rtol": {"z": 1e-3}}, r"rtol: 'z' is no output of the model \(y\)"),
        ({"atol": -1.0}, "atol: expected a number of at least 0, got -1"),
        ({"options": irfuzz.CheckOptions(causes=True, locate=False)}, "causes: with locate=False"),
        ({"options": irfuzz.CheckOptions(labels=irfuzz.GroundTruth(np.zeros(1)))}, "labels: they are about samples"),
        ({"options": irfuzz.CheckOptions(base="torch:eager")}, "base 'torch:eager' is not one of the targets"),
        ({"options": irfuzz.CheckOptions(saved={"x": np.zeros(1)})}, "saved: expected arrays TARGET/OUTPUT"),
        (
            {
                "inputs": SAMPLE,
                "options": irfuzz.CheckOptions(labels=irfuzz.GroundTruth(np.zeros(1), metric="l2")),
            },
            "metric: expected one of class, mad, got 'l2'",
        ),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        irfuzz.check(OPEN, **{"targets": TWO, **arguments})  # pyright: ignore[reportArgumentType]


def test_a_bound_of_one_output_is_a_bound_of_no_other() -> None:
    fixed = irfuzz.check(OPEN, targets=TWO, rtol={"y": 1e-3}, atol=1e-3)
    assert fixed.agree


def test_targets_may_be_objects() -> None:
    from irfuzz.execute.target_table import resolve

    report = irfuzz.check(OPEN, targets=list(resolve(TWO)), draw=1)
    assert [t.name for t in report.report.targets] == TWO
