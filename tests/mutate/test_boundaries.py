"""Exact ties and empty tensors: they reach the operators that must cope with them, and ONNX says what comes out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Mutator, Skipped
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.mutate.tensor_values.exact_ties import CHOOSERS
from irfuzz.spec import Specs

Parse = Callable[..., Program]


@pytest.fixture(scope="module")
def table(specs: Specs) -> dict[str, Mutator]:
    return build_mutators(Context(specs))


def apply(mutator: Mutator, program: Program, site: str, seed: int) -> tuple[Program, str]:
    work = program.clone()
    answer = mutator.apply(work, site, Choices.from_seed(seed))
    assert isinstance(answer, str), answer
    onnx.checker.check_model(work.to_proto(), full_check=True)
    return work, answer


def run(program: Program, x: np.ndarray) -> list[np.ndarray]:
    ort.set_default_logger_severity(4)
    return ort.InferenceSession(program.to_bytes(), providers=["CPUExecutionProvider"]).run(None, {"x": x})


X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11) / 10


def test_ties_reach_the_operators_that_choose(table: dict[str, Mutator], parse: Parse) -> None:
    program = parse("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { h = Neg(x) y = Tanh(h) }")
    seen: set[str] = set()
    for seed in range(40):
        work, _ = apply(table["exact-ties"], program, "h", seed)
        node = next(n for n in work.nodes() if n.op_type in CHOOSERS)
        seen.add(node.op_type)
        coarse = node.inputs[0]
        assert coarse is not None
        shown = work.clone()
        shown.add_output(shown.value(coarse.name or "") or coarse)
        elements = run(shown, X)[-1]
        assert len(np.unique(elements)) <= 4
    assert seen == set(CHOOSERS)


def test_ties_are_put_before_who_chooses_already(table: dict[str, Mutator], parse: Parse) -> None:
    program = parse("g (float[2, 3, 4] x) => (int64[2, 4] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }")
    details = {apply(table["exact-ties"], program, "x", seed)[1] for seed in range(20)}
    assert any(detail.endswith("in x, read by ArgMax") for detail in details)
    assert table["exact-ties"].sites(parse("g (bool[3] x) => (bool[3] y) { y = Not(x) }")) == []


def test_a_copy_without_elements_changes_nothing(table: dict[str, Mutator], parse: Parse) -> None:
    program = parse("""g (float[2, 3, 4] x) => (float[2, 3, 4] y)
    <float[4] s = {1, 2, 3, 4}>
    { a = Softmax <axis = 1> (x) b = Add(a, x) y = LayerNormalization <axis = 2> (b, s) }""")
    expected = run(program, X)[0]
    empty: set[tuple[int, ...]] = set()
    outputs = set()
    for seed in range(12):
        for site in ("a", "b", "y"):
            work, _ = apply(table["empty-tensor"], program, site, seed)
            got = run(work, X)
            np.testing.assert_allclose(got[0], expected, rtol=1e-6)
            outputs.add(len(got))
            empty.update(array.shape for array in got[1:])
    assert outputs == {1, 2}
    assert empty == {(0, 3, 4), (2, 0, 4), (2, 3, 0)}


def test_what_cannot_be_empty_stays(table: dict[str, Mutator], parse: Parse) -> None:
    mutator = table["empty-tensor"]
    weights = ", ".join("1" for _ in range(9))
    pool = parse("g (float[1, 2, 8] x) => (float[1, 2, 7] y) { y = MaxPool <kernel_shape = [2]> (x) }")
    for seed in range(6):
        assert "along axis 0" in apply(mutator, pool, "y", seed)[1]
    matmul = parse(f"g (float[2, 3] x) => (float[2, 3] y) <float[3, 3] w = {{{weights}}}> {{ y = MatMul(x, w) }}")
    assert mutator.sites(matmul) == []
    attention = "g (float[1, 2, 3, 4] x) => (float[1, 2, 3, 4] y) { y = Attention(x, x, x) }"
    assert mutator.sites(parse(attention, opset=23, ir_version=11)) == []
    norm = parse("g (float[4] x) => (float[4] y) <float[4] s = {1, 1, 1, 1}> { y = LayerNormalization(x, s) }")
    before = norm.to_bytes()
    answer = mutator.apply(norm, "y", Choices.from_seed(0))
    assert answer == Skipped("no axis along which there may be no elements")
    assert norm.to_bytes() == before


def test_no_elements_are_not_broadcast_to_a_named_size(table: dict[str, Mutator], parse: Parse) -> None:
    """A size of 0 goes with 0 and 1 alone, and ``N`` may be any number."""
    where = (
        "g (float[SIZE, 4] x) => (float[SIZE, 4] y) <bool[1, 4] c = {1, 0, 1, 0}, float z = {0}> { y = Where(c, x, z) }"
    )
    mutator, named = table["empty-tensor"], parse(where.replace("SIZE", "N"))
    for seed in range(6):
        answer = mutator.apply(named, "y", Choices.from_seed(seed))
        assert answer == Skipped("no axis along which there may be no elements")
    assert "along axis 0" in apply(mutator, parse(where.replace("SIZE", "1")), "y", 0)[1]


def test_reductions_along_axes_from_the_end_stay_full(table: dict[str, Mutator], parse: Parse) -> None:
    """ONNXRuntime 1.31.1 gives them the shape [2, 0, 4] instead of [2, 0, 1]."""
    reduced = "g (float[2, 3, 4] x) => (float[2, 3, 1] y) { y = ReduceMean <axes = [AXIS]> (x) }"
    mutator, program = table["empty-tensor"], parse(reduced.replace("AXIS", "-1"))
    answer = mutator.apply(program, "y", Choices.from_seed(0))
    assert isinstance(answer, Skipped)
    assert "counted from its end" in answer.reason
    counted = parse(reduced.replace("AXIS", "2"))
    assert len(apply(mutator, counted, "y", 0)[0].nodes()) > 1
    empty = parse("g (float[2, 0, 4] x) => (float[2, 0, 1] y) { y = ReduceMean <axes = [2]> (x) }")
    assert table["negative-axes"].sites(empty) == []
