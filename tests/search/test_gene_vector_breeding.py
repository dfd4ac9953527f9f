"""The genetic algorithm alone: AUDEE's algorithm 1 climbs, keeps the best, stays in range, repeats by seed."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.search.gene_vector_breeding import Evolution, GeneBlock, Settings, select

pytestmark = pytest.mark.unit

BLOCKS = (GeneBlock("x", (4, 5), -10.0, 10.0, 20.0), GeneBlock("n", (3,), 0.0, 7.0, 7.0, whole=True))


def climb(evolution: Evolution, goal: np.ndarray, generations: int) -> list[float]:
    best = []
    for _ in range(generations):
        evolution.tell(-np.abs(evolution.ask() - goal).sum(axis=1, keepdims=True))
        best.append(float(evolution.fitness.max()))
    return best


def test_fitness_never_falls_and_comes_near_the_goal() -> None:
    goal = np.r_[np.linspace(-9, 9, 20), 1.0, 5.0, 7.0]
    evolution = Evolution(np.zeros(23), BLOCKS, Settings(), 3)
    best = climb(evolution, goal, 150)
    assert best == sorted(best)
    assert best[-1] > best[0] / 5


def test_selection_beats_drawing_without_it() -> None:
    goal = np.r_[np.linspace(-9, 9, 20), 1.0, 5.0, 7.0]
    evolution = Evolution(np.zeros(23), BLOCKS, Settings(), 3)
    reached = climb(evolution, goal, 60)[-1]
    rng = np.random.default_rng(3)
    low, high = np.repeat([-10.0, 0.0], [20, 3]), np.repeat([10.0, 7.0], [20, 3])
    drawn = -np.abs(rng.uniform(low, high, (60 * 32, 23)) - goal).sum(axis=1)
    assert reached > drawn.max()


@pytest.mark.parametrize("snap", [0.0, 0.5])
def test_genes_stay_in_range_and_whole(snap: float) -> None:
    evolution = Evolution(np.full(23, 99.0), BLOCKS, Settings(snap=snap), 0)
    for _ in range(20):
        asked = evolution.ask()
        assert asked.min() >= -10
        assert asked.max() <= 10
        assert (asked[:, 20:] == np.round(asked[:, 20:])).all()
        assert asked[:, 20:].min() >= 0
        assert asked[:, 20:].max() <= 7
        evolution.tell(asked.sum(axis=1, keepdims=True))


def test_equal_seeds_give_equal_chromosomes_and_others_do_not() -> None:
    def last(seed: int) -> np.ndarray:
        evolution = Evolution(np.zeros(23), BLOCKS, Settings(), seed)
        climb(evolution, np.ones(23), 5)
        return evolution.ask()

    assert (last(7) == last(7)).all()
    assert (last(7) != last(8)).any()


def test_parents_are_not_asked_for_again() -> None:
    evolution = Evolution(np.zeros(23), BLOCKS, Settings(population=12, parents=4), 0)
    assert len(evolution.ask()) == 12
    assert (evolution.ask()[0] == 0).all(), "the start is one of the first"
    evolution.tell(evolution.ask().sum(axis=1, keepdims=True))
    assert len(evolution.ask()) == 8


def test_selection_takes_the_best_of_each_objective_in_turn() -> None:
    assert select(np.array([[1.0], [5.0], [3.0], [5.0]]), 3) == [1, 3, 2]
    fitness = np.array([[9.0, 0.0, -np.inf], [8.0, 1.0, -np.inf], [0.0, 9.0, -np.inf], [0.0, 0.0, 1.0]])
    assert select(fitness, 3) == [0, 2, 3]
    assert sorted(select(fitness, 9)) == [0, 1, 2, 3]
    constant = np.column_stack([np.full(4, -np.inf), fitness[:, :1]])
    assert select(constant, 2) == select(fitness[:, :1], 2), "what is the same for all chooses nobody"


def test_what_is_not_a_number_is_never_a_parent() -> None:
    evolution = Evolution(np.zeros(23), BLOCKS, Settings(population=12, parents=4), 0)
    fitness = np.full((len(evolution.ask()), 1), np.nan)
    fitness[5:9] = 1.0
    asked = evolution.ask()
    evolution.tell(fitness)
    assert len(asked) == 12
    assert (evolution.fitness == 1).all()


def test_a_start_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 23 genes"):
        Evolution(np.zeros(22), BLOCKS, Settings(), 0)
