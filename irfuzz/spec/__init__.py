"""Operator specs: the registry by domain, operator and version, and checks and samples of single calls."""

from irfuzz.spec.check import bindings, check_call, check_remembered
from irfuzz.spec.draw import Seen
from irfuzz.spec.overlay import plain_domain
from irfuzz.spec.registry import Specs, has_trait, in_order, load_specs, names_input, trait_values, with_trait
from irfuzz.spec.sample import sample_call
from irfuzz.spec.types import (
    AttrSpec,
    Call,
    Domain,
    Formal,
    InputPlan,
    Numerics,
    OpSpec,
    UndefinedBehaviour,
    Violation,
    full_name,
    split_name,
)

__all__ = [
    "AttrSpec",
    "Call",
    "Domain",
    "Formal",
    "InputPlan",
    "Numerics",
    "OpSpec",
    "Seen",
    "Specs",
    "UndefinedBehaviour",
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
