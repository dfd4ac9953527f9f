"""Every operator of COMET, LEMON and Muffin is realised; those that were missing do what the papers say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import irfuzz
from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, replay, select
from irfuzz.mutate.mutator_protocol import MutatorUse, profile_of
from irfuzz.mutate.mutator_table import BUILTIN
from irfuzz.mutate.paper_mutator_lookup import OPERATORS, PAPERS, group, mutators_of
from irfuzz.mutate.tensor_values.change_weights import WAYS, ChangeWeights
from irfuzz.mutate.tensor_values.neuron_axes import neuron_axes
from irfuzz.spec import Specs, with_trait

Parse = Callable[..., Program]

WEIGHTS = ", ".join(str(0.1 * i) for i in range(1, 25))
SMALL = """
g (float[2, 6] x) => (float[2, 4] y)
<float[6, 4] w = {WEIGHTS}>
{
  a = Sigmoid(x)
  b = MatMul(a, w)
  c = Relu(b)
  y = Softmax <axis = 1> (c)
}
""".replace("WEIGHTS", WEIGHTS)


def test_every_published_operator_is_realised() -> None:
    comet, lemon, muffin = PAPERS.values()
    assert [p.name for p in comet] == ["MDtype", "MDims", "MShape", "MParam", "IL", "ML", "CL", "SpecialI"]
    assert [p.name for p in lemon] == ["GF", "WS", "NEB", "NAI", "NS", "ARem", "ARep", "LA", "LC", "LR", "LS", "MLA"]
    assert [p.name for p in muffin] == ["chain", "cell"]
    for paper in PAPERS.values():
        assert [p.row for p in paper] == list(range(1, len(paper) + 1))
        assert all(mutators_of(p) for p in paper)
    assert mutators_of(lemon[10]) == ("exchange-layers", "swap-layers")  # the operator itself first
    assert (mutators_of(comet[0]), OPERATORS["MDtype"]) == (("change-dtype", "rare-dtype"), ("change-dtype",))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_name_stands_for_its_operators(paper: str, parse: Parse) -> None:
    mutants = list(irfuzz.mutate(parse(SMALL), seed=1, n=6, mutators=[paper]))
    assert len(mutants) == 6
    assert {edit.mutator for m in mutants for edit in m.edits} <= set(group(paper))


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operator_of_a_paper_can_be_named(operator: str, parse: Parse) -> None:
    mutants = list(irfuzz.mutate(parse(SMALL), seed=2, n=3, mutators=[operator]))
    assert len(mutants) == 3
    assert {edit.mutator for m in mutants for edit in m.edits} <= set(OPERATORS[operator])


def test_operators_on_weights_do_one_thing_and_all_of_them_what_change_weights_does(parse: Parse) -> None:
    parts = [BUILTIN[OPERATORS[name][0]] for name in ("GF", "WS", "NEB", "NAI", "NS")]
    assert [len(part.ways) for part in parts] == [1] * 5  # type: ignore[attr-defined]
    assert ChangeWeights.ways == tuple(WAYS)
    assert {way for part in parts for way in part.ways} == set(WAYS) - {"scale", "zero"}  # type: ignore[attr-defined]
    for mutant in irfuzz.mutate(parse(SMALL), seed=3, n=4, mutators=["NEB"]):
        assert all("neuron block" in edit.detail for edit in mutant.edits)
    for mutant in irfuzz.mutate(parse(SMALL), seed=3, n=4, mutators=["ARem"]):
        assert all(edit.detail.split()[0] in with_trait("activation") for edit in mutant.edits)


def test_parts_of_mutators_are_used_only_where_they_are_named(specs: Specs) -> None:
    assert not any(profile_of(mutator).use is MutatorUse.PART for mutator in Engine(specs).mutators.values())
    assert "gaussian-fuzzing" in Engine(specs, ["lemon"]).mutators


def test_an_unknown_name_tells_of_the_groups() -> None:
    with pytest.raises(UsageError, match="groups: comet, lemon, muffin; operators of papers: MDtype,"):
        select(["commet"], dict.fromkeys(BUILTIN))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["insert-layers", "insert-chain", "insert-cell", "exchange-layers", "cover-next", "rare-dtype"]
)
def test_new_mutators_are_valid_and_replay(name: str, specs: Specs, parse: Parse) -> None:
    program = parse(SMALL)
    before = program.to_bytes()
    engine = Engine(specs, [name], seen=FeatureCounts())
    made = 0
    for seed in range(12):
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=2)
        if mutant is None:
            continue
        made += 1
        data = mutant.to_bytes()
        assert not verify(Program.from_bytes(data), specs)
        assert replay(program, mutant.edits, specs).to_bytes() == data
    assert made >= 10
    assert program.to_bytes() == before
    assert not engine.counts.thrown


def test_exchanged_layers_keep_their_weights(specs: Specs, parse: Parse) -> None:
    program = parse(SMALL)
    found = set()
    for seed in range(12):
        mutant = Engine(specs, ["exchange-layers"]).mutate(program, Choices.from_seed(seed))
        assert mutant is not None
        ops = [n.op_type for n in mutant.program.graph if n.op_type in ("Sigmoid", "MatMul", "Relu", "Softmax")]
        assert sorted(ops) == ["MatMul", "Relu", "Sigmoid", "Softmax"]
        found.add(tuple(ops))
    assert len(found) > 2


@pytest.mark.parametrize(
    ("graph", "axes"),
    [
        ("g (float[1, 2, 5, 5] x, float[3, 2, 3, 3] w) => (float[1, 3, 3, 3] y) { y = Conv(x, w) }", (0, 1)),
        ("g (float[1, 3, 5, 5] x, float[3, 2, 3, 3] w) => (float[1, 2, 7, 7] y) { y = ConvTranspose(x, w) }", (1, 0)),
        ("g (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) { y = MatMul(x, w) }", (1, 0)),
        ("g (float[2, 3] x, float[4, 3] w) => (float[2, 4] y) { y = Gemm <transB = 1> (x, w) }", (0, 1)),
    ],
)
def test_a_neuron_is_what_an_output_hangs_on(graph: str, axes: tuple[int, int], parse: Parse) -> None:
    """A block of a neuron before the layer leaves no output out; the inverse of one of its own turns one output."""
    program = parse(graph)
    node = program.graph.node(0)
    weight = node.inputs[1]
    assert weight is not None
    assert neuron_axes(node, 1, len(weight.shape or ())) == axes


def test_ways_follow_the_axes() -> None:
    old = np.arange(1.0, 25.0).reshape(4, 6)
    assert (WAYS["neuron block"](old, Choices.from_seed(1), (0, 1)) == 0).all(axis=0).sum() == 1
    turned = WAYS["neuron inverse"](old, Choices.from_seed(1), (1, 0))
    assert (turned == -old).all(axis=0).sum() == 1
    assert sorted(map(tuple, WAYS["neuron switch"](old, Choices.from_seed(1), (1, 0)).T)) == sorted(map(tuple, old.T))
