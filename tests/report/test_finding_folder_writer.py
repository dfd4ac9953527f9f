"""What is in a finding's folder, whatever the names in it; and that the folder is whole or not there."""

from __future__ import annotations

import ast
import builtins
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.errors import InternalError
from irfuzz.findings.codec import read_folder
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.findings.output_literals import element_place
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.finding_markdown import program_text, report_text
from irfuzz.report.repro_scripts import shared_weight_links
from irfuzz.report.repro_scripts.full_script import ReproSpec, repro_source
from irfuzz.report.script_replay import replays
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.model_blob_packing import LARGE_PROGRAM
from irfuzz.store.npz_tensors import unpack
from tests.large_weights import model as large_model
from tests.report.conftest import FAULTS, RELU, WRONG, finding_of, parse, run_script

X = {"x": np.arange(-2, 4, dtype=np.float32).reshape(2, 3)}
FILES = {"model.onnx", "inputs.npz", "repro.py", "report.md", "trace.json", "finding.json", "values.npz"}
PLUGIN = {"plugin", "plugin/tests", "plugin/tests/report", "plugin/tests/report/wrong.py"}
ORIGINAL = {"original", "original/model.onnx", "original/inputs.npz"}
Make = Callable[..., Finding]

HOSTILE = [
    "'",
    '"""',
    "'''",
    "a\nimport os; os.abort()\n",
    "`x`",
    "```\n# heading",
    "../../etc/x",
    "/tmp/x",
    "C:\\x",
    "\\",
    "{x}",
    "é漢\u202e\u2028",
    "x.npy",
    "file",
    "|a|<b>",
    "__irfuzz__",
    "f{__import__('os').abort()}",
    "DIFFERS LOOKUP OUTPUT SHOWN",
    "%s %(x)d",
]


def test_the_files(finding: Make, tmp_path: Path) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    write_bundle(tmp_path / "f" / "it", row)
    folder = tmp_path / "f" / "it"
    assert {str(p.relative_to(folder)) for p in folder.rglob("*")} == FILES | ORIGINAL | PLUGIN
    assert (folder / "model.onnx").read_bytes() == row.case.model
    assert unpack((folder / "inputs.npz").read_bytes())["x"].tolist() == X["x"].tolist()  # type: ignore[union-attr]
    assert list(unpack((folder / "values.npz").read_bytes())) == [row.verdict.target, row.verdict.witnesses[0]]
    write_bundle(folder, replace(row, results=()))
    assert not (folder / "values.npz").exists(), "of a row nobody knows what was given"
    summary = json.loads((folder / "finding.json").read_text())
    assert (summary["schema"], summary["symptom"], summary["iteration"]) == (1, "difference", 3)
    assert summary["versions"]["reference"] == onnx.__version__
    assert [p.name for p in (tmp_path / "f").iterdir()] == ["it"]


def test_large_weights_of_the_original_are_links_to_the_campaigns(finding: Make, tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    large = large_model(LARGE_PROGRAM).SerializeToString()
    row = replace(finding(parse(RELU), X, f"{WRONG}:Off"), original=FailingCase(large, X))
    write_bundle(tmp_path / "it", row, blobs=blobs)
    (digest,) = blobs.digests()
    linked = tmp_path / "it" / "original" / f"{digest}.bin"
    assert linked.samefile(blobs.path(digest))
    assert (tmp_path / "it" / "original" / "model.onnx").stat().st_size < 2000
    copy = shutil.copytree(tmp_path / "it", tmp_path / "copy")
    shutil.rmtree(tmp_path / "blobs")
    shutil.rmtree(tmp_path / "it")
    assert read_folder(copy).original.program.digest == Program.from_bytes(large).digest
    write_bundle(tmp_path / "whole", row)
    assert (tmp_path / "whole" / "original" / "model.onnx").read_bytes() == large


def test_a_plain_case_needs_few_lines() -> None:
    blamed = TargetRun("onnxruntime:all", "onnxruntime", {"level": "all"}, "1.31.1")
    scene = ReproSpec("t", Symptom.DIFFERENCE, blamed, [TargetRun("reference", "reference", {})], "y", ((), (0,)), 1e-3)
    assert len(repro_source(scene).splitlines()) <= 95


@pytest.mark.parametrize("symptom", list(Symptom))
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("place", [None, ((), ()), ((1, 0), (2, 3))])
@pytest.mark.parametrize("bound", [None, 0.0, 0.5, float("inf"), float("nan")])
def test_every_script_compiles_and_lacks_no_name(symptom: Symptom, odd: bool, place: Any, bound: float | None) -> None:
    parties = [
        TargetRun("onnxruntime:all", "onnxruntime", {"level": "all", "provider": "CUDAExecutionProvider"}),
        TargetRun("torch:eager", "torch", {"mode": "eager"}),
        TargetRun("torch:jit", "torch", {"mode": "jit"}),
        TargetRun("tensorflow:xla", "tensorflow", {"mode": "xla"}),
        TargetRun("openvino", "openvino", {}),
        TargetRun("reference", "reference", {}),
        TargetRun("a.py:B", "a.py:B", {"class": "a.py:B"}),
    ]
    text = repro_source(
        ReproSpec("t", symptom, parties[0], parties[1:], "y", place, bound, ["y"], odd, odd, seconds=3.0, memory=5)
    )
    tree = ast.parse(text)
    assert [n for n in ("DIFFERS", "LOOKUP", "SHOWN", "ANSWER", "WHAT", "BRANCH", "LIMIT_CALL") if n in text] == []
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)} | set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {a.asname or a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert used - defined <= {"__file__"}
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert functions - used == set()
    imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
    assert imported - used == set()


def test_unknown_components_are_refused() -> None:
    with pytest.raises(InternalError, match="tvm"):
        repro_source(ReproSpec("t", Symptom.CRASH, TargetRun("tvm", "tvm", {}), []))


@pytest.mark.parametrize(
    ("element", "output", "place"),
    [
        ("y[1, 2]", "y", ((), (1, 2))),
        ("y[]", "y", ((), ())),
        ("y[3][0]", "y", ((3,), (0,))),
        ("y[3][4][]", "y", ((3, 4), ())),
        ("a[0][1]", "a[0]", ((), (1,))),
        ("", "y", None),
        ("z[1]", "y", None),
        ("y[os.abort()]", "y", None),
        ("y", "y", None),
    ],
)
def test_places(element: str, output: str, place: Any) -> None:
    assert element_place(element, output) == place


def hostile(names: list[str]) -> Program:
    """Adds up inputs of those names; the sums, nodes and graph have such names too."""
    sums = [f"{name} y" for name in names]
    nodes = [onnx.helper.make_node("Relu", [names[0]], [sums[0]], names[0])]
    nodes += [
        onnx.helper.make_node("Add", [before, name], [after], name, doc_string=name)
        for before, name, after in zip(sums, names[1:], sums[1:], strict=False)
    ]
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2, 3])
    values = [[onnx.helper.make_value_info(name, kind) for name in group] for group in (names, sums[-1:])]
    graph = onnx.helper.make_graph(nodes, "\n".join(names), *values, doc_string=names[0])
    opset = onnx.helper.make_opsetid("", 17)
    return Program.from_proto(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8))


@pytest.mark.parametrize("last", HOSTILE[:4])
def test_no_name_breaks_or_runs_anything(run_on: Any, tmp_path: Path, root: Path, last: str) -> None:
    names = [*(n for n in HOSTILE if n != last), last]
    program, inputs = hostile(names), dict.fromkeys(names, X["x"])
    witnesses = ["reference", "torch:eager"] if last == HOSTILE[0] else ["reference", "onnxruntime:all"]
    results = run_on(program, inputs, [f"{WRONG}:Off", *witnesses])
    verdict = Verdict(
        "o", Symptom.DIFFERENCE, f"{WRONG}:Off", tuple(witnesses), False, f"{last} y", 1.0, 0.5,
        dict.fromkeys(names, last), element=f"{last} y[1, 2]",
    )  # fmt: skip
    row = replace(finding_of(program, inputs, results, verdict), title="".join(names), signature=last)
    write_bundle(tmp_path / "it", row)
    code, log = run_script(tmp_path / "it", root, PYTHONIOENCODING="ascii")
    assert code == 1, log
    assert sorted(p.name for p in tmp_path.rglob("*.onnx")) == ["model.onnx", "model.onnx"]
    _check_report((tmp_path / "it" / "report.md").read_text())


def _check_report(report: str) -> None:
    """Nothing but our own headings stands outside of the fences."""
    inside, outside = False, []
    for line in report.split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            outside.append(line)
    assert not inside
    assert [line for line in outside if line.startswith("#")][1:] == [
        *(["## Why that is expected"] if "## Why that is expected" in outside else []),
        "## How to see it",
        "## What every target did",
        "## The program",
        "## How it was made",
    ]
    assert "`\n#" not in "\n".join(outside)


@pytest.mark.parametrize("symptom", list(Symptom))
@pytest.mark.parametrize("name", [*HOSTILE, "\ud800", "\0", '"', "\\" * 301])
def test_any_text_stays_text(symptom: Symptom, name: str) -> None:
    """Whatever the names are, the script has the same code."""
    texts = [
        repro_source(
            ReproSpec(
                text, symptom, TargetRun("reference", "reference", {}, text),
                [TargetRun("x.py:X", text, {"class": text})], text, None, 1.0, [text],
            )
        )
        for text in ("plain", name)
    ]  # fmt: skip
    trees = [ast.parse(text.encode()) for text in texts]
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
    assert ast.dump(trees[0]) == ast.dump(trees[1])


def test_a_suspect_says_why(finding: Make, tmp_path: Path) -> None:
    # A product of matrices: unlike Relu's, its elements are not decided by ONNX's text alone.
    product = parse("g (float[2,3] x) => (float[2,2] y) { t = Transpose(x) y = MatMul(x, t) }")
    row = finding(product, X, f"{WRONG}:Off", ["reference"])
    assert row.verdict.suspect
    write_bundle(tmp_path / "it", row)
    report = (tmp_path / "it" / "report.md").read_text()
    assert "**Suspect**: no two independent witnesses" in report
    assert replays(tmp_path / "it", seconds=60)[0]


def test_a_finding_without_figures_or_witnesses(finding: Make) -> None:
    row = finding(parse(RELU), X, f"{FAULTS}:Segfault")
    report = report_text(replace(row, verdict=replace(row.verdict, witnesses=(), distance=1.0, bound=None)))
    assert "largest difference 1\n" in report
    assert "each other: none" in report


def test_what_a_script_printed_in_vain_is_reported(finding: Make) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    report = report_text(replace(row, printed="```\nnothing"))
    assert "**It did not show the fault**; it printed:\n\n```\n'''\nnothing\n```" in report


def test_long_programs_are_cut() -> None:
    nodes = "\n".join(f"v{i} = Relu(v{i - 1})" for i in range(1, 500))
    text = program_text(FailingCase(parse(f"g (float[2] v0) => (float[2] v499) {{ {nodes} }}"), {}))
    assert len(text.splitlines()) < 210
    assert "more lines (in model.onnx)" in text
    proto = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }").to_proto()
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((40, 2), np.float32), "w"))
    assert "# float[40, 2] w = ... (in model.onnx)" in program_text(FailingCase(proto.SerializeToString(), {}))


def test_what_is_no_model_is_said() -> None:
    assert program_text(FailingCase(b"\xff rubbish", {})).startswith("# not a model")


def test_an_older_folder_is_replaced(finding: Make, tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "left over").write_text("old")
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    assert not (tmp_path / "it" / "left over").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["it"]


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("broken", ["write_bytes", "rename"])
def test_where_writing_fails_nothing_changes(
    finding: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool, broken: str
) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    if existing:
        (tmp_path / "it").mkdir()
        (tmp_path / "it" / "old").write_text("old")
    real, calls = getattr(Path, broken), []

    def full(self: Path, *args: Any) -> Any:
        calls.append(self)
        if (broken == "write_bytes" and len(calls) == 4) or (broken == "rename" and self.name.startswith(".draft")):
            raise OSError("No space left on device")
        return real(self, *args)

    monkeypatch.setattr(Path, broken, full)
    with pytest.raises(OSError, match="No space"):
        write_bundle(tmp_path / "it", row)
    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*"))] == (["it", "it/old"] if existing else [])


def test_runs_that_lack_the_blamed_target_are_our_mistake(finding: Make, tmp_path: Path) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off")
    with pytest.raises(InternalError, match="elsewhere"):
        write_bundle(tmp_path / "it", replace(row, verdict=replace(row.verdict, target="elsewhere")))
    assert list(tmp_path.iterdir()) == []


def test_the_inputs_can_be_read_without_irfuzz(finding: Make, tmp_path: Path) -> None:
    write_bundle(tmp_path / "it", finding(parse(RELU), X, f"{WRONG}:Off"))
    data = (tmp_path / "it" / "inputs.npz").read_bytes()
    with np.load(io.BytesIO(data)) as arrays:
        assert arrays["x"].tolist() == X["x"].tolist()
    assert "x.npy" in zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_a_model_that_contradicts_itself_is_kept_without_source(finding: Make, tmp_path: Path) -> None:
    row = finding(parse(RELU), X, f"{WRONG}:Off", ("reference", "torch:eager"))
    folder = tmp_path / "it"
    write_bundle(folder, row)
    assert (folder / "torch_model.py").exists()
    model = onnx.load_from_string(row.case.model)
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 7
    write_bundle(folder, replace(row, case=FailingCase(model.SerializeToString(), row.case.inputs)))
    assert {str(p.relative_to(folder)) for p in folder.rglob("*")} == FILES | ORIGINAL | PLUGIN
    assert "torch" not in (folder / "repro.py").read_text()


def with_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its weights in nodes."""
    nodes = [onnx.helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in model.graph.initializer]
    del model.graph.initializer[:]
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.backend
@pytest.mark.parametrize("made", [lambda model: model, with_constants])
@pytest.mark.parametrize(
    ("witnesses", "linked"),
    [
        (("reference", "onnxruntime:all"), ["model.onnx"]),
        (("torch:eager", "tensorflow:eager"), ["model.onnx", "tensorflow_weights.npz", "torch_weights.npz"]),
        (("torch:jit", "openvino"), ["model.onnx", "torch_weights.npz"]),
        (("numpy:eager", "reference"), ["model.onnx", "numpy_weights.npz"]),
    ],
)
def test_scripts_of_large_models_read_weights_that_are_links(
    finding: Make, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, witnesses: tuple[str, ...],
    linked: list[str], made: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> None:  # fmt: skip
    monkeypatch.setattr(shared_weight_links, "LINKED", LARGE_PROGRAM)
    for name in witnesses:
        pytest.importorskip(name.partition(":")[0].replace("reference", "onnx"))
    program = Program.from_proto(made(large_model(LARGE_PROGRAM)))
    x = {"x": np.ones(LARGE_PROGRAM // 4, np.float32)}
    row = finding(program, x, f"{WRONG}:Off", witnesses)
    blobs = FolderBlobs(tmp_path / "blobs")
    write_bundle(tmp_path / "it", row, blobs=blobs)
    own = {p.name: p for p in (tmp_path / "it").iterdir() if p.is_file()}
    assert all(own[f"{digest}.bin"].samefile(blobs.path(digest)) for digest in blobs.digests())
    assert sorted(n for n in own if n.endswith((".onnx", ".npz")) and n not in ("inputs.npz", "values.npz")) == linked
    assert all(own[name].stat().st_size < 100_000 for name in linked)
    shutil.copytree(tmp_path / "it", tmp_path / "copy")
    shutil.rmtree(tmp_path / "blobs")
    shutil.rmtree(tmp_path / "it")
    code, log = run_script(tmp_path / "copy", root)
    assert code == 1, log
    assert read_folder(tmp_path / "copy").case.program.digest == program.digest


@pytest.mark.parametrize(("size", "linked"), [(-1, False), (0, True)])
def test_models_below_the_threshold_stay_one_file(size: int, linked: bool) -> None:
    assert shared_weight_links.is_linked(bytes(shared_weight_links.LINKED + size)) is linked


def test_a_script_that_reads_no_file_gets_no_reader() -> None:
    script = "import sys\nfrom pathlib import Path\n\nHERE = Path(__file__).resolve().parent\n\n\nprint(HERE)\n"
    assert shared_weight_links.reading_links(script) == script
