"""Operators that alone are inserted, and nodes that stay as they are."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import parser

from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import rebuild
from irfuzz.mutate.traced_mutant_generation import TracedMutant, mutate
from irfuzz.mutate.user_mutation_constraints import Constraints
from irfuzz.spec import with_trait

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 8, 8] x) => (float[2, 4, 6, 6] y)
<float[4, 3, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9,
 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9,
 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9,
 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}>
{ [first] a = Tanh(x) [conv] b = Conv <pads = [0, 0, 0, 0]> (a, w) c = LeakyRelu <alpha = 0.2> (b) y = Neg(c) }"""


def model() -> onnx.ModelProto:
    return parser.parse_model(TEXT)


def mutants(**given: object) -> list[TracedMutant]:
    return list(mutate(model(), seed=5, n=60, **given))  # type: ignore[arg-type]


def operators(graph: onnx.GraphProto) -> Counter[str]:
    """Of all nodes, those of bodies too."""
    found = Counter(node.op_type for node in graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            found += operators(attribute.g) if attribute.HasField("g") else Counter[str]()
    return found


def test_only_wanted_operators_are_inserted() -> None:
    wanted = {"Relu", "Softmax"}
    made = mutants(ops=sorted(wanted))
    assert len(made) == 60
    before = operators(model().graph)
    new: Counter[str] = Counter()
    for mutant in made:
        new += operators(mutant.model_proto.graph) - before
    assert set(new) <= wanted | with_trait("adapts") | set(before)
    assert new["Relu"] >= 5
    assert new["Softmax"] >= 5
    free = set().union(*(operators(mutant.model_proto.graph) for mutant in mutants()))
    assert len(free - wanted - with_trait("adapts") - set(before)) > 10


def test_what_a_mutator_builds_itself_can_be_named() -> None:
    assert "If" not in set().union(*(operators(m.model_proto.graph) for m in mutants(ops=["Relu"])))
    assert "If" in set().union(*(operators(m.model_proto.graph) for m in mutants(ops=["Relu", "If"])))


def conv_of(graph: onnx.GraphProto) -> tuple[onnx.NodeProto, onnx.NodeProto, onnx.TensorProto]:
    """The node that is kept, who computes its input, and its weight."""
    (conv,) = [n for n in graph.node if "b" in n.output]
    (before,) = [n for n in graph.node if conv.input[0] in n.output]
    found = [t for t in graph.initializer if t.name == conv.input[1]]
    found += [a.t for n in graph.node if conv.input[1] in n.output for a in n.attribute if a.HasField("t")]
    return conv, before, found[0]


@pytest.mark.parametrize("name", ["conv", "b"])
def test_a_node_is_kept_with_what_it_reads(name: str) -> None:
    conv, before, weight = conv_of(model().graph)
    changed = set()
    for mutant in mutants(keep=[name]):
        graph = mutant.model_proto.graph
        kept, feeds, held = conv_of(graph)
        assert (kept.op_type, list(kept.input), list(kept.attribute)) == ("Conv", ["a", "w"], list(conv.attribute))
        assert (feeds.op_type, list(feeds.attribute)) == (before.op_type, list(before.attribute))
        assert onnx.numpy_helper.to_array(held).tobytes() == onnx.numpy_helper.to_array(weight).tobytes()
        changed |= {edit.mutator for edit in mutant.edits}
    assert len(changed) > 8


def test_without_it_the_node_is_changed() -> None:
    def stays(mutant: TracedMutant) -> bool:
        found = [n for n in mutant.model_proto.graph.node if "b" in n.output]
        return len(found) == 1 and (found[0].op_type, list(found[0].input)) == ("Conv", ["a", "w"])

    assert sum(not stays(mutant) for mutant in mutants()) > 5


def test_constrained_mutants_replay_without_constraints() -> None:
    program = Program.from_proto(model())
    for mutant in mutants(keep=["conv"], ops=["Relu"])[:20]:
        assert rebuild(mutant.trace, {program.digest: program}.get) == mutant.to_bytes()


def test_no_constraints_change_nothing() -> None:
    assert not Constraints()
    assert Constraints(frozenset())
    assert Constraints(None, ("a",))
    assert [m.to_bytes() for m in mutants(ops=None, keep=())] == [m.to_bytes() for m in mutants()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ops": ["Relo"]}, r"^ops: unknown operator 'Relo'; did you mean Relu\?$"),
        ({"ops": "Relu"}, r"^ops: expected a list of names, got the text 'Relu'$"),
        ({"keep": "conv"}, r"^keep: expected a list of names, got the text 'conv'$"),
        ({"keep": ["conv", "x"]}, r"^keep: no model has a node 'x' in its main graph; .* of what one computes$"),
        ({"keep": ["bb"]}, r"^keep: no model has a node 'bb' in its main graph; .* computes, such as 'b'$"),
    ],
)
def test_what_is_not_there(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mutants(**given)


def test_an_edit_that_moves_a_kept_node_is_seen() -> None:
    """Each of these alone breaks it: another attribute, name, source, input or weight."""
    constraints = Constraints(None, ("conv",))
    before = constraints.mark(Program.from_proto(model()))
    assert constraints.broken(Program.from_proto(model()), before) == ""
    for old, new in (
        ("pads = [0, 0, 0, 0]", "pads = [1, 1, 1, 1]"),
        ("[conv]", "[other]"),
        ("a = Tanh(x)", "a = Sin(x)"),
        ("(a, w)", "(x, w)"),
        ("w = {1, 2,", "w = {1, 3,"),
    ):
        text = TEXT.replace(old, new)
        assert text != TEXT
        if "[1, 1, 1, 1]" in text:
            text = text.replace("float[2, 4, 6, 6]", "float[2, 4, 8, 8]")
        changed = Program.from_proto(parser.parse_model(text))
        assert constraints.broken(changed, before) == "node 'conv' is to stay as it is", old
