"""Model synthesis: everything is kept, few nodes and weights are left, and the result is a model that runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from irfuzz.cli.main import main
from irfuzz.errors import InvalidProgram
from irfuzz.generate.covering_program_synthesis import synthesize
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.synthesis_steps.covered_features import features_of, wanted_of
from irfuzz.generate.synthesis_steps.nodes_as_parts import all_weights, lower_bound, parts_of
from irfuzz.generate.synthesis_steps.part_assembly import FEW
from irfuzz.ir.program import Program
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs


def program(text: str) -> Program:
    model = parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    return Program.from_proto(model)


def seed(name: str) -> Program:
    return Program.from_bytes((seeds_dir() / name).read_bytes())


def lacking(large: Program, small: Program) -> int:
    """What the small one lacks of the coverage that ``irfuzz coverage`` counts."""
    space = load()
    alone, both = Coverage(space), Coverage(space)
    alone.add(small)
    both.add(small)
    both.add(large)
    return sum(both.shares()[name].covered - alone.shares()[name].covered for name in CRITERIA)


def ran(small: Program) -> dict[str, np.ndarray]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(small.to_bytes(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, make_inputs(small, 0)), strict=True))


@pytest.mark.backend
@pytest.mark.parametrize(
    ("name", "most"),
    [("light_resnet50.onnx", 1.0), ("mobilenetv2.onnx", 1.25), ("transformer.onnx", 1.5), ("lstm.onnx", 1.25),
     ("crf.onnx", 1.25), ("bags.onnx", 1.25), ("gru.onnx", 1.8), ("early_exit.onnx", 1.25),
     ("tcn.onnx", 1.25)],
)  # fmt: skip
def test_everything_is_kept_in_few_nodes(name: str, most: float) -> None:
    large = seed(name)
    before = large.to_bytes()
    found = synthesize(large, seed=0)
    assert large.to_bytes() == before, "the original stays as it is"
    specs = load_specs()
    assert wanted_of(features_of(large, specs)).missing(features_of(found.program, specs)) == []
    assert lacking(large, found.program) == 0
    assert found.nodes[1] <= most * found.least
    assert all_weights(found.program) == found.weights[1] <= found.weights[0]
    onnx.checker.check_model(found.program.to_proto(), full_check=True)
    assert ran(found.program)


def test_equal_seeds_give_equal_bytes() -> None:
    large = seed("transformer.onnx")
    first = synthesize(large, seed=5).program.to_bytes()
    assert synthesize(seed("transformer.onnx"), seed=5).program.to_bytes() == first
    others = {synthesize(large, seed=s).program.to_bytes() for s in range(3)}
    assert len(others) > 1, "the seed decides nothing"


CHAIN = """<ir_version: 8, opset_import: ["" : 17]> chain (float[2, 8] x) => (float[2, 8] y) {
    a = Relu(x) b = Tanh(a) c = Relu(b) d = Tanh(c) e = Relu(d) f = Tanh(e) y = Relu(f) }"""


def test_what_repeats_is_left_out() -> None:
    """Relu feeds Tanh and Tanh feeds Relu, which takes two of one of them, since nothing may read itself."""
    found = synthesize(program(CHAIN))
    ops = [node.op_type for node in found.program.graph]
    assert sorted(ops) in (["Relu", "Relu", "Tanh"], ["Relu", "Tanh", "Tanh"])
    assert found.least == 2
    assert found.wanted == {"input": 6, "parameter": 0, "sequence": 2}


def test_the_bound_counts_what_one_node_cannot_have_twice() -> None:
    large = program(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[6] x) => (float[6] r, float[6] s, float[6] t, double[6] u) {
        a = LeakyRelu<alpha = 0.1>(x) b = LeakyRelu<alpha = 0.2>(x) c = LeakyRelu<alpha = 0.3>(x)
        d = Cast<to = 11>(x) r = Neg(a) s = Neg(b) t = Neg(c) u = Neg(d) }"""
    )
    specs = load_specs()
    bound = lower_bound(wanted_of(features_of(large, specs)), specs, 17)
    # Three values of alpha; two element types of Neg, which is fed by two operators.
    assert bound == {"Cast": 1, "LeakyRelu": 3, "Neg": 2}
    found = synthesize(large)
    assert (found.least, found.nodes) == (6, (8, 6))


def test_the_bound_is_one_for_inputs_that_are_constants_and_for_bodies() -> None:
    """Another program may feed Sub at both inputs, whatever the original does; and within a body, too."""
    constants = program(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] r, float[2] s) <float[2] w = {1, 2}>
        { a = Neg(x) b = Abs(x) r = Sub(a, w) s = Sub(b, w) }"""
    )
    assert synthesize(constants).bound == {"Abs": 1, "Neg": 1, "Sub": 1}
    body = program(
        """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[6] x) => (float[6] y) {
        y = If (c) <then_branch = t () => (float[6] p) { a = Neg(x) b = Abs(x) p = Sub(a, b) },
                    else_branch = e () => (float[6] q) { q = Neg(x) }> }"""
    )
    found = synthesize(body)
    assert found.bound == {"Abs": 1, "If": 1, "Neg": 1, "Sub": 1}
    assert found.nodes == (5, 5)


def test_local_functions_are_kept_by_the_nodes_in_them() -> None:
    large = program(
        """<ir_version: 8, opset_import: ["" : 17, "my" : 1]> g (float[6] x) => (float[6] y) {
        a = my.Act(x) b = Tanh(a) c = my.Act(b) y = Tanh(c) }
        <domain: "my", opset_import: ["" : 17]> Act (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }"""
    )
    found = synthesize(large)
    assert found.wanted["sequence"] == 4  # Sigmoid, Mul; Mul, Tanh; Tanh, Sigmoid; Tanh, Mul
    assert {node.op_type for node in found.program.graph} == {"Sigmoid", "Mul", "Tanh"}


def test_of_many_shapes_five_are_kept() -> None:
    body = " ".join(f"o{i} = Relu(x{i})" for i in range(8))
    inputs = ", ".join(f"float[{i + 1}] x{i}" for i in range(8))
    outputs = ", ".join(f"float[{i + 1}] o{i}" for i in range(8))
    found = synthesize(program(f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) {{ {body} }}'))
    assert found.nodes == (8, 5)
    assert len({found.program.tensor(v).shape for v in found.program.graph.inputs}) == 5


def test_sizes_that_inference_does_not_know_are_told_for_equal() -> None:
    """A convolution behind a padding keeps the size of a named axis, which only inference with numbers can tell."""
    body = " ".join(f"p{i} = Pad(c{i}, pads) c{i + 1} = Conv(p{i}, w)" for i in range(12))
    constants = f"float[4, 4, 3] w = {{{', '.join(['1'] * 48)}}}, int64[6] pads = {{0, 0, 2, 0, 0, 0}}"
    found = synthesize(
        program(f'<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4, m] c0) => (float[?, 4, ?] y) <{constants}> '
                f'{{ {body} y = Relu(c12) }}')
    )  # fmt: skip
    assert found.nodes == (25, 4), "each feeds the other, and one the last"
    assert ran(found.program)


def dense(width: int, words: int) -> Program:
    """A layer whose weights have to be its consumer's width, and a table that is an operator's first input."""
    rng = np.random.default_rng(0)
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (int64[3] ids) => (float[3, {width}] y) {{
        e = Gather(table, ids) m = MatMul(e, w) y = Softmax(m) }}"""
    )
    for name, shape in (("table", (words, width)), ("w", (width, width))):
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return Program.from_proto(model)


@pytest.mark.backend
def test_weights_that_decide_a_shape_are_repeated() -> None:
    large = dense(200, 2000)
    found = synthesize(large)
    assert found.weights[0] == 440_000
    assert found.weights[1] < 4400
    assert lacking(large, found.program) == 0
    assert [n.op_type for n in found.program.graph].count("Expand") == 2
    (probabilities,) = ran(found.program).values()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.backend
@pytest.mark.parametrize(
    ("opset", "kind", "most"), [(17, np.float16, 64 + 2), (13, np.float32, 64 + 2), (7, np.float32, 4096)]
)
def test_like_weights_become_one(opset: int, kind: type[np.generic], most: int) -> None:
    """Half precision too; before opset 8 there is no Expand."""
    element = "float16" if kind is np.float16 else "float"
    model = parser.parse_model(
        f"""<ir_version: 4, opset_import: ["" : {opset}]> g ({element}[2, 64] x) => ({element}[2, 64] y) {{
        a = MatMul(x, v) b = Relu(a) c = MatMul(b, w) d = Relu(c) y = Softmax(d) }}"""
    )
    for name in ("v", "w"):
        array = np.random.default_rng(0).standard_normal((64, 64)).astype(kind)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    large = Program.from_proto(model)
    found = synthesize(large)
    assert found.weights[0] == 2 * 64 * 64
    assert found.weights[1] <= 2 * most if opset < 8 else found.weights[1] == most
    assert [n.op_type for n in found.program.graph].count("Expand") == (opset >= 8)
    assert lacking(large, found.program) == 0
    assert ran(found.program)


@pytest.mark.backend
def test_channels_that_nobody_reads_go() -> None:
    rng = np.random.default_rng(0)
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 64, 9, 9] x) => (float[1, 64, 9, 9] y) {
        a = Relu(x) y = Conv<pads = [1, 1, 1, 1]>(a, w, b) }"""
    )
    for name, shape in (("w", (64, 64, 3, 3)), ("b", (64,))):
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    found = synthesize(Program.from_proto(model))
    assert [n.op_type for n in found.program.graph] == ["Relu", "Conv"], "nothing had to be put in"
    assert found.weights == (64 * 64 * 9 + 64, 64 * 9 + 1)
    (y,) = ran(found.program).values()
    assert y.shape == (1, 1, 9, 9)


def test_a_model_of_other_operators_alone_is_refused() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[2, 3] x) => (float[2, 3] y) {
        y = ai.onnx.ml.Scaler(x) }"""
    )
    with pytest.raises(InvalidProgram, match="nothing is covered"):
        synthesize(Program.from_proto(model))


@pytest.mark.backend
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lenet5.onnx", "light_resnet50.onnx"):
        (tmp_path / name).write_bytes((seeds_dir() / name).read_bytes())
    out = tmp_path / "small"
    assert main(["synthesize", str(tmp_path), "-o", str(out), "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(p.name for p in out.iterdir()) == ["lenet5.onnx", "light_resnet50.onnx"]
    assert [Path(t["model"]).name for t in told] == ["lenet5.onnx", "light_resnet50.onnx"]
    assert told[1]["nodes"] == {"before": 176, "after": 24, "bound": 24}
    assert len(onnx.load(out / "light_resnet50.onnx").graph.node) == 24
    again = tmp_path / "again"
    assert main(["synthesize", str(tmp_path / "lenet5.onnx"), "-o", str(again)]) == 0
    assert "12 nodes -> 14 (no program needs fewer than 12)" in capsys.readouterr().out
    assert (again / "lenet5.onnx").read_bytes() == (out / "lenet5.onnx").read_bytes()
    (again / "lenet5.onnx").write_bytes(b"mine")
    assert main(["synthesize", str(tmp_path / "lenet5.onnx"), "-o", str(again)]) == 2
    assert "lenet5.onnx is there already" in capsys.readouterr().err
    assert (again / "lenet5.onnx").read_bytes() == b"mine"
    assert main(["synthesize", str(tmp_path / "lenet5.onnx"), "-o", str(again), "--force"]) == 0
    assert (again / "lenet5.onnx").read_bytes() == (out / "lenet5.onnx").read_bytes()
    assert main(["synthesize", str(tmp_path / "lenet5.onnx"), "-o", str(tmp_path), "--force"]) == 2
    assert "would take its own place" in capsys.readouterr().err
    capsys.readouterr()
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "lenet5.onnx").write_bytes((seeds_dir() / "lenet5.onnx").read_bytes())
    assert main(["synthesize", str(tmp_path), "-o", str(tmp_path / "both")]) == 2
    assert "both would become lenet5.onnx" in capsys.readouterr().err
    assert not (tmp_path / "both").exists()


def test_the_command_tells_in_one_line_of_what_nothing_can_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { %s }"""
    for name, body in (("a", ""), ("b", ""), ("c", "y = Relu(x)")):
        model = parser.parse_model(text % body)
        if not body:
            model.graph.output[0].name = "x"
        onnx.save(model, tmp_path / f"{name}.onnx")
    a, b, c = (str(tmp_path / f"{name}.onnx") for name in "abc")
    out = tmp_path / "small"
    why = f"{a}: it has no operator of ONNX's own domain, so nothing is covered"
    for models, more in ([a], ""), ([a, b], " (and 1 more of which nothing can be made)"):
        assert main(["synthesize", *models, "-o", str(out)]) == 2
        assert capsys.readouterr() == ("", f"irfuzz: error: {why}{more}\n")
        assert not out.exists()
    assert main(["synthesize", a, c, "-o", str(out)]) == 0
    assert capsys.readouterr().err == f"irfuzz: skipped: {why}\n"


def listed(version: int) -> Program:
    """Three layers whose weights are listed among the inputs, as old exporters write it."""
    text = f"""<ir_version: {version}, opset_import: ["" : 9]>
      g (float[1, 4] x, float[4, 4] w, float[4, 4] v, int64[2] s) => (float[2, 2] y)
      <float[4, 4] w = {{{", ".join(["1"] * 16)}}}, float[4, 4] v = {{{", ".join(["2"] * 16)}}}, int64[2] s = {{2, 2}}>
      {{ a = MatMul(x, w) b = Relu(a) c = MatMul(b, v) d = Relu(c) y = Reshape(d, s) }}"""
    return Program.from_proto(parser.parse_model(text))


@pytest.mark.parametrize("version", [3, 4, 8])
def test_weights_that_are_listed_among_the_inputs_are_constants(version: int) -> None:
    """Else the shape of the Reshape would be free, and all weights inputs of the result."""
    found = synthesize(listed(version))
    assert found.nodes == (5, 4)
    assert found.least <= 4
    inputs = [v for v in found.program.graph.inputs if v.name not in found.program.graph.initializers]
    assert len(inputs) == 1
    ran(found.program)


@pytest.mark.parametrize(
    ("end", "free"),
    [
        ("y = Cast <to = 1> (m)", True),
        ("c = ConstantOfShape(m) r = Constant <value_ints = [-1]> () y = Reshape(c, r)", False),
    ],
)
def test_integers_that_become_sizes_are_not_exchanged(end: str, free: bool) -> None:
    """With another factor the shapes behind a product would be known, or others, and no longer covered."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[N, M] x, int64[2] k) => (float[?] y)
      {{ s = Shape(x) m = Mul(s, k) {end} }}"""
    (part,) = [p for p in parts_of(program(text), load_specs()) if p.op == "Mul"]
    assert [slot.position for slot in part.slots if slot.kind is not None] == ([1] if free else [])


def computed(rows: int) -> Program:
    """Layers whose weights ConstantOfShape makes."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1, {rows}] x) => (float[1, 32] y)
      <int64[2] s = {{{rows}, 32}}, int64[2] t = {{32, 32}}, int64[2] r = {{1, {rows}}}>
      {{ w = ConstantOfShape <value = float[1] {{0.1}}> (s) v = ConstantOfShape <value = float[1] {{0.1}}> (t)
         z = ConstantOfShape <value = float[1] {{0.1}}> (r) e = Add(x, z)
         a = MatMul(e, w) b = Relu(a) c = MatMul(b, v) d = Relu(c) y = MatMul(d, v) }}"""
    return Program.from_proto(parser.parse_model(text))


@pytest.mark.parametrize(("rows", "made"), [(FEW // 32, 1), (FEW // 32 + 1, 2)])
def test_a_weight_that_is_computed_stays_a_constant(rows: int, made: int) -> None:
    """Large ones are made as the original makes them, small ones are stored; none becomes an input of the graph."""
    found = synthesize(computed(rows)).program
    operators = [node.op_type for node in found.nodes()]
    for node in found.nodes():
        if node.op_type == "MatMul":
            weight = node.inputs[1]
            assert weight is not None
            assert not weight.is_graph_input()
    assert len(found.graph.inputs) <= 2
    assert operators.count("ConstantOfShape") >= made
    ran(found)


def test_weights_of_bodies_in_bodies_count() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x) => (float[2] y) {
        y = If(c) <then_branch = t () => (float[2] a) { a = If(c) <then_branch = u () => (float[2] b)
                <float[2] w = {1, 2}> { b = Add(x, w) }, else_branch = v () => (float[2] d) { d = Neg(x) }> },
            else_branch = e () => (float[2] f) { f = Neg(x) }> }"""
    assert all_weights(Program.from_proto(parser.parse_model(text))) == 2


def test_a_program_that_breaks_a_rule_is_no_fault_of_ours() -> None:
    text = "g (float[2, 3] x) => (float[A, B] y) <int64[1] k = {-5}> { y, i = TopK(x, k) }"
    with pytest.raises(InvalidProgram, match=r"it breaks a rule of ONNX: .*TopK.*expected at least 0"):
        synthesize(parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'))
