"""The cheapest program holds a feature, whatever the order in which programs come; a few together have all features."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import parser

from irfuzz.campaign.corpus.feature_holders import CHEAPER, NODE, FeatureClaim, FeatureHolders, cost_of
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def claim(holders: FeatureHolders, number: int, cost: int, names: str) -> FeatureClaim:
    return FeatureClaim(number, cost, holders.keys((name,) for name in names))


def held(holders: FeatureHolders, names: str) -> list[int | None]:
    return [holders.holder((name,)) for name in names]


def test_the_cheapest_holds_a_feature_and_of_equal_ones_the_oldest() -> None:
    rows = [(1, 9, "abc"), (2, 5, "bcd"), (3, 5, "cd"), (4, 1, "d")]
    for order in itertools.permutations(rows):
        holders = FeatureHolders()
        for row in order:
            holders.take([claim(holders, *row)])
        assert held(holders, "abcde") == [1, 2, 2, 4, None]
        assert {n: k for n, k in holders.held.items() if k} == {1: 1, 2: 2, 4: 1}
        assert len(holders) == 4
    together = FeatureHolders()
    assert together.take([claim(together, *row) for row in rows]) == {1, 2, 4}
    assert held(together, "abcde") == [1, 2, 2, 4, None]


def test_who_wins_and_who_loses_is_told() -> None:
    holders = FeatureHolders()
    assert holders.take([claim(holders, 1, 9, "ab")]) == {1}
    assert holders.take([claim(holders, 2, 9, "ab")]) == set()
    assert holders.take([claim(holders, 3, 8, "b")]) == {1, 3}
    assert holders.take([]) == set()
    assert (holders.held[1], holders.held[2], holders.held[3]) == (1, 0, 1)


@pytest.mark.parametrize(("cost", "news"), [(int(CHEAPER * 100), "ab"), (int(CHEAPER * 100) + 1, "a")])
def test_a_program_brings_what_is_new_or_a_good_deal_cheaper(cost: int, news: str) -> None:
    holders = FeatureHolders()
    holders.take([claim(holders, 1, 100, "b"), claim(holders, 2, 1, "c")])
    keys = holders.keys([("a",), ("b",), ("c",), ("a",)])
    assert keys.dtype == np.uint64
    assert set(holders.news(keys, cost).tolist()) == set(holders.keys((name,) for name in news).tolist())


def test_what_is_reserved_is_no_news_until_it_is_known_who_holds_it() -> None:
    holders = FeatureHolders()
    keys = holders.keys([("a",)])
    assert len(holders.news(keys, 10)) == len(holders.news(keys, 10)) == 1
    holders.reserve(keys, 10)
    assert len(holders.news(keys, 10)) == 0
    assert len(holders.news(keys, 7)) == 1
    holders.forget_reserved()
    assert len(holders.news(keys, 10)) == 1, "the program did not come"


def test_keys_are_the_same_in_every_process() -> None:
    assert FeatureHolders().keys([("dtype", "Relu", 0, 1)]).tolist() == [8684872137813336294]


def test_a_few_programs_have_every_feature() -> None:
    holders = FeatureHolders()
    claims = [
        claim(holders, 1, 5, "abc"),
        claim(holders, 2, 4, "c"),
        claim(holders, 3, 9, "cde"),
        claim(holders, 4, 2, "e"),
    ]
    holders.take(claims)
    assert held(holders, "abcde") == [1, 1, 2, 3, 4]
    assert holders.favoured(claims) == {1, 3}, "1 has what 2 holds, and 3 what 4 holds"
    assert holders.favoured(claims[::-1]) == {1, 3, 4}, "3 has what 2 holds"


MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[{n}] x) => (float[{n}] y) {{ {nodes} }}'


def cost(size: object, nodes: str) -> int:
    return cost_of(Program.from_proto(parser.parse_model(MODEL.format(n=size, nodes=nodes))))


def test_nodes_weights_and_elements_cost() -> None:
    assert cost(1, "y = Relu(x)") == 1 + NODE
    assert cost("N", "y = Relu(x)") == 1 + NODE, "a size that only the run tells"
    assert cost(1, "a = Relu(x) y = Neg(a)") == 1 + 2 * NODE
    assert cost(2048, "y = Relu(x)") == 2 + NODE
    assert cost(2047, "y = Relu(x)") == 1 + NODE
