"""What model synthesis (COMET's algorithm 1) makes of published networks, beside what the issue asks for.

    python -m benchmarks.synthesis [resnet50] [inception-resnet-v2] [densenet121] [transformer] [--folder DIR]
    python -m benchmarks.synthesis --light
    python -m benchmarks.synthesis --comet [--folder DIR]
    python -m benchmarks.synthesis --file MODEL.onnx

The networks are built at full size by ``benchmarks.large_models`` where they are not in the folder; those of
``--light`` are shipped with onnx, at IR version 3, with weights that ConstantOfShape makes; those of ``--comet`` are
the ten of COMET's table 5, built as Keras files by ``benchmarks.papers.subjects``. What is kept is counted once more by
the coverage that ``irfuzz coverage`` reports, and every result is checked, made twice and run. The bound is computed
from the features of the original alone. Exit code: 1 if a result is over 1.5 times its bound, lacks a feature, took
over 20 seconds or does not run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

from benchmarks.large_models import MODELS
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.generate.covering_program_synthesis import Synthesis, synthesize
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage

MOST_RATIO = 1.5
MOST_SECONDS = 20
LARGE = 1_000_000
"""So many weights make a network of which nearly all are to go; constants of up to 1,024 elements stay in each."""

COMET = (
    *("alexnet_cifar", "lstm_sine", "lenet5", "densenet121", "inceptionresnetv2"),
    *("inceptionv3", "resnet50", "xception", "lstm_stock", "mobilenetv2"),
)
"""The networks of table 5."""


def kept(large: Program, small: Program) -> dict[str, tuple[int, int]]:
    """Covered features of each criterion: of the large program, and of those how many the small one lacks."""
    space = load()
    found: dict[str, tuple[int, int]] = {}
    alone, both = Coverage(space), Coverage(space)
    alone.add(small)
    both.add(small)
    both.add(large)
    of = Coverage(space)
    of.add(large)
    for name in CRITERIA:
        # What the large one adds to the small one is what the small one lacks.
        found[name] = of.shares()[name].covered, both.shares()[name].covered - alone.shares()[name].covered
    return found


def runs(program: Program, folder: Path) -> tuple[bool, float]:
    """Whether ONNXRuntime runs it without optimisation, in a process of its own, and seconds of one inference."""
    model, inputs = folder / "small.onnx", folder / "inputs.npz"
    model.write_bytes(program.to_bytes())
    np.savez(inputs, **make_inputs(program, 0))  # type: ignore[arg-type]
    code = (
        "import sys, time, numpy, onnxruntime as o\n"
        "s = o.SessionOptions(); s.graph_optimization_level = o.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
        "r = o.InferenceSession(sys.argv[1], s, providers=['CPUExecutionProvider'])\n"
        "x = dict(numpy.load(sys.argv[2])); r.run(None, x); t = time.perf_counter(); r.run(None, x)\n"
        "print(time.perf_counter() - t)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model), str(inputs)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
        return False, 0.0
    return True, float(done.stdout)


def report(name: str, path: Path, seed: int) -> dict[str, object]:
    with OnnxChecker() as checker, Converters() as converters, tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        program = load_seed(path, checker=checker, converters=converters)
        read = time.perf_counter() - began
        began = time.process_time()
        found: Synthesis = synthesize(program, seed=seed)
        seconds = time.process_time() - began
        data = found.program.to_bytes()
        checker.check(data)
        same = synthesize(program, seed=seed).program.to_bytes() == data
        ran, inference = runs(found.program, Path(folder))
    ratio = found.nodes[1] / found.least
    asked = "at least 99%" if found.weights[0] >= LARGE else "for comparison"
    fewer = 1 - found.weights[1] / found.weights[0]
    features = kept(program, found.program)
    print(f"{name}: {found.nodes[0]} nodes -> {found.nodes[1]}, {sum(found.wanted.values())} features: {found.wanted}")
    rows = [
        ("features of irfuzz coverage that are lacking", sum(lost for _, lost in features.values()), "0"),
        ("nodes beside the lower bound", round(ratio, 3), f"at most 1.5; the bound is {found.least}"),
        ("weights fewer", f"{fewer:.2%}", f"{asked}; {found.weights[0]:,} -> {found.weights[1]:,}"),
        ("seconds of synthesis (of a processor; clock)", f"{seconds:.1f}; {found.seconds:.1f}", "below 20"),
        ("the same bytes again", same, "True"),
        ("onnx.checker, and run by ONNXRuntime unoptimised", ran, "True"),
        ("seconds of one inference", round(inference, 3), "for comparison"),
        ("seconds of reading and checking the large model", round(read, 1), "for comparison"),
    ]
    for what, value, target in rows:
        print(f"  {what:<55} {value!s:>16}   ({target})")
    print(f"  the bound: {', '.join(f'{n} {op}' for op, n in found.bound.items())}", flush=True)
    lost = sum(lost for _, lost in features.values())
    thin = found.weights[0] < LARGE or fewer >= 0.99
    quick = max(seconds, found.seconds) < MOST_SECONDS
    passed = ratio <= MOST_RATIO and thin and not lost and quick and same and ran
    return {
        "model": name, **found.to_json(), "ratio": ratio, "lacking": features, "same": same, "runs": ran,
        "passed": passed,
    }  # fmt: skip


def light_models() -> list[Path]:
    """The models of onnx's own backend tests whose weights are left out."""
    return sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


def comet_models(folder: Path) -> list[Path]:
    """The Keras files of COMET's networks, made where they are not in the folder."""
    lacking = [name for name in COMET if not (folder / f"{name}.keras").exists()]
    if lacking:
        subprocess.run([sys.executable, "-m", "benchmarks.papers.subjects", folder, *lacking], check=True)
    return [folder / f"{name}.keras" for name in COMET]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="all, unless some are named")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "irfuzz-large-models")
    parser.add_argument("--light", action="store_true", help="onnx's nine light models as shipped, and no others")
    parser.add_argument("--comet", action="store_true", help="the ten networks of COMET's paper, and no others")
    parser.add_argument("--file", type=Path, action="append", default=[], help="a model of your own, and no others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    figures: list[dict[str, object]] = []
    comet = comet_models(options.folder) if options.comet else ()
    given = [*(light_models() if options.light else ()), *comet, *options.file]
    figures += [report(path.stem, path, options.seed) for path in given]
    for name in options.models or ([] if given else MODELS):
        path = options.folder / f"{name}.onnx"
        if not path.exists():
            # A process of its own: TensorFlow's and PyTorch's memory is not needed any more then.
            subprocess.run([sys.executable, "-m", "benchmarks.large_models", str(options.folder), name], check=True)
        figures.append(report(name, path, options.seed))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(bool(row['passed']) for row in figures)} of {len(figures)} models are within all of these")
    sys.exit(not all(row["passed"] for row in figures))


if __name__ == "__main__":
    main()
