"""Every built-in and installed mutator by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points

from irfuzz.errors import UsageError
from irfuzz.mutate.control_flow.inline_function import InlineFunction
from irfuzz.mutate.control_flow.outline_function import OutlineFunction
from irfuzz.mutate.control_flow.unwrap_control_flow import UnwrapControlFlow
from irfuzz.mutate.control_flow.wrap_if import WrapIf
from irfuzz.mutate.control_flow.wrap_loop import WrapLoop
from irfuzz.mutate.control_flow.wrap_scan import WrapScan
from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.insertion.cover_next import CoverNext
from irfuzz.mutate.insertion.insert_cell import InsertCell
from irfuzz.mutate.insertion.insert_chain import InsertChain
from irfuzz.mutate.insertion.insert_layer import InsertLayer
from irfuzz.mutate.insertion.insert_layers import InsertLayers
from irfuzz.mutate.insertion.insert_optional import InsertOptional
from irfuzz.mutate.insertion.insert_random import InsertRandom
from irfuzz.mutate.insertion.insert_sequence import InsertSequence
from irfuzz.mutate.insertion.insert_strings import InsertStrings
from irfuzz.mutate.insertion.merge_values import MergeValues
from irfuzz.mutate.insertion.splice import Splice
from irfuzz.mutate.layers.change_attribute import ChangeAttribute
from irfuzz.mutate.layers.change_dtype import ChangeDtype
from irfuzz.mutate.layers.change_rank import ChangeRank
from irfuzz.mutate.layers.change_shape import ChangeShape
from irfuzz.mutate.layers.connect_layers import ConnectLayers
from irfuzz.mutate.layers.duplicate_layer import DuplicateLayer
from irfuzz.mutate.layers.exchange_layers import ExchangeLayers
from irfuzz.mutate.layers.quantise_region import QuantiseRegion
from irfuzz.mutate.layers.rare_dtype import RareDtype
from irfuzz.mutate.layers.remove_layer import RemoveActivation, RemoveLayer
from irfuzz.mutate.layers.replace_activation import ReplaceActivation
from irfuzz.mutate.layers.swap_layers import SwapLayers
from irfuzz.mutate.layers.transpose_pair import TransposePair
from irfuzz.mutate.model_interface.constant_to_input import ConstantToInput
from irfuzz.mutate.model_interface.convert_opset import ConvertOpset
from irfuzz.mutate.model_interface.dimension_to_symbol import DimensionToSymbol
from irfuzz.mutate.model_interface.expose_value import ExposeValue
from irfuzz.mutate.model_interface.freeze_defaults import FreezeDefaults
from irfuzz.mutate.model_interface.import_domain import ImportDomain
from irfuzz.mutate.model_interface.input_to_constant import InputToConstant
from irfuzz.mutate.model_interface.name_sizes import NameSizes
from irfuzz.mutate.model_interface.open_declarations import OpenDeclarations
from irfuzz.mutate.model_interface.symbol_to_number import SymbolToNumber
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Edit, Mutator, profile_of
from irfuzz.mutate.patterns.insert_pattern import InsertPattern
from irfuzz.mutate.tensor_values.change_weights import ChangeWeights
from irfuzz.mutate.tensor_values.empty_tensor import EmptyTensor
from irfuzz.mutate.tensor_values.exact_ties import ExactTies
from irfuzz.mutate.tensor_values.invalid_element import InvalidElement
from irfuzz.mutate.tensor_values.invalid_value import InvalidValue
from irfuzz.mutate.tensor_values.lemon_weight_mutators import (
    GaussianFuzzing,
    NeuronActivationInverse,
    NeuronEffectBlock,
    NeuronSwitch,
    WeightShuffling,
)
from irfuzz.mutate.tensor_values.negative_axes import NegativeAxes
from irfuzz.mutate.tensor_values.share_initializers import ShareInitializers
from irfuzz.mutate.tensor_values.special_values import SpecialValues
from irfuzz.mutate.tensor_values.split_initializer import SplitInitializer
from irfuzz.mutate.tensor_values.store_constant import StoreConstant

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
    """Whether edits may make another program if nobody knows what the campaign had covered by then. Edits of mutators
    that are not built in count as not steered.
    """
    return any(profile_of(BUILTIN.get(edit.mutator)).steered for edit in edits)


def campaign_weights() -> dict[str, float]:
    """Weights of built-in mutators that differ in a campaign, by name; mutators that are not in it keep the weight of
    their profile.
    """
    found = {name: profile_of(made).campaign_weight for name, made in BUILTIN.items()}
    return {name: weight for name, weight in found.items() if weight is not None}


def build_mutators(context: Context) -> dict[str, Mutator]:
    """Every mutator: the built-in ones in the table's order, then those of other packages by name.

    Args:
        context: what all of them share.

    Raises:
        UsageError: two have the same name, an installed one cannot be loaded, or one does not go by its entry's name.
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
