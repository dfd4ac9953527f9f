"""Operator specs: the registry by domain, operator and version, and checks and samples of single calls."""

from irfuzz.spec.constraints.call_check import bindings, check_call, check_remembered
from irfuzz.spec.operator_registry import Specs, has_trait, in_order, load_specs, names_input, trait_values, with_trait
from irfuzz.spec.operator_spec import (
    AttrSpec,
    FormalParameter,
    Numerics,
    OpSpec,
    SampledCall,
    SampledInput,
    UndefinedBehaviour,
    ValueDomain,
    Violation,
    full_name,
    split_name,
)
from irfuzz.spec.overlay_reader import plain_domain
from irfuzz.spec.sampling.call_sampler import sample_call
from irfuzz.spec.sampling.value_drawing import FeatureWeights

__all__ = [
    "AttrSpec",
    "FeatureWeights",
    "FormalParameter",
    "Numerics",
    "OpSpec",
    "SampledCall",
    "SampledInput",
    "Specs",
    "UndefinedBehaviour",
    "ValueDomain",
    "Violation",
    "bindings",
    "check_call",
    "check_remembered",
    "full_name",
    "has_trait",
    "in_order",
    "load_specs",
    "names_input",
    "plain_domain",
    "sample_call",
    "split_name",
    "trait_values",
    "with_trait",
]
