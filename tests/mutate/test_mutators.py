"""Each mutator by itself: what it does, that its result is valid, and that a skip leaves no mark."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import version_converter

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.insertion.splice import donor_of
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutation_trace import FixedDonors
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Mutator, Relation, Skipped
from irfuzz.mutate.mutator_table import BUILTIN, build_mutators
from irfuzz.mutate.tensor_values.change_weights import WAYS
from irfuzz.mutate.tensor_values.special_values import FLOAT_SPECIALS, INTEGER_SPECIALS, special_number
from irfuzz.spec import Specs, load_specs

Table = dict[str, Mutator]
Parse = Callable[..., Program]

WEIGHTS = ", ".join(str(round(0.1 * i - 3, 2)) for i in range(64))
CHAIN = """
g (float[2, 8] x) => (float[2, 4] y)
<float[8, 8] w = {WEIGHTS}>
{
  h = MatMul(x, w)
  r = Relu(h)
  s = Softmax <axis = 1> (r)
  k = Constant <value = int64[2] {2, 16}> ()
  c = Concat <axis = 1> (s, r)
  t = Reshape(c, k)
  starts = Constant <value = int64[1] {0}> ()
  ends = Constant <value = int64[1] {4}> ()
  axes = Constant <value = int64[1] {1}> ()
  y = Slice(t, starts, ends, axes)
}
""".replace("WEIGHTS", WEIGHTS)


@pytest.fixture
def chain(parse: Parse) -> Program:
    return parse(CHAIN)


@pytest.fixture
def table(specs: Specs, seeds: dict[str, Program]) -> Table:
    donors = FixedDonors({p.digest: p for p in seeds.values()})
    return build_mutators(Context(specs, None, donors))


def interface(program: Program) -> list[object]:
    return [(v.name, program.fact(v)) for v in (*program.graph.inputs, *program.graph.outputs)]


def apply_once(mutator: Mutator, program: Program, seed: int) -> tuple[Program, str, str]:
    """The first edit that stands, on a clone: the mutant, the site and the description."""
    choices = Choices.from_seed(seed)
    for _ in range(60):
        work = program.clone()
        before = work.to_bytes()
        site = choices.pick(mutator.sites(work))
        answer = mutator.apply(work, site, choices)
        if not isinstance(answer, Skipped):
            return work, site, answer if isinstance(answer, str) else answer.detail
        assert work.to_bytes() == before, f"{mutator.name} skipped ({answer.reason}) and changed the program"
    raise AssertionError(f"{mutator.name} found nothing to do")


MAY_ADD = (
    "wrap-if",
    "wrap-loop",
    "insert-random",
    "empty-tensor",
    "cover-next",
    "insert-chain",
    "insert-cell",
    "rare-dtype",
)
"""Mutators some of whose edits append an output."""


ELSEWHERE = frozenset(
    {
        *(
            "freeze-defaults",
            "name-sizes",
            "constant-to-input",
            "input-to-constant",
            "dimension-to-symbol",
            "symbol-to-number",
        ),
        *("invalid-value", "invalid-element"),
    }
)
"""Mutators that change the interface, or that are not to give anything valid: they have tests of their own."""


@pytest.mark.parametrize("name", [n for n in BUILTIN if n not in ELSEWHERE])
@pytest.mark.parametrize("model", ["chain", "resnet", "transformer"])
def test_result_is_valid_and_keeps_the_interface(
    name: str, model: str, table: Table, specs: Specs, chain: Program, seeds: dict[str, Program]
) -> None:
    program = {"chain": chain, **seeds}[model]
    mutator = table[name]
    if not mutator.sites(program):
        assert (name, model) in {
            *(("replace-activation", "transformer"), ("change-weights", "chain"), ("split-initializer", "chain")),
            *(("share-initializers", "chain"), ("split-initializer", "resnet")),
            *((n, m) for n in ("unwrap-control-flow", "inline-function") for m in ("chain", "resnet", "transformer")),
        }
        pytest.skip("the model has nothing that this mutator works on")
    before = program.to_bytes()
    for seed in range(4):
        work, _, detail = apply_once(mutator, program, seed)
        assert detail
        assert "\n" not in detail
        assert verify(work, specs) == []
        onnx.checker.check_model(work.to_proto(), full_check=True)
        assert program.to_bytes() == before
        assert work.to_bytes() != before
        old, new = interface(program), interface(work)
        names = {n for n, _ in old}  # type: ignore[misc]
        shapes_only = [(n, f.dtype, f.shape) for n, f in old]  # type: ignore[misc,attr-defined]
        assert [(n, f.dtype, f.shape) for n, f in new if n in names] == shapes_only  # type: ignore[misc,attr-defined]
        added = [1] if name in ("connect-layers", "expose-value") else [0, 1] if name in MAY_ADD else [0]
        if name in ("insert-pattern", "insert-neighbours"):
            added = list(range(6))  # its result, and what a near-miss shows: one value inside, or all of them
        assert len(new) - len(old) in added
        again = Program.from_bytes(work.to_bytes())
        for value in work.values():
            twin = again.value(value.name or "")
            if value.name and twin is not None:
                a, b = work.tensor(value), again.tensor(twin)
                assert a is None or (b is not None and (a.dtype, a.shape) == (b.dtype, b.shape))


def ops(program: Program) -> list[str]:
    return [node.op_type for node in program.nodes()]


def test_change_dtype_casts_there_and_back(table: Table, parse: Parse) -> None:
    program = parse("g (float[3] x) => (float[3] y) { y = Relu(x) }")
    work, _, detail = apply_once(table["change-dtype"], program, 1)
    relu = next(n for n in work.nodes() if n.op_type == "Relu")
    fact = work.tensor(relu.inputs[0])
    assert fact is not None
    assert fact.dtype is not ir.DataType.FLOAT
    assert fact.dtype.name in detail
    assert ops(work)[-1] == "Cast"


def test_casts_to_integers_are_clipped_first(table: Table, parse: Parse) -> None:
    """ONNX leaves a cast out of range open, so it would be no disagreement worth reporting."""
    program = parse("g (float[3] x) => (float[3] y) { y = Relu(x) }")
    seen = 0
    for seed in range(40):
        work, _, _ = apply_once(table["change-dtype"], program, seed)
        first = work.nodes()[0]
        relu = next(n for n in work.nodes() if n.op_type == "Relu")
        fact = work.tensor(relu.inputs[0])
        assert fact is not None
        if fact.dtype.is_integer():
            seen += 1
            assert first.op_type == "Clip"
    assert seen > 3


def test_change_rank_keeps_the_elements(table: Table, parse: Parse) -> None:
    program = parse("g (float[4, 6] x) => (float[4, 6] y) { y = Relu(x) }")
    for seed in range(8):
        work, _, _ = apply_once(table["change-rank"], program, seed)
        relu = next(n for n in work.nodes() if n.op_type == "Relu")
        fact = work.tensor(relu.inputs[0])
        assert fact is not None
        assert fact.shape is not None
        assert fact.size() == 24
        assert fact.shape != (4, 6)


def test_a_convolution_gains_a_spatial_axis(table: Table, seeds: dict[str, Program]) -> None:
    found = False
    for seed in range(40):
        work, _, detail = apply_once(table["change-rank"], seeds["lenet5"], seed)
        if "spatial" in detail and detail.startswith("Conv"):
            conv = next(
                n for n in work.nodes() if n.op_type == "Conv" and (f := work.tensor(n.inputs[0])) and f.rank == 5
            )
            assert len(conv.attributes["strides"].as_ints()) == 3 if "strides" in conv.attributes else True
            found = True
    assert found


def test_change_shape_restores_the_size(table: Table, parse: Parse) -> None:
    program = parse("g (float[4, 6] x) => (float[4, 6] y) { y = Relu(x) }")
    for seed in range(8):
        work, _, _ = apply_once(table["change-shape"], program, seed)
        relu = next(n for n in work.nodes() if n.op_type == "Relu")
        fact = work.tensor(relu.inputs[0])
        assert fact is not None
        assert fact.shape != (4, 6)
        assert fact.rank == 2


def test_change_attribute_changes_one(table: Table, parse: Parse) -> None:
    program = parse("g (float[4, 6] x) => (float[4, 6] y) { y = Softmax <axis = 1> (x) }")
    work, _, detail = apply_once(table["change-attribute"], program, 0)
    softmax = next(n for n in work.nodes() if n.op_type == "Softmax")
    axis = softmax.attributes.get("axis")
    assert (None if axis is None else axis.as_int()) != 1
    assert "axis" in detail


@pytest.mark.parametrize("given", ['auto_pad = "SAME_UPPER"', "dilations = [2]"])
def test_change_attribute_leaves_no_dilations_beside_automatic_padding(table: Table, parse: Parse, given: str) -> None:
    """ONNXRuntime refuses them together."""
    program = parse(f"g (float[1, 1, 9] x, float[1, 1, 3] w) => (float[1, 1, n] y) {{ y = Conv <{given}> (x, w) }}")
    seen: set[str] = set()
    for seed in range(40):
        work, choices = program.clone(), Choices.from_seed(seed)
        if isinstance(table["change-attribute"].apply(work, "y", choices), Skipped):
            continue
        conv = next(n for n in work.nodes() if n.op_type == "Conv")
        same = "auto_pad" in conv.attributes and conv.attributes["auto_pad"].as_string().startswith("SAME")
        assert not (same and "dilations" in conv.attributes)
        seen.update(["SAME"] * same, conv.attributes)
    assert {"SAME", "dilations"} <= seen


def test_shape_arithmetic_is_left_alone(table: Table, specs: Specs, seeds: dict[str, Program]) -> None:
    """What feeds a Reshape's shape or a Gather's indices is no site."""
    program = seeds["lstm"]
    for name in ("insert-layer", "merge-values", "special-values", "change-dtype", "change-shape"):
        for site in table[name].sites(program):
            value = program.value(site)
            assert value is not None
            for node, index in [(use.node, use.idx) for use in value.uses()]:
                assert (node.op_type, index) not in {
                    ("Reshape", 1),
                    ("Gather", 1),
                    ("ConstantOfShape", 0),
                    ("Slice", 1),
                }


@pytest.mark.parametrize("kind", FLOAT_SPECIALS)
@pytest.mark.parametrize("dtype", [ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16])
def test_special_floats(kind: str, dtype: ir.DataType) -> None:
    number = special_number(dtype, kind)
    value = float(number)
    assert {
        "nan": np.isnan(value),
        "+inf": value == np.inf,
        "-inf": value == -np.inf,
        "-0": value == 0 and np.signbit(number),
        "smallest denormal": 0 < value < float(np.finfo(dtype.numpy()).tiny),
        "largest finite": value == float(np.finfo(dtype.numpy()).max),
        "-largest finite": value == float(np.finfo(dtype.numpy()).min),
        "smallest normal": value == float(np.finfo(dtype.numpy()).tiny),
    }[kind]


@pytest.mark.parametrize("kind", INTEGER_SPECIALS)
def test_special_integers(kind: str) -> None:
    assert int(special_number(ir.DataType.INT8, kind)) == {"largest": 127, "smallest": -128, "0": 0, "-1": -1}[kind]
    assert int(special_number(ir.DataType.UINT8, kind)) == {"largest": 255, "smallest": 0, "0": 0, "-1": 0}[kind]


def test_special_values_reach_the_layer(table: Table, parse: Parse) -> None:
    program = parse("g (float[2, 3] x) => (float[2, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { y = Mul(x, w) }")
    seen = set()
    for seed in range(30):
        work, site, detail = apply_once(table["special-values"], program, seed)
        seen.add(site)
        arrays = [v.const_value.numpy() for v in work.graph.initializers.values() if v.const_value is not None]
        kind = detail.split(" through ")[0].split(" in the constant ")[0]
        special = special_number(ir.DataType.FLOAT, kind)
        assert any(a.dtype == np.float32 and np.any(a.view(np.uint32) == special.view(np.uint32)) for a in arrays)
    assert seen == {"x", "w"}


@pytest.mark.parametrize("way", WAYS)
def test_weights_keep_their_shape_and_do_what_they_say(way: str) -> None:
    old = np.arange(1.0, 25.0).reshape(4, 6)
    for seed in range(10):
        choices = Choices.from_seed(seed)
        new = WAYS[way](old.copy(), choices, (0, 0))
        again = WAYS[way](old.copy(), Choices.from_record(choices.record), (0, 0))
        assert new.shape == old.shape
        assert np.array_equal(new, again, equal_nan=True)
        rows_changed = [i for i in range(4) if not np.array_equal(new[i], old[i])]
        if way == "weight shuffle":
            assert sorted(new.ravel()) == sorted(old.ravel())
        elif way == "neuron block":
            assert len(rows_changed) == 1
            assert not new[rows_changed[0]].any()
        elif way == "neuron inverse":
            assert len(rows_changed) == 1
            assert np.array_equal(new[rows_changed[0]], -old[rows_changed[0]])
        elif way == "neuron switch":
            assert len(rows_changed) in (0, 2)
        elif way == "zero":
            assert not new.any()


def test_replace_activation(table: Table, parse: Parse) -> None:
    program = parse("g (float[3] x) => (float[3] y) { y = Relu(x) }")
    work, _, _ = apply_once(table["replace-activation"], program, 3)
    assert len(ops(work)) == 1
    assert ops(work) != ["Relu"]


def test_remove_layer(table: Table, chain: Program) -> None:
    work, site, _ = apply_once(table["remove-layer"], chain, 3)
    gone = chain.node(site)
    assert gone is not None
    assert ops(work).count(gone.op_type) == ops(chain).count(gone.op_type) - 1 or gone.op_type in (
        "Reshape",
        "Slice",
        "Concat",
    )


def test_duplicate_layer(table: Table, parse: Parse) -> None:
    program = parse("g (float[3] x) => (float[3] y) { y = Relu(x) }")
    work, _, _ = apply_once(table["duplicate-layer"], program, 0)
    assert ops(work) == ["Relu", "Relu"]


def test_swap_layers(table: Table, parse: Parse) -> None:
    program = parse("g (float[3] x) => (float[3] y) { h = Relu(x) y = Tanh(h) }")
    work, _, _ = apply_once(table["swap-layers"], program, 0)
    assert ops(work) == ["Tanh", "Relu"]


def test_connect_layers_appends_an_output(table: Table, chain: Program) -> None:
    work, site, _ = apply_once(table["connect-layers"], chain, 2)
    assert len(work.graph.outputs) == 2
    made = work.graph.outputs[1].producer()
    original = chain.node(site)
    assert made is not None
    assert original is not None
    assert made.op_type == original.op_type


def test_convert_opset(table: Table, chain: Program) -> None:
    mutator = table["convert-opset"]
    assert mutator.relation is Relation.EQUIVALENT
    work, _, _ = apply_once(mutator, chain, 0)
    assert 17 < work.opset <= 21
    assert work.model.ir_version >= 8


def test_an_opset_that_changes_no_operator_of_the_model_changes_its_number_alone(table: Table, chain: Program) -> None:
    short = [
        (work, converted(chain, work.opset))
        for work, _, detail in (apply_once(table["convert-opset"], chain, seed) for seed in range(12))
        if "the same" in detail
    ]
    assert short
    for work, expected in short:
        assert work.digest == Program.from_bytes(work.to_bytes()).digest
        assert [n.op_type for n in work.graph] == [n.op_type for n in expected.graph]
        assert work.opset == expected.opset


def converted(program: Program, opset: int) -> Program:
    return Program.from_proto(version_converter.convert_version(program.to_proto(), opset))


def test_conversion_stops_at_the_highest_opset_allowed(specs: Specs, chain: Program) -> None:
    mutator = build_mutators(Context(specs, max_opset=18))["convert-opset"]
    found = {apply_once(mutator, chain, seed)[0].opset for seed in range(12)}
    assert max(found) == 18
    assert chain.opset not in found
    at_end = build_mutators(Context(specs, max_opset=17))["convert-opset"]
    assert max(apply_once(at_end, chain, seed)[0].opset for seed in range(12)) < 17
    newer = Program.from_proto(
        onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["": 20]> g (float[2] x) => (float[2] y) { y = Gelu (x) }'
        )
    )
    only = build_mutators(Context(specs, max_opset=20))["convert-opset"]
    assert only.apply(newer, "model", Choices.from_seed(0)) == Skipped("no version to which it can be converted")


def test_splice_takes_weights_along(table: Table, chain: Program, seeds: dict[str, Program]) -> None:
    for seed in range(6):
        work, site, detail = apply_once(table["splice"], chain, seed)
        donor = next(p for p in seeds.values() if p.digest == donor_of(site))
        taken = detail.split(" of ")[0].split(", ")
        assert set(taken) <= set(ops(donor))
        assert set(taken) <= set(ops(work))


def test_splice_refuses_other_sites(table: Table, chain: Program) -> None:
    with pytest.raises(InvalidProgram, match="VALUE@DIGEST"):
        donor_of("h")
    with pytest.raises(InvalidProgram, match="not among"):
        table["splice"].apply(chain.clone(), "h@" + "0" * 64, Choices.from_seed(0))


OLD = """
g (float[2, 4] x, int64[2] s) => (float[2, 3] y)
<int64[2] s = {4, 3}>
{
  w = ConstantOfShape <value = float[1] {0.5}> (s)
  y = MatMul(x, w)
}
"""


def test_old_models_get_constants(table: Table, parse: Parse) -> None:
    """Before IR version 4 every initializer is an input too, so that the weights' shapes are unknown."""
    program = parse(OLD, opset=9, ir_version=3)
    mutator = table["freeze-defaults"]
    assert mutator.sites(program) == ["model"]
    work = program.clone()
    assert isinstance(mutator.apply(work, "model", Choices.from_seed(0)), str)
    assert [v.name for v in work.graph.inputs] == ["x"]
    assert work.model.ir_version == 4
    value = work.value("w")
    assert value is not None
    assert isinstance(work.fact(value), TensorFact)
    assert work.fact(value).shape == (4, 3)  # type: ignore[union-attr]
    assert mutator.sites(work) == []
    assert isinstance(mutator.apply(work, "model", Choices.from_seed(0)), Skipped)
    onnx.checker.check_model(work.to_proto(), full_check=True)


def test_unknown_sizes_get_names(table: Table, parse: Parse) -> None:
    """One may then be anything that it was before; of several each is one where it is fed, as without names."""
    program = parse("g (float[?, 4] x) => (float[?, 4] y) { y = Relu (x) }")
    mutator = table["name-sizes"]
    assert mutator.sites(program) == ["model"]
    mutant = Engine(load_specs(), ["insert-layer"]).mutate(program, Choices.from_seed(1))
    assert mutant is not None
    assert [edit.mutator for edit in mutant.edits] == ["name-sizes", "insert-layer"]
    work = program.clone()
    assert isinstance(mutator.apply(work, "model", Choices.from_seed(0)), str)
    assert work.tensor(work.graph.outputs[0]).shape == ("size_0", 4)  # type: ignore[union-attr]
    assert {make_inputs(work, seed)["x"].shape[0] for seed in range(20)} > {1}
    assert mutator.sites(work) == []
    assert isinstance(mutator.apply(work, "model", Choices.from_seed(0)), Skipped)
    two = parse("g (float[?, 4] x, float[?, size_0] y) => (float[?, ?] z) { z = Concat <axis = 1> (x, y) }")
    assert isinstance(mutator.apply(two, "model", Choices.from_seed(0)), str)
    assert [two.tensor(v).shape for v in two.graph.inputs] == [("size_1", 4), ("size_2", "size_0")]  # type: ignore[union-attr]
    for seed in range(9):
        made = make_inputs(two, seed)
        assert made["x"].shape == (1, 4)
        assert made["y"].shape[0] == 1
    onnx.checker.check_model(two.to_proto(), full_check=True)


def test_open_indices_hold_the_data_to_its_size(table: Table, parse: Parse) -> None:
    """Whoever feeds the indices knows the seed's limits, not the mutant's."""
    program = parse("g (float[9, 4] x, int64[2] i) => (float[2, 4] y) { y = Gather <axis = 0> (x, i) }")
    for name in ("change-shape", "change-rank", "change-attribute"):
        for seed in range(5):
            answer = table[name].apply(program.clone(), "y", Choices.from_seed(seed))
            assert answer == Skipped("indices that are not known hold it to its sizes")


def test_share_initializers(table: Table, parse: Parse) -> None:
    """Free elements may become others; a shape is shared with an equal one only, a variance with none."""
    constants = "float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] v = {5, 6}, " + ", ".join(
        f"int64[1] {name} = {{{number}}}" for name, number in (("s", 4), ("t", 4), ("u", 2), ("o", 0))
    )
    program = parse(f"""g (float[2, 2] x) => (float[4] y) <{constants}>
    {{
      c = BatchNormalization(x, a, b, a, v)
      d = Reshape(c, s)
      e = Tile(d, u)
      f = Reshape(c, t)
      h = Slice(e, o, t)
      y = Add(f, h)
    }}""")
    pairs = set()
    for seed in range(40):
        _, site, detail = apply_once(table["share-initializers"], program, seed)
        pairs.add((site, detail.rsplit(" ", 1)[1]))
    assert pairs == {("a", "b"), ("b", "a"), ("s", "t"), ("t", "s")}
