"""``change-weights``: weights are disturbed, shuffled, silenced, inverted, switched or scaled (LEMON, table 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values, layer_nodes, main_uses, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.mutate.tensor_values.neuron_axes import neuron_axes

_EXTREMES = (0.0, -1.0, 1e-30, 1e-8, 1e-3, 10.0, 1e3, 1e8, 1e30)


@dataclass(frozen=True, slots=True)
class ChangeWeights:
    """Replaces a floating constant of at least two elements that a layer reads."""

    context: Context
    name: ClassVar[str] = "change-weights"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.5)
    ways: ClassVar[tuple[str, ...]] = (
        "Gaussian noise", "weight shuffle", "neuron block", "neuron inverse", "neuron switch", "scale", "zero",
    )  # fmt: skip
    """Of ``WAYS``, those that it does."""

    def sites(self, program: Program) -> list[str]:
        """Constants of floats that layers read, of two elements at least, and whose elements are free; each once, by
        name.
        """
        exact = exact_values(program)
        found: dict[str, None] = {}
        for node in layer_nodes(program, self.context.specs):
            for value in node.inputs:
                if value is None or not value.name or value in exact:
                    continue
                tensor = program.constant_of(value)
                if tensor is not None and tensor.dtype.is_floating_point() and tensor.size >= 2:
                    found[value.name] = None
        return list(found)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw one of ``ways`` and its strength, and let all readers read a new constant of the same type and shape.

        The axes of neurons are those of the first reader. It is computed in double precision; what the type cannot hold
        becomes infinite.
        """
        value = value_at(program, site)
        tensor = program.constant_of(value)
        uses = main_uses(program, value)
        if tensor is None or not tensor.dtype.is_floating_point() or tensor.size < 2 or not uses:
            return Skipped("not a floating constant that a layer reads")
        kind = self.context.prefer(choices, self.ways, lambda k: ("weights", k, uses[0][0].op_type))
        old = tensor.numpy()
        axes = neuron_axes(*uses[0], old.ndim)
        with np.errstate(over="ignore", invalid="ignore"):
            new = WAYS[kind](old.astype(np.float64), choices, axes).astype(old.dtype)
        program.replace_uses(value, Inserter(program, uses[0][0]).constant(new, "w"))
        program.prune()
        return f"{kind} on {site}, read by {uses[0][0].op_type}"


Axes = tuple[int, int]
"""Of the neurons of the layer that reads a weight, and of those that feed it."""


def gaussian(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """GF: noise of some fraction of the standard deviation on some of the elements.

    The fraction is 0.01, 0.1, 1 or 10, and each element is hit with probability 0.1, 0.5 or 1. The array itself stays
    as it is, and the axes are not used.
    """
    rng = np.random.default_rng(choices.seed())
    strength = choices.pick((0.01, 0.1, 1.0, 10.0))
    noise = rng.standard_normal(array.shape) * strength * (float(np.std(array)) or 1.0)
    return array + noise * (rng.random(array.shape) < choices.pick((0.1, 0.5, 1.0)))


def shuffle(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """WS: the elements by which one neuron reads the layer before it, or all, in another order. All are shuffled in
    three cases of ten, and always below rank 2.
    """
    rng = np.random.default_rng(choices.seed())
    if array.ndim >= 2 and choices.boolean(0.7):
        result = array.copy()
        row = _one(result, axes[0], choices)
        row[...] = rng.permutation(row.ravel()).reshape(row.shape)
        return result
    return rng.permutation(array.ravel()).reshape(array.shape)


def block(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """NEB: the weights by which the layer reads one neuron before it become 0, along ``axes[1]``, at a drawn index."""
    result = array.copy()
    _one(result, axes[1], choices)[...] = 0
    return result


def inverse(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """NAI: the sign of one neuron's weights turns, and with it what reaches its activation; the neuron is an index
    along ``axes[0]``.
    """
    result = array.copy()
    row = _one(result, axes[0], choices)
    row[...] = -row
    return result


def switch(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """NS: two neurons change places along ``axes[0]``; if the same is drawn twice, nothing changes."""
    order = np.arange(array.shape[axes[0]])
    a, b = choices.index(len(order)), choices.index(len(order))
    order[[a, b]] = order[[b, a]]
    return np.take(array, order, axis=axes[0])


def scale(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """All elements times an extreme factor from 0 to 1e30 in size; what does not fit the type becomes infinite."""
    return array * choices.pick(_EXTREMES)


def zero(array: np.ndarray, choices: Choices, axes: Axes) -> np.ndarray:
    """All elements exactly 0, or exactly -0, which is drawn half of the time."""
    return np.full_like(array, choices.pick((0.0, -0.0)))


def _one(array: np.ndarray, axis: int, choices: Choices) -> np.ndarray:
    """A view of what belongs to one neuron."""
    return np.moveaxis(array, axis, 0)[choices.index(array.shape[axis]), ...]


WAYS: dict[str, Callable[[np.ndarray, Choices, Axes], np.ndarray]] = {
    "Gaussian noise": gaussian,
    "weight shuffle": shuffle,
    "neuron block": block,
    "neuron inverse": inverse,
    "neuron switch": switch,
    "scale": scale,
    "zero": zero,
}
