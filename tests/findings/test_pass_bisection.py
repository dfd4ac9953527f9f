"""The passes of an optimiser that make a fault: planted ones, and real ones of ONNXRuntime."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import onnx.parser
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.tools import TOOLS
from irfuzz.findings.blamed_passes import with_pass
from irfuzz.findings.fault_predicate import Watch
from irfuzz.findings.pass_bisection import Tried, blame_passes
from irfuzz.ir.program import Program
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.store.tensors import unpack

BUGS = Path(__file__).resolve().parents[2] / "docs" / "bugs"
MANY = tuple(f"Pass{n}" for n in range(12))


def test_one_of_many() -> None:
    asked: list[frozenset[str]] = []

    def trial(off: frozenset[str]) -> Tried:
        asked.append(off)
        return Tried("Pass7" not in off, tuple(n for n in MANY if n not in off))

    found = blame_passes(trial, registered=MANY)
    assert found is not None
    assert (found.names, str(found), found.modified, found.runs) == (("Pass7",), "Pass7", MANY, len(asked))
    assert len(asked) == len(set(asked)), "a run was paid for twice"


def test_a_pass_that_takes_the_place_of_another_is_blamed_with_it() -> None:
    """Only the first one changes the program; without it the second one does."""

    def trial(off: frozenset[str]) -> Tried:
        acting = next((n for n in ("GeluFusionL1", "GeluFusionL2") if n not in off), None)
        return Tried(acting is not None, tuple(n for n in ("ConstantFolding", acting) if n and n not in off))

    found = blame_passes(trial)
    assert found is not None
    assert str(found) == "GeluFusionL1 / GeluFusionL2"
    assert found.names == ("GeluFusionL1", "GeluFusionL2")


def test_a_pass_that_prepares_another_is_told_from_it_where_that_can_do_without() -> None:
    def together(off: frozenset[str]) -> Tried:
        return Tried(not off & {"First", "Second"}, tuple(n for n in ("First", "Other", "Second") if n not in off))

    found = blame_passes(together, registered=("First", "Other", "Second"))
    assert found is not None
    assert str(found) == "First + Second"
    assert found.names == ("First", "Second")

    def enough(off: frozenset[str]) -> Tried:
        alone = off == {"First", "Other"}
        return Tried(alone or not off & {"First", "Second"}, tuple(n for n in ("First", "Second") if n not in off))

    found = blame_passes(enough, registered=("First", "Other", "Second"))
    assert found is not None
    assert str(found) == "Second"


def test_rules_stand_for_their_transformer_and_it_for_rules_of_other_names() -> None:
    whole = "Level1_RuleBasedTransformer"

    def known(off: frozenset[str]) -> Tried:
        return Tried(not off & {"Pad_Fusion", whole}, () if whole in off else (whole,))

    def new(off: frozenset[str]) -> Tried:
        return Tried(whole not in off, () if whole in off else (whole,))

    assert str(blame_passes(known)) == "Pad_Fusion"
    assert str(blame_passes(new)) == whole


def test_nothing_is_blamed_where_it_shows_without_them_or_not_at_all() -> None:
    assert blame_passes(lambda off: Tried(shows=True, modified=tuple({"ConstantFolding"} - off))) is None
    assert blame_passes(lambda _: Tried(shows=False)) is None


@pytest.mark.backend
def test_transformers_of_onnxruntime() -> None:
    wanted = {
        "067-onnxruntime-layernorm-pow": ("optimiser", "LayerNormFusionL1"),
        "002-onnxruntime-transpose-matmul-vector": ("optimiser", "MatmulTransposeFusion"),
        "006-onnxruntime-relu-clip-double": ("optimiser", "FuseReluClip"),
        "037-onnxruntime-splittosequence-keepdims": ("kernel", ""),
    }
    got = {}
    with Runner(resolve(["onnxruntime:disabled", "onnxruntime:basic", "onnxruntime:extended", "reference"])) as runner:
        for folder in wanted:
            program = Program.from_bytes((BUGS / folder / "model.onnx").read_bytes())
            inputs = unpack((BUGS / folder / "inputs.npz").read_bytes())
            watch = Watch([runner], Verdict("", Symptom.DIFFERENCE, "onnxruntime:basic"), program)
            verdicts, results = watch.judged(program, inputs)
            verdict = next(v for v in verdicts if v.target.startswith("onnxruntime") and not v.suspect)
            found = with_pass(runner, program, inputs, verdict, results)
            got[folder] = (found.place, found.pass_text)
    assert got == wanted


def test_passes_of_onnxslim() -> None:
    """Folding a Pad into a convolution is taken for a fault: its pattern is named."""
    spec = importlib.util.spec_from_file_location("tool_onnxslim", TOOLS / "onnxslim.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = "g (float[1,1,1,1] x) => (float[1,1,3,3] y) <int64[8] p = {0,0,1,1,0,0,1,1}, float[1,1,1,1] w = {2}>"
    conv = "y = Conv <kernel_shape = [1, 1], pads = [0, 0, 0, 0]> (a, w)"
    text = f'<ir_version: 8, opset_import: ["": 17]> {text} {{ a = Pad (x, p) {conv} }}'
    model = onnx.parser.parse_model(text).SerializeToString()

    def trial(off: frozenset[str]) -> Tried:
        made = onnx.load_model_from_string(tool.convert(model, off=",".join(sorted(off))))
        return Tried("Pad" not in {node.op_type for node in made.graph.node})

    assert str(blame_passes(trial, tool.passes(), tool.passes())) == "FusionPadConv"
