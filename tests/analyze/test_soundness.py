"""Concrete runs stay within what the analysis promised: drawn calls of all operators, and the shipped seeds."""

from __future__ import annotations

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from benchmarks import analysis_truth, soundness
from irfuzz.analyze.abstract_domain.interval import INF, Range
from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.transfer_functions.transfer_table import TRANSFER
from irfuzz.analyze.transfer_functions.unary_functions import UNARY
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.spec import load_specs

ROOT = Path(__file__).parents[2]
SEEDS = tomllib.loads((ROOT / "seeds/index.toml").read_text())["seeds"]


def test_transfer_functions_cover_the_operators_of_the_seeds_and_more() -> None:
    specs = load_specs()
    assert f"It follows {len(TRANSFER)} operators" in (ROOT / "docs/analysis.md").read_text()
    assert len([op for op in TRANSFER if specs.get(op, 22) or specs.get(op, 17)]) >= 130
    unfollowed = {op for e in SEEDS for op in e["operators"]} - set(TRANSFER) - {"If", "Loop", "Scan"}
    assert unfollowed <= {
        "StringNormalizer",
        "TfIdfVectorizer",
        "SequenceMap",
        "StringConcat",
        "StringSplit",
        "LabelEncoder",
    }


@pytest.mark.property
def test_drawn_calls_of_every_operator_stay_inside() -> None:
    pytest.importorskip("onnxruntime")
    count = soundness.run(20_000, 3)
    assert not count.outside, count.outside[:5]
    assert sum(count.elements.values()) >= 20_000
    assert len(count.elements) >= 130


@pytest.mark.backend
@pytest.mark.parametrize("entry", [e for e in SEEDS if e["nodes"] <= 60], ids=lambda e: e["name"])
def test_inner_values_of_the_seeds_stay_inside(entry) -> None:
    ort = pytest.importorskip("onnxruntime")
    model = onnx.load(ROOT / "seeds" / entry["file"])
    program = Program.from_proto(model)
    given = {i["name"]: (i["low"], i["high"]) for i in entry["inputs"] if "low" in i}
    found = analyze(program, Ranges(given))
    # A call that was warned of, and what follows from it, may be anything.
    suspects = {w.output for w in (*found.warnings, *found.unjudged)}
    own = {o.name for o in model.graph.output}
    for value in program.values():
        fact = program.fact(value)
        if value.producer() is not None and value.name and value.name not in own and isinstance(fact, TensorFact):
            sizes = None if fact.shape is None else list(fact.shape)
            model.graph.output.append(onnx.helper.make_tensor_value_info(value.name, int(fact.dtype), sizes))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    checked = 0
    for seed in range(2):
        inputs = make_inputs(program, seed, ranges=given)
        for output, array in zip(session.get_outputs(), session.run(None, inputs), strict=True):
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or not array.size:
                continue
            bounds = found.ranges[output.name]
            wide = array.astype(np.float64)
            if np.isnan(wide).any():
                assert bounds.nan or suspects, (output.name, bounds)
            assert np.nanmin(wide) >= bounds.low or suspects, (output.name, np.nanmin(wide), bounds)
            assert np.nanmax(wide) <= bounds.high or suspects, (output.name, np.nanmax(wide), bounds)
            checked += 1
    assert checked >= 2


@pytest.mark.backend
def test_nothing_that_a_mutant_computes_was_safe_from_it() -> None:
    pytest.importorskip("onnxruntime")
    count = analysis_truth.mutants(12, 1, light=False)
    assert not count.unsound, count.unsound[:5]
    assert count.programs >= 6
    assert count.values > 100


@pytest.mark.backend
def test_a_wrong_range_is_told() -> None:
    program = Program.from_bytes((ROOT / "seeds/lenet5.onnx").read_bytes())
    found = analyze(program)
    found.warnings.clear()
    found.unjudged.clear()
    (output,) = program.graph.outputs
    count = analysis_truth.Count()
    analysis_truth.compare(program, found, {output.name or "": np.full((1, 10), 1e30, np.float32)}, count, "it")
    assert len(count.unsound) == 1


ENDS = (-INF, -3.4028234663852886e38, -2.0, -1.0, -1e-45, 0.0, 0.5, 1.0, 3.0, 1e10, 3.4028234663852886e38, INF)


def test_no_bound_is_nan() -> None:
    """An infinity that is rounded stays one: no operator's range may end in what is no number."""
    attrs = {"alpha": 0.5, "gamma": 1.1, "bias": 0.0, "lambd": 0.5, "min": -1.0, "max": 1.0, "approximate": "none"}
    for kind in (ir.DataType.FLOAT16, ir.DataType.FLOAT):
        form = format_of(kind)
        for op, rule in UNARY.items():
            for low, high in itertools.combinations_with_replacement(ENDS, 2):
                found = rule(Range(low, high), lambda name: attrs.get(name, 1), form)
                assert found.low <= found.high, (op, low, high, found)


def test_a_rank_that_only_the_result_has() -> None:
    """What a Scan hands to its body is known by its range alone; what the body makes of it has a rank again."""
    program = Program.from_proto(
        onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17]>
            g (double[1, 2, 3] x) => (float[1, 2, 3] y) {
                y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = b (double[1, 3] s)
                    => (float[1, 3] t) <float[1, 3] c = {1, 2, 100}> { r = Cast <to = 1> (s)  t = Mul (r, c) }> (x)
            }"""
        )
    )
    found = analyze(program, Ranges({"x": (-1.0, 2.0)})).ranges["y"]
    assert -101 < found.low <= -100
    assert 200 <= found.high < 201


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "ReduceMean", "ReduceLogSumExp"])
def test_an_empty_axis_has_ranges_too(op: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[3, 0] x) => (float[k, l] y) {{ y = {op} (x) }}"""
    found = analyze(Program.from_proto(onnx.parser.parse_model(text)), Ranges({"x": (-1.0, 2.0)}))
    assert not math.isnan(found.ranges["y"].low)
