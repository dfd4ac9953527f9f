"""Keeps what is known of every operator: the registry by domain, operator and version, and checks and samples of calls.

ONNX's schemas say which inputs, attributes and element types an operator has. They do not say that the weights of a
Conv must fit its channels, or that a divisor of 0 stops the process. A TOML file for each operator
(``ops/DOMAIN/OP.toml``, docs/operators.md has all keys) adds that. From both this folder makes one ``OpSpec`` for each
version of an operator, and everybody else asks it: the verifier checks calls, mutators and generators draw calls, and
oracles and targets ask for traits.

What every file relies on:

* An ``OpSpec`` is frozen data. It holds nothing of a program, and it is built once in a process.
* What is not known breaks no rule. ``check_call`` lists only the rules that a call certainly breaks; an expression with
  an unknown size has the value ``None``.
* Rules are text of a small language, which is parsed and never evaluated as Python.
* A sampled call is valid, and ONNXRuntime's CPU provider runs its element types; ``[portable]``, which is measured,
  lists these. An operator without a file is checked by its schema and never sampled.
* Every draw comes from the ``Choices`` that the caller passes in, so the same record gives the same call.
* A mistake in a file is a ``SpecError`` that names the file and the key.

The way through the files:

* ``operator_spec`` has the types: ``OpSpec`` and its parts, and what checks and samples return.
* ``operator_signatures`` reads the formal part: from onnx, from a ``schemas.json`` of a runtime, or from the table
  ``[schema]`` of the operator's own file.
* ``overlay_reader`` reads the TOML files and builds the overlay of each version from their tables.
* ``operator_registry`` puts both together. ``load_specs`` gives the shipped specs and those of the folders in
  ``IRFUZZ_OPS``; ``has_trait``, ``with_trait`` and ``trait_values`` answer questions about traits.
* ``operator_traits`` lists the traits that a file may name, with a sentence for each.
* ``constraints`` has the language and ``check_call``; ``sampling`` has ``sample_call``.

To add an operator, write ``ops/ai.onnx/OP.toml`` and measure its ``[portable]`` table by
``python -m tests.spec.measure_portable OP``; no Python changes. ``tests/spec/test_census.py`` draws calls of each
operator, changes them by one, and compares the answers of runtimes with the file. To add a trait, add a line to
``TRAITS`` and ask for it: ``tests/spec/test_operator_traits.py`` fails for a trait that no operator has or that nobody
asks for. A new key of the files is read in ``overlay_reader`` and described in docs/operators.md.

Do not decide by an operator's name here or in any other folder if a trait can express it. Do not put a rule under
``[require]`` because one runtime refuses a call: such a rule must follow from ONNX's text, and what one runtime refuses
belongs under ``[prefer]``. Nothing here may import ``irfuzz.ir`` or another folder that builds on this one.
"""

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
