"""Rewrites that write out a window leave those alone whose elements could not be held."""

from __future__ import annotations

import onnx.parser
import pytest

from irfuzz.ir.program import Program
from irfuzz.rewrite.rewrite_table import BUILTIN
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

CONV = """(float[1, 1, 4, 4] x) => (float[1, 1, A, B] y) <float[1, 1, 2, 2] w = {{1, 1, 1, 1}}>
{{ y = Conv <dilations = [{0}, {0}], pads = [{1}, {1}, {1}, {1}]> (x, w) }}"""
POOL = "(float[1, 1, {0}] x) => (float[1, 1, A] y) {{ y = AveragePool <kernel_shape = [{1}], pads = [{2}, {2}]> (x) }}"


@pytest.mark.parametrize(
    ("rewrite", "text", "fits"),
    [
        ("conv-zero-filled", CONV.format(4_000, 2_000), True),
        ("conv-zero-filled", CONV.format(90_000, 45_000), False),
        ("average-pool-explicit-pad", POOL.format(1_000, 501, 250), True),
        ("average-pool-explicit-pad", POOL.format(1_000_000, 500_001, 250_000), False),
    ],
)
def test_windows_are_written_out_up_to_a_size(rewrite: str, text: str, fits: bool) -> None:
    program = Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}'))
    (rule,) = [rule for rule in BUILTIN if rule.name == rewrite]
    assert bool(rule.sites(program, load_specs())) is fits
