"""Models of other frameworks are converted into programs that compute the same; an error is one line."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irfuzz
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.cli.main import main
from irfuzz.errors import InvalidProgram
from irfuzz.frontends import framework_conversion
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.model_kind_detection import ModelSource, source_of
from irfuzz.frontends.onnx_file import find_models, load_file, load_seed
from irfuzz.ir.trainable_parameters import parameters_of

FOREIGN = Path(__file__).with_name("foreign.py")

needs_tensorflow = pytest.mark.skipif(
    not all(importlib.util.find_spec(m) for m in ("tensorflow", "tf2onnx")), reason="needs irfuzz[tensorflow]"
)
needs_torch = pytest.mark.skipif(
    not all(importlib.util.find_spec(m) for m in ("torch", "onnxscript")), reason="needs irfuzz[torch,converters]"
)
pytestmark = pytest.mark.backend


@pytest.fixture(scope="module")
def converters() -> Iterator[Converters]:
    with Converters() as shared:
        yield shared


def written(framework: str, folder: Path) -> Path:
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, str(FOREIGN), framework, str(folder)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tensorflow_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written("tensorflow", tmp_path_factory.mktemp("tensorflow"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written("torch", tmp_path_factory.mktemp("torch")) / "exported.pt2"


def computes_the_same(model: onnx.ModelProto, answers: Path) -> None:
    """Every output by name, or the only one."""
    runtime = pytest.importorskip("onnxruntime")
    with np.load(answers) as arrays:
        inputs = {k[3:]: arrays[k] for k in arrays.files if k.startswith("in_")}
        expected = {k[4:]: arrays[k] for k in arrays.files if k.startswith("out_")}
    assert {v.name for v in model.graph.input} == set(inputs)
    names = [v.name for v in model.graph.output]
    if list(expected) == [""]:
        expected = {names[0]: expected[""]}
    assert set(names) == set(expected)
    # Not onnx's reference evaluator: 1.23 concatenates what a Loop is to stack, and a GRU of Keras becomes a Loop.
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = dict(zip(names, session.run(None, inputs), strict=True))
    for name, array in expected.items():
        assert np.ptp(array) > 0.01, "an answer that shows nothing"
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-6)


def is_normal(model: onnx.ModelProto) -> None:
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]
    assert model.ir_version == 8


# ---- TensorFlow ------------------------------------------------------------------------------


@needs_tensorflow
@pytest.mark.parametrize("name", ["branches.keras", "plain.h5", "captured", "frozen.pb"])
def test_what_tensorflow_writes_computes_the_same(name: str, tensorflow_files: Path, converters: Converters) -> None:
    model = load_seed(tensorflow_files / name, converters=converters).to_proto()
    is_normal(model)
    computes_the_same(model, tensorflow_files / f"{name}.npz")
    shape = [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    assert shape[0] == "batch"


@needs_tensorflow
@pytest.mark.parametrize("name", ["branches.keras", "captured", "frozen.pb"])
def test_an_architecture_keeps_every_variable_as_it_is_written(
    name: str, tensorflow_files: Path, converters: Converters
) -> None:
    program = load_seed(tensorflow_files / name, converters=converters, architecture=True)
    computes_the_same(program.to_proto(), tensorflow_files / f"{name}.npz")
    parameters = parameters_of(program.model)
    assert parameters
    assert parameters <= set(program.graph.initializers)
    folded = load_seed(tensorflow_files / name, converters=converters)
    assert parameters_of(folded.model) is None
    if name == "branches.keras":
        # Biases that start at 0, which folding drops; two of one size would be one initializer besides.
        assert {"conv/bias", "label/bias", "box/bias", "bn/moving_variance"} <= parameters
        assert not program.graph.initializers["label/bias"].const_value.numpy().any()  # type: ignore[union-attr]


@needs_tensorflow
def test_a_bias_that_starts_at_0_may_be_trained_to_a_fault(converters: Converters) -> None:
    program = load_seed(Path(f"{FOREIGN}:keras_logarithm"), converters=converters, architecture=True)
    ranges = Ranges({"rows": (0, 0.1)}, architecture=True)
    assert [w.op for w in analyze(program, ranges).warnings] == ["Log"]
    assert {"first/bias", "second/bias"} <= set(analyze(program, ranges).warnings[0].inputs)
    sizes = sorted(i.const_value.size for n, i in program.graph.initializers.items() if "zero" in n)  # type: ignore[union-attr]
    assert sizes == [1, 2]
    # The weights are 0 to 0.1: without the biases the argument is at least 0.5.
    assert not analyze(load_seed(Path(f"{FOREIGN}:keras_logarithm"), converters=converters), ranges).warnings


@needs_tensorflow
def test_inputs_and_nodes_keep_the_names_and_order_of_the_layers(
    tensorflow_files: Path, converters: Converters
) -> None:
    graph = load_file(tensorflow_files / "branches.keras", converters=converters).graph
    assert [v.name for v in graph.input] == ["image", "ids"]
    assert [v.name for v in graph.output] == ["label", "box"]
    assert any("/conv_1/" in n.name for n in graph.node)


@needs_tensorflow
def test_the_file_inside_of_a_saved_model_stands_for_it(tensorflow_files: Path, converters: Converters) -> None:
    inner = load_file(tensorflow_files / "captured" / "saved_model.pb", converters=converters)
    assert inner == load_file(tensorflow_files / "captured", converters=converters)
    assert find_models([tensorflow_files / "captured"]) == ([tensorflow_files / "captured"], [])


@needs_tensorflow
def test_a_keras_model_from_a_factory(converters: Converters, tensorflow_files: Path) -> None:
    model = load_seed(Path(f"{FOREIGN}:keras_branches"), converters=converters).to_proto()
    is_normal(model)
    computes_the_same(model, tensorflow_files / "branches.keras.npz")


@needs_tensorflow
def test_graphs_that_touch_files_are_refused(tensorflow_files: Path, converters: Converters) -> None:
    with pytest.raises(InvalidProgram, match=r"harmful\.pb: the graph holds WriteFile, which touch files"):
        load_file(tensorflow_files / "harmful.pb", converters=converters)
    assert not (tensorflow_files / "written").exists()


@needs_tensorflow
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.h5", b"no hdf5", "not a Keras model: neither"),
        ("a.keras", b"no zip", "not a Keras model: neither"),
        ("a.pb", b"\x0a\xff\xff", "not a frozen TensorFlow graph"),
        ("a.keras", b"", "the file is empty"),
    ],
)
def test_what_is_no_tensorflow_model(
    name: str, content: bytes, why: str, tmp_path: Path, converters: Converters
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidProgram, match=why) as told:
        load_file(tmp_path / name, converters=converters)
    assert str(told.value).startswith(f"{tmp_path / name}: ")
    assert len(str(told.value).splitlines()) == 1


@needs_tensorflow
def test_code_in_an_hdf5_file_is_not_run(tensorflow_files: Path, tmp_path: Path, converters: Converters) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "lambda.h5"
    shutil.copy(tensorflow_files / "plain.h5", path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        config["config"]["layers"].append({"class_name": "Lambda", "config": {"function": ["aGk=", None, None]}})
        file.attrs["model_config"] = json.dumps(config)
    with pytest.raises(InvalidProgram, match="a Lambda layer holds Python code"):
        load_file(path, converters=converters)


# ---- PyTorch ---------------------------------------------------------------------------------


@needs_torch
def test_an_exported_program_computes_the_same(exported: Path, converters: Converters) -> None:
    model = load_seed(exported, converters=converters).to_proto()
    is_normal(model)
    computes_the_same(model, exported.with_name("exported.pt2.npz"))
    leading = {v.name: v.type.tensor_type.shape.dim[0].dim_param for v in model.graph.input}
    assert len(set(leading.values())) == 1
    assert "" not in leading.values()


@needs_torch
def test_a_module_from_a_factory_is_exported_in_evaluation_mode(converters: Converters) -> None:
    path = Path(f"{FOREIGN}:torch_branches")
    model = load_file(path, converters=converters)
    is_normal(model)
    assert [v.name for v in model.graph.input] == ["image", "rows"]
    assert {"conv.weight", "head.weight"} <= {t.name for t in model.graph.initializer}
    assert {"Dropout", "RandomUniformLike"}.isdisjoint(n.op_type for n in model.graph.node)
    assert not any(n.metadata_props for n in model.graph.node), "the exporter's notes name folders of this machine"


@needs_torch
def test_weights_that_a_factory_does_not_seed_are_the_same_each_time(converters: Converters) -> None:
    first, second = (load_file(Path(f"{FOREIGN}:torch_draws"), converters=converters) for _ in range(2))
    assert np.ptp(onnx.numpy_helper.to_array(first.graph.initializer[0])) > 1
    assert first == second


def rewritten(source: Path, target: Path, change: str) -> Path:
    """A copy of an archive with one thing in it that loading would run."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if change == "target" and name.endswith("models/model.json"):
                data = data.replace(b'"torch.ops.aten.relu.default"', b'"torch.hub.load"')
                assert b"torch.hub.load" in data
            if change == "size" and name.endswith("models/model.json"):
                data = data.replace(b"Symbol(", b"__import__('os').abort() or Symbol(")
                assert b"__import__" in data
            if change == "pickle" and name.endswith("constants_config.json"):
                data = json.dumps({"config": {"x": {"path_name": "custom_obj_0", "use_pickle": True}}}).encode()
            new.writestr(name, data)
        if change == "compiled":
            new.writestr(f"{old.namelist()[0].partition('/')[0]}/data/aotinductor/model/model.so", b"")
    return target


@needs_torch
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("target", "calls 'torch.hub.load'"),
        ("size", "has a size '__import__"),
        ("pickle", "names a pickled Python object"),
        ("compiled", "compiled code"),
    ],
)
def test_code_in_an_exported_program_is_not_run(
    change: str, why: str, exported: Path, tmp_path: Path, converters: Converters
) -> None:
    path = rewritten(exported, tmp_path / "changed.pt2", change)
    with pytest.raises(InvalidProgram, match=why):
        load_file(path, converters=converters)


@needs_torch
def test_an_untouched_copy_of_an_archive_is_taken(exported: Path, tmp_path: Path, converters: Converters) -> None:
    """So that the refusals above are those of what was changed."""
    assert load_file(rewritten(exported, tmp_path / "same.pt2", ""), converters=converters).graph.node


@needs_torch
def test_what_is_no_exported_program(tmp_path: Path, converters: Converters) -> None:
    (tmp_path / "a.pt2").write_bytes(b"no zip")
    with pytest.raises(InvalidProgram, match="not a PyTorch ExportedProgram"):
        load_file(tmp_path / "a.pt2", converters=converters)
    with zipfile.ZipFile(tmp_path / "b.pt2", "w") as archive:
        archive.writestr("data.pkl", b"")
    with pytest.raises(InvalidProgram, match="no archive_format in it"):
        load_file(tmp_path / "b.pt2", converters=converters)


# ---- other factories -------------------------------------------------------------------------


def test_a_graph_of_graphsurgeon_from_a_factory(converters: Converters) -> None:
    pytest.importorskip("onnx_graphsurgeon")
    model = load_seed(Path(f"{FOREIGN}:graphsurgeon"), converters=converters).to_proto()
    is_normal(model)
    assert [(n.name, n.op_type, list(n.output)) for n in model.graph.node] == [("plus", "Add", ["y"])]


def test_a_model_from_a_factory_goes_through_the_same_checks(converters: Converters) -> None:
    assert load_seed(Path(f"{FOREIGN}:proto"), converters=converters).nodes()[0].op_type == "Neg"
    with pytest.raises(InvalidProgram, match=r"foreign\.py:broken_proto: .*unknown operator Nag"):
        load_seed(Path(f"{FOREIGN}:broken_proto"), converters=converters)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raises", r"raises\(\) raised OSError: weights.npz is missing$"),
        ("a_number", r"a_number\(\) returned builtins.int; expected a keras.Model, \(torch.nn.Module"),
        ("takes_an_argument", r"takes_an_argument\(\) raised TypeError: .* missing 1 required positional argument"),
        ("not_a_function", r"'not_a_function' is a int; expected a function"),
        ("no_such", r"it has no 'no_such'; it defines keras_branches, keras_sequential,"),
        ("needs_a_missing_package", r"onnx_graphsurgeon is not installed; pip install 'irfuzz\[converters\]'"),
        ("dies", r"the factory crashed on it \(died with SIGSEGV\)"),
        pytest.param("misfit", r"the factory: RuntimeError: .*\[3, 3\] X \[2, 2\]", marks=needs_torch),
        pytest.param("module_alone", r"a module without example inputs; return \(module, inputs\)", marks=needs_torch),
    ],
)
def test_factories_that_do_not_deliver(name: str, why: str, converters: Converters) -> None:
    with pytest.raises(InvalidProgram, match=why) as told:
        load_file(Path(f"{FOREIGN}:{name}"), converters=converters)
    assert str(told.value).startswith(f"{FOREIGN}:{name}: ")
    assert len(str(told.value).splitlines()) == 1


def test_a_factory_has_limits() -> None:
    with Converters(seconds=1.0, memory_bytes=1 << 30) as short:
        with pytest.raises(InvalidProgram, match="the factory did not finish within 1 s"):
            load_file(Path(f"{FOREIGN}:forever"), converters=short)
        with pytest.raises(InvalidProgram, match="the factory took more than the 1024 MiB it may"):
            load_file(Path(f"{FOREIGN}:greedy"), converters=short)


def test_a_file_that_cannot_be_imported_says_why(tmp_path: Path, converters: Converters) -> None:
    (tmp_path / "wrong.py").write_text("def make(:\n")
    with pytest.raises(InvalidProgram, match="importing it raised SyntaxError"):
        load_file(tmp_path / "wrong.py:make", converters=converters)
    with pytest.raises(InvalidProgram, match=r"none\.py:make: No such file"):
        load_file(tmp_path / "none.py:make", converters=converters)


def test_a_factory_imports_what_lies_beside_it(tmp_path: Path, converters: Converters) -> None:
    (tmp_path / "beside.py").write_text(FOREIGN.read_text())
    (tmp_path / "mine.py").write_text("import beside\nclass Zoo:\n    make = staticmethod(beside.proto)\n")
    assert load_file(tmp_path / "mine.py:Zoo.make", converters=converters).graph.node[0].op_type == "Neg"


# ---- what a path names -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model.onnx", ModelSource("onnx", Path("model.onnx"))),
        ("a/b.keras", ModelSource("keras", Path("a/b.keras"))),
        ("a.H5", ModelSource("keras", Path("a.H5"))),
        ("a.pt2", ModelSource("exported_program", Path("a.pt2"))),
        ("a/saved_model.pb", ModelSource("saved_model", Path("a"))),
        ("zoo/nets.py:small", ModelSource("factory", Path("zoo/nets.py"), "small")),
        ("nets.py:Zoo.small", ModelSource("factory", Path("nets.py"), "Zoo.small")),
        ("nets.py:1", ModelSource("onnx", Path("nets.py:1"))),
    ],
)
def test_a_path_says_what_it_names(path: str, source: ModelSource) -> None:
    assert source_of(Path(path)) == source


def test_a_protobuf_file_is_told_by_its_content(tmp_path: Path, tiny_model: bytes) -> None:
    (tmp_path / "onnx.pb").write_bytes(tiny_model)
    (tmp_path / "graph.pb").write_bytes(b"\x0a\x00")
    assert source_of(tmp_path / "onnx.pb").kind == "onnx"
    assert source_of(tmp_path / "graph.pb").kind == "graph_def"
    assert load_file(tmp_path / "onnx.pb").graph.node[0].op_type == "Neg"


def test_a_file_by_the_name_of_a_factory_is_a_file(tmp_path: Path, tiny_model: bytes) -> None:
    path = tmp_path / "odd.py:name"
    path.write_bytes(tiny_model)
    assert load_file(path).graph.node[0].op_type == "Neg"


@pytest.mark.parametrize(
    ("name", "hint"), [("a.py", r"a\.py:make_model$"), ("a.pth", "torch.export.save"), ("a.tflite", "Keras model")]
)
def test_files_of_other_kinds_get_a_hint(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(InvalidProgram, match=hint):
        load_file(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "module", "extras"),
    [
        ("a.keras", "tensorflow", "tensorflow"),
        ("a.pb", "tf2onnx", "tensorflow"),
        ("a.pt2", "torch", "torch,converters"),
    ],
)
def test_a_missing_framework_is_named_with_what_installs_it(
    name: str, module: str, extras: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"\x0a\x00")
    real = importlib.util.find_spec
    monkeypatch.setattr(
        framework_conversion.importlib.util,
        "find_spec",
        lambda n: None if n == module else real("os" if n != "os" else n),
    )
    with pytest.raises(InvalidProgram) as told:
        load_file(tmp_path / name)
    assert str(told.value) == f"{tmp_path / name}: {module} is not installed; pip install 'irfuzz[{extras}]'"


def test_the_python_interface_takes_a_factory() -> None:
    (mutant,) = irfuzz.mutate(f"{FOREIGN}:proto", seed=1, n=1)
    assert mutant.trace["seed"]["name"] == "foreign.py:proto"


def test_commands_take_a_factory_beside_a_file(
    tmp_path: Path, tiny_model: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.onnx").write_bytes(tiny_model)
    words = [
        "mutate",
        str(tmp_path / "tiny.onnx"),
        f"{FOREIGN}:proto",
        f"{FOREIGN}:raises",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main([*words, "-n", "4", "--json"]) == 0
    told = capsys.readouterr()
    assert {json.loads(line)["seed"] for line in told.out.splitlines()} <= {"tiny.onnx", "foreign.py:proto"}
    assert "skipped: " in told.err
    assert "raises() raised OSError: weights.npz is missing" in told.err
    assert main(["mutate", f"{FOREIGN}:raises", "-o", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


@pytest.fixture
def tiny_model() -> bytes:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {y=Neg(x)}'
    return onnx.parser.parse_model(text).SerializeToString()
