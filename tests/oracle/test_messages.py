"""Normalised messages: equal for equal faults, different for different ones."""

from __future__ import annotations

import pytest

from irfuzz.oracle import normalise_message

pytestmark = pytest.mark.unit

ORT = "Fail: [ONNXRuntimeError] : 1 : FAIL : Exception during initialization: "
POOL = (
    "/onnxruntime_src/onnxruntime/core/providers/cpu/nn/pool_attributes.h:{line} "
    "onnxruntime::PoolAttributes::PoolAttributes(const KernelInfoType&, const std::string&, int) "
    "[with KernelInfoType = onnxruntime::OpKernelInfo; std::string = std::__cxx11::basic_string<char>] "
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ORT + POOL.format(line=88) + "Pad too large", ORT + POOL.format(line=91) + "Pad too large"),
        (
            "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
            "mat1 and mat2 shapes cannot be multiplied (1x9 and 7x7)",
        ),
        ("shapes (8,192) (4,192)", "shapes (1,2,3) (4,)"),
        ("SIGSEGV at 0x7fff12ab in /usr/lib/libx.so.1:12", "SIGSEGV at 0x55 in /lib/y/libz.so.7:3"),
        ("running Conv node. Name:'Conv_12' Status", "running Conv node. Name:'c' Status"),
        ('In Node, ("conv1", Conv, "", -1) : bad', 'In Node, ("b_7", Conv, "d", -1) : bad'),
        ('File "/a/b/c.py", line 12, in f', 'File "/z/c.py", line 99, in f'),
        ("bad value -1.5e-3 of scale", "bad value 12 of scale"),
        (
            "{{function_node __inference_<lambda>_4783}} ConcatOp : Dimension 2 in both shapes must be equal",
            "{{function_node __inference_forward_12}} ConcatOp : Dimension 1 in both shapes must be equal",
        ),
        ("first\nsecond", "  \nfirst\nthird"),
    ],
)
def test_what_differs_from_program_to_program_is_stripped(one, other):
    assert normalise_message(one) == normalise_message(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running Conv node", "running Gemm node"),
        ("op 'Conv' failed", "op 'Gemm' failed"),
        ("ValueError: bad", "TypeError: bad"),
        ("expected float32", "expected float16"),
        ("bound to tensor(float)", "bound to tensor(int8)"),
        ("operator 'ReduceLogSum_1'", "operator 'ReduceMax_1'"),
        ("f() failed", "g() failed"),
        ("{{function_node __wrapped__Einsum_N_2_device_}} bad", "{{function_node __wrapped__Pad_device_}} bad"),
    ],
)
def test_operators_types_and_errors_stay(one, other):
    assert normalise_message(one) != normalise_message(other)


def test_names_of_the_program_are_stripped_unless_they_are_operators():
    text = "value /layer1/Conv_output_0 of Conv feeds block_b.weight and x"
    found = normalise_message(text, {"/layer1/Conv_output_0", "block_b.weight", "Conv", "x", "absent"})
    assert found == "value _ of Conv feeds _ and x"


def test_a_message_stays_short_and_empty_ones_are_empty():
    assert len(normalise_message("word " * 400)) <= 240
    assert normalise_message("  \n ") == ""


def test_the_reference_evaluators_class_is_no_value_of_that_name():
    text = "TypeError: Issues with types (operator 'ReduceLogSum_1')."
    assert normalise_message(text, {"ReduceLogSum_1"}) == normalise_message(text, {"c"})
    assert "ReduceLogSum" in normalise_message(text, {"ReduceLogSum_1"})
