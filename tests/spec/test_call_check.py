from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import OpaqueFact, TensorFact
from irfuzz.spec import Specs, bindings, check_call, sample_call
from tests.spec.stress import random_fact, takes_any

F, I64, U8 = ir.DataType.FLOAT, ir.DataType.INT64, ir.DataType.UINT8


def t(*shape: Any, dtype: ir.DataType = F, value: Any = None) -> TensorFact:
    return TensorFact(dtype, shape, value=value)


def axes(*values: int) -> TensorFact:
    return t(len(values), dtype=I64, value=values)


BAD = [
    ("Conv", [t(1, 7, 8, 8), t(4, 8, 3, 3)], {}, "W: expected C // group = 7, got 8"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3), t(5)], {}, "B: M is 4 elsewhere and 5 here"),
    ("Conv", [t(1, 8, 8, 8), t(4, 2, 3, 3)], {"group": 3}, "C % group == 0 does not hold"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"group": 0}, "group: expected at least 1, got 0"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3)], {}, "len(K) == len(D)"),
    ("Conv", [t(1, 8), t(4, 8)], {}, "len(D) >= 1"),
    ("Conv", [t(8), t(4, 8, 3)], {}, "X: expected rank at least 2"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"strides": [1]}, "strides: expected len(D) = 2 elements, got 1"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"kernel_shape": [3, 2]}, "kernel_shape == K"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"auto_pad": "SAME"}, "auto_pad: expected one of 'NOTSET'"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"padding": 1}, "padding: Conv-11 has no such attribute"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"group": "1"}, "group: expected INT, got '1'"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3)], {"strides": 1}, "strides: expected INTS, got 1"),
    ("Conv", [t(1, 8, 8, 8), t(4, 8, 3, 3, dtype=ir.DataType.DOUBLE)], {}, "W: T is float elsewhere, got double"),
    ("Conv", [t(1, 8, 8, 8, dtype=I64), t(4, 8, 3, 3)], {}, "X: expected one of double, float, float16, got int64"),
    ("Conv", [t(1, 8, 8, 8)], {}, "expected 2 to 3 inputs, got 1"),
    ("Conv", [t(1, 8, 8, 8), None], {}, "W: required, but omitted"),
    ("MaxPool", [t(1, 8, 8, 8)], {}, "kernel_shape: required, but missing"),
    ("Add", [t(2, 3), t(2)], {}, "(2,) does not broadcast with (2, 3)"),
    ("Where", [t(2, 1, dtype=ir.DataType.BOOL), t(3), t(4)], {}, "does not broadcast"),
    ("Gemm", [t(2, 3), t(4, 3)], {}, "K is 3 elsewhere and 4 here"),
    ("Gemm", [t(2, 3), t(3, 4), t(3)], {}, "C: (3,) does not broadcast into (2, 4)"),
    ("MatMul", [t(5, 2, 3), t(4, 3, 2)], {}, "does not broadcast"),
    ("Reshape", [t(2, 6), axes(5, -1)], {}, "12 elements do not fit (5, -1)"),
    ("Reshape", [t(2, 6), axes(-1, -1)], {}, "more than one is -1"),
    ("Transpose", [t(2, 6)], {"perm": [0, 0]}, "distinct(perm)"),
    ("Transpose", [t(2, 6)], {"perm": [0, 2]}, "perm: expected at most 1"),
    ("Concat", [t(2, 6), t(3, 6)], {"axis": 1}, "concatenable"),
    ("Concat", [t(2, 6), t(2, 6)], {"axis": 2}, "axis: expected at most 1, got 2"),
    ("Unsqueeze", [t(2), axes(0, -3)], {}, "distinct"),
    ("Squeeze", [t(2, 1), axes(0)], {}, "at(S, axes) == 1"),
    ("Split", [t(6), axes(2, 3)], {}, "sum(split) == S[axis]"),
    ("Slice", [t(6), axes(0), axes(2, 3)], {}, "A is 1 elsewhere and 2 here"),
    ("Slice", [t(6), axes(0), axes(2), axes(0), axes(0)], {}, "steps != 0"),
    ("Expand", [t(2, 3), axes(4, 3)], {}, "do not broadcast"),
    ("Gather", [t(2, 3), t(2, dtype=I64, value=(0, 2))], {}, "indices: expected at most 1"),
    ("GatherND", [t(2, 3), t(1, 3, dtype=I64)], {}, "Q + batch_dims <= len(S)"),
    ("GatherND", [t(2, 3), t(1, 0, dtype=I64)], {}, "Q >= 1 does not hold"),
    ("TopK", [t(4), axes(5)], {}, "K: expected at most 4"),
    ("DepthToSpace", [t(1, 6, 2, 2)], {"blocksize": 2}, "C % (blocksize * blocksize) == 0"),
    ("Einsum", [t(2, 3), t(4, 5)], {"equation": "ij,jk->ik"}, "'j' is 3 and 4"),
    ("Einsum", [t(2, 3)], {"equation": "ij,jk->ik"}, "2 terms for 1 operands"),
    ("Einsum", [t(2, 3, 4), t(3, 3, 4)], {"equation": "...a,...a->..."}, "sizes 2 and 3 do not broadcast"),
    ("Einsum", [t(2, 3, 4), t(3, 4)], {"equation": "...a,...a->..."}, "different numbers of dimensions"),
    ("Einsum", [t(2, 3)], {"equation": "ii->i"}, "'i' is 2 and 3 in one operand"),
    ("Sum", [t(2), None, t(2)], {}, "data_0: required, but omitted"),
    ("Resize", [t(2, 3)], {}, "(has(scales) and F != 0)"),
    ("ArgMax", [t(2, 0)], {"axis": 1}, "S[axis] >= 1"),
    ("RNN", [t(5, 2, 3), t(1, 4, 3), t(1, 4, 4)], {"activations": ["Nothing"]}, "among(activations"),
    ("LSTM", [t(5, 2, 3), t(1, 16, 3), t(1, 16, 5)], {"hidden_size": 4}, "R: expected 4 * H = 20, got 16"),
    ("LSTM", [t(5, 2, 3), t(1, 16, 3), t(1, 16, 4)], {"hidden_size": 5}, "hidden_size == H"),
    ("LSTM", [t(5, 2, 3), t(1, 16, 3), t(1, 16, 4)], {"direction": "bidirectional"}, "= 2, got 1"),
    ("Cast", [t(3)], {"to": 0}, "to: expected the number of one of"),
    ("Cast", [t(3)], {"to": 99}, "to: expected the number of an element type"),
    ("Mod", [t(3), t(3)], {}, "fmod == 1"),
    ("ReduceSum", [t(3, 4), axes(2)], {}, "axes: expected at most 1"),
    ("BatchNormalization", [t(1, 3, 4), t(3), t(3), t(4), t(3)], {}, "C is 3 elsewhere and 4 here"),
    ("Relu", [t(3)], {"alpha": 1.0}, "it has none"),
    (
        "TfIdfVectorizer",
        [t(3, dtype=ir.DataType.STRING)],
        {"pool_int64s": [1], "ngram_counts": [0], "ngram_indexes": [0]},
        "has(pool_strings) == (T == 'string')",
    ),
    ("GridSample", [t(1, 1, 4, 4, dtype=ir.DataType.BOOL)], {}, "expected 2 to 2 inputs, got 1"),
    ("DFT", [t(2, 1, 3, 2)], {"inverse": 1, "onesided": 1, "axis": 1}, "has(dft_length) or S[axis"),
    ("DFT", [t(2, 3, 1, 2)], {"inverse": 1, "onesided": 1, "axis": -2}, "has(dft_length) or S[axis"),
]


@pytest.mark.unit
@pytest.mark.parametrize(("op", "inputs", "attrs", "message"), BAD)
def test_broken_rules_are_named(specs: Specs, op: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    spec = specs.get(op, 17)
    assert spec is not None
    violations = [str(v) for v in check_call(spec, inputs, attrs)]
    assert any(message in v for v in violations), violations


@pytest.mark.unit
@pytest.mark.parametrize(("op", "states"), [("RNN", 1), ("GRU", 1), ("LSTM", 2)])
@pytest.mark.parametrize("opset", [7, 14])
def test_states_have_the_size_of_the_batch_in_versions_without_a_layout(
    specs: Specs, op: str, states: int, opset: int
) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    spec = specs.get(op, opset)
    assert spec is not None
    inputs = [t(7, 2, 3), t(1, 4 * gates, 3), t(1, 4 * gates, 4), None, None]
    assert not check_call(spec, [*inputs, *[t(1, 2, 4)] * states], {"hidden_size": 4})
    violations = [str(v) for v in check_call(spec, [*inputs, *[t(1, 15, 4)] * states], {"hidden_size": 4})]
    assert len(violations) == states
    assert "N is 2 elsewhere and 15 here" in violations[0]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("Conv", [t("N", None, "H", 8), t(4, 8, 3, 3)], {}),
        ("DFT", [t(2, 2, 1, 2)], {"inverse": 1, "onesided": 1, "axis": 1}),
        ("DFT", [t(2, 1, 3, 2), t(dtype=I64, value=(4,))], {"inverse": 1, "onesided": 1, "axis": 1}),
        ("Conv", [t(1, "C", 8, 8), t("M", 5, 3, 3), t("M2")], {"group": 3}),
        ("Conv", [TensorFact(F, None), TensorFact(F, None)], {"strides": [1]}),
        ("Conv", [OpaqueFact("?"), t(4, 8, 3, 3)], {}),
        ("Add", [t("N", 3), t("M", 1)], {}),
        ("Add", [TensorFact(F, None), t(7)], {}),
        ("Reshape", [t("N", 12), axes(5, -1)], {}),
        ("Reshape", [t("N", 12), t(2, dtype=I64, value=("N", 12))], {}),
        ("Reshape", [t(2, 6), t("R", dtype=I64)], {}),
        ("Gather", [t("N", 3), t(2, dtype=I64, value=(0, 200))], {}),
        ("Concat", [t("N", 6), t(3, "K")], {"axis": 1}),
        ("ReduceSum", [t("N", 6), t("R", dtype=I64)], {}),
        ("Split", [t("N"), axes(2, 3)], {}),
        ("If", [t(dtype=ir.DataType.BOOL)], {"then_branch": object(), "else_branch": object()}),
        ("ConstantOfShape", [axes(2, 3)], {"value": object()}),
    ],
)
def test_what_is_not_known_breaks_nothing(specs: Specs, op: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    spec = specs.get(op, 17)
    assert spec is not None
    assert check_call(spec, inputs, attrs) == []


@pytest.mark.unit
def test_bindings_are_what_expressions_see(specs: Specs) -> None:
    conv = specs.get("Conv", 17)
    assert conv is not None
    env, violations = bindings(conv, [t(1, 8, 9, 9), t(4, 4, 3, 3)], {"group": 2})
    assert violations == []
    assert {k: env[k] for k in ("N", "C", "D", "M", "K", "group", "strides", "pads", "T", "auto_pad")} == {
        "N": 1, "C": 8, "D": (9, 9), "M": 4, "K": (3, 3), "group": 2, "strides": (1, 1), "pads": (0, 0, 0, 0),
        "T": "float", "auto_pad": "NOTSET",
    }  # fmt: skip


@pytest.mark.property
def test_invalid_attribute_values_are_found(specs: Specs) -> None:
    """Every deliberately invalid value breaks a rule in some sampled call (where its length or rank fits)."""
    silent: list[str] = []
    for spec in specs.overlaid(17):
        for a in spec.attrs.values():
            open_values = list(a.invalid)
            for seed in range(40):
                if not open_values:
                    break
                choices = Choices.from_seed(f"{spec.op} {a.name} {seed}")
                call = sample_call(spec, {0: random_fact(choices, spec)} if takes_any(spec) else {}, choices)
                if call is None:
                    continue
                facts = [None if p is None else p.fact for p in call.inputs]
                for v in [*open_values]:
                    if check_call(spec, facts, {**call.attrs, a.name: list(v) if isinstance(v, tuple) else v}):
                        open_values.remove(v)
            silent += [f"{spec.op}.{a.name} = {v!r}" for v in open_values]
    assert not silent, silent
