"""The passes of an optimiser that make a fault: planted ones, and real ones of ONNXRuntime."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.adapters.converter_tools import TOOLS
from irfuzz.execute.onnxruntime_passes import known_passes, registered, rule_names
from irfuzz.execute.run_types import RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.blame.blamed_passes import with_pass
from irfuzz.findings.blame.pass_bisection import PassTrial, blame_passes
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.npz_tensors import unpack

BUGS = Path(__file__).resolve().parents[2] / "docs" / "bugs"
MANY = tuple(f"Pass{n}" for n in range(12))


def test_one_of_many() -> None:
    asked: list[frozenset[str]] = []

    def trial(off: frozenset[str]) -> PassTrial:
        asked.append(off)
        return PassTrial("Pass7" not in off, tuple(n for n in MANY if n not in off))

    found = blame_passes(trial, registered=MANY)
    assert found is not None
    assert (found.names, str(found), found.modified, found.runs) == (("Pass7",), "Pass7", MANY, len(asked))
    assert len(asked) == len(set(asked)), "a run was paid for twice"


def test_a_pass_that_takes_the_place_of_another_is_blamed_with_it() -> None:
    """Only the first one changes the program; without it the second one does."""

    def trial(off: frozenset[str]) -> PassTrial:
        acting = next((n for n in ("GeluFusionL1", "GeluFusionL2") if n not in off), None)
        return PassTrial(acting is not None, tuple(n for n in ("ConstantFolding", acting) if n and n not in off))

    found = blame_passes(trial)
    assert found is not None
    assert str(found) == "GeluFusionL1 / GeluFusionL2"
    assert found.names == ("GeluFusionL1", "GeluFusionL2")


def test_a_pass_that_prepares_another_is_told_from_it_where_that_can_do_without() -> None:
    def together(off: frozenset[str]) -> PassTrial:
        return PassTrial(not off & {"First", "Second"}, tuple(n for n in ("First", "Other", "Second") if n not in off))

    found = blame_passes(together, registered=("First", "Other", "Second"))
    assert found is not None
    assert str(found) == "First + Second"
    assert found.names == ("First", "Second")

    def enough(off: frozenset[str]) -> PassTrial:
        alone = off == {"First", "Other"}
        return PassTrial(alone or not off & {"First", "Second"}, tuple(n for n in ("First", "Second") if n not in off))

    found = blame_passes(enough, registered=("First", "Other", "Second"))
    assert found is not None
    assert str(found) == "Second"


def test_of_passes_that_all_have_to_be_there_the_one_that_turns_right_into_wrong_is_blamed() -> None:
    """Neither makes the fault alone; of what the first leaves behind the second does."""

    def trial(off: frozenset[str]) -> PassTrial:
        return PassTrial(not off & {"First", "Second"}, tuple(n for n in ("First", "Second") if n not in off))

    def second(first: frozenset[str], then: frozenset[str]) -> PassTrial:
        return PassTrial("First" not in first and "Second" not in then)

    registered = ("First", "Other", "Second")
    assert str(blame_passes(trial, registered=registered, staged=second)) == "Second"
    assert str(blame_passes(trial, registered=registered, staged=lambda *_: PassTrial(shows=False))) == "First + Second"


def test_a_component_that_tells_nothing_is_tried_without_all_that_there_may_be() -> None:
    """Of names that may not be known to it one acts, and one prepares it."""
    names = tuple(f"Pass{n}" for n in range(90))
    asked: list[frozenset[str]] = []

    def trial(off: frozenset[str]) -> PassTrial:
        asked.append(off)
        return PassTrial(not off & {"Pass3", "Pass70"})

    def second(first: frozenset[str], then: frozenset[str]) -> PassTrial:
        return PassTrial("Pass3" not in first and "Pass70" not in then)

    assert str(blame_passes(trial, names, names, second)) == "Pass70"
    assert len(asked) <= 60


def test_rules_stand_for_their_transformer_and_it_for_rules_of_other_names() -> None:
    whole = "Level1_RuleBasedTransformer"

    def known(off: frozenset[str]) -> PassTrial:
        return PassTrial(not off & {"Pad_Fusion", whole}, () if whole in off else (whole,))

    def new(off: frozenset[str]) -> PassTrial:
        return PassTrial(whole not in off, () if whole in off else (whole,))

    assert str(blame_passes(known)) == "Pad_Fusion"
    assert str(blame_passes(new)) == whole


ALWAYS = {"RemoveDuplicateCastTransformer", "CastFloat16Transformer", "MemcpyTransformer"}
"""What cannot be left out."""

_RELU = """<ir_version: 8, opset_import: ["": 13]> g (float[1] x) => (float[1] y, float[1] z)
<float low = {0}, float high = {6}> { i = Identity (x) r = Relu (i) y = Clip (r, low, high) z = Sigmoid (i) }"""


def _blamed(kind: type[Runner], bug: str, targets: list[str]) -> Verdict:
    with kind(resolve(targets)) as runner:
        program = Program.from_bytes((BUGS / bug / "model.onnx").read_bytes())
        inputs = unpack((BUGS / bug / "inputs.npz").read_bytes())
        watch = FaultPredicate([runner], Verdict("", Symptom.DIFFERENCE, targets[0]), program)
        verdicts, results = watch.judged(program, inputs)
        verdict = next(v for v in verdicts if v.target.startswith("onnxruntime") and not v.suspect)
        return with_pass(runner, program, inputs, verdict, results)


def test_nothing_is_blamed_where_it_shows_without_them_or_not_at_all() -> None:
    assert blame_passes(lambda off: PassTrial(shows=True, modified=tuple({"ConstantFolding"} - off))) is None
    assert blame_passes(lambda _: PassTrial(shows=False)) is None


class _Deaf(Runner):
    """Names no passes, whatever is asked: as old versions do. What is left out is left out unless ``stuck``."""

    stuck = False

    def run_as(
        self, program: Program, inputs: Mapping[str, Value], target: Target, options: Mapping[str, str | bool]
    ) -> RunResult:
        kept = {key: value for key, value in options.items() if key != "tell" and not (self.stuck and key == "off")}
        return super().run_as(program, inputs, target, kept)


class _Stuck(_Deaf):
    stuck = True


@pytest.mark.backend
@pytest.mark.parametrize(
    ("runner", "bug", "wanted"),
    [
        (_Deaf, "002-onnxruntime-transpose-matmul-vector", ("optimiser", "MatmulTransposeFusion")),
        (_Deaf, "006-onnxruntime-relu-clip-double", ("optimiser", "FuseReluClip")),
        (_Deaf, "037-onnxruntime-splittosequence-keepdims", ("kernel", "")),
        # Without optimisation it does not show, and no pass that is known is to blame: not the kernel.
        (_Stuck, "002-onnxruntime-transpose-matmul-vector", ("optimiser", "")),
    ],
)
def test_versions_that_name_no_passes(runner: type[Runner], bug: str, wanted: tuple[str, str]) -> None:
    found = _blamed(runner, bug, ["onnxruntime:disabled", "onnxruntime:extended", "reference"])
    assert (found.place, found.pass_text) == wanted


@pytest.mark.backend
def test_names_of_passes_come_from_the_library() -> None:
    """Rules show by what is left of their transformer; what no version has is not among them, nor what is not made."""
    plain = Program.from_proto(onnx.parser.parse_model(_RELU))
    asked = {"tell": "registered", "rules": ",".join([*rule_names(), "NoSuchRule"])}
    with Runner(["onnxruntime:all"]) as runner:
        (target,) = runner.targets
        ran = runner.run_as(plain, {"x": np.zeros(1, np.float32)}, target, asked)
        some = runner.run_as(plain, {"x": np.zeros(1, np.float32)}, target, {**asked, "rules": "FuseReluClip"})
    assert {"FuseReluClip", "ClipQuantRewrite", "NchwcTransformer"} <= set(ran.passes)
    assert not {"NoSuchRule", "CastChainElimination", "Level1_RuleBasedTransformer"} & set(ran.passes)
    assert set(ran.passes) <= set(known_passes()) | ALWAYS, "a pass that is new: add it to onnxruntime_passes.toml"
    # A version with rules of other names keeps their transformer.
    assert {"FuseReluClip", "Level1_RuleBasedTransformer"} <= set(some.passes)


@pytest.mark.backend
def test_rules_that_changed_the_program() -> None:
    program = Program.from_proto(onnx.parser.parse_model(_RELU))
    asked = {"tell": "modified", "rules": ",".join(rule_names())}
    with Runner(["onnxruntime:all"]) as runner:
        (target,) = runner.targets
        ran = runner.run_as(program, {"x": np.zeros(1, np.float32)}, target, asked)
        off = runner.run_as(program, {"x": np.zeros(1, np.float32)}, target, {**asked, "off": "FuseReluClip"})
    assert {"FuseReluClip", "EliminateIdentity", "Level1_RuleBasedTransformer"} <= set(ran.passes)
    assert "GemmSumFusion" not in ran.passes
    assert "EliminateIdentity" in off.passes


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
            watch = FaultPredicate([runner], Verdict("", Symptom.DIFFERENCE, "onnxruntime:basic"), program)
            verdicts, results = watch.judged(program, inputs)
            verdict = next(v for v in verdicts if v.target.startswith("onnxruntime") and not v.suspect)
            found = with_pass(runner, program, inputs, verdict, results)
            got[folder] = (found.place, found.pass_text)
    assert got == wanted


_RELUS = """<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y)
{ a = Relu (x) b = Relu (a) y = Neg (b) }"""


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("onnxsim", {}, "eliminate_consecutive_idempotent_ops"),
        ("onnxscript", {"do": "rewrite"}, "FuseSuccessiveRelu"),
        ("onnxscript", {"do": "optimize"}, "FuseSuccessiveRelu"),
    ],
)
def test_passes_of_onnxsim_and_onnxscript(name: str, options: dict[str, str], wanted: str) -> None:
    """That of two Relus in a row one is left is taken for a fault; tools are as they were after each trial."""
    tool = _tool(name)
    model = onnx.parser.parse_model(_RELUS).SerializeToString()

    def reads_input(data: bytes) -> bool:
        """Whether the Neg's Relu reads what the model is given."""
        nodes = {node.output[0]: node for node in onnx.load_model_from_string(data).graph.node}
        return nodes[nodes["y"].input[0]].input[0] == "x"

    def trial(off: frozenset[str]) -> PassTrial:
        return PassTrial(reads_input(tool.convert(model, **options, off=",".join(sorted(off)))))

    found = blame_passes(trial, tool.passes(), tool.passes())
    assert found is not None
    assert wanted in found.names
    assert len(found.names) <= 2
    assert reads_input(tool.convert(model, **options))


def test_onnxsim_names_all_optimisers_before_it_has_simplified_anything() -> None:
    with Runner(resolve(["onnxsim"])) as runner:
        named = registered(runner, runner.targets[0])
        again = registered(runner, runner.targets[0])
    assert named == again
    assert "eliminate_sequence_at_construct" in named  # its own, not onnxoptimizer's


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_passes_of_onnxslim() -> None:
    """Folding a Pad into a convolution is taken for a fault: its pattern is named."""
    tool = _tool("onnxslim")
    text = "g (float[1,1,1,1] x) => (float[1,1,3,3] y) <int64[8] p = {0,0,1,1,0,0,1,1}, float[1,1,1,1] w = {2}>"
    conv = "y = Conv <kernel_shape = [1, 1], pads = [0, 0, 0, 0]> (a, w)"
    text = f'<ir_version: 8, opset_import: ["": 17]> {text} {{ a = Pad (x, p) {conv} }}'
    model = onnx.parser.parse_model(text).SerializeToString()

    def trial(off: frozenset[str]) -> PassTrial:
        made = onnx.load_model_from_string(tool.convert(model, off=",".join(sorted(off))))
        return PassTrial("Pad" not in {node.op_type for node in made.graph.node})

    assert str(blame_passes(trial, tool.passes(), tool.passes())) == "FusionPadConv"
