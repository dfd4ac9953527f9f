"""LEMON's five operators on weights, each by itself; ``change-weights`` draws one of them and more (LEMON, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, PublishedOperator
from irfuzz.mutate.tensor_values.change_weights import ChangeWeights


@dataclass(frozen=True, slots=True)
class GaussianFuzzing(ChangeWeights):
    """GF: noise on weights."""

    name: ClassVar[str] = "gaussian-fuzzing"
    version: ClassVar[int] = 1
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART, papers=(PublishedOperator("lemon", 1, "GF", "Gaussian Fuzzing"),)
    )
    ways: ClassVar[tuple[str, ...]] = ("Gaussian noise",)


@dataclass(frozen=True, slots=True)
class WeightShuffling(ChangeWeights):
    """WS: the connections of a neuron with the layer before it in another order."""

    name: ClassVar[str] = "weight-shuffling"
    version: ClassVar[int] = 1
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART, papers=(PublishedOperator("lemon", 2, "WS", "Weight Shuffling"),)
    )
    ways: ClassVar[tuple[str, ...]] = ("weight shuffle",)


@dataclass(frozen=True, slots=True)
class NeuronEffectBlock(ChangeWeights):
    """NEB: a neuron has no effect on the next layer."""

    name: ClassVar[str] = "neuron-effect-block"
    version: ClassVar[int] = 1
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART, papers=(PublishedOperator("lemon", 3, "NEB", "Neuron Effect Block"),)
    )
    ways: ClassVar[tuple[str, ...]] = ("neuron block",)


@dataclass(frozen=True, slots=True)
class NeuronActivationInverse(ChangeWeights):
    """NAI: the sign of what reaches a neuron's activation turns."""

    name: ClassVar[str] = "neuron-activation-inverse"
    version: ClassVar[int] = 1
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART,
        papers=(PublishedOperator("lemon", 4, "NAI", "Neuron Activation Inverse", note="a bias keeps its sign"),),
    )
    ways: ClassVar[tuple[str, ...]] = ("neuron inverse",)


@dataclass(frozen=True, slots=True)
class NeuronSwitch(ChangeWeights):
    """NS: two neurons of a layer change places."""

    name: ClassVar[str] = "neuron-switch"
    version: ClassVar[int] = 1
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART,
        papers=(PublishedOperator("lemon", 5, "NS", "Neuron Switch", note="a bias keeps its place"),),
    )
    ways: ClassVar[tuple[str, ...]] = ("neuron switch",)
