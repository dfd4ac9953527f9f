"""Every built-in and installed mutator by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from irfuzz.mutate.import_domain import ImportDomain
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
from irfuzz.mutate.open_declarations import OpenDeclarations
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
from irfuzz.mutate.types import Edit, Mutator, profile_of
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

_CLASSES: tuple[type[Mutator], ...] = (
    ChangeDtype,
    ChangeRank,
    ChangeShape,
    ChangeAttribute,
    InsertLayer,
    InsertLayers,
    InsertChain,
    InsertCell,
    CoverNext,
    InsertPattern,
    InsertNeighbours,
    InsertSequence,
    InsertOptional,
    InsertStrings,
    InsertRandom,
    MergeValues,
    ConnectLayers,
    SpecialValues,
    ChangeWeights,
    ConvertOpset,
    Splice,
    DuplicateLayer,
    RemoveLayer,
    SwapLayers,
    ExchangeLayers,
    ReplaceActivation,
    ExposeValue,
    SplitInitializer,
    ShareInitializers,
    StoreConstant,
    NegativeAxes,
    TransposePair,
    WrapIf,
    WrapLoop,
    WrapScan,
    UnwrapControlFlow,
    OutlineFunction,
    InlineFunction,
    QuantiseRegion,
    ConstantToInput,
    InputToConstant,
    DimensionToSymbol,
    SymbolToNumber,
    OpenDeclarations,
    ExactTies,
    EmptyTensor,
    RareDtype,
    InvalidValue,
    InvalidElement,
    FreezeDefaults,
    NameSizes,
    ImportDomain,
    GaussianFuzzing,
    WeightShuffling,
    NeuronEffectBlock,
    NeuronActivationInverse,
    NeuronSwitch,
    RemoveActivation,
)
"""In this order they are listed and drawn; weights, costs and papers are attributes of the classes (``Profile``)."""

BUILTIN: dict[str, Callable[[Context], Mutator]] = {made.name: made for made in _CLASSES}


def is_steered(edits: Iterable[Edit]) -> bool:
    """Whether edits may make another program if nobody knows what the campaign had covered by then."""
    return any(profile_of(BUILTIN.get(edit.mutator)).steered for edit in edits)


def campaign_weights() -> dict[str, float]:
    """Weights of built-in mutators that differ in a campaign, by name."""
    found = {name: profile_of(made).campaign_weight for name, made in BUILTIN.items()}
    return {name: weight for name, weight in found.items() if weight is not None}


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
