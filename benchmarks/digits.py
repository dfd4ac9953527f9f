"""CRADLE and AUDEE on trained models and real labelled data: scikit-learn's digits and diabetes.

``python -m benchmarks.digits`` takes 100 samples of each on runtimes that need milliseconds; ``--all`` takes all 1,797
images and 442 patients, ``--targets`` what is named (``runtimes``: all that are installed, compilers included). Healthy
targets compute ``--batch`` samples in one run of a model of that batch size, so that a compiler compiles once. Printed
are inconsistencies between healthy targets, the pattern histogram and the map of a planted normalisation fault, and how
far AUDEE's search moves two targets apart (figure 3).
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from sklearn.datasets import load_diabetes, load_digits

from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.localize.comparison.ground_truth_inconsistencies import inconsistencies_of, labels_for
from irfuzz.localize.target_comparison import CheckResult, check
from irfuzz.oracle.cradle_distances import CLASS_BINS, unique
from irfuzz.search.input_weight_evolution import EvolutionPlan, evolve
from irfuzz.search.input_weight_genome import Level
from irfuzz.search.nan_inconsistency_fitness import InconsistencyFitness

ROOT = Path(__file__).parents[1]
QUICK = "reference,onnxruntime:disabled,onnxruntime:all,torch:eager,torch:jit,tensorflow:eager"
PAIRS = (["onnxruntime:disabled", "torch:eager"], ["reference", "tests/planted_targets/wrong.py:tanh_saturates"])
FAULTS = ("variance_is_deviation", "drops_mean")


def digits(factor: int, border: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of shape (n, 1, 8 * factor, 8 * factor) with a border of zeros, 0 to 1, and their classes."""
    pixels, classes = load_digits(return_X_y=True)
    images = (pixels[:count].reshape(-1, 1, 8, 8) / 16.0).astype(np.float32)
    images = images.repeat(factor, axis=2).repeat(factor, axis=3)
    wide = np.pad(images, [(0, 0), (0, 0), (border, border), (border, border)])
    return wide, classes[:count].astype(np.int64)


def patients(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Measured values of shape (n, 10), and the progress of the disease."""
    rows, progress = load_diabetes(return_X_y=True, scaled=False)
    return rows[:count].astype(np.float32), progress[:count].astype(np.float32)


def batched(model: Program, size: int) -> Program:
    """The model for so many samples at once."""
    proto = model.to_proto()
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = size
    del proto.graph.value_info[:]
    return Program.from_proto(proto)


def compare_batches(
    model: Program, rows: np.ndarray, truth: np.ndarray, classes: int, targets: list[str], size: int
) -> CheckResult:
    """Every target on every sample, many in one run; inconsistencies are those of single samples."""
    name, output = model.graph.inputs[0].name or "", model.graph.outputs[0].name or ""
    reports: list[CheckResult] = []
    outputs: dict[str, list[np.ndarray]] = {}
    with Runner(resolve(targets), Limits(seconds=120), required=False) as runner:
        for at in range(0, len(rows), size):
            part = rows[at : at + size]
            report = check(runner, batched(model, len(part)), [{name: part}], keep=True, locate=False)
            reports.append(report)
            for target, values in report.outputs.items():
                outputs.setdefault(target, []).extend(np.asarray(row) for value in values[output] for row in value)
    labels = labels_for(truth, output, classes, None)
    return replace(
        reports[0],
        samples=len(rows),
        disagreements=tuple(d for report in reports for d in report.disagreements),
        inconsistencies=tuple(inconsistencies_of(outputs, labels, len(rows))),
    )


def compare(model: Program, rows: np.ndarray, truth: np.ndarray, classes: int, targets: list[str]) -> CheckResult:
    """Every target on every sample."""
    name = model.graph.inputs[0].name or ""
    labels = labels_for(truth, model.graph.outputs[0].name or "", classes, None)
    samples = [{name: rows[i : i + 1]} for i in range(len(rows))]
    with Runner(resolve(targets), required=False) as runner:
        return check(runner, model, samples, labels=labels)


def told(what: str, report: CheckResult) -> int:
    """One line; how many pairs are inconsistent."""
    bad = [i for i in report.inconsistencies if i.inconsistent]
    wrong = [d for d in report.disagreements if not d.undecided]
    left_out = f", left out: {', '.join(report.absent)}" if report.absent else ""
    print(
        f"{what}: {report.samples} samples, {len(report.targets)} targets, {len(report.inconsistencies)} pairs: "
        f"{len(bad)} inconsistent, {len(unique(report.inconsistencies))} unique, {len(wrong)} disagreements beyond "
        f"rounding{left_out}",
        flush=True,
    )
    return len(bad)


def figure_3(model: Program, pair: list[str], generations: int) -> None:
    """AUDEE's figure 3: an image of a two on which both give the same label, moved; then the weights, with that image.

    Distances are those of definition 4. In the paper 0.01 becomes 0.89, where labels differ, then 1.95 with other
    weights.
    """
    images, classes = digits(3, 4, 500)
    fitness = InconsistencyFitness(model)
    with Runner(resolve(pair)) as runner:

        def look(program: Program, image: np.ndarray) -> tuple[float, bool]:
            row = runner.run(tap(program, fitness.logits), {"image": image})
            return float(fitness.score(row, {"image": image})[0]), fitness.fault(row) is not None

        twos = (images[i : i + 1] for i in np.flatnonzero(classes == 2))
        image = next(one for one in twos if not look(model, one)[1])
        first = look(model, image)[0]
        plan = EvolutionPlan(fitness="inconsistency", generations=generations, seconds=300)
        moved = evolve(model, runner, plan, {"image": (0.0, 1.0)}, starts=[{"image": image}])
        found = "no other label" if moved.witness is None else moved.witness.fault.shown
        told = f"{first:.3g} on an image, {moved.best[-1]:.3g} after {len(moved.best)} generations ({found})"
        if moved.witness is not None:
            given = np.asarray(moved.witness.inputs["image"])
            plan = replace(plan, level=Level.WEIGHTS, generations=1)
            both = evolve(model, runner, plan, {}, starts=[{"image": given}])
            told += f", {both.best[-1]:.3g} with other weights too"
    print(f"LeNet, {' and '.join(pair)}: distance {told}", flush=True)


def load(name: str) -> Program:
    return Program.from_proto(onnx.load(ROOT / "seeds" / f"{name}.onnx"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="all samples")
    parser.add_argument("--targets", default=QUICK, help="names with commas")
    parser.add_argument("--batch", type=int, default=2000, help="samples in one run of healthy targets (default: 2000)")
    parser.add_argument("--generations", type=int, default=20)
    args = parser.parse_args()
    os.chdir(ROOT)
    count = 10_000 if args.all else 100
    targets = args.targets.split(",")
    images, classes = digits(3, 4, count)
    bad = told("digits LeNet", compare_batches(load("lenet5"), images, classes, 10, targets, args.batch))
    bad += told("diabetes", compare_batches(load("diabetes"), *patients(count), 1, targets, args.batch))
    images, classes = digits(2, 0, count)
    for fault in FAULTS:
        pair = ["reference", f"tests/planted_targets/wrong.py:{fault}"]
        report = compare(load("resnet"), images, classes, 10, pair)
        told(f"digits ResNet, planted {fault}", report)
        (found,) = report.inconsistencies
        print("  " + ", ".join(f"{n} at distance {b}" for b, n in zip(CLASS_BINS, found.pattern, strict=True)))
        for located in report.located:
            high = [] if located.map is None else [x for x in located.map.ranked if x.highlighted]
            right = sum(x.op == "BatchNormalization" for x in high)
            print(f"  map: {len(high)} highlighted, {right} of them normalisations, the first {high[0].op}")
            print(f"  replay: {', '.join(sorted({r.op for r in located.replayed if r.faulty}))} differ alone")
    for pair in PAIRS:
        figure_3(load("lenet5"), pair, args.generations)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
