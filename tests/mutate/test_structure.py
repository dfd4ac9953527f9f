"""Mutators that build or undo bodies and functions: valid, replayable, and what they call equal is equal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of, captures_of
from irfuzz.ir.verifier import verify
from irfuzz.mutate.editing.convex_regions import draw_region, extent_of, region_of
from irfuzz.mutate.editing.mutation_sites import exact_values, flow_values
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Mutator, Relation, Skipped
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.spec import Specs

Table = dict[str, Mutator]
Parse = Callable[..., Program]

WRAPS = ("wrap-if", "wrap-loop", "wrap-scan")
ALL = (*WRAPS, "unwrap-control-flow", "outline-function", "inline-function")


@pytest.fixture(scope="module")
def table(specs: Specs) -> Table:
    return build_mutators(Context(specs))


def edits(mutator: Mutator, program: Program, count: int) -> list[tuple[Program, str, Relation]]:
    """The first edits that stand, each on a clone, from seeds 0, 1, 2, ..."""
    found: list[tuple[Program, str, Relation]] = []
    for seed in range(40 * count):
        work, choices = program.clone(), Choices.from_seed(seed)
        site = choices.pick(mutator.sites(work))
        mark, before = choices.mark(), work.to_bytes()
        answer = mutator.apply(work, site, choices)
        if isinstance(answer, Skipped):
            assert work.to_bytes() == before
            continue
        again = program.clone()
        mutator.apply(again, site, Choices.from_record(choices.record[mark:]))
        assert again.to_bytes() == work.to_bytes()
        detail, relation = (
            (answer.detail, answer.relation) if isinstance(answer, Applied) else (answer, mutator.relation)
        )
        found.append((work, detail, relation))
        if len(found) == count:
            return found
    raise AssertionError(f"{mutator.name}: only {len(found)} edits")


def require_sound(program: Program) -> None:
    assert verify(program) == []
    onnx.checker.check_model(onnx.load_from_string(program.to_bytes()), full_check=True)
    again = Program.from_bytes(program.to_bytes())
    copy = program.clone()
    for value, twin in zip(program.values(), copy.values(), strict=True):
        assert program.fact(value) == copy.fact(twin)
        read = again.value(value.name or "")
        a, b = program.tensor(value), None if read is None else again.tensor(read)
        if value.name and a is not None:
            assert b is not None
            assert (a.dtype, a.shape) == (b.dtype, b.shape)


@pytest.mark.parametrize("name", [*WRAPS, "outline-function"])
@pytest.mark.parametrize("model", ["lstm", "qcnn", "transformer"])
def test_results_are_valid_and_replay(name: str, model: str, table: Table, seeds: dict[str, Program]) -> None:
    for work, detail, _ in edits(table[name], seeds[model], 4):
        assert detail
        require_sound(work)


def test_what_is_called_equal_is_equal_and_pytorch_agrees(
    specs: Specs, seeds: dict[str, Program], tmp_path: Path
) -> None:
    """Chains of edits run on ONNXRuntime and as lowered, with inputs of every new condition."""
    engine = Engine(specs, ALL, max_nodes=400)
    equal: set[str] = set()
    for seed in range(10):
        program = seeds[("lenet5", "lstm")[seed % 2]]
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=3)
        assert mutant is not None
        require_sound(mutant.program)
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()
        inputs = {k: v for k, v in make_inputs(mutant.program, seed).items() if isinstance(v, np.ndarray)}
        np.savez(tmp_path / f"{seed}.npz", **inputs)
        (tmp_path / f"{seed}.a.onnx").write_bytes(program.to_bytes())
        (tmp_path / f"{seed}.b.onnx").write_bytes(mutant.to_bytes())
        if all(edit.relation is Relation.EQUIVALENT for edit in mutant.edits):
            equal.add(str(seed))
    script = Path(__file__).with_name("run_pair.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 10
    for answer in answers:
        assert all(d < 2e-4 for d in answer["torch"].values()), answer
        if answer["name"] in equal:
            assert all(d < 1e-5 for d in answer["pair"].values()), answer
    assert engine.counts.thrown.total() == 0


CHAIN = """
g (float[2, 8] x, float[2, 8] z) => (float[2, 8] y)
<float[8] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}>
{
  a = Mul(x, w)
  b = Tanh(a)
  c = Add(b, z)
  d = Mul(z, w)
  e = Tanh(d)
  f = Add(e, x)
  y = Add(c, f)
}
"""


def test_regions_are_convex_and_connected(parse: Parse) -> None:
    program = parse(CHAIN)
    node = program.node("y")
    assert node is not None
    for seed in range(40):
        region = draw_region(program, node, lambda _: True, Choices.from_seed(seed))
        own = set(region.nodes)
        for outside in program.nodes():
            above = program.ancestors(outside.outputs[0]) - {outside}
            if outside in own or not above & own:
                continue
            assert not any(outside in program.ancestors(n.outputs[0]) for n in own)
        assert region_of(program, region.nodes) == region
        assert all(v.producer() not in own for v in region.inputs)
        assert "y" in {v.name for v in region.outputs}


def test_a_branch_has_its_constants_inside_or_outside(table: Table, parse: Parse) -> None:
    program = parse("g (float[4] x) => (float[4] y) <float[4] w = {1.0, 2.0, 3.0, 4.0}> { y = Mul(x, w) }")
    kinds: set[tuple[bool, bool, bool]] = set()
    for work, _, _ in edits(table["wrap-if"], program, 24):
        node = next(n for n in work.nodes() if n.op_type == "If")
        for body in bodies_of(node):
            outer = any(v.name == "w" for v in captures_of(body))
            kinds.add((outer, bool(body.initializers), any(n.op_type == "Constant" for n in body)))
    assert (True, False, False) in kinds
    assert (False, True, False) in kinds
    assert (False, False, True) in kinds


def test_relation_says_whether_the_meaning_stays(table: Table, parse: Parse) -> None:
    program = parse(CHAIN)
    for name in ("wrap-if", "wrap-loop"):
        assert {relation for _, _, relation in edits(table[name], program, 20)} == {
            Relation.EQUIVALENT,
            Relation.CHANGED,
        }


def test_what_is_stacked_has_one_size_in_all_turns(table: Table, parse: Parse) -> None:
    """How many elements NonZero finds would change with what is carried."""
    program = parse(
        "g (float[6] x) => (float[6] y, int64[n, 1] z) { y = Relu(x) p = NonZero(y) z = Transpose <perm = [1, 0]> (p) }"
    )
    stacked = 0
    for work, detail, _ in edits(table["wrap-loop"], program, 30):
        loop = next(n for n in work.nodes() if n.op_type == "Loop")
        if "NonZero" in {n.op_type for n in loop.attributes["body"].as_graph()}:
            assert " 0 carried" in detail
            stacked += 1
    assert stacked


@pytest.mark.parametrize("name", WRAPS)
def test_bodies_give_no_type_that_runtimes_do_not_take_from_one(name: str, table: Table, parse: Parse) -> None:
    """ONNXRuntime 1.32.0: no If with INT4, and no slice of it."""
    program = parse(
        """g (float[2, 6] x) => (float[2, 6] y, float[2, 6] z) <float s = {0.5}, int4 o = {0}>
        { q = QuantizeLinear(x, s, o) y = DequantizeLinear(q, s, o) z = Tanh(x) }""",
        opset=21,
        ir_version=10,
    )
    for work, _, _ in edits(table[name], program, 25):
        require_sound(work)
        node = next(n for n in work.nodes() if n.op_type in ("If", "Loop", "Scan"))
        bodies = [v for body in bodies_of(node) for v in (*body.inputs, *body.outputs)]
        facts = [work.tensor(v) for v in (*node.inputs, *node.outputs, *bodies) if v is not None]
        assert "INT4" not in {fact.dtype.name for fact in facts if fact is not None}


def test_who_asks_an_optional_only_where_it_has_an_element_is_let_ask(parse: Parse) -> None:
    program = parse(
        """g (optional(float[2]) o, float[2] x) => (float[2] y, bool m)
    { h = OptionalHasElement(o) n = Not(h) k = Not(n) m = Not(k)
      y = If(k) <then_branch = a () => (float[2] p) { p = OptionalGetElement(o) },
                 else_branch = b () => (float[2] q) { q = Neg(x) }> }""",
        opset=18,
    )
    exact = {v.name for v in exact_values(program)}
    assert {"h", "n", "k"} <= exact
    assert not {"m", "x", "y"} & exact


def test_a_second_region_of_the_same_nodes_calls_the_same_function(table: Table, parse: Parse) -> None:
    program = parse(CHAIN)
    most, parameters = 0, 0
    for work, _, _ in edits(table["outline-function"], program, 30):
        assert len(work.model.functions) == 1
        function = next(iter(work.model.functions.values()))
        calls = [n for n in work.nodes() if n.op_identifier() == function.identifier()]
        most = max(most, len(calls) if len(function.graph) == 3 else 0)
        parameters = max(parameters, len(function.attributes))
    assert most == 2
    assert parameters == 0


def test_what_nothing_reads_does_not_disturb_outlining_its_like(table: Table, parse: Parse) -> None:
    program = parse("g (float[2, 8] x) => (float[2, 8] y) { a = Relu (x) b = Exp (a) y = Exp (a) c = Relu (b) }")
    for work, _, _ in edits(table["outline-function"], program, 40):
        require_sound(work)


def test_attributes_become_parameters_of_the_function(table: Table, parse: Parse) -> None:
    program = parse(
        "g (float[2, 8] x) => (float[2, 8] y) { a = LeakyRelu <alpha = 0.25> (x) y = LeakyRelu <alpha = 0.5> (a) }"
    )
    kinds: set[tuple[bool, int]] = set()
    for work, _, _ in edits(table["outline-function"], program, 30):
        function = next(iter(work.model.functions.values()))
        refs = {a.ref_attr_name for n in function.graph for a in n.attributes.values() if a.is_ref()}
        assert refs == set(function.attributes)
        calls = [n for n in work.nodes() if n.op_identifier() == function.identifier()]
        for attr in function.attributes.values():
            kinds.add((attr.value is None, len(calls)))
            assert work.model.ir_version >= (8 if attr.value is None else 9)
        inlined = work.clone()
        for call in [n for n in inlined.nodes() if n.op_identifier() == function.identifier()]:
            table["inline-function"].apply(inlined, inlined.site_of(call), Choices.from_record(()))
        assert not inlined.model.functions
        assert [n.attributes["alpha"].as_float() for n in inlined.nodes()] == [0.25, 0.5]
    assert {(True, 1), (False, 1), (True, 2)} <= kinds


def test_inlining_gives_back_what_outlining_took(table: Table, seeds: dict[str, Program]) -> None:
    program = seeds["transformer"]
    for work, _, _ in edits(table["outline-function"], program, 6):
        while sites := table["inline-function"].sites(work):
            answer = table["inline-function"].apply(work, sites[0], Choices.from_record(()))
            assert isinstance(answer, str), answer
        assert not work.model.functions
        assert set(work.model.opset_imports) == set(program.model.opset_imports)
        require_sound(work)
        # Constants that were Constant nodes inside are such nodes now; the rest is what it was.
        kinds = sorted(n.op_type for n in work.nodes() if n.op_type != "Constant")
        assert kinds == sorted(n.op_type for n in program.nodes() if n.op_type != "Constant")


def test_unwrapping_gives_back_what_wrapping_took(table: Table, parse: Parse) -> None:
    program = parse(CHAIN)
    done = 0
    for name in WRAPS:
        for work, _, _ in edits(table[name], program, 12):
            for site in table["unwrap-control-flow"].sites(work):
                answer = table["unwrap-control-flow"].apply(work, site, Choices.from_record(()))
                if isinstance(answer, str):
                    done += 1
                    require_sound(work)
                    assert not any(n.op_type in ("If", "Loop", "Scan") for n in work.nodes())
    assert done > 10


LOOP = """
g (float[2] x, int64[1] k) => (float[2] y, float[n, 2] s, float[m, 3] t)
<int64 trips = {TRIPS}, bool cond = {1}, float[6] data = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>
{
  y, s = Loop (trips, cond, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] u, float[2] o) {
    d = COND
    u = Add(v, v)
    o = Identity(v)
  }>
  three = Constant <value = int64[1] {3}> ()
  shape = Concat <axis = 0> (k, three)
  t = Reshape(data, shape)
}
"""


@pytest.mark.parametrize(
    ("cond", "trips", "size"),
    [("Identity(c)", "3", 3), ("Identity(c)", "0", 0), ("Not(c)", "3", None), ("Not(c)", "1", 1)],
)
def test_stacked_size_is_known_where_no_turn_can_be_left_out(
    parse: Parse, cond: str, trips: str, size: int | None
) -> None:
    program = parse(LOOP.replace("COND", cond).replace("TRIPS", trips))
    fact = program.tensor(program.value("s"))
    assert fact is not None
    assert fact.shape is not None
    assert fact.shape[1] == 2
    assert (fact.shape[0] if type(fact.shape[0]) is int else None) == size


def test_only_what_decides_shapes_inside_is_left_alone(parse: Parse) -> None:
    program = parse(
        """
g (float[2, 3] x, bool c, int64[2] s, float[2, 3] z) => (float[a, b] y) {
  p = Relu(x)
  q = Add(s, s)
  r = Neg(z)
  y = If (c) <then_branch = g1 () => (float[a, b] t) { t = Reshape(p, q) },
              else_branch = g2 () => (float[a, b] e) { f = Abs(r) e = Identity(f) }>
}
"""
    )
    exact = {v.name for v in exact_values(program)}
    assert {"q", "s"} <= exact
    assert not exact & {"p", "x", "r", "z", "c"}
    assert {"p", "x", "r", "z"} <= {v.name for v in flow_values(program)}


def test_what_a_loop_carries_into_a_shape_is_left_alone(parse: Parse) -> None:
    program = parse(
        """
g (float[2, 3] x, int64[2] s, float[2, 3] z) => (float[2, 3] y, float[a, b] w)
<int64 trips = {2}, bool cond = {1}>
{
  n = Neg(s)
  m = Neg(n)
  y, k = Loop (trips, cond, z, m) <body = b (int64 i, bool c, float[2, 3] v, int64[2] r)
    => (bool d, float[2, 3] u, int64[2] o) { d = Identity(c) u = Add(v, x) o = Identity(r) }>
  w = Reshape(y, k)
}
"""
    )
    exact = {v.name for v in exact_values(program)}
    assert {"k", "m", "n", "s", "trips"} <= exact
    assert not exact & {"x", "z", "y"}


def test_nesting_is_bounded(specs: Specs, seeds: dict[str, Program]) -> None:
    engine = Engine(specs, ("wrap-if", "wrap-loop", "outline-function"))
    mutant = engine.mutate(seeds["lenet5"], Choices.from_seed(3), edits=14)
    assert mutant is not None
    extents = [extent_of(mutant.program, n) for n in mutant.program.nodes()]
    assert max(depth for depth, _ in extents) == 3
    assert max(count for _, count in extents) < 800


def test_other_mutators_go_on_working_on_what_has_bodies(specs: Specs, seeds: dict[str, Program]) -> None:
    wrapped = Engine(specs, ("wrap-if", "outline-function")).mutate(seeds["transformer"], Choices.from_seed(1), edits=4)
    assert wrapped is not None
    engine = Engine(specs, ("duplicate-layer", "merge-values", "change-shape", "remove-layer", "change-attribute"))
    for seed in range(6):
        mutant = engine.mutate(wrapped.program, Choices.from_seed(seed), edits=3)
        assert mutant is not None
        require_sound(mutant.program)
    assert engine.counts.thrown.total() <= 0.01 * engine.counts.applied.total()


def test_removing_a_node_lets_go_of_what_its_bodies_read(parse: Parse) -> None:
    program = parse(
        """
g (float[3] x, bool c) => (float[3] y) {
  a = Relu(x)
  b = If (c) <then_branch = g1 () => (float[3] t) { t = Neg(a) }, else_branch = g2 () => (float[3] e) { e = Abs(a) }>
  y = Identity(x)
}
"""
    )
    assert program.prune() >= 2
    assert [n.op_type for n in program.nodes()] == ["Identity"]
    assert isinstance(program.graph, ir.Graph)
