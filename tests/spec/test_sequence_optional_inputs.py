"""Operators on sequences, optionals and strings: what their overlays refuse, and that what they give runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.spec import Specs, check_call, sample_call
from tests.spec.onenode import OrtWorker, model_of

F, I64, D, TEXT = ir.DataType.FLOAT, ir.DataType.INT64, ir.DataType.DOUBLE, ir.DataType.STRING


def t(*shape: Any, dtype: ir.DataType = F, value: Any = None) -> TensorFact:
    return TensorFact(dtype, shape, value=value)


def seq(elem: Fact | None, length: int | None = None) -> SequenceFact:
    return SequenceFact(elem, length)


def at(position: int) -> TensorFact:
    return t(dtype=I64, value=(position,))


BAD = [
    ("SequenceAt", [t(2), at(0)], {}, "input_sequence: expected a sequence, got a tensor"),
    ("SequenceAt", [OptionalFact(t(2)), at(0)], {}, "expected a sequence, got optional(tensor(float))"),
    ("SequenceAt", [seq(t(2), 3), at(3)], {}, "position: expected at most 2"),
    ("SequenceAt", [seq(t(2), 3), at(-4)], {}, "position: expected at least -3"),
    ("SequenceAt", [seq(t(2), 3), t(2, dtype=I64)], {}, "expected rank 0"),
    ("SequenceErase", [seq(t(2), 0)], {}, "items(input_sequence) >= 1"),
    ("SequenceInsert", [seq(t(2)), t(2, dtype=D)], {}, "dtype(tensor) == dtype(input_sequence)"),
    ("SequenceInsert", [seq(t(2), 1), t(2), at(2)], {}, "position: expected at most 1"),
    ("SequenceConstruct", [t(2), t(2, dtype=D)], {}, "T is float elsewhere, got double"),
    ("SequenceLength", [seq(t(2, dtype=ir.DataType.BFLOAT16))], {}, "expected one of bool"),
    ("SplitToSequence", [t(6), t(2, dtype=I64, value=(2, 3))], {}, "sum(split) == D[axis]"),
    ("SplitToSequence", [t(6), at(0)], {}, "split >= 1"),
    ("SplitToSequence", [t(6)], {"axis": 1}, "axis: expected at most 0"),
    ("ConcatFromSequence", [seq(t(2, 3), 2)], {"axis": 2}, "axis: expected at most 1"),
    ("ConcatFromSequence", [seq(t(2, 3), 0)], {"axis": 0}, "items(input_sequence) >= 1"),
    ("Optional", [OptionalFact(t(2))], {}, "input: expected a tensor or a sequence, got optional(tensor(float))"),
    ("OptionalGetElement", [t(2)], {}, "input: expected an optional, got a tensor"),
    ("SequenceMap", [t(2)], {"body": object()}, "expected a sequence, got a tensor"),
    ("StringNormalizer", [t(2, 3, dtype=TEXT)], {}, "expected 1"),
    ("StringNormalizer", [t(3)], {}, "expected one of string"),
    ("StringNormalizer", [t(3, dtype=TEXT)], {"case_change_action": "TITLE"}, "expected one of 'NONE'"),
    ("Multinomial", [t(2, 3, 4)], {}, "expected rank 2"),
    ("RandomNormalLike", [t(2, dtype=I64)], {}, "dtype != 0"),
    ("RandomUniform", [], {"shape": [2, -1]}, "shape: expected at least 0"),
    ("If", [t(2, dtype=ir.DataType.BOOL)], {"then_branch": 1, "else_branch": 1}, "prod(S) == 1"),
    ("Scan", [t(2)], {"body": 1, "num_scan_inputs": 0}, "num_scan_inputs: expected at least 1"),
]


@pytest.mark.unit
@pytest.mark.parametrize(("op", "inputs", "attrs", "message"), BAD)
def test_broken_rules_are_named(specs: Specs, op: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    spec = specs.get(op, 17)
    assert spec is not None
    violations = [str(v) for v in check_call(spec, inputs, attrs)]
    assert any(message in v for v in violations), violations


@pytest.mark.unit
@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("SequenceAt", [seq(None), at(7)]),
        ("SequenceAt", [seq(TensorFact(F, None)), t(dtype=I64)]),
        ("SequenceInsert", [seq(None), t(2)]),
        ("SequenceErase", [seq(t(2))]),
        ("Optional", [seq(t(2), 2)]),
        ("OptionalGetElement", [OptionalFact(seq(t("N", None)))]),
        ("OptionalHasElement", [OptionalFact(None)]),
        ("Identity", [seq(t(2))]),
        ("Identity", [OptionalFact(t(2))]),
        ("SequenceConstruct", [t(2), t(3, 4)]),
    ],
)
def test_what_is_valid_or_not_known_breaks_nothing(specs: Specs, op: str, inputs: list[Any]) -> None:
    spec = specs.get(op, 17)
    assert spec is not None
    assert check_call(spec, inputs, {}) == []


def test_optionals_take_anything_from_opset_18_on(specs: Specs) -> None:
    for op in ("OptionalGetElement", "OptionalHasElement"):
        spec = specs.get(op, 18)
        assert spec is not None
        assert check_call(spec, [t(2)], {}) == []
        assert check_call(spec, [seq(t(2))], {}) == []


@pytest.fixture(scope="module")
def worker() -> Iterator[OrtWorker]:
    with OrtWorker() as w:
        yield w


def given_for(op: str, choices: Choices) -> dict[int, Fact]:
    """A first input as it stands in a program, or none."""
    shape = [choices.integer(1, 4) for _ in range(choices.integer(1, 3))]
    tensor = TensorFact(choices.pick((F, I64, TEXT)), tuple(shape))
    length = choices.integer(1, 3)
    firsts: dict[str, Sequence[Fact]] = {
        "SequenceConstruct": [tensor],
        "SplitToSequence": [tensor],
        "Optional": [tensor, SequenceFact(tensor, length)],
        "OptionalGetElement": [OptionalFact(tensor)],
        "OptionalHasElement": [OptionalFact(tensor)],
    }
    facts = firsts.get(op, [SequenceFact(tensor, length)])
    return {0: choices.pick(facts)} if op != "SequenceEmpty" and choices.boolean(0.7) else {}


@pytest.mark.backend
def test_drawn_calls_run_on_onnxruntime(specs: Specs, worker: OrtWorker) -> None:
    nested = specs.nested(17)
    assert len(nested) == 11
    failures, made = [], 0
    for spec in nested:
        for seed in range(12):
            choices = Choices.from_seed(f"{spec.op} {seed}")
            given = given_for(spec.op, choices)
            mark = choices.mark()
            call = sample_call(spec, given, choices)
            if call is None:
                continue
            again = sample_call(spec, given, Choices.from_record(choices.record[mark:]))
            assert again is not None
            assert (again.attrs, [p and p.whole for p in again.inputs]) == (
                call.attrs,
                [p and p.whole for p in call.inputs],
            )
            assert not given or (call.inputs[0] is not None and call.inputs[0].whole is given[0])
            made += 1
            assert check_call(spec, [p and p.whole for p in call.inputs], call.attrs) == []
            model = model_of(spec, call, 17, np.random.default_rng(seed))
            answer = worker.run(model.SerializeToString())
            if answer["stage"] != "done":
                failures.append(f"{spec.op} {seed}: {answer} {call}")
    assert not failures, "\n".join(failures)
    assert made > 110


@pytest.mark.property
def test_lengths_that_are_not_known_give_no_positions(specs: Specs) -> None:
    spec = specs.get("SequenceAt", 17)
    assert spec is not None
    assert sample_call(spec, {0: SequenceFact(t(2, 3))}, Choices.from_seed(1)) is None
    for length in (1, 3):
        for seed in range(20):
            call = sample_call(spec, {0: SequenceFact(t("N", None), length)}, Choices.from_seed(seed))
            assert call is not None
            position = call.inputs[1]
            assert position is not None
            assert position.value is not None
            assert -length <= int(position.value) < length


@pytest.mark.property
def test_control_flow_is_not_drawn(specs: Specs) -> None:
    for op in ("If", "Loop", "Scan", "SequenceMap", "ImageDecoder"):
        spec = specs.get(op, 20)
        assert spec is not None
        assert spec.has_overlay
        assert not spec.is_sampled
        assert sample_call(spec, {}, Choices.from_seed(1)) is None
