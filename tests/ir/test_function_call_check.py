"""Functions that call themselves, or stand for too much, are refused; so are opsets and sizes that nothing can hold."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper, parser

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import function_call_check

pytestmark = pytest.mark.unit

HEAD = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\n'


def model(functions: dict[str, list[str]], calls: tuple[str, ...] = ("f",)) -> bytes:
    """Functions by name, each a chain of what is called: of the others, or ``Relu``."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def chain(names: list[str] | tuple[str, ...], first: str, last: str) -> list[onnx.NodeProto]:
        values = [first, *(f"{first}{i}" for i in range(len(names) - 1)), last]
        return [
            helper.make_node(name, [values[i]], [values[i + 1]], domain="own" if name in functions else "")
            for i, name in enumerate(names)
        ]

    made = [helper.make_function("own", n, ["a"], ["b"], chain(c, "a", "b"), opsets) for n, c in functions.items()]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph(chain(calls, "x", "y"), "g", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, functions=made, ir_version=8).SerializeToString()


@pytest.mark.parametrize(
    ("functions", "circle"),
    [
        ({"f": ["f"]}, "'own::f' -> 'own::f'"),
        ({"f": ["Relu", "g"], "g": ["h"], "h": ["g"]}, "'own::g' -> 'own::h' -> 'own::g'"),
    ],
)
def test_a_function_that_calls_itself_is_refused_with_the_way(functions: dict[str, list[str]], circle: str) -> None:
    with pytest.raises(InvalidProgram, match="calls itself") as caught:
        Program.from_bytes(model(functions))
    assert f"({circle})" in str(caught.value)


def test_functions_that_double_forty_times_are_refused_at_once() -> None:
    doubling = {f"f{i}": [f"f{i - 1}"] * 2 for i in range(1, 41)} | {"f0": ["Relu"]}
    with pytest.raises(InvalidProgram, match=r"stands for about 10\^12 nodes; expected at most 1,000,000"):
        Program.from_bytes(model(doubling, ("f40",)))


@pytest.mark.parametrize(("count", "fits"), [(64, True), (65, False)])
def test_functions_lie_in_one_another_up_to_a_depth(count: int, fits: bool) -> None:
    """``f0`` is one level; each of the others calls the one before."""
    inner = {f"f{i}": [f"f{i - 1}"] for i in range(1, count)} | {"f0": ["Relu"]}
    data = model(inner, (f"f{count - 1}",))
    if fits:
        assert len(Program.from_bytes(data).model.functions) == count
    else:
        with pytest.raises(InvalidProgram, match="lie in one another 65 deep; expected at most 64"):
            Program.from_bytes(data)


def test_the_limit_counts_calls_and_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    data = model({"f": ["g", "g"], "g": ["Relu"] * 20})  # g: 20; f: its 2 calls and twice 20; the model: 1 and 42
    monkeypatch.setattr(function_call_check, "MOST_NODES", 43)
    assert len(Program.from_bytes(data).nodes()) == 1
    monkeypatch.setattr(function_call_check, "MOST_NODES", 42)
    with pytest.raises(InvalidProgram, match=r"stands for about 10\^1 nodes; expected at most 42"):
        Program.from_bytes(data)


def test_what_nobody_calls_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = model({"f": ["g", "g"], "g": ["Relu"] * 20}, ("Relu",))
    monkeypatch.setattr(function_call_check, "MOST_NODES", 42)
    assert len(Program.from_bytes(data).nodes()) == 1
    monkeypatch.setattr(function_call_check, "MOST_NODES", 41)
    with pytest.raises(InvalidProgram, match="expected at most 41"):
        Program.from_bytes(data)


def test_a_function_may_be_called_over_and_over() -> None:
    program = Program.from_bytes(model({"f": ["Relu"], "g": ["f", "f"]}, ("f", "g", "f")))
    assert len(program.nodes()) == 3


@pytest.mark.parametrize(("version", "fine"), [(2**31 - 1, True), (2**31, False), (2**62, False), (-(2**40), False)])
def test_an_opset_beyond_32_bits_is_refused(version: int, fine: bool) -> None:
    proto = parser.parse_model(HEAD + "g (float[2] x) => (float[2] y) { y = Relu (x) }")
    proto.opset_import[1].version = version
    if fine:
        Program.from_proto(proto)
    else:
        with pytest.raises(InvalidProgram, match=f"domain 'own' at opset {version}; expected at most 2147483647"):
            Program.from_proto(proto)


@pytest.mark.parametrize(("times", "fine"), [(2**61, True), (2**62, False)])
def test_a_size_beyond_int64_is_refused_and_the_node_named(times: int, fine: bool) -> None:
    text = f"g (float[2] x) => (float[n] y) <int64[1] s = {{{times}}}> {{ [big] y = Tile (x, s) }}"
    if fine:
        Program.from_proto(parser.parse_model(HEAD + text))
    else:
        with pytest.raises(InvalidProgram, match=rf"'big'.*Tile gives a size of {2 * times}"):
            Program.from_proto(parser.parse_model(HEAD + text))
