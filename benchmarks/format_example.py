"""Makes the example of each stored format that a release leaves behind for later versions to read.

A small campaign against a target whose Relu does nothing is stored below ``tests/formats/VERSION``: its database, the
folder of the finding with its trace, and a baseline. ``tests/test_formats.py`` reads every such folder.

Run ``python -m benchmarks.format_example`` once a release, with ONNXRuntime installed; ``--irfuzz`` names the command
of another installation, whose version then names the folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx.parser

FORMATS = Path(__file__).resolve().parents[1] / "tests" / "formats"
SEED = '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] z) { y = Relu(x)  z = Add(y, x) }'
TARGET = '''"""A target whose Relu does nothing."""

import onnx
from onnx.reference import ReferenceEvaluator


class Faulty:
    def run(self, model, inputs):
        proto = onnx.load_from_string(model)
        for node in proto.graph.node:
            node.op_type = "Identity" if node.op_type == "Relu" else node.op_type
        names = [output.name for output in proto.graph.output]
        return dict(zip(names, ReferenceEvaluator(proto).run(None, inputs)))
'''
FUZZ = (
    *("fuzz", "seed.onnx", "--target", "faulty.py:Faulty", "--targets", "reference,onnxruntime:disabled"),
    *("--programs", "2", "--time", "60s", "--seed", "1", "--sprouts", "0", "--jobs", "1", "--out", "campaign"),
)


def make(command: list[str], into: Path) -> Path:
    """Store the example; a folder of the same version is replaced.

    Args:
        command: what starts irfuzz.
        into: folder of all versions.

    Returns:
        The folder of this version.
    """

    def run(*words: str, allowed: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run([*command, *words], cwd=place, capture_output=True, text=True, check=False)
        if done.returncode not in allowed:
            raise SystemExit(f"irfuzz {' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    with tempfile.TemporaryDirectory(prefix="format-example-", dir="/tmp") as name:  # a path that says nothing
        place = Path(name)
        onnx.save(onnx.parser.parse_model(SEED), place / "seed.onnx")
        (place / "faulty.py").write_text(TARGET, encoding="utf-8")
        folder = into / run("--version").split()[-1]
        run(*FUZZ, allowed=(1,))
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "campaign").mkdir(parents=True)
        shutil.copy(place / "campaign" / "campaign.sqlite", folder / "campaign")
        scripts = shutil.ignore_patterns("*.py")  # nothing reads them
        shutil.copytree(place / "campaign" / "findings", folder / "campaign" / "findings", ignore=scripts)
        shutil.copy(place / "seed.onnx", folder)
        if "baseline" in run("findings", "--help"):
            run("findings", "baseline", "campaign", "-o", str(folder / "baseline.json"))
    return folder


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--irfuzz", help="the command of another installation; default: this one")
    parser.add_argument("--into", type=Path, default=FORMATS)
    args = parser.parse_args()
    os.environ.pop("PYTHONPATH", None)
    print(make([args.irfuzz] if args.irfuzz else [sys.executable, "-m", "irfuzz"], args.into.resolve()))


if __name__ == "__main__":
    main()
