"""Searches inputs or weights with which a program shows NaN, an inconsistency or a crash."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Value
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program
from irfuzz.search.gene_vector_breeding import Evolution, Settings
from irfuzz.search.gradient_steps_to_nan import Guide
from irfuzz.search.input_weight_genome import Ends, Genome, Level, genome_of
from irfuzz.search.nan_inconsistency_fitness import EvolutionFault, InconsistencyFitness, NanFitness

DEATHS = frozenset({Exit.CRASH, Exit.EXITED})
"""The paper's first oracle."""

Progress: TypeAlias = "Callable[[EvolutionOutcome], None]"


@dataclass(frozen=True, slots=True)
class EvolutionPlan:
    """What to look for, and how long.

    Attributes:
        level: what evolves.
        fitness: ``nan`` or ``inconsistency``.
        settings: of the population.
        generations: at most.
        seconds: at most; a generation under way is finished.
        seed: of all draws.
        paper: only the paper's objective, for comparisons.
        guide: ``gradient``: half of each generation goes where gradients of the PyTorch lowering lead; for ``nan``.
    """

    level: Level = Level.INPUT
    fitness: str = "nan"
    settings: Settings = field(default_factory=Settings)
    generations: int = 100
    seconds: float = 60.0
    seed: int = 0
    paper: bool = False
    guide: str = ""


@dataclass(frozen=True, slots=True)
class EvolutionWitness:
    """What shows a fault.

    Attributes:
        fault: it.
        program: with evolved weights in it, and the value in question as an output.
        inputs: of that program.
        results: of the targets in question on it, in new processes.
    """

    fault: EvolutionFault
    program: Program
    inputs: Mapping[str, Value]
    results: tuple[RunResult, ...]


@dataclass(frozen=True, slots=True)
class EvolutionOutcome:
    """How a search ended.

    Attributes:
        witness: ``None`` if nothing was found.
        best: the best first objective after each generation.
        runs: chromosomes that were run.
        unconfirmed: faults that new processes or the program with the weights in it did not show.
        seconds: that it took, without starting the targets.
        genes: how many.
        left_out: names of tensors that did not evolve because there were too many genes.
    """

    witness: EvolutionWitness | None
    best: tuple[float, ...]
    runs: int
    unconfirmed: int
    seconds: float
    genes: int
    left_out: tuple[str, ...]


def evolve(
    program: Program,
    runner: Runner,
    plan: EvolutionPlan,
    ranges: Mapping[str, Ends],
    progress: Progress = lambda so_far: None,
    starts: Sequence[Mapping[str, Value]] = (),
) -> EvolutionOutcome:
    """Search inputs or weights that show a fault by AUDEE's algorithm 1; a generation is one request to each component.

    Args:
        program: it stays as it is.
        runner: open; with at least two targets for ``inconsistency``.
        plan: what to look for.
        ranges: lowest and highest element by name of an input or initializer.
        progress: is told after each generation what would be returned if it was the last one.
        starts: inputs to begin with, such as real images; drawn if there are none. The first population is around the
            first; the others are in it as they are, as far as they have its shapes.

    Returns:
        The search ends with the first fault that new processes show again, too; ``witness`` is ``None`` if there was
            none within the generations and seconds of the plan.

    Raises:
        UsageError: a range is that of nothing in the program; nothing can evolve; no target runs the program; there is
            nothing to compare; the plan has a gradient guide without ``nan``, or PyTorch is not installed for it.
    """
    genome = genome_of(program, plan.level, ranges, plan.seed, starts[0] if starts else None)
    if plan.guide != "gradient":
        return _evolve(program, runner, plan, genome, progress, None, starts[1:])
    if plan.fitness != "nan":
        raise UsageError(f"--guide gradient: it leads to NaN; expected --fitness nan, got {plan.fitness}")
    with Guide(genome) as guide:
        return _evolve(program, runner, plan, genome, progress, guide, starts[1:])


def _evolve(
    program: Program,
    runner: Runner,
    plan: EvolutionPlan,
    genome: Genome,
    progress: Progress,
    guide: Guide | None,
    others: Sequence[Mapping[str, Value]],
) -> EvolutionOutcome:
    started = time.monotonic()
    fitness = NanFitness(genome.program, paper=plan.paper) if plan.fitness == "nan" else InconsistencyFitness(program)
    names = None if isinstance(fitness, NanFitness) else fitness.logits
    probe = tap(genome.program, names)
    evolution = Evolution(genome.start(), genome.blocks, plan.settings, plan.seed)
    best: list[float] = []
    size = len(genome.start())
    outcome = EvolutionOutcome(None, (), 0, 0, 0.0, size, genome.left_out)
    runs = unconfirmed = 0
    witness = None
    while witness is None and len(best) < plan.generations:
        if best and time.monotonic() - started > plan.seconds:
            break
        asked = evolution.ask()
        if not best and others:
            asked = evolution.insert([genes for other in others if (genes := genome.genes_of(other)) is not None])
        if guide is not None:
            asked = evolution.insert(guide.steps(_best_of(evolution, asked)))
        feeds = [genome.inputs(genes) for genes in asked]
        results = runner.run_all([Task(probe, f) for f in feeds])
        runs += len(asked)
        if not best:
            _check(results[0], plan.fitness)
        for genes, row in zip(asked, results, strict=True):
            fault = _death(row) or fitness.fault(row)
            if fault is None:
                continue
            witness = _confirmed(genome, genes, runner, fault, fitness)
            if witness is not None:
                break
            unconfirmed += 1
        evolution.tell(np.array([fitness.score(row, f) for row, f in zip(results, feeds, strict=True)]))
        best.append(float(evolution.fitness[:, 0].max()))
        seconds = time.monotonic() - started
        outcome = EvolutionOutcome(witness, tuple(best), runs, unconfirmed, seconds, size, genome.left_out)
        progress(outcome)
    return outcome


def _best_of(evolution: Evolution, asked: np.ndarray) -> list[np.ndarray]:
    """The parents that are best in one objective each; before there are any, the first of those that are asked for."""
    if not len(evolution.parents):
        return [asked[0]]
    return [evolution.parents[i] for i in dict.fromkeys(evolution.fitness.argmax(axis=0).tolist())]


def _check(row: list[RunResult], kind: str) -> None:
    """Whether the start itself says anything.

    Raises:
        UsageError: too few targets run the program.
    """
    ran = [r for r in row if r.exit is Exit.OK or r.exit in DEATHS]
    if len(ran) < (1 if kind == "nan" else 2):
        bad = next(r for r in row if r not in ran) if len(ran) < len(row) else None
        why = "give two with --targets" if bad is None else f"{bad.target.name}: {bad.exit}: {bad.error}"
        raise UsageError(f"--targets: {len(ran)} of {len(row)} run the model, too few for {kind}: {why}")
    outputs = [v for r in ran for v in r.outputs.values() if isinstance(v, np.ndarray) and v.dtype.kind not in "OUSbiu"]
    if not outputs and any(r.exit is Exit.OK for r in ran):
        raise UsageError(f"the model computes no floating-point tensor, so there is nothing to see for {kind}")


def _death(row: list[RunResult]) -> EvolutionFault | None:
    for result in row:
        if result.exit in DEATHS:
            shown = f"{result.target.name} ends: {result.error or result.exit}"
            return EvolutionFault("crash", (result.target.name,), "", shown)
    return None


def _confirmed(
    genome: Genome, genes: np.ndarray, runner: Runner, fault: EvolutionFault, fitness: NanFitness | InconsistencyFitness
) -> EvolutionWitness | None:
    """The fault in the program with the weights in it, each target in a new process; ``None`` if it is not there."""
    program, inputs = genome.witness(genes)
    value = program.value(fault.value) if fault.value else None
    if value is not None:
        program.add_output(value)
    targets = [t for t in runner.targets if t.name in fault.targets]
    results = runner.run_fresh(program, inputs, targets)
    if fault.kind == "crash":
        again = _death(results)
    else:
        shown = [replace(r, outputs={n: v for n, v in r.outputs.items() if n == fault.value}) for r in results]
        again = fitness.fault(shown)
    return None if again is None else EvolutionWitness(again, program, inputs, tuple(results))
