"""A check as JSON: every key has its value, and no number is one that JSON lacks."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Target
from irfuzz.ir.program import Program
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.comparison.graph_output_distances import OutputDistance, OutputRange
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.localize.disagreement_grouping import Divergence, ExplainingIssue
from irfuzz.localize.nodes.causal_testing import CausalLayer, Causes
from irfuzz.localize.nodes.control_flow_unrolling import Unfolded
from irfuzz.localize.nodes.localization_map import LocalizationMap, MapLayer
from irfuzz.localize.nodes.responsible_parameters import ResponsibleParameter
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.oracle.cradle_distances import Inconsistency, Metric
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.check_json import CheckSetup, as_json

pytestmark = pytest.mark.unit

TARGETS = (Target("ort:a", "ort", version="1"), Target("torch:e", "torch", version="2"))
PROGRAM = Program.from_proto(
    onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }',
    ),
)
LOCATED = Located(
    "ort:a",
    "torch:e",
    1,
    LocalizationMap(
        (MapLayer("a", "Conv", ("x",), 0.5, 0.0, math.inf, highlighted=True, place="p"),), 3.0, faithful=True
    ),
    (Replayed(1, 3, "n", "Conv", ReplayOutcome.DIFFERS, math.inf, 0.5, 0.25, "at 0", place="p"),),
    causes=Causes(
        (
            CausalLayer(
                "a",
                "Conv",
                2000.0,
                alone=True,
                parameters=(ResponsibleParameter("axis", "0", "1", 0.5, "NaN"),),
            ),
        ),
        math.nan,
        amplified=True,
    ),
    unfolded=Unfolded(PROGRAM, {"loop": "no count"}),
)


def report(**more: Any) -> CheckResult:
    fields: dict[str, Any] = {
        "targets": TARGETS,
        "absent": {"tf:k": "no kernel"},
        "samples": 2,
        "wanted": 3,
        "base": "ort:a",
        "outputs": {},
        "farthest": {"torch:e": math.inf},
        "located": (LOCATED, Located("ort:a", "tf:k", 0, None, (), "no states")),
        "ranges": (
            OutputRange("y", 4, -1.0, math.inf, 0.5, 1, empty=False),
            OutputRange("z", 0, 0, 0, 0, 0, empty=True),
        ),
        "distances": (
            OutputDistance("torch:e", "y", 4, 2, 1.0, 0.5, 0.25, 0.75, sampled=True, atol=2.0, rtol=math.inf),
        ),
        "disagreements": (
            Disagreement(
                1,
                "torch:e",
                "ort:a",
                "y",
                math.inf,
                0.25,
                "it is off",
                undecided=False,
                symptom=Symptom.NAN_INF,
                also=("torch:f",),
            ),
        ),
        "divergences": (
            Divergence(
                ("torch:e",),
                "torch",
                "ort:a",
                Symptom.NAN_INF,
                "y",
                (1,),
                math.inf,
                0.25,
                "it is off",
                known=(ExplainingIssue("R1", "title", "link", "docs"),),
            ),
        ),
        "inconsistencies": (Inconsistency(("ort:a", "torch:e"), Metric.CLASS, np.array([8.0, 0.0]), 8.0),),
        "nowhere": {2: "why"},
        "witnesses": ("w",),
        "stopped": "late",
        "left_out": ("maps",),
    }
    return CheckResult(**{**fields, **more})


def test_every_key_has_its_value() -> None:
    told = as_json(report(), "m", CheckSetup("ones", ("tvm:x",)))
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    headline = told.pop("headline")
    assert headline.startswith("2 targets DISAGREE on 1 of 2 of 3 inputs")
    assert told.pop("located") == [LOCATED_JSON, {**NO_MAP, "target": "tf:k", "sample": 0}]
    assert told.pop("outputs") == OUTPUTS
    assert told.pop("causes") == [
        {
            "targets": ["torch:e"],
            "component": "torch",
            "base": "ort:a",
            "symptom": Symptom.NAN_INF.value,
            "output": "y",
            "samples": [1],
            "distance": "inf",
            "bound": 0.25,
            "what": "it is off",
            "undecided": False,
            "excused": False,
            "witness": False,
            "limit": "",
            "known": [{"id": "R1", "title": "title", "link": "link", "docs": "docs"}],
        },
    ]
    assert told.pop("disagreements") == [
        {
            "sample": 1,
            "target": "torch:e",
            "also": ["torch:f"],
            "base": "ort:a",
            "symptom": Symptom.NAN_INF.value,
            "output": "y",
            "distance": "inf",
            "bound": 0.25,
            "what": "it is off",
            "undecided": False,
        },
    ]
    assert told.pop("inconsistencies") == [
        {
            "targets": ["ort:a", "torch:e"],
            "metric": "class",
            "threshold": 8.0,
            "triggering": [0],
            "inconsistent": True,
            "pattern": {"16": 0, "15-8": 1, "7-4": 0, "3-2": 0, "1": 0, "0": 1},
        },
    ]
    assert told == {
        "schema": 1,
        "model": "m",
        "agree": False,
        "base": "ort:a",
        "samples": 2,
        "wanted_samples": 3,
        "stopped": "late",
        "inputs": "ones",
        "targets": {"ort:a": "1", "torch:e": "2"},
        "absent_targets": {"tf:k": "no kernel"},
        "not_run_targets": ["tvm:x"],
        "witnesses": ["w"],
        "largest_difference": {"torch:e": "inf"},
        "broken_rules": [],
        "accepting": [],
        "empty_outputs": ["z"],
        "runs_nowhere": {"2": "why"},
        "unclear": ["output 'z' is NaN or empty everywhere", "input 2 runs on no target", "late"],
        "left_out": ["maps"],
        "unique_inconsistencies": [[["ort:a", "torch:e"]]],
    }


NO_MAP = {"base": "ort:a", "why_no_map": "no states", "map": None, "causes": None, "closed": {}, "replay": []}
LOCATED_JSON = {
    "base": "ort:a",
    "target": "torch:e",
    "sample": 1,
    "why_no_map": "",
    "map": {
        "faithful": True,
        "quartile": 3.0,
        "layers": [
            {
                "name": "a",
                "place": "p",
                "op": "Conv",
                "inbound": ["x"],
                "delta": 0.5,
                "rate": "inf",
                "highlighted": True,
            },
        ],
    },
    "causes": {
        "why_none": "",
        "largest_rate": "nan",
        "amplified": True,
        "sources": [
            {
                "name": "a",
                "op": "Conv",
                "rate": 2000.0,
                "alone": True,
                "parameters": [{"name": "axis", "was": "0", "now": "1", "rate": 0.5, "why": "NaN"}],
            },
        ],
    },
    "closed": {"loop": "no count"},
    "replay": [
        {
            "name": "n",
            "place": "p",
            "op": "Conv",
            "nodes": [1, 3],
            "outcome": "differs",
            "ratio": "inf",
            "distance": 0.5,
            "bound": 0.25,
            "detail": "at 0",
        },
    ],
}
OUTPUTS = [
    {
        "name": "y",
        "count": 4,
        "min": -1.0,
        "max": "inf",
        "mean": 0.5,
        "not_finite": 1,
        "empty": False,
        "differences": [
            {
                "target": "torch:e",
                "count": 4,
                "apart": 2,
                "largest": 1.0,
                "mean": 0.5,
                "median": 0.25,
                "percentile_99": 0.75,
                "sampled": True,
                "smallest_atol": 2.0,
                "smallest_rtol": "inf",
            },
        ],
    },
    {"name": "z", "count": 0, "min": 0, "max": 0, "mean": 0, "not_finite": 0, "empty": True, "differences": []},
]
