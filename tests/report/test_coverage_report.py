"""Coverage as a table and JSON: rows that are there only if somebody counted."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.report.command_reports.coverage import as_json, as_text, passes_json
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.search.coverage.pass_coverage import PassCoverage

pytestmark = pytest.mark.unit

OTHERS = (
    '<ir_version: 8, opset_import: ["" : 17, "com.b" : 1, "com.a" : 1]> g (float[2] x) => (float[2] y)'
    " { a = com.b.Op (x) b = com.a.Op (a) c = com.a.Op (b) y = Neg (c) }"
)
PLAIN = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    found = Coverage(load(17))
    found.add(sprouts()["sprout-float-3x3-17"])
    return found


@pytest.fixture(scope="module")
def passes() -> PassCoverage:
    target = Target("onnxruntime@1.31.1:all", "onnxruntime", version="1.31.1")
    found = PassCoverage()
    found.register(target, ("GeluFusionL1", "ConstantFolding", "MemcpyTransformer", "ReluFusion"))
    found.add([RunResult(target, Stage.RUN, Exit.OK, passes=("ConstantFolding", "GeluFusionL1"))], "digest")
    return found


def levels_of(text: str) -> OperatorLevel:
    levels = OperatorLevel()
    levels.add(Program.from_proto(onnx.parser.parse_model(text)))
    return levels


def rows(text: str) -> dict[str, list[str]]:
    return {line[:22].strip(): line[22:].split() for line in text.splitlines()[3:]}


def test_the_table_without_anything_else(coverage: Coverage) -> None:
    text = as_text(coverage, Fusions(), operators=False)
    assert text.splitlines()[:3] == ["1 models, by the space of opset 17", "", text.splitlines()[2]]
    shares = coverage.shares()
    labels = ["all together" if name == "all" else f"layer {name}" for name in shares]
    assert "all together" in labels
    found = rows(text)
    assert list(found) == [*labels, "pattern", "near pattern"]
    assert found["layer input"] == ["3", str(shares["input"].total), f"{shares['input'].ratio:.1%}"]


def test_rows_of_what_somebody_counted(coverage: Coverage, passes: PassCoverage) -> None:
    text = as_text(
        coverage, Fusions(), {"onnx": (3, 4), "b": (0, 0)}, levels_of(OTHERS), passes=passes, operators=False
    )
    lines = text.splitlines()
    covered = next(line for line in lines if line.startswith("passes of onnxruntime 1.31.1"))
    assert covered.split()[-3:] == ["2", "3", "66.7%"]
    place = lines.index("nodes of other domains, not counted: 2 of com.a, 1 of com.b")
    assert lines[place - 1] == ""
    assert lines[place - 6].split() == ["operator", "types", "1"]
    assert [line.split() for line in lines[-3:]] == [
        ["Python", "lines", "ran", "of", "share"], ["onnx", "3", "4", "75.0%"], ["b", "0", "0", "0.0%"],
    ]  # fmt: skip
    alone = as_text(coverage, Fusions(), None, levels_of(PLAIN), operators=False)
    assert "other domains" not in alone
    assert "Python lines" not in alone
    assert alone.splitlines()[-1].startswith("shapes and parameters")


def test_rows_of_operators_and_what_is_missing(coverage: Coverage, passes: PassCoverage) -> None:
    text = as_text(coverage, Fusions(), passes=passes, operators=True)
    lines = text.splitlines()
    (inputs, parameters) = coverage.by_operator()["Identity"]
    row = next(line for line in lines if line.startswith("Identity "))
    assert row.split()[1:] == [f"3/{inputs.total}", f"{parameters.covered}/{parameters.total}"]
    missing = Fusions().missing()
    assert f"patterns that no model shows (exact): {', '.join(missing['exact'])}" in lines
    assert "passes of onnxruntime 1.31.1 that no program fired: ReluFusion" in lines
    assert lines[-1].startswith("passes that the CPU cannot reach: ")
    assert any(line.startswith("not in the space: attributes of kind ") for line in lines)
    bare = as_text(coverage, Fusions(), passes=PassCoverage(), operators=True)
    assert "passes" not in bare.splitlines()[-1]
    assert "no program fired" not in as_text(coverage, Fusions(), operators=True)


def test_passes_for_programs(passes: PassCoverage) -> None:
    found = passes_json(passes)["onnxruntime 1.31.1"]
    assert "MemcpyTransformer" in found.pop("excluded")
    assert found == {
        "covered": 2, "total": 3, "fired": {"ConstantFolding": "digest", "GeluFusionL1": "digest"},
        "missing": ["ReluFusion"], "pairs": 1,
    }  # fmt: skip


def as_dict(coverage: Coverage, **more: Any) -> dict[str, Any]:
    return as_json(coverage, [("m", dict.fromkeys(CRITERIA, 0.12345678))], 2, Fusions(), **more)


def test_json_has_everything(coverage: Coverage, passes: PassCoverage) -> None:
    bare = as_dict(coverage)
    assert (bare["schema"], bare["partial"], bare["opset"], bare["models"], bare["skipped"]) == (1, False, 17, 1, 2)
    assert (bare["operator_level"], bare["other_domains"], bare["passes"], bare["python_lines"]) == (
        None,
        None,
        None,
        {},
    )
    assert bare["curve"] == [{"model": "m", **dict.fromkeys(CRITERIA, 0.123457)}]
    share = coverage.shares()["input"]
    assert bare["criteria"]["input"] == {"covered": 3, "total": share.total, "share": round(share.ratio, 6)}
    assert bare["operators"]["Identity"]["input"] == [3, coverage.by_operator()["Identity"][0].total]
    assert bare["fusions"]["exact"] == {"covered": 0, "total": len(bare["fusions"]["missing"]["exact"])}
    full = as_dict(coverage, lines={"onnx": (3, 4)}, levels=levels_of(OTHERS), passes=passes, partial=True)
    assert full["partial"] is True
    assert full["operator_level"]["operator types"] == 1
    assert full["other_domains"] == {"com.a": 2, "com.b": 1}
    assert full["passes"] == passes_json(passes)
    assert full["python_lines"] == {"onnx": {"ran": 3, "of": 4}}
