"""Bad files give one line with name and reason; good ones load; saving is all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import find_models, load_file, load_seed, save_file
from irfuzz.ir.program import Program
from tests.frontends.models import add_weights


@pytest.fixture(scope="module")
def checker() -> Iterator[OnnxChecker]:
    with OnnxChecker() as one:
        yield one


def changed(change: Callable[[onnx.ModelProto], object]) -> bytes:
    model = add_weights()
    change(model)
    return model.SerializeToString()


def cycle(model: onnx.ModelProto) -> None:
    model.graph.node.insert(0, helper.make_node("Relu", ["y"], ["z"], name="back"))
    model.graph.node[1].input[1] = "z"


def deep(model: onnx.ModelProto) -> None:
    for _ in range(20):
        inner = onnx.GraphProto()
        inner.CopyFrom(model.graph)
        node = onnx.NodeProto(op_type="If", input=["x"], output=["y"])
        node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g.CopyFrom(inner)
        del model.graph.node[:]
        model.graph.node.append(node)


def doubling(model: onnx.ModelProto, times: int) -> None:
    """Each function calls the one before twice; the first and the graph's node add."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    for i in range(times):
        name, domain = ("Add", "") if i == 0 else (f"f{i - 1}", "acme")
        calls = [
            helper.make_node(name, ["a", "b"], ["t"], domain=domain),
            helper.make_node(name, ["t", "b"], ["c"], domain=domain),
        ]
        model.functions.append(helper.make_function("acme", f"f{i}", ["a", "b"], ["c"], calls, imports))
    model.opset_import.append(imports[1])
    model.graph.node[0].op_type, model.graph.node[0].domain = f"f{times - 1}", "acme"


def field(number: int, data: bytes) -> bytes:
    """A message field in protobuf's wire format."""
    size, out = len(data), bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2]) + bytes(out) + bytes([size]) + data


def six_bits(model: onnx.ModelProto, **data: object) -> None:
    """Three elements in 18 bits of three bytes, or one to an ``int32_data``."""
    six = onnx.TensorProto(name="w", dims=[3], data_type=onnx.TensorProto.FLOAT6E2M3, **data)  # type: ignore[arg-type]
    model.graph.initializer[0].CopyFrom(six)


def deep_bytes() -> bytes:
    """Graphs nested 5,000 deep (graph.node.attribute.g.node...); protobuf itself would not write it."""
    graph = b""
    for _ in range(5000):
        graph = field(1, field(5, field(6, graph)))
    return field(7, graph)


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "truncated": (add_weights().SerializeToString()[:-7], "not an ONNX model, or a truncated one"),
    "random": (bytes(range(255, 0, -1)) * 40, "not an ONNX model"),
    "text": (b"this is not a model\n", "not an ONNX model|has no graph|does not define"),
    "no graph": (onnx.ModelProto(ir_version=8).SerializeToString(), "the model has no graph"),
    "newer": (add_weights().SerializeToString() + b"\xfa\x3e\x01z", "fields that onnx .* does not define"),
    "deep bytes": (deep_bytes(), "not an ONNX model"),
    "deep": (changed(deep), "which nothing defines|onnx.checker"),
    "cycle": (changed(cycle), "node 'back' .* reads 'y', which is computed after it or from its own result"),
    "undefined": (changed(lambda m: m.graph.node[0].input.append("q")), "reads 'q', which nothing defines"),
    "redefined": (changed(lambda m: m.graph.node.append(m.graph.node[0])), "'y' is defined twice"),
    "no output": (changed(lambda m: setattr(m.graph.output[0], "name", "q")), "output 'q' is not computed"),
    "types": (add_weights(np.int64).SerializeToString(), "onnx.checker: .*[Tt]ype"),
    "shape": (
        changed(lambda m: setattr(m.graph.output[0].type.tensor_type.shape.dim[0], "dim_value", 4)),
        "onnx.checker: .*[Ss]hape",
    ),
    "operator": (add_weights(op="Frobnicate").SerializeToString(), "node 'n': unknown operator Frobnicate"),
    "domain": (add_weights(domain="acme").SerializeToString(), "domain 'acme' of operator Add is not imported"),
    "too new": (changed(lambda m: setattr(m.opset_import[0], "version", 999)), "opset 999 .* is unknown"),
    "not yet": (
        changed(lambda m: setattr(m.graph.node[0], "op_type", "Gelu")),
        "operator Gelu does not exist yet at opset 17",
    ),
    "deprecated": (changed(lambda m: setattr(m.graph.node[0], "op_type", "Scatter")), "Scatter is deprecated since"),
    "doubling": (changed(lambda m: doubling(m, 40)), "stands for about 10.12 nodes; expected at most 1,000,000"),
    "doubling on": (changed(lambda m: doubling(m, 2000)), "stands for about 10.602 nodes"),
    "own caller": (
        changed(lambda m: (doubling(m, 3), setattr(m.functions[1].node[0], "op_type", "f2"))),
        r"calls itself \('acme::f.' -> 'acme::f.' -> 'acme::f.'\), which ONNX forbids",
    ),
    "no opset": (changed(lambda m: m.ClearField("opset_import")), "imports no opset"),
    "ir version": (changed(lambda m: setattr(m, "ir_version", 999)), "IR version 999 is unknown"),
    "short data": (
        changed(lambda m: setattr(m.graph.initializer[0], "raw_data", b"1234")),
        "tensor 'w': FLOAT of sizes .3. takes 12 bytes, got 4",
    ),
    "huge": (
        changed(lambda m: m.graph.initializer[0].dims.extend([2**30, 2**30])),
        "sizes .3, 1073741824, 1073741824.; expected at most",
    ),
    "no data": (
        changed(lambda m: m.graph.initializer[0].ClearField("raw_data")),
        "takes 3 elements, got no data",
    ),
    "six bits": (
        changed(lambda m: six_bits(m, raw_data=b"\0\0\x04")),
        "raw_data ends in bits that belong to none",
    ),
    "more than six bits": (changed(lambda m: six_bits(m, int32_data=[1, 64, 2])), "int32_data has 64; expected 6 bits"),
    "negative": (changed(lambda m: m.graph.initializer[0].dims.append(-1)), "negative size"),
    "element type": (changed(lambda m: setattr(m.graph.initializer[0], "data_type", 99)), "element type 99"),
    "not utf-8": (add_weights().SerializeToString() + b"\x12\x02\xff\xfe", "is not UTF-8 text"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_models_give_one_line(tmp_path: Path, checker: OnnxChecker, name: str) -> None:
    data, reason = BAD[name]
    path = tmp_path / "bad.onnx"
    path.write_bytes(data)
    with pytest.raises(InvalidProgram, match=reason) as caught:
        load_seed(path, checker=checker)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_every_truncation_is_refused_or_valid(tmp_path: Path) -> None:
    data = add_weights().SerializeToString()
    path = tmp_path / "cut.onnx"
    refused: list[str] = []
    for size in range(len(data)):
        path.write_bytes(data[:size])
        try:
            load_file(path)
        except InvalidProgram as e:
            refused.append(str(e))
    assert len(refused) > len(data) // 2  # cuts between fields of the model are smaller models
    assert all(line.startswith(f"{path}: ") for line in refused)


def test_flipped_bytes_never_raise_anything_else(tmp_path: Path, checker: OnnxChecker) -> None:
    rng = np.random.default_rng(0)
    data = np.frombuffer(add_weights().SerializeToString(), dtype=np.uint8)
    path = tmp_path / "flipped.onnx"
    refused: list[str] = []
    for _ in range(300):
        flipped = data.copy()
        at = rng.integers(0, len(data), size=2)
        flipped[at] ^= rng.integers(1, 256, size=2, dtype=np.uint8)
        path.write_bytes(flipped.tobytes())
        try:
            load_seed(path, checker=checker)
        except InvalidProgram as e:
            refused.append(str(e))
    assert 0 < len(refused) < 300
    assert not any("\n" in line for line in refused)


def test_things_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.onnx")
    for path, reason in ((tmp_path, "not a plain file"), (tmp_path / "fifo.onnx", "not a plain file")):
        with pytest.raises(InvalidProgram, match=reason):
            load_file(path)
    with pytest.raises(InvalidProgram, match=r"absent\.onnx: No such file"):
        load_file(tmp_path / "absent.onnx")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.onnx"
    path.write_bytes(add_weights().SerializeToString())
    path.chmod(0)
    with pytest.raises(InvalidProgram, match="Permission denied"):
        load_file(path)


def test_an_oversized_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no space on disk
    with pytest.raises(InvalidProgram, match=r"has 1099511627776 bytes; at most"):
        load_file(path)
    path.write_bytes(add_weights().SerializeToString())
    with pytest.raises(InvalidProgram, match="at most 10 are read"):
        load_file(path, max_bytes=10)


def test_a_model_that_grows_in_memory_is_refused(tmp_path: Path, checker: OnnxChecker) -> None:
    model = add_weights().SerializeToString()
    path = tmp_path / "bomb.onnx"
    path.write_bytes(model + field(7, b"\x0a\x00" * 3_000_000))  # empty nodes, two bytes each
    with pytest.raises(InvalidProgram, match="more than 2000000 parts"):
        load_file(path)


def test_a_file_too_large_to_trust_is_weighed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irfuzz.frontends.onnx_file._SAFE_BYTES", 10)
    path = tmp_path / "m.onnx"
    path.write_bytes(add_weights().SerializeToString())
    with OnnxChecker(memory_bytes=64 << 20) as small:
        assert load_file(path, checker=small) == add_weights()
        path.write_bytes(field(7, b"\x0a\x00" * 1_000_000))
        with pytest.raises(InvalidProgram, match=r"took too much memory|alloc failed"):
            load_file(path, checker=small)


def test_good_models_load_and_are_inferred(tmp_path: Path, checker: OnnxChecker) -> None:
    path = tmp_path / "good.onnx"
    path.write_bytes(add_weights().SerializeToString())
    program = load_seed(path, checker=checker)
    assert isinstance(program, Program)
    assert program.to_proto() == add_weights()


@pytest.mark.parametrize("suffix", [".onnxtxt", ".json", ".textproto"])
def test_text_formats(tmp_path: Path, checker: OnnxChecker, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    onnx.save(add_weights(), path)
    loaded = load_file(path, checker=checker)
    assert [n.op_type for n in loaded.graph.node] == ["Add"]
    path.write_text("{" * 100_000)
    with pytest.raises(InvalidProgram, match=f"model{suffix}: onnx") as told:
        load_file(path, checker=checker)
    assert "b'" not in str(told.value)


def test_a_function_of_the_model_defines_an_operator(tmp_path: Path, checker: OnnxChecker) -> None:
    model = add_weights(domain="acme")
    model.opset_import.append(helper.make_opsetid("acme", 1))
    model.functions.append(
        helper.make_function(
            "acme",
            "Add",
            ["a", "b"],
            ["c"],
            [helper.make_node("Add", ["a", "b"], ["c"])],
            [helper.make_opsetid("", 17)],
        )
    )
    path = tmp_path / "function.onnx"
    path.write_bytes(model.SerializeToString())
    assert load_seed(path, checker=checker).to_proto().functions[0].name == "Add"
    path.write_bytes(changed(lambda m: doubling(m, 8)))
    assert len(load_seed(path, checker=checker).to_proto().functions) == 8


def test_a_model_that_stops_the_checker_is_refused() -> None:
    with (
        OnnxChecker(seconds=0.000001) as hurried,
        pytest.raises(InvalidProgram, match="did not finish within its time"),
    ):
        hurried.check(add_weights().SerializeToString())
    with OnnxChecker() as patient:
        patient.check(add_weights().SerializeToString())


# ---- folders ------------------------------------------------------------------------------------------------


def test_find_models(tmp_path: Path) -> None:
    for name in ("b.onnx", "a.onnx", "sub/c.onnx", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "none").mkdir()
    found, problems = find_models([tmp_path / "readme.md", tmp_path, tmp_path / "a.onnx"])
    assert found == [tmp_path / n for n in ("readme.md", "a.onnx", "b.onnx", "sub/c.onnx")]
    assert problems == []
    found, problems = find_models([tmp_path / "none", tmp_path / "absent"])
    assert found == []
    assert problems == [
        f"{tmp_path / 'none'}: no *.onnx file in this folder",
        f"{tmp_path / 'absent'}: No such file or directory",
    ]


# ---- saving -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["program", "proto", "bytes"])
def test_save_keeps_versions_and_leaves_nothing_beside(tmp_path: Path, form: str) -> None:
    model = add_weights()
    path = tmp_path / "out.onnx"
    path.write_bytes(b"old")
    forms = {"program": Program.from_proto(model), "proto": model, "bytes": model.SerializeToString()}
    save_file(forms[form], path)
    assert load_file(path) == model
    assert [p.name for p in tmp_path.iterdir()] == ["out.onnx"]


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.onnx"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match=r"out\.onnx: cannot be written: No space left on device"):
        save_file(b"new", path)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("out.onnx", b"old")]


def test_unwritable_places(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "absent/out.onnx", tmp_path / "file/out.onnx", tmp_path / "folder"):
        with pytest.raises(UsageError, match="cannot be written"):
            save_file(b"new", path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_numeric_tensors_of_a_saved_model_are_the_same(tmp_path: Path) -> None:
    model = add_weights()
    model.graph.initializer[0].ClearField("raw_data")
    model.graph.initializer[0].float_data.extend([1, 2, 3])
    save_file(Program.from_proto(model), tmp_path / "m.onnx")
    assert load_file(tmp_path / "m.onnx").graph.initializer[0] == model.graph.initializer[0]
    assert model.graph.initializer[0].data_type == TensorProto.FLOAT


def test_a_pipe_gets_what_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save_file(b"new", pipe)
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]
