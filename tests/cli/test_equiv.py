"""``irfuzz equiv``: a target is tested against itself, and the rewrite that exposes it is named."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from irfuzz.cli.main import main
from irfuzz.rewrite.rewrite_table import BUILTIN, STRUCTURAL

TARGETS = Path(__file__).resolve().parents[1] / "planted_targets" / "rewritten.py"
GROUPED = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 4] x) => (float[1, 2, 3] y)
<float[2, 1, 2] w = {1, 2, 3, 4}> { a = Conv <group = 2> (x, w) y = Relu(a) }"""
PRODUCT = """<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 2] y)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { a = Tanh(x) y = MatMul(a, w) }"""


def saved(text: str, tmp_path: Path) -> str:
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


@pytest.mark.planted
@pytest.mark.parametrize(
    ("text", "target", "rewrites", "op"),
    [
        (GROUPED, "LosesAGroup", {"conv-per-group"}, "Conv"),
        (PRODUCT, "RepeatsTheFirstRow", {"split-rows", "matmul-as-gemm", "matmul-transposed"}, "MatMul"),
    ],
)
def test_a_wrong_kernel_is_exposed_and_named(
    text: str, target: str, rewrites: set[str], op: str, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "kept"
    # A function or a body is computed by the right kernel, so wrapping would expose the fault too.
    names = ",".join(sorted({r.name for r in BUILTIN} - {r.name for r in STRUCTURAL}))
    words = [
        saved(text, tmp_path),
        "--rewrites",
        names,
        "--targets",
        f"{TARGETS}:{target}",
        "--forms",
        "40",
        "--json",
        "-o",
        str(out),
    ]
    assert main(["equiv", *words]) == 1
    found = json.loads(capsys.readouterr().out)["contradictions"]
    named = {row["rewrite"] for row in found}
    assert named
    assert named <= rewrites
    assert {row["operator"] for row in found} == {op}
    assert all(row["symptom"] == "difference" for row in found)
    assert len(list(out.glob("*.rewritten.onnx"))) == len(found)


@pytest.mark.backend
def test_a_correct_target_never_contradicts_itself(tmp_path: Path, capsys) -> None:
    words = [saved(GROUPED, tmp_path), "--targets", "reference,ort:all", "--forms", "12", "--chain", "4", "--json"]
    assert main(["equiv", *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["contradictions"] == []
    assert report["answers"]["onnxruntime:all"]["same"] >= 8
    assert sum(report["forms"].values()) >= 12


def test_the_list_names_rules_of_eagle(capsys) -> None:
    assert main(["equiv", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len({row["name"] for row in rows}) == len(rows) >= 60
    assert {row["eagle"] for row in rows} >= set(range(1, 17))
    assert main(["equiv", "--list"]) == 0
    assert "(EAGLE 14)" in capsys.readouterr().out


def test_bad_input_ends_with_2(tmp_path: Path, capsys) -> None:
    model = saved(PRODUCT, tmp_path)
    assert main(["equiv"]) == 2
    assert main(["equiv", "--list", "no-such.onnx"]) == 2
    assert main(["equiv", model, "--rewrites", "no-such"]) == 2
    assert "--rewrites: unknown rewrite 'no-such'" in capsys.readouterr().err
    out = tmp_path / "new" / "kept"
    assert main(["equiv", model, "--rewrites", "conv-per-group", "--targets", "reference", "-o", str(out)]) == 2
    assert "no form was compared" in capsys.readouterr().err
    assert not out.parent.exists()


def test_a_model_that_is_missing_beside_others_ends_with_2_and_the_others_are_compared(tmp_path: Path, capsys) -> None:
    model, empty = saved(PRODUCT, tmp_path), tmp_path / "empty"
    empty.mkdir()
    words = ["--targets", "reference", "--rewrites", "matmul-as-gemm", "--forms", "1", "--json"]
    assert main(["equiv", model, str(tmp_path / "none.onnx"), str(empty), *words]) == 2
    said = capsys.readouterr()
    assert sum(json.loads(said.out)["forms"].values()) == 1
    errors = [line for line in said.err.splitlines() if line.startswith("irfuzz: error")]
    assert errors == [f"irfuzz: error: not compared, for the reason above: {tmp_path / 'none.onnx'} and 1 more"]
    assert main(["equiv", str(tmp_path), *words]) == 0, "a folder has models, whatever else is in it"


@pytest.mark.planted
@pytest.mark.parametrize(("condition", "code"), [("1", 1), ("0", 0)])
def test_the_branch_that_runs_is_rewritten_inside(condition: str, code: int, tmp_path: Path, capsys) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 2] y)
    <float[4, 2] w = {{1, 2, 3, 4, 5, 6, 7, 8}}, bool c = {{{condition}}}> {{
        r = Tanh(x)
        y = If(c) <then_branch = yes () => (float[3, 2] t) {{ t = MatMul(r, w) }},
                   else_branch = no () => (float[3, 2] e) {{ h = Gemm(r, w) e = Neg(h) }}>
    }}"""
    words = ["--rewrites", "split-rows", "--targets", f"{TARGETS}:RepeatsTheFirstRow", "--forms", "8", "--json"]
    assert main(["equiv", saved(text, tmp_path), *words]) == code
    found = json.loads(capsys.readouterr().out)["contradictions"]
    assert {(row["model"], row["operator"]) for row in found} == (
        {("model.onnx (bodies written out)", "MatMul")} if code else set()
    )
