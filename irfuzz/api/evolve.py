"""``irfuzz.evolve`` looks for inputs or weights with which a model shows NaN or an inconsistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.api.input_settings_merging import ranges_said
from irfuzz.api.loaded_model import Inputs, Model, loaded, program_of
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.target_selection import first_installed, named
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.large_model_limits import limits_for
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.isolate import Limits
from irfuzz.report.command_reports import genetic_search
from irfuzz.search import input_weight_evolution as search
from irfuzz.search.gene_vector_breeding import Settings
from irfuzz.search.input_weight_evolution import EvolutionOutcome, EvolutionPlan, EvolutionWitness
from irfuzz.search.input_weight_genome import Level, NothingEvolves

DEFAULTS: dict[str, tuple[str, ...]] = {"nan": ("onnxruntime:disabled", "reference"), "inconsistency": ()}
"""Targets if none are named: for ``nan`` the first that is installed, for ``inconsistency`` all runtimes."""

LEVELS, GUIDES = tuple(map(str, Level)), ("", "gradient")


@dataclass(frozen=True, slots=True)
class EvolutionReport:
    """How a genetic search ended.

    Attributes:
        model: its name.
        plan: what was looked for.
        outcome: what came of it.
        targets: that ran it.
        partial: whether it was interrupted.
    """

    model: str
    plan: EvolutionPlan
    outcome: EvolutionOutcome
    targets: tuple[Target, ...]
    partial: bool = False

    @property
    def witness(self) -> EvolutionWitness | None:
        """The program and inputs that show a fault; ``None`` if nothing was found."""
        return self.outcome.witness

    def to_json(self, folder: Path | None = None) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz evolve --json`` prints it.

        Args:
            folder: into which ``write`` wrote what was found; ``None`` if it was not written.
        """
        return genetic_search.as_json(self.outcome, self.plan, self.model, self.targets, folder, partial=self.partial)

    def to_text(self, folder: Path | None = None) -> str:
        """The report for people.

        Args:
            folder: into which ``write`` wrote what was found; ``None`` if it was not written.
        """
        return genetic_search.as_text(self.outcome, self.plan, self.model, folder, partial=self.partial)

    def __str__(self) -> str:
        """The report for people, as ``irfuzz evolve`` prints it."""
        return self.to_text()

    def write(self, folder: str | Path) -> None:
        """Write what was found: ``model.onnx``, ``inputs.npz`` and ``repro.py``; nothing if nothing was found.

        Raises:
            UsageError: the folder cannot be written.
        """
        if self.witness is not None:
            genetic_search.write_witness(self.witness, self.targets, Path(folder))


def evolve(
    model: Model,
    *,
    fitness: str = "nan",
    level: str = "input",
    guide: str = "",
    targets: Sequence[str | Target] | None = None,
    inputs: Inputs | None = None,
    population: int = 32,
    generations: int = 100,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Observer[EvolutionReport] = unobserved,
) -> EvolutionReport:
    """Search inputs or weights of a model for NaN, or for what makes targets disagree (AUDEE's algorithm 1).

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Log(x) }'
        ... )
        >>> report = irfuzz.evolve(model, inputs=irfuzz.InputSpec(ranges={"x": (-1, 1)}), seconds=10)
        >>> report.witness.fault.kind
        'nan'

    Args:
        model: a path, bytes, ``ModelProto``, ``onnx_ir.Model``, onnx-graphsurgeon graph or ``Program``.
        fitness: what is looked for: ``nan`` (in any inner value) or ``inconsistency`` (outputs that lie apart).
        level: what evolves: ``input``, ``weights`` or ``both``.
        guide: ``gradient``: follow gradients of the PyTorch lowering too; for ``nan``.
        targets: what runs it; one for ``nan``, at least two for ``inconsistency``. Default: the first of
            onnxruntime:disabled and reference that is installed; all quick runtimes for ``inconsistency``.
        inputs: an ``InputSpec`` with ranges of inputs and initializers, or samples to start from.
        population: chromosomes, at least 4; a quarter are parents.
        generations: at most.
        seconds: at most; a generation under way is finished.
        seed: of all draws.
        progress: gets an ``Update`` after each generation.

    Returns:
        What was found, seen again in new processes.

    Raises:
        UsageError: the model cannot be read, an argument is wrong, nothing can evolve, or no target runs the model.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    for name, value, known in (("fitness", fitness, DEFAULTS), ("level", level, LEVELS), ("guide", guide, GUIDES)):
        if value not in known:
            raise UsageError(f"{name}: expected one of {', '.join(filter(None, known))}, got {value!r}")
    if population < 4:
        raise UsageError(f"population: expected at least 4, got {population}")
    settings = Settings(population=population, parents=max(2, population // 4))
    plan = EvolutionPlan(Level(level), fitness, settings, generations, seconds, seed, guide=guide)
    given = loaded(model, inputs, weights=True, observer=progress)
    samples = given.said.spec.samples
    ranges = ranges_said(given.said, given.path, given.program)
    # The search goes beyond what is usual, so nothing is guessed of floats.
    program = program_of(given, plan=not samples, guess_floats=False, observer=progress)
    progress(Update("searching", 0, generations, "generations"))
    chosen = first_installed(DEFAULTS[fitness]) if targets is None else named(targets)
    with Runner(chosen, limits_for([program], Limits())) as runner:

        def told(outcome: EvolutionOutcome) -> None:
            known = EvolutionReport(given.name, plan, outcome, runner.targets, partial=True)
            note = f"best fitness {outcome.best[-1]:.6g}"
            progress(Update("searching", len(outcome.best), generations, "generations", note, so_far=lambda: known))

        try:
            outcome = search.evolve(program, runner, plan, ranges, told, samples)
        except (NothingEvolves, Unsupported) as error:
            raise UsageError(f"{given.name}: {error}") from None
        return EvolutionReport(given.name, plan, outcome, runner.targets)
