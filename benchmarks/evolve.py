"""The genetic search for NaN beside the paper's alone and beside draws, printed as a table.

``python -m benchmarks.evolve`` runs each on the faulty programs of ``benchmarks.numeric`` in which NaN is reachable
within the stated ranges, with the same number of runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

import numpy as np

from benchmarks.numeric.programs import PAIRS, Case
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.request_batching import Task
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.search.gene_vector_breeding import Settings
from irfuzz.search.input_weight_evolution import EvolutionPlan, evolve
from irfuzz.search.input_weight_genome import Level, genome_of
from irfuzz.search.nan_inconsistency_fitness import NanFitness

REACHABLE = frozenset({
    "spatial-transformer", "logistic-regression", "softmax-regression", "cnn-dropout-log-softmax",
    "cnn-dropout-log-softmax-mean", "cnn-log-softmax-two-layers", "mlp-log-of-matmul",
    "mlp-sigmoid-cross-entropy", "tensorfuzz", "entropy", "kl-divergence", "gaussian-loss", "variational", "tanh",
    "naive-softmax", "unit-vector", "standardise", "variance-of-moments", "masked-mean", "cosine", "angle",
    "arcsine", "hyperbolic-distance", "root", "square-root", "overlap", "temperature", "attention-mask",
    "batch-norm-variance", "layer-norm-epsilon", "half-guard", "negative-guard", "gap",
})  # fmt: skip
"""0 / 0, 0 * inf, inf / inf, a logarithm or root of less than 0, or an inverse function beyond its domain; the other
faulty programs give infinities, or no floats."""

POPULATION, PARENTS = 32, 8


def draws(case: Case, runner: Runner, runs: int, seed: int) -> tuple[bool, float]:
    """Independent inputs, each element drawn evenly from its range; the generated input is the first."""
    started = time.monotonic()
    genome = genome_of(Program.from_proto(case.model()), Level.INPUT, case.ranges, seed)
    fitness, probe = NanFitness(genome.program), tap(genome.program)
    model, rng = probe.to_bytes(), np.random.default_rng(seed)
    sizes = [b.size for b in genome.blocks]
    low, high = (np.repeat([getattr(b, end) for b in genome.blocks], sizes) for end in ("low", "high"))
    for _ in range(max(1, runs // POPULATION)):
        rows = rng.uniform(low, high, (POPULATION, len(low)))
        results = runner.run_all([Task(probe, genome.inputs(row), model=model) for row in rows])
        if any(fitness.fault(result) is not None for result in results):
            return True, time.monotonic() - started
    return False, time.monotonic() - started


def search(
    case: Case, runner: Runner, runs: int, seed: int, *, paper: bool = False, guide: str = ""
) -> tuple[bool, float]:
    """Algorithm 1, ours or with the paper's noise and objective only, or with gradients."""
    settings = Settings(POPULATION, PARENTS, snap=0.0 if paper else 0.3)
    generations = 1 + (runs - POPULATION) // (POPULATION - PARENTS)
    plan = EvolutionPlan(settings=settings, generations=generations, seconds=600, seed=seed, paper=paper, guide=guide)
    outcome = evolve(Program.from_proto(case.model()), runner, plan, case.ranges)
    return outcome.witness is not None, outcome.seconds


METHODS = {
    "genetic": search,
    "with gradients": lambda *a: search(*a, guide="gradient"),
    "genetic, paper": lambda *a: search(*a, paper=True),
    "draws": draws,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="of a program, at most")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    cases = [p.faulty for p in PAIRS if p.faulty.name in REACHABLE]
    assert len(cases) == len(REACHABLE)
    print(f"{len(cases)} programs with a reachable NaN, at most {args.runs} runs, {args.seeds} seeds")
    print("method            found   median s   largest s")
    shares: list[float] = []
    with Runner(resolve(["onnxruntime:disabled"])) as runner:
        for name, method in METHODS.items():
            told = [(c.name, method(c, runner, args.runs, seed)) for c in cases for seed in range(args.seeds)]
            seconds = [s for _, (found, s) in told if found]
            shares.append(len(seconds) / len(told))
            print(f"{name:16} {shares[-1]:6.1%} {median(seconds):10.2f} {max(seconds):11.2f}")
            if args.verbose:
                print("  not found:", ", ".join(sorted({n for n, (found, _) in told if not found})) or "-")
    return int(shares[0] < 1)


if __name__ == "__main__":
    sys.exit(main())
