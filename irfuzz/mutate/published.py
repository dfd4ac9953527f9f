"""The mutation operators that papers define, by name: the mutators that do the same, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """An operator of a paper.

    Attributes:
        name: the paper's.
        title: the paper's, in full.
        mutators: those of the table that do it; the first one is the operator itself.
        note: where irfuzz does more or other than the paper says; empty where it is the same.
    """

    name: str
    title: str
    mutators: tuple[str, ...]
    note: str = ""


COMET = (
    Published("MDtype", "Mutate Datatype", ("change-dtype", "rare-dtype"), note="rare types on request only"),
    Published(
        "MDims",
        "Mutate Dimension",
        ("change-rank",),
        note="sizes are also split and merged; elements are never dropped",
    ),
    Published("MShape", "Mutate Shape", ("change-shape",), note="one axis at a time; also by repetition and reduction"),
    Published("MParam", "Mutate Parameter", ("change-attribute",), note="values valid for the layer's inputs only"),
    Published("IL", "Insert Layers", ("insert-layer",), note="the result may also be combined with the value"),
    Published("ML", "Merge Layers", ("merge-values",), note="a value of another type is adapted first"),
    Published("CL", "Connect Layers", ("connect-layers",)),
    Published(
        "SpecialI", "Special Input", ("special-values",), note="also -0, denormals, extremes, and single elements"
    ),
)
"""Li et al., TOSEM 2023, table 3. The number of layers (one to ten) is the number of edits:
``irfuzz.search.strategies.mcmc``."""

LEMON = (
    Published("GF", "Gaussian Fuzzing", ("gaussian-fuzzing",)),
    Published("WS", "Weight Shuffling", ("weight-shuffling",)),
    Published("NEB", "Neuron Effect Block", ("neuron-effect-block",)),
    Published("NAI", "Neuron Activation Inverse", ("neuron-activation-inverse",), note="a bias keeps its sign"),
    Published("NS", "Neuron Switch", ("neuron-switch",), note="a bias keeps its place"),
    Published("ARem", "Activation Removal", ("remove-activation",), note="what has another shape is adapted"),
    Published("ARep", "Activation Replacement", ("replace-activation",)),
    Published("LA", "Layer Addition", ("insert-layer",), note="any operator; what has another shape is adapted"),
    Published("LC", "Layer Copy", ("duplicate-layer",), note="what has another shape is adapted"),
    Published("LR", "Layer Removal", ("remove-layer",), note="what has another shape is adapted"),
    Published("LS", "Layer Switch", ("exchange-layers", "swap-layers"), note="what has another shape is adapted"),
    Published("MLA", "Multi-Layers Addition", ("insert-layers",), note="what has another shape is adapted"),
)
"""Wang et al., ESEC/FSE 2020, table 1."""

MUFFIN = (
    Published("chain", "Chain Structure", ("insert-chain",), note="behind any value of a program, a sprout for one"),
    Published("cell", "Cell-based Structure", ("insert-cell",), note="behind any value of a program, a sprout for one"),
)
"""Gu et al., ICSE 2022, section 3.1."""

PAPERS: dict[str, tuple[Published, ...]] = {"comet": COMET, "lemon": LEMON, "muffin": MUFFIN}
"""Names of groups that stand for all mutators of a paper, wherever mutators are named."""


OPERATORS: dict[str, tuple[str, ...]] = {
    p.name: tuple(name for name in p.mutators if name != "rare-dtype") for paper in PAPERS.values() for p in paper
}
"""By an operator's name in its paper, the mutators that do it; rare types are no part of what runs everywhere."""


def group(paper: str) -> tuple[str, ...]:
    """The mutators that do a paper's operators, each once."""
    return tuple(dict.fromkeys(name for p in PAPERS[paper] for name in OPERATORS[p.name]))


def expanded(wanted: Sequence[str]) -> tuple[str, ...]:
    """Names of mutators, with those of each paper and each paper's operator in its place."""
    return tuple(name for item in wanted for name in (group(item) if item in PAPERS else OPERATORS.get(item, (item,))))
