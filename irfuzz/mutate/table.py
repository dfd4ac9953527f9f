"""The mutators there are: a context enters, every built-in and installed mutator by name leaves."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from irfuzz.errors import UsageError
from irfuzz.mutate.change_attribute import ChangeAttribute
from irfuzz.mutate.change_dtype import ChangeDtype
from irfuzz.mutate.change_rank import ChangeRank
from irfuzz.mutate.change_shape import ChangeShape
from irfuzz.mutate.change_weights import ChangeWeights
from irfuzz.mutate.connect_layers import ConnectLayers
from irfuzz.mutate.constant_to_input import ConstantToInput
from irfuzz.mutate.context import Context
from irfuzz.mutate.convert_opset import ConvertOpset
from irfuzz.mutate.cover_next import CoverNext
from irfuzz.mutate.dimension_to_symbol import DimensionToSymbol
from irfuzz.mutate.duplicate_layer import DuplicateLayer
from irfuzz.mutate.empty_tensor import EmptyTensor
from irfuzz.mutate.exact_ties import ExactTies
from irfuzz.mutate.exchange_layers import ExchangeLayers
from irfuzz.mutate.expose_value import ExposeValue
from irfuzz.mutate.freeze_defaults import FreezeDefaults
from irfuzz.mutate.inline_function import InlineFunction
from irfuzz.mutate.input_to_constant import InputToConstant
from irfuzz.mutate.insert_cell import InsertCell
from irfuzz.mutate.insert_chain import InsertChain
from irfuzz.mutate.insert_layer import InsertLayer
from irfuzz.mutate.insert_layers import InsertLayers
from irfuzz.mutate.insert_neighbours import InsertNeighbours
from irfuzz.mutate.insert_optional import InsertOptional
from irfuzz.mutate.insert_pattern import InsertPattern
from irfuzz.mutate.insert_random import InsertRandom
from irfuzz.mutate.insert_sequence import InsertSequence
from irfuzz.mutate.insert_strings import InsertStrings
from irfuzz.mutate.invalid_element import InvalidElement
from irfuzz.mutate.invalid_value import InvalidValue
from irfuzz.mutate.merge_values import MergeValues
from irfuzz.mutate.name_sizes import NameSizes
from irfuzz.mutate.negative_axes import NegativeAxes
from irfuzz.mutate.outline_function import OutlineFunction
from irfuzz.mutate.quantise_region import QuantiseRegion
from irfuzz.mutate.rare_dtype import RareDtype
from irfuzz.mutate.remove_layer import RemoveActivation, RemoveLayer
from irfuzz.mutate.replace_activation import ReplaceActivation
from irfuzz.mutate.share_initializers import ShareInitializers
from irfuzz.mutate.special_values import SpecialValues
from irfuzz.mutate.splice import Splice
from irfuzz.mutate.split_initializer import SplitInitializer
from irfuzz.mutate.store_constant import StoreConstant
from irfuzz.mutate.swap_layers import SwapLayers
from irfuzz.mutate.symbol_to_number import SymbolToNumber
from irfuzz.mutate.transpose_pair import TransposePair
from irfuzz.mutate.types import Mutator
from irfuzz.mutate.unwrap_control_flow import UnwrapControlFlow
from irfuzz.mutate.weight_operators import (
    GaussianFuzzing,
    NeuronActivationInverse,
    NeuronEffectBlock,
    NeuronSwitch,
    WeightShuffling,
)
from irfuzz.mutate.wrap_if import WrapIf
from irfuzz.mutate.wrap_loop import WrapLoop
from irfuzz.mutate.wrap_scan import WrapScan

GROUP = "irfuzz.mutators"
"""Entry-point group: each entry is a callable that takes a ``Context`` and gives a ``Mutator`` of the entry's name."""

BUILTIN: dict[str, Callable[[Context], Mutator]] = {
    "change-dtype": ChangeDtype,
    "change-rank": ChangeRank,
    "change-shape": ChangeShape,
    "change-attribute": ChangeAttribute,
    "insert-layer": InsertLayer,
    "insert-layers": InsertLayers,
    "insert-chain": InsertChain,
    "insert-cell": InsertCell,
    "cover-next": CoverNext,
    "insert-pattern": InsertPattern,
    "insert-neighbours": InsertNeighbours,
    "insert-sequence": InsertSequence,
    "insert-optional": InsertOptional,
    "insert-strings": InsertStrings,
    "insert-random": InsertRandom,
    "merge-values": MergeValues,
    "connect-layers": ConnectLayers,
    "special-values": SpecialValues,
    "change-weights": ChangeWeights,
    "convert-opset": ConvertOpset,
    "splice": Splice,
    "duplicate-layer": DuplicateLayer,
    "remove-layer": RemoveLayer,
    "swap-layers": SwapLayers,
    "exchange-layers": ExchangeLayers,
    "replace-activation": ReplaceActivation,
    "expose-value": ExposeValue,
    "split-initializer": SplitInitializer,
    "share-initializers": ShareInitializers,
    "store-constant": StoreConstant,
    "negative-axes": NegativeAxes,
    "transpose-pair": TransposePair,
    "wrap-if": WrapIf,
    "wrap-loop": WrapLoop,
    "wrap-scan": WrapScan,
    "unwrap-control-flow": UnwrapControlFlow,
    "outline-function": OutlineFunction,
    "inline-function": InlineFunction,
    "quantise-region": QuantiseRegion,
    "constant-to-input": ConstantToInput,
    "input-to-constant": InputToConstant,
    "dimension-to-symbol": DimensionToSymbol,
    "symbol-to-number": SymbolToNumber,
    "exact-ties": ExactTies,
    "empty-tensor": EmptyTensor,
    "rare-dtype": RareDtype,
    "invalid-value": InvalidValue,
    "invalid-element": InvalidElement,
    "freeze-defaults": FreezeDefaults,
    "name-sizes": NameSizes,
    "gaussian-fuzzing": GaussianFuzzing,
    "weight-shuffling": WeightShuffling,
    "neuron-effect-block": NeuronEffectBlock,
    "neuron-activation-inverse": NeuronActivationInverse,
    "neuron-switch": NeuronSwitch,
    "remove-activation": RemoveActivation,
}

PARTS = frozenset(
    {
        "gaussian-fuzzing", "weight-shuffling", "neuron-effect-block", "neuron-activation-inverse", "neuron-switch",
        "remove-activation",
    }
)  # fmt: skip
"""A paper's operators that are part of what another mutator does: used only where they, or their paper, are named."""

WEIGHTS: dict[str, float] = {
    "insert-layer": 4.0,
    "insert-layers": 0.5,
    "insert-chain": 0.5,
    "insert-cell": 0.4,
    "cover-next": 0.0,
    "exchange-layers": 0.5,
    "rare-dtype": 0.0,
    "insert-pattern": 4.0,
    "insert-neighbours": 3.0,
    "change-attribute": 2.0,
    "change-dtype": 1.5,
    "change-weights": 0.5,
    "special-values": 0.5,
    "convert-opset": 0.3,
    "remove-layer": 0.75,
    "splice": 0.75,
    "expose-value": 0.4,
    "split-initializer": 0.4,
    "share-initializers": 0.4,
    "store-constant": 0.4,
    "negative-axes": 0.5,
    "constant-to-input": 0.5,
    "input-to-constant": 1.5,
    "dimension-to-symbol": 0.3,
    "symbol-to-number": 1.0,
    "exact-ties": 0.5,
    "empty-tensor": 0.5,
    "insert-optional": 0.4,
    "insert-strings": 0.4,
    "insert-random": 0.5,
    "invalid-value": 0.0,
    "invalid-element": 0.0,
    "wrap-if": 0.75,
    "wrap-loop": 0.75,
    "outline-function": 0.75,
    "inline-function": 2.5,
    "unwrap-control-flow": 2.0,
    "freeze-defaults": 0.0,
    "name-sizes": 0.0,
}
"""How often a mutator is tried relative to those that are not listed, which have 1."""

ON_DEMAND = frozenset({"invalid-value", "invalid-element", "rare-dtype", "cover-next"})
"""Mutators without a weight that have one where they are named: who wants mutants mostly wants valid ones that run, and
``cover-next`` aims at nothing where nobody keeps count."""

GROWING = frozenset(
    {
        "insert-layer", "insert-layers", "insert-chain", "insert-cell", "cover-next", "insert-pattern",
        "insert-neighbours", "insert-sequence", "insert-optional", "insert-strings", "transpose-pair",
        "quantise-region", "duplicate-layer",
    }
)  # fmt: skip
"""Mutators that hardly ever leave a program with no more nodes than before: not tried on one that must not grow."""

FUZZING: dict[str, float] = {
    "insert-pattern": 10.0,
    "insert-neighbours": 16.0,
    "insert-layer": 6.0,
    "cover-next": 1.0,
    "invalid-value": 0.25,
    "invalid-element": 0.75,
}
"""Weights of a campaign that differ: new operators and patterns bring the most, and whether a component survives what
is invalid is worth a look now and then."""


def build_mutators(context: Context) -> dict[str, Mutator]:
    """Every mutator: the built-in ones in the table's order, then those of other packages by name.

    Raises:
        UsageError: two have the same name, or an installed one cannot be loaded.
    """
    table = {name: make(context) for name, make in BUILTIN.items()}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name in table:
            raise UsageError(
                f"mutator {entry.name!r} of entry point {entry.value} has the name of another mutator; uninstall one"
            )
        try:
            mutator: Mutator = entry.load()(context)
        except Exception as error:
            raise UsageError(f"mutator {entry.name!r}: entry point {entry.value} cannot be loaded: {error}") from error
        if mutator.name != entry.name:
            raise UsageError(
                f"mutator {entry.name!r}: entry point {entry.value} gives one that calls itself {mutator.name!r}"
            )
        table[entry.name] = mutator
    return table
