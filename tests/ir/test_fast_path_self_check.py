"""The native cloner and writer are taken with the onnx-ir they know, and the public ways, to the same bytes, else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx_ir as ir
import pytest

from irfuzz.ir import clone as cloning
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import fast_path_self_check, model_encoding
from irfuzz.ir.serialization.fast_path_self_check import KNOWN, NativeMismatch, check_native, native_fault
from irfuzz.ir.serialization.onnx_ir_fallback import PublicNodeWriter, graphs_of, public_clone_with
from irfuzz.ir.value import fact_of
from irfuzz.shipped_folders import seeds_dir

ROOT = Path(__file__).resolve().parents[2]
SEEDS = sorted(seeds_dir().glob("*.onnx"), key=lambda path: path.stat().st_size)


def test_the_installed_onnx_ir_is_the_one_that_is_known() -> None:
    assert native_fault() is None
    assert ir.__version__.startswith(f"{KNOWN}.")
    pinned = [d for d in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"] if "-ir" in d]
    major, minor = map(int, KNOWN.split("."))
    assert pinned == [f"onnx-ir>={KNOWN},<{major}.{minor + 1}"]


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_both_ways_give_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.from_bytes(path.read_bytes())
    written = program.to_bytes()
    public = lambda listed: PublicNodeWriter(  # noqa: E731
        lambda attr: model_encoding.attribute_bytes(attr, listed), model_encoding.seldom_fields
    )
    monkeypatch.setattr(model_encoding, "_writer", public)
    assert program.to_bytes() == written
    copy, values = public_clone_with(program.model, {v.name or "": v for v in program.values()})
    assert model_encoding.encode_bytes(copy, program.residue) == written
    assert list(values) == [v.name for v in program.values()]
    assert [fact_of(v) for v in values.values()] == [fact_of(v) for v in program.values()]
    assert not {*values.values()} & {*program.values()}


def test_a_value_without_a_name_is_an_error_of_both_writers() -> None:
    graph = ir.Graph([], [], nodes=[ir.Node("", "Relu", [value := ir.Value()], name="n")])
    value.name = None
    for writer in (
        model_encoding.native_writer(model_encoding.attribute_bytes),
        PublicNodeWriter(model_encoding.attribute_bytes, bytes),
    ):
        with pytest.raises(ValueError, match=r"an input or output of a node \(Relu\) has no name"):
            writer.write(1, graph)


class Losing(PublicNodeWriter):
    """A writer that does not know of overloads."""

    def write(self, field: int, graph: ir.Graph) -> tuple[bytes, list[ir.Value]]:
        for node in graph:
            node.overload = ""
        return super().write(field, graph)


def half_shared(model: ir.Model) -> ir.Model:
    """A clone of the right look that reads one value of its original."""
    copy = cloning.clone(model)
    copy.graph[-1].replace_input_with(1, model.graph[-1].inputs[1])
    return copy


def same_attributes(model: ir.Model) -> ir.Model:
    """A clone whose nodes and values are its own, but not the nodes' attributes."""
    copy = cloning.clone(model)
    copy.graph[-1]._attributes = model.graph[-1]._attributes
    return copy


@pytest.mark.parametrize(
    ("clone", "free", "complaint"),
    [
        (lambda model: ir.Model(ir.Graph([], [], nodes=[]), ir_version=11), bool, "a clone is written otherwise"),
        (ir.Model.clone, bool, "a clone has other facts"),
        (half_shared, bool, "a clone refers to parts of its original"),
        (same_attributes, bool, "edits of a clone reach its original"),
        (lambda model: model, bool, "edits of a clone reach its original"),
        (cloning.clone, lambda holder: False, "a clone cannot be freed"),
    ],
)
def test_a_cloner_that_does_otherwise_is_noticed(
    clone: Callable[[ir.Model], ir.Model], free: Callable[[Any], bool], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_path_self_check, "native_cloner", lambda: SimpleNamespace(clone=clone, free=free))
    with pytest.raises(NativeMismatch, match=complaint):
        check_native()


def test_a_writer_that_does_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fast_path_self_check, "native_writer", lambda attribute: Losing(attribute, model_encoding.seldom_fields)
    )
    with pytest.raises(NativeMismatch, match="other bytes are written"):
        check_native()


def test_the_model_of_the_check_has_what_a_node_may_have() -> None:
    graphs = graphs_of(fast_path_self_check._model())
    nodes = [node for graph in graphs for node in graph]
    for has in (
        lambda node: None in node.inputs,
        lambda node: node.domain and node.overload,
        lambda node: node.doc_string and node.metadata_props and node.device_configurations,
        lambda node: any(attr.is_ref() for attr in node.attributes.values()),
        lambda node: any(attr.type == ir.AttributeType.GRAPH for attr in node.attributes.values()),
        lambda node: any(attr.type == ir.AttributeType.TENSOR for attr in node.attributes.values()),
    ):
        assert any(map(has, nodes))
    assert len(graphs) == 6  # the main one, four bodies in two levels, a function


def renamed(folder: Path, old: str, new: str) -> Path:
    """A copy of onnx-ir in which a private name is another; the folder to put on the path."""
    source = Path(ir.__file__).parent
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*.py"):
        path.write_text(re.sub(rf"\b{old}\b", new, path.read_text()))
    return folder


def mutants(folder: Path, onnx_ir: Path | None = None) -> tuple[dict[str, bytes], str]:
    """Mutants of two seeds, by name, and what was said; ``onnx_ir`` stands in front of the installed one."""
    first = "" if onnx_ir is None else f"import sys; sys.path.insert(0, {str(onnx_ir)!r})\n"
    main = f"{first}from irfuzz.cli.main import main\nimport sys\nsys.exit(main(sys.argv[1:]))"
    models = [str(seeds_dir() / name) for name in ("bags.onnx", "bilstm.onnx")]
    run = subprocess.run(
        [sys.executable, "-P", "-c", main, "mutate", *models, "-o", str(folder), "-n", "20"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}, run.stderr


def test_mutants_are_the_same_if_a_private_name_of_onnx_ir_is_another(tmp_path: Path) -> None:
    wanted, said = mutants(tmp_path / "native")
    assert len([name for name in wanted if name.endswith(".onnx")]) >= 20
    assert "RuntimeWarning" not in said
    got, said = mutants(tmp_path / "public", renamed(tmp_path / "other", "_op_type", "_operator"))
    assert got == wanted
    assert said.count("RuntimeWarning") == 1
    assert re.search(
        rf"onnx-ir {re.escape(ir.__version__)} is not what .* onnx-ir {KNOWN} \(AttributeError: .*_op_type", said
    )


@pytest.mark.parametrize(("old", "new"), [("_root", "_start"), ("_overload", "_variant"), ("_inputs", "_operands")])
def test_every_private_name_is_looked_for(old: str, new: str, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(renamed(tmp_path, old, new))!r})\n"
    code += "from irfuzz.ir.serialization.fast_path_self_check import native_fault; print(native_fault())"
    run = subprocess.run([sys.executable, "-P", "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("AttributeError: ")
    assert f"'{old}'" in run.stdout
