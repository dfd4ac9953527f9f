"""What is inferred without asking ONNX is what ONNX says, and where ONNX refuses nothing is said."""

from collections import Counter

import pytest
from onnx_ir import DataType

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.inference import call_output_types
from irfuzz.ir.inference.call_output_types import CallKey
from irfuzz.ir.inference.graph_facts import infer_call
from irfuzz.ir.inference.static_shape_rules import _RULES, direct_outputs
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs


def _agrees(call: CallKey) -> bool:
    """True where there is an answer; fails where it is not ONNX's."""
    schema = call_output_types.schema_of(call.op, call.opset, call.domain)
    found = None if schema is None else direct_outputs(call, schema)
    if found is not None:
        assert schema is not None
        assert found == call_output_types._asked(call, schema), call
    return found is not None


def test_calls_of_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that mutation makes, at several opsets."""
    met: set[CallKey] = set()
    inner = call_output_types.schema_outputs

    def spy(call: CallKey) -> object:
        met.add(call)
        return inner(call)

    monkeypatch.setattr("irfuzz.ir.inference.graph_facts.schema_outputs", spy)
    infer_call.cache_clear()
    engine = Engine(load_specs())
    for name in ("lenet5", "vit", "gru"):
        seed = Program.from_bytes((seeds_dir() / f"{name}.onnx").read_bytes())
        for number in range(40):
            engine.mutate(seed, Choices.from_seed(number), edits=2)
    answered = Counter(call.op for call in met if _agrees(call))
    assert sum(answered.values()) > 200
    assert len(answered) >= 10


SHAPES = ((), (1,), (3,), (2, 3), (1, 4), (2, 0), (2, 3, 4))
LISTS = ((), (0,), (1,), (-1,), (2, 3), (0, 1), (1, 1), (3, -1), (0, 0, 1, 1), (1, 0, 2, 0), (1, -2, 0, 1), (6, 1, 4))


@pytest.mark.parametrize("op", sorted(_RULES))
def test_calls_that_may_not_fit(op: str) -> None:
    """Shapes and lists that fit or do not: where ONNX refuses, there is no answer."""
    answers = 0
    lists = [TensorFact(DataType.INT64, (len(v),), value=v or None) for v in LISTS]
    for opset in (9, 11, 13, 18, 21):
        for dtype in (DataType.FLOAT, DataType.INT64, DataType.BOOL, DataType.STRING):
            for shape in SHAPES:
                data = TensorFact(dtype, shape)
                seconds = [(), *((TensorFact(dtype, s),) for s in SHAPES), *((fact,) for fact in lists)]
                if op == "Slice":
                    seconds += [(a, b, c) for a in lists[:6] for b in lists[:6] for c in lists[:7]]
                for rest in seconds:
                    attrs = {"Cast": (("to", 2, 6),), "Transpose": (("perm", 7, (1, 0)),)}.get(op, ())
                    call = CallKey("", op, opset, attrs, (data, *rest), (True,))
                    try:
                        answers += _agrees(call)
                    except InvalidProgram as error:
                        raise AssertionError(f"ONNX refuses {call}: {error}") from error
    assert answers
