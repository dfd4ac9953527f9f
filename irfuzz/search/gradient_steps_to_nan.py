"""Steps from chromosomes towards NaN, by gradients of the program's PyTorch lowering."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.execute.adapters.generated_source import TORCH
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.oracle.numeric.dtype_thresholds import is_float, largest
from irfuzz.search.input_weight_genome import Genome
from irfuzz.spec import trait_values

STEPS = (1.0, 1.001, 1.5)
"""How far to go, in units of the step that would reach the goal if the objective were linear."""

MOST = 16
"""So many objectives at most."""


class Guide:
    """Steps along gradients; a context manager, whose worker runs PyTorch.

    Each objective says of one operator how near its operand is to the end of its domain, or of one output how near it
    is to overflow. From a chromosome each goes as far as reaches its goal along the gradient (Newton's step for one
    equation), clipped to the genes' ranges.

    Args:
        genome: what evolves.
    """

    def __init__(self, genome: Genome) -> None:
        self._genome = genome
        goals: list[tuple[str, str, str, float]] = []
        for node in genome.program.nodes():
            goal = trait_values("nan_objective").get(node.op_type) if node.domain in ("", "ai.onnx") else None
            names = [v.name or "" for v in node.inputs if v is not None]
            # Without a limit there is nothing to step to.
            if goal is not None and "beyond" in goal and names:
                goals.append((goal["name"], names[0], names[-1], goal["beyond"]))
        for output in genome.program.graph.outputs:
            fact = genome.program.tensor(output)
            if fact is not None and fact.dtype.is_floating_point() and is_float(fact.dtype.numpy()):
                goals.append(("largest", output.name or "", output.name or "", largest(fact.dtype.numpy())))
        self._goals = goals[:MOST]
        self._probe = tap(genome.program, {n for _, a, b, _ in self._goals for n in (a, b)})
        mode = f"gradient {json.dumps([g[:3] for g in self._goals])}"
        target = Target("torch:gradient", "torch", interpreter=sys.executable, options={"mode": mode})
        self._runner = Runner([target], adapters={target.name: replace(TORCH, modes=(mode,))})

    def __enter__(self) -> Self:
        """Start the worker.

        Raises:
            UsageError: PyTorch is not installed.
        """
        try:
            self._runner.__enter__()
        except UsageError as error:
            raise UsageError(f"--guide gradient: it needs PyTorch: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.__exit__(kind, error, trace)

    def steps(self, chromosomes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Chromosomes to which the gradients of given ones lead; none if the lowering gives no gradients.

        Args:
            chromosomes: float64 of shape (genes,) each.

        Returns:
            Up to three for each chromosome and objective, one for each factor of ``STEPS``; one, a step of length 1, if
                the goal is reached already. They are not clipped to the genes' ranges; ``Evolution.insert`` does that.
        """
        tasks = [Task(self._probe, self._genome.inputs(genes)) for genes in chromosomes]
        found: list[np.ndarray] = []
        for genes, (result,) in zip(chromosomes, self._runner.run_all(tasks), strict=True):
            if result.exit is Exit.OK:
                found += self._from(genes, result)
        return found

    def _from(self, genes: np.ndarray, result: RunResult) -> list[np.ndarray]:
        made: list[np.ndarray] = []
        for place, (*_, goal) in enumerate(self._goals):
            score = result.outputs.get(f"{place}/")
            if not isinstance(score, np.ndarray):
                continue
            gradient = np.concatenate([self._part(result, f"{place}/{b.name}", b.size) for b in self._genome.blocks])
            norm = float(gradient @ gradient)
            short = goal - float(score)
            if norm > 0 and math.isfinite(norm) and math.isfinite(short):
                step = gradient * (short / norm)
                made += [genes + step * f for f in STEPS] if short > 0 else [genes + gradient / math.sqrt(norm)]
        return made

    def _part(self, result: RunResult, name: str, size: int) -> np.ndarray:
        value = result.outputs.get(name)
        return value.astype(np.float64).reshape(-1) if isinstance(value, np.ndarray) else np.zeros(size)
