"""Which findings have one cause, and which only look alike: in doubt they stay apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import onnx.parser
import pytest

from irfuzz.findings.causes.cause_grouping import Cause, groups
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

KERNEL = Verdict("numeric", Symptom.DIFFERENCE, "onnxruntime:disabled", output="y", place="kernel")
PASS = replace(KERNEL, target="onnxruntime:basic", place="optimiser", passes=("Pad_Fusion",))


def _program(body: str, kind: str = "float", sizes: str = "1, 4, 6, 6") -> Program:
    text = f'<ir_version: 8, opset_import: ["": 18]> g ({kind}[{sizes}] x) => ({kind}[N, C, H, W] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def _reduce(operator: str, attributes: str) -> Program:
    return _program(f"y = {operator} <{attributes}> (x)")


NOOP = "noop_with_empty_axes = 1"


def _explains(first: tuple[Verdict, Program], second: tuple[Verdict, Program]) -> bool:
    return Cause.of(*first).explains(Cause.of(*second))


def test_one_attribute_of_several_reductions_is_one_cause() -> None:
    one = (KERNEL, _reduce("ReduceSum", NOOP))
    assert _explains(one, (KERNEL, _reduce("ReduceL1", NOOP)))
    assert _explains(one, (KERNEL, _reduce("ReduceMax", NOOP)))
    assert not _explains(one, (KERNEL, _reduce("ReduceMax", f"{NOOP}, keepdims = 0"))), "another attribute"
    assert not _explains((KERNEL, _reduce("ReduceSum", "keepdims = 1")), (KERNEL, _reduce("ReduceMax", "keepdims = 1")))
    assert not _explains(one, (replace(KERNEL, target="reference", place=""), _reduce("ReduceL1", NOOP)))


def test_an_attribute_of_operators_with_other_attributes_is_another_cause() -> None:
    ceil = "kernel_shape = [2, 2], ceil_mode = 1"
    assert not _explains((KERNEL, _reduce("MaxPool", ceil)), (KERNEL, _reduce("AveragePool", ceil)))


def test_what_shows_with_fewer_attributes_does_not_need_the_others() -> None:
    few = (KERNEL, _reduce("MaxPool", "kernel_shape = [2, 2], strides = [2, 2]"))
    more = (KERNEL, _reduce("MaxPool", "kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]"))
    assert _explains(few, more)
    assert not _explains(more, few)


def test_another_pass_or_a_kernel_is_another_cause() -> None:
    program = _program("y = Relu (x)")
    assert _explains((PASS, program), (replace(PASS, target="onnxruntime:extended"), program))
    assert not _explains((PASS, program), (replace(PASS, passes=("Other",)), program))
    assert not _explains((PASS, program), (replace(PASS, passes=(), place="kernel"), program))
    assert _explains((PASS, program), (replace(PASS, target="onnxruntime", passes=(), place=""), program)), "not sought"
    assert not _explains((PASS, program), (PASS, _program("y = Neg (x)"))), "one pass may have several faults"


def test_variants_of_a_component_without_passes_stay_apart() -> None:
    program, jit = _program("y = Relu (x)"), replace(KERNEL, target="torch:jit", place="")
    assert _explains((jit, program), (jit, program))
    assert not _explains((jit, program), (replace(jit, target="torch:compile"), program))


def test_types_and_missing_elements_are_told_apart() -> None:
    single, empty = (KERNEL, _program("y = Relu (x)")), (KERNEL, _program("y = Relu (x)", sizes="1, 0, 6, 6"))
    assert not _explains(single, (KERNEL, _program("y = Relu (x)", "double")))
    assert not _explains(single, empty)
    assert not _explains(empty, single)
    assert _explains(empty, empty)


def test_nan_and_a_difference_are_one_where_an_attribute_is_shared() -> None:
    nan = replace(KERNEL, symptom=Symptom.NAN_INF)
    odd, plain = _reduce("LRN", "size = 3, alpha = 0.5"), _reduce("LRN", "size = 3")
    assert _explains((KERNEL, odd), (nan, odd))
    assert not _explains((KERNEL, plain), (nan, plain))
    assert not _explains((KERNEL, odd), (replace(KERNEL, symptom=Symptom.WRONG_SHAPE), odd))


def test_elements_in_wrong_places_are_one_cause_whether_or_not_the_shape_shows_it() -> None:
    shape = replace(KERNEL, symptom=Symptom.WRONG_SHAPE, expected="float32[2,3]", got="float32[3,2]")
    nan = replace(KERNEL, symptom=Symptom.NAN_INF)
    plain, turned = _program("y = Transpose (x)"), _program("y = Transpose <perm = [0, 1, 3, 2]> (x)")
    for one, other in ((shape, KERNEL), (KERNEL, shape), (KERNEL, nan), (nan, shape)):
        assert _explains((one, plain), (other, plain))
        assert not _explains((one, plain), (other, turned)), "another attribute"
        assert not _explains((one, _program("y = Relu (x)")), (other, _program("y = Relu (x)")))
    sliced = _program("s = Constant <value_ints = [1]> () y = Slice (x, s, s)")
    assert not _explains((shape, sliced), (KERNEL, sliced)), "inputs say where its elements go, and none is compared"
    refused = replace(KERNEL, symptom=Symptom.REJECTION, message="no")
    assert not _explains((shape, plain), (refused, plain))


def test_what_is_wrong_by_an_attribute_is_so_without_elements_too() -> None:
    odd = f"y = ReduceSum <{NOOP}> (x)"
    some, none = (KERNEL, _program(odd)), (KERNEL, _program(odd, sizes="1, 0, 6, 6"))
    assert _explains(some, none)
    assert not _explains(none, some)


def test_what_has_a_wrong_shape_with_elements_has_it_without() -> None:
    shape = replace(KERNEL, symptom=Symptom.WRONG_SHAPE, expected="float32[2,3]", got="float32[3,2]")
    some, none = (shape, _program("y = Relu (x)")), (shape, _program("y = Relu (x)", sizes="1, 0, 6, 6"))
    assert _explains(some, none)
    assert not _explains(none, some)


def test_who_misreads_an_attribute_runs_what_breaks_its_rule() -> None:
    broken = replace(KERNEL, symptom=Symptom.LENIENCY, operator="Softmax", rule="axis >= -len(S)", output="")
    odd, plain = _program("y = Softmax <axis = 1> (x)"), _program("y = Softmax (x)")
    for symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF, Symptom.WRONG_SHAPE):
        wrong = replace(KERNEL, symptom=symptom)
        assert _explains((wrong, odd), (broken, odd))
        assert not _explains((broken, odd), (wrong, odd)), "wrong values are worse"
        assert not _explains((wrong, plain), (broken, odd)), "it is wrong without the attribute"
        assert not _explains((wrong, odd), (replace(broken, rule="rank(X) >= 1"), odd)), "a rule of something else"
    assert not _explains((KERNEL, _program("y = LogSoftmax <axis = 1> (x)")), (broken, odd))
    beside = _program("a = Relu (x) b = Softmax <axis = 1> (a) y = Concat <axis = 0> (b, b)")
    assert _explains((KERNEL, odd), (broken, beside)), "others have no part in it"
    assert _explains((replace(broken, rule="axis < len(S)"), odd), (broken, beside)), "it looks at neither end"
    assert not _explains((replace(broken, rule="rank(S) >= 1"), odd), (broken, beside)), "a rule of something else"
    assert not _explains((replace(broken, operator="Concat"), beside), (broken, beside))


def test_what_could_not_be_made_small_is_of_the_cause_that_it_has_in_it() -> None:
    small, odd = _program("y = Transpose (x)"), _program("y = Transpose <perm = [3, 2, 1, 0]> (x)")
    long = _program("a = Relu (x) b = Concat <axis = 0> (a, a) y = Transpose (b)")
    chain = " ".join(f"{b} = Neg ({a})" for a, b in pairwise("abcdefghijklmn"))
    many = _program(f"a = Relu (x) {chain} y = Transpose (n)")
    for whole in (long, many):
        cut, settled = Cause.of(KERNEL, whole, settled=False), Cause.of(KERNEL, whole)
        assert Cause.of(KERNEL, small).explains(cut)
        assert Cause.of(replace(KERNEL, symptom=Symptom.NAN_INF), small).explains(cut)
        assert not Cause.of(KERNEL, small).explains(settled), "each of its nodes has a part"
        assert not Cause.of(KERNEL, odd).explains(cut), "it has no such attribute"
        assert not Cause.of(KERNEL, _program("y = Softmax (x)")).explains(cut)
        assert not Cause.of(replace(KERNEL, symptom=Symptom.WRONG_SHAPE), small).explains(cut)
        assert not cut.explains(Cause.of(KERNEL, small))
        assert Cause.from_json(cut.to_json()) == cut
    assert not Cause.of(KERNEL, many, settled=False).explains(Cause.of(KERNEL, many, settled=False)), "says nothing"
    old = {key: value for key, value in Cause.of(KERNEL, small).to_json().items() if key != "settled"}
    assert Cause.from_json(old).settled


def test_wrong_shapes_of_other_attributes_are_told_apart() -> None:
    shape = replace(KERNEL, symptom=Symptom.WRONG_SHAPE, target="reference", place="")
    same = _reduce("MaxPool", 'kernel_shape = [2, 2], auto_pad = "SAME_UPPER"')
    pads = _reduce("MaxPool", "kernel_shape = [2, 2], pads = [0, 1, 0, 0]")
    assert not _explains((shape, same), (shape, pads))
    assert _explains((shape, same), (shape, same))


def test_wrong_types_are_told_apart_by_the_types() -> None:
    dtype = replace(KERNEL, symptom=Symptom.WRONG_DTYPE, expected="int32[1]", got="int64[1]")
    program = _program("y = ReduceSumSquare (x)")
    assert _explains((dtype, program), (replace(dtype, expected="int32[2]", got="int64[2]"), program))
    assert not _explains((dtype, program), (replace(dtype, expected="int16[1]"), program))


def test_a_message_by_one_pass_is_one_cause_whatever_operators_it_met() -> None:
    refused = replace(PASS, symptom=Symptom.REJECTION, message="Fail: Argument type mismatch when adding edge")
    one, other = _program("y = Relu (x)"), _program("y = Neg (x)")
    assert _explains((refused, one), (refused, other))
    assert not _explains((refused, one), (replace(refused, message="Fail: no kernel"), one))
    kernel = replace(refused, passes=(), place="kernel", target="onnxruntime:disabled")
    assert not _explains((kernel, one), (kernel, other)), "a general message of two kernels"
    assert _explains((kernel, one), (kernel, one))


def test_a_shape_does_not_depend_on_the_type_but_on_what_is_wrong_with_it() -> None:
    shape = replace(KERNEL, symptom=Symptom.WRONG_SHAPE, expected="float32[8,1,2]", got="float32[8,2]")
    single, half = _program("y = Relu (x)"), _program("y = Relu (x)", "float16")
    assert _explains((shape, single), (replace(shape, expected="float16[4,1,3]", got="float16[4,3]"), half))
    assert not _explains((shape, single), (replace(shape, got="float32[8,2,1]"), single))
    assert _explains((replace(shape, got=""), single), (shape, single)), "an older campaign does not say"


def test_what_is_put_into_a_sequence_is_one_whatever_it_is() -> None:
    wrapped = replace(KERNEL, target="reference", place="", symptom=Symptom.WRONG_SHAPE)
    plain = replace(wrapped, expected="bool[1]", got="sequence(bool[1])")
    inner = "sequence(float32[1])"
    nested = replace(wrapped, symptom=Symptom.WRONG_DTYPE, expected=inner, got=f"sequence({inner})")
    few, more = _program("y = Relu (x)"), _program("a = Relu (x) y = Neg (a)")
    assert _explains((plain, few), (nested, more))
    assert _explains((nested, more), (plain, few))
    assert not _explains((nested, more), (plain, _program("a = Exp (x) y = Neg (a)")))
    third = [_program(f"a = Relu (x) b = Neg (a) y = {call} (b)") for call in ("Exp", "Abs")]
    assert _explains((nested, third[0]), (nested, third[1]))
    assert not _explains((plain, few), (replace(nested, got="sequence(int64[1])"), more))


def _needing(verdict: Verdict, program: Program, *needs: str) -> Cause:
    return Cause.of(verdict, program, needs)


def test_nan_and_a_difference_that_need_the_same_are_one() -> None:
    program, nan = _program("y = Sub (x, x)"), replace(KERNEL, symptom=Symptom.NAN_INF)
    both = _needing(KERNEL, program, "Sub broadcasts"), _needing(nan, program, "Sub broadcasts")
    assert both[0].explains(both[1])
    assert not both[0].explains(_needing(nan, program))
    assert not both[0].explains(_needing(nan, program, "A of rank 0"))


def test_a_pass_that_leaves_a_wrong_shape_is_one_whoever_reads_it() -> None:
    said = "Fail: Node () Op (Slice) [ShapeInferenceError] Unexpected axis"
    refused = replace(PASS, symptom=Symptom.REJECTION, message=said)
    other = replace(refused, message="Fail: Node () Op (Gather) [ShapeInferenceError] axis")
    one, shares = _program("a = Relu (x) y = Neg (a)"), _program("a = Relu (x) y = Abs (a)")
    assert _explains((refused, one), (other, shares))
    assert not _explains((refused, one), (other, _program("y = Exp (x)"))), "nothing is the same but the pass"
    assert not _explains((refused, one), (replace(other, passes=("Other",)), shares))
    assert not _explains((refused, one), (replace(other, message="Fail: no kernel"), shares))


def test_a_shape_without_elements_is_no_missing_data() -> None:
    text = '<ir_version: 8, opset_import: ["": 18]> g (float[1] x, int64[0] s) => (float y) { y = Reshape (x, s) }'
    model = onnx.parser.parse_model(text)
    assert not Cause.of(KERNEL, Program.from_proto(model)).empty


def test_what_is_cured_by_other_changes_is_another_cause() -> None:
    program = _program("y = Relu (x)")
    scalar, axes = _needing(KERNEL, program, "X of rank 0"), _needing(KERNEL, program, "axes not given")
    assert not scalar.explains(axes)
    assert scalar.explains(_needing(KERNEL, program, "X of rank 0", "axes not given"))
    assert scalar.explains(_needing(KERNEL, program)), "nothing else speaks against it"
    refused = replace(KERNEL, symptom=Symptom.REJECTION, message="Fail: no")
    assert not _needing(refused, program, "a").explains(_needing(refused, program, "b"))


def test_what_is_cured_by_the_same_change_is_one_cause_with_other_attributes() -> None:
    noop, more = _reduce("ReduceSum", NOOP), _reduce("ReduceSum", f"{NOOP}, keepdims = 0")
    other = _reduce("ReduceMax", f"{NOOP}, keepdims = 0")
    axes = "axes not given"
    assert not _needing(KERNEL, more).explains(_needing(KERNEL, noop))
    assert _needing(KERNEL, more, axes).explains(_needing(KERNEL, noop, axes))
    assert not _needing(KERNEL, noop).explains(_needing(KERNEL, other))
    assert _needing(KERNEL, noop, axes).explains(_needing(KERNEL, other, axes))
    assert not _needing(KERNEL, noop, axes).explains(
        _needing(KERNEL, _reduce("MaxPool", "kernel_shape = [1, 1]"), axes)
    )
    shape = replace(KERNEL, symptom=Symptom.WRONG_SHAPE)
    assert _needing(KERNEL, noop, axes).explains(_needing(shape, noop, axes)), "a size of 1 hides the shape"


def test_one_pass_that_takes_an_operator_past_others_is_one_cause() -> None:
    past = [_program(f"a = Exp (x) y = {call} (a)") for call in ("Transpose", "Identity", "Neg", "Relu")]
    transpose, identity, neg, relu = past
    assert _explains((PASS, transpose), (PASS, identity))
    assert not _explains((PASS, neg), (PASS, relu)), "these do more than move elements"
    assert _needing(PASS, neg, "axes not given").explains(_needing(PASS, relu, "axes not given"))
    assert not _explains((PASS, transpose), (PASS, _program("a = Log (x) y = Identity (a)")))
    assert not _explains((replace(KERNEL, place="kernel"), transpose), (replace(KERNEL, place="kernel"), identity))
    moved = _program("y = Transpose (x)")
    assert not _explains((PASS, moved), (PASS, _program("y = Identity (x)"))), "nothing is left that is the same"


def test_the_first_explains_the_others_and_nothing_is_joined_through_a_third() -> None:
    strides = Cause.of(KERNEL, _reduce("MaxPool", "kernel_shape = [2, 2], strides = [2, 2]"))
    pads = Cause.of(KERNEL, _reduce("MaxPool", "kernel_shape = [2, 2], pads = [1, 1, 1, 1]"))
    plain = Cause.of(KERNEL, _reduce("MaxPool", "kernel_shape = [2, 2]"))
    assert groups([strides, pads, plain, strides, None, None]) == [[0, 3], [1], [2], [4], [5]]
    assert groups([plain, strides, pads]) == [[0, 1, 2]]
    assert groups([strides, plain]) == [[1, 0]], "what is simpler than one finding is that one"
    assert groups([strides, plain, pads]) == [[1, 0, 2]]


def test_it_comes_back_from_json() -> None:
    cause = Cause.of(PASS, _reduce("MaxPool", "kernel_shape = [2, 2], strides = [2, 2]"))
    assert Cause.from_json(cause.to_json()) == cause
    assert cause.nodes == 1
    needing = replace(cause, needs=("X of rank 0",))
    assert Cause.from_json(needing.to_json()) == needing
    assert Cause.from_json({k: v for k, v in cause.to_json().items() if k != "needs"}) == cause, "of an older campaign"
    assert cause.operators == ("MaxPool",)
