"""Which numbers campaigns feed a program."""

from __future__ import annotations

from collections import Counter

import onnx.parser
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.graph_inputs.number_class_draw import (
    FEW,
    KINDS,
    SHARES,
    SHARES_OF_FEW,
    SHARES_OF_WHOLE,
    draw_numbers,
)
from irfuzz.ir.program import Program

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


@pytest.mark.parametrize(
    ("inputs", "shares"),
    [
        ("int64[2] a, uint8[2] b", SHARES_OF_WHOLE),
        ("int64[2] a, float[2] b", SHARES_OF_FEW),
        ("bool[2] a, int64[2] b", SHARES_OF_FEW),
    ],
)
def test_programs_of_integers_alone_get_large_ones_more_often(inputs: str, shares: dict[str, float]) -> None:
    text = f"g ({inputs}) => (y, z) {{ y = Identity(a) z = Identity(b) }}"
    program = Program.from_proto(onnx.parser.parse_model(HEAD + text))
    drawn = Counter(draw_numbers(program, Choices.from_seed(str(seed))) for seed in range(2000))
    assert sum(shares.values()) == pytest.approx(1)
    for kind in KINDS:
        assert drawn[kind] / 2000 == pytest.approx(shares[kind], abs=0.04)


@pytest.mark.parametrize(("nodes", "shares"), [(FEW, SHARES_OF_FEW), (FEW + 1, SHARES)])
def test_programs_of_few_nodes_get_nan_more_often(nodes: int, shares: dict[str, float]) -> None:
    body = " ".join(f"v{i} = Neg({'a' if not i else f'v{i - 1}'})" for i in range(nodes))
    program = Program.from_proto(onnx.parser.parse_model(HEAD + f"g (float[2] a) => (v{nodes - 1}) {{ {body} }}"))
    drawn = Counter(draw_numbers(program, Choices.from_seed(str(seed))) for seed in range(2000))
    assert sum(shares.values()) == pytest.approx(1)
    assert drawn["nan"] / 2000 == pytest.approx(shares["nan"], abs=0.02)
