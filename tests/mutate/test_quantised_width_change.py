"""Drafts that quantise to other integers than bytes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.drawn_calls.quantised_width_change import WIDTHS, requantised
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft
from irfuzz.mutate.patterns.pattern_draft_validation import judge
from irfuzz.spec import load_specs

LIMIT = 1 << 14


def draft_of(*steps: DraftNode, zero: np.ndarray | None = None) -> PatternDraft:
    constants = {"s": np.array(0.1, np.float32)} | ({} if zero is None else {"z": zero})
    draft = PatternDraft({"x": TensorFact(ir.DataType.FLOAT, (1, 2, 6))}, list(steps), constants)
    assert judge(load_specs(), 21, draft, LIMIT) is None
    return draft


def results(draft: PatternDraft, opset: int = 21) -> set[ir.DataType]:
    """Of the first step that quantises, over many draws."""
    found = set()
    for seed in range(60):
        drawn = requantised(load_specs(), opset, draft, Choices.from_seed(str(seed)), LIMIT)
        assert judge(load_specs(), opset, drawn, LIMIT) is None
        found.add(drawn.facts["q"].dtype)
    return found


POOL = DraftNode("MaxPool", ["x"], {"kernel_shape": [2]}, ["p"])


@pytest.mark.parametrize("inputs", [["p", "s"], ["p", "s", "z"]])
@pytest.mark.parametrize(("opset", "others"), [(20, set()), (21, set(WIDTHS))])
def test_a_quantisation_gets_other_types_where_the_opset_knows_them(inputs, opset, others) -> None:
    zero = np.array(0, np.uint8) if "z" in inputs else None
    draft = draft_of(POOL, DraftNode("QuantizeLinear", inputs, {}, ["q"]), zero=zero)
    assert results(draft, opset) == {ir.DataType.UINT8} | others
    assert draft.facts["q"].dtype is ir.DataType.UINT8


def test_both_sides_get_the_same_type() -> None:
    steps = (
        DraftNode("QuantizeLinear", ["x", "s", "z"], {}, ["q"]),
        DraftNode("DequantizeLinear", ["q", "s", "z"], {}, ["d"]),
    )
    assert results(draft_of(*steps, zero=np.array(3, np.uint8))) == {ir.DataType.UINT8, *WIDTHS}


def test_a_zero_point_that_does_not_fit_keeps_its_type() -> None:
    draft = draft_of(DraftNode("QuantizeLinear", ["x", "s", "z"], {}, ["q"]), zero=np.array(9, np.uint8))
    assert results(draft) == {ir.DataType.UINT8, *WIDTHS} - {ir.DataType.INT4}


def test_what_does_not_quantise_stays() -> None:
    assert results(draft_of(POOL, DraftNode("Relu", ["p"], {}, ["q"]))) == {ir.DataType.FLOAT}
