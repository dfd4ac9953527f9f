"""``invalid-element``: one constant breaks a rule or divides an integer by zero, and only where it is asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.inference.graph_facts import constant_fact
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_protocol import Relation, profile_of
from irfuzz.mutate.mutator_table import BUILTIN
from irfuzz.spec import Specs, check_call

pytestmark = pytest.mark.unit


def test_each_breaks_a_rule_or_divides_by_zero(specs: Specs) -> None:
    engine = Engine(specs, ["invalid-element"])
    broken = Counter[str]()
    for seed, program in enumerate(sprouts().values()):
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=3)
        if mutant is None:
            continue
        assert [e.relation for e in mutant.edits] == [Relation.INVALID]
        made = mutant.program
        found = 0
        for node in made.nodes():
            spec = specs.get(node.op_type, made.opset)
            assert spec is not None
            # What is known of a spoilt constant is still that of the valid one.
            facts = [
                None if v is None else made.tensor(v) if v.const_value is None else all_of(v.const_value)
                for v in node.inputs
            ]
            fault = bool(check_call(spec, facts, made.attrs(node)))
            if node.op_type in ("Div", "Mod"):
                divisor = facts[1]
                assert isinstance(divisor, TensorFact)
                fault = divisor.dtype.is_integer() and divisor.value is not None and 0 in divisor.value
            found += fault
            broken[node.op_type] += fault
        assert found >= 1, mutant.edits
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()
    assert len(broken) > 8
    assert broken["Div"] + broken["Mod"] > 3


def all_of(tensor: ir.TensorProtocol) -> TensorFact:
    """Of large constants, a fact holds no elements."""
    return replace(constant_fact(tensor), value=tuple(tensor.numpy().ravel().tolist()))


def test_only_campaigns_make_them_unasked() -> None:
    profile = profile_of(BUILTIN["invalid-element"])
    assert profile.weight == 0.0
    assert profile.campaign_weight is not None
    assert profile.campaign_weight > 0
