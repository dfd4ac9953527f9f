"""What workers may take follows the weights of the model, unless somebody said it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from irfuzz.execute.large_model_limits import BYTES_A_SECOND, COPIES, limits_for, memory_for, weight_bytes, wire_bytes
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

pytestmark = pytest.mark.unit

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }'


def heavy(size: int) -> Program:
    """A program with a weight of so many bytes."""
    program = Program.from_proto(parser.parse_model(MODEL))
    program.add_output(program.constant(np.zeros(size // 4, np.float32)))
    return program


def test_what_was_serialised_is_no_less_than_the_weights() -> None:
    program = heavy(400)
    assert wire_bytes(program) == 400
    program.to_bytes()
    assert 400 < wire_bytes(program) < 440


def test_the_largest_program_counts() -> None:
    programs = [heavy(400), heavy(800), heavy(40)]
    assert [weight_bytes(p) for p in programs] == [400, 800, 40]
    assert memory_for(programs, 4000) == 1000 + COPIES * 800
    assert memory_for([], 4000) == 4000
    assert memory_for([heavy(40)], 4000) == 4000


def test_memory_grows_once_copies_of_the_weights_do_not_fit() -> None:
    least = 4 * COPIES * 300
    assert memory_for([heavy(900)], least) == least
    assert memory_for([heavy(904)], least) == least + 4 * COPIES


def test_what_was_said_stays() -> None:
    usual = Limits(seconds=5, memory_bytes=4000)
    program = heavy(BYTES_A_SECOND)
    grown = limits_for([program], usual)
    assert (grown.seconds, grown.memory_bytes) == (6, 1000 + COPIES * BYTES_A_SECOND)
    assert limits_for([program], usual, memory=False, seconds=False) == usual
    assert limits_for([program], usual, seconds=False).seconds == 5
    assert limits_for([program], usual, memory=False).memory_bytes == 4000
    assert limits_for([program], Limits(memory_bytes=None)).memory_bytes is None
