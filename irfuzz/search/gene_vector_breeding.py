"""Breeds the next generation of vectors of genes from their fitness (AUDEE, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

STEPS = (0.001, 0.01, 0.1, 0.5)
"""Widths of the noise, in units of a gene's scale; each child draws one."""

SHARES = (0.02, 0.1, 0.5, 1.0)
"""Shares of the genes that noise moves; each child draws one."""


@dataclass(frozen=True, slots=True)
class GeneBlock:
    """Genes that are one tensor.

    Attributes:
        name: of the tensor.
        shape: its sizes.
        low: the smallest that a gene may be.
        high: the largest.
        scale: what one unit of noise is.
        whole: only whole numbers.
    """

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    scale: float
    whole: bool = False

    @property
    def size(self) -> int:
        """How many genes: the product of the sizes, 1 for a scalar."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a population evolves; the names in parentheses are the paper's.

    Attributes:
        population: chromosomes (n), the parents among them.
        parents: how many are kept (m).
        crossover: with which probability a gene is the first parent's (r1).
        mutation: with which probability a child is mutated (r2).
        snap: which share of the mutations sets genes to one number (0, an end of the range, another gene) instead of
            adding noise; 0 is the paper's.
    """

    population: int = 32
    parents: int = 8
    crossover: float = 0.5
    mutation: float = 0.9
    snap: float = 0.3


class Evolution:
    """A population: ``ask`` for chromosomes, ``tell`` their fitness, again and again.

    Args:
        start: float64 of shape (genes,): the chromosome that the first population surrounds, and itself one of it.
        blocks: what the genes are, in order.
        settings: how.
        seed: of all draws; equal seeds and equal fitness give equal chromosomes.

    Raises:
        ValueError: ``start`` has another number of genes than the blocks, or there are none.
    """

    def __init__(self, start: np.ndarray, blocks: Sequence[GeneBlock], settings: Settings, seed: int) -> None:
        if not start.size or start.shape != (sum(b.size for b in blocks),):
            raise ValueError(f"expected {sum(b.size for b in blocks)} genes and at least one, got {start.shape}")
        self._blocks = tuple(blocks)
        self._settings = settings
        self._rng = np.random.default_rng(seed)
        sizes = [b.size for b in blocks]
        self._ends = np.cumsum([0, *sizes])
        self._low = np.repeat([b.low for b in blocks], sizes)
        self._high = np.repeat([b.high for b in blocks], sizes)
        self._scale = np.repeat([b.scale for b in blocks], sizes)
        self._whole = np.repeat([b.whole for b in blocks], sizes)
        self._start = self._legal(start.astype(np.float64))
        self._asked = np.empty((0, start.size))
        self.parents = np.empty((0, start.size))
        """The best so far, float64 of shape (at most m, genes)."""
        self.fitness = np.empty((0, 0))
        """Theirs, float64 of shape (at most m, objectives)."""

    def ask(self) -> np.ndarray:
        """Chromosomes of which the fitness is not known, float64 of shape (n, genes) at first, (n - m, genes) later.

        The first ones are the start and noise around it; later ones are children of the parents. Each call draws new
        ones, and ``tell`` wants fitness of those of the last call. The array is the population's own.
        """
        if not len(self.parents):
            # Line 3: the start with noise on it.
            rest = [self._legal(self._noisy(self._start)) for _ in range(self._settings.population - 1)]
            self._asked = np.stack([self._start, *rest])
        else:
            count = max(1, self._settings.population - len(self.parents))
            self._asked = np.stack([self._child() for _ in range(count)])
        return self._asked

    def insert(self, chromosomes: Sequence[np.ndarray]) -> np.ndarray:
        """Put others, made legal, in place of the last of what was asked for, at most half.

        Args:
            chromosomes: float64 of shape (genes,) each; more than half of what was asked for are left out. They are
                clipped to the genes' ranges and rounded if these are whole.

        Returns:
            All that is asked for now, as ``ask`` gave it, of which ``tell`` wants the fitness.
        """
        count = min(len(chromosomes), len(self._asked) // 2)
        for place, genes in enumerate(chromosomes[:count]):
            self._asked[len(self._asked) - count + place] = self._legal(genes)
        return self._asked

    def tell(self, fitness: np.ndarray) -> None:
        """Select from what was asked for and the parents (lines 6 and 7); ``parents`` and ``fitness`` are then those of
        the selected ones.

        Args:
            fitness: of shape (asked, objectives), more is better; NaN is worse than anything. The number of objectives
                must stay the same.
        """
        rows = np.where(np.isnan(fitness), -np.inf, fitness)
        known = rows if not len(self.parents) else np.concatenate([self.fitness, rows])
        everybody = np.concatenate([self.parents, self._asked])
        chosen = select(known, self._settings.parents)
        self.parents, self.fitness = everybody[chosen], known[chosen]

    def _child(self) -> np.ndarray:
        """Lines 10 to 14: genes of two parents, perhaps mutated."""
        rng, settings = self._rng, self._settings
        first, second = self.parents[rng.integers(len(self.parents), size=2)]
        child = np.where(rng.random(first.size) < settings.crossover, first, second)
        if rng.random() < settings.mutation:
            child = self._snapped(child) if rng.random() < settings.snap else self._noisy(child)
        return self._legal(child)

    def _noisy(self, genes: np.ndarray) -> np.ndarray:
        """Cauchy noise on some genes, at least one."""
        rng = self._rng
        moved = rng.random(genes.size) < rng.choice(SHARES)
        moved[rng.integers(genes.size)] = True
        step = rng.standard_cauchy(genes.size) * self._scale * rng.choice(STEPS)
        return np.where(moved, genes + step, genes)

    def _snapped(self, genes: np.ndarray) -> np.ndarray:
        """One number for all of a tensor, a row along one of its axes, or some of its genes."""
        rng = self._rng
        index = int(rng.integers(len(self._blocks)))
        block = self._blocks[index]
        if not block.size:
            return genes
        made = genes.copy()
        view = made[self._ends[index] : self._ends[index + 1]].reshape(block.shape)
        mean = float(view.reshape(-1)[rng.integers(view.size)])
        number = (0.0, block.low, block.high, mean)[int(rng.integers(4))]
        where = int(rng.integers(3))
        if where == 0 or not block.shape:
            view[...] = number
        elif where == 1:
            axis = int(rng.integers(len(block.shape)))
            np.moveaxis(view, axis, 0)[int(rng.integers(block.shape[axis]))] = number
        else:
            view[rng.random(block.shape) < rng.choice(SHARES)] = number
        return made

    def _legal(self, genes: np.ndarray) -> np.ndarray:
        whole = np.where(self._whole, np.round(genes), genes)
        return np.clip(whole, self._low, self._high)


def select(fitness: np.ndarray, count: int) -> list[int]:
    """Indices of the best: of each objective in turn the best that is not chosen yet, earlier ones first on a tie.

    With one objective these are simply the best ``count``. An objective that is the same for all chooses nobody.

    Args:
        fitness: of shape (n, objectives), without NaN.
        count: how many.
    """
    telling = [column for column in fitness.T if len(column) and column.max() > column.min()] or list(fitness.T)
    orders = [iter(np.argsort(-column, kind="stable").tolist()) for column in telling]
    chosen: dict[int, None] = {}
    while len(chosen) < min(count, len(fitness)):
        for order in orders:
            best = next((i for i in order if i not in chosen), None)
            if best is not None and len(chosen) < count:
                chosen[best] = None
    return list(chosen)
