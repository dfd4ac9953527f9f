"""What a genetic search tells, and the folder of its witness, whose script replays where it can run every party."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.report.command_reports import genetic_search
from irfuzz.report.command_reports.genetic_search import as_json, as_text, write_witness
from irfuzz.search.input_weight_evolution import EvolutionOutcome, EvolutionPlan, EvolutionWitness
from irfuzz.search.nan_inconsistency_fitness import EvolutionFault

pytestmark = pytest.mark.unit

REFERENCE, OTHER = Target("reference", "reference", version="1"), Target("ort:a", "onnxruntime", {"level": "disabled"})
PROGRAM = Program.from_proto(
    onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y, float[2] z)'
        " { y = Log (x) z = Neg (y) }",
    ),
)
FAULT = EvolutionFault("nan", ("reference",), "y", "y holds NaN")
PLAN = EvolutionPlan(fitness="nan", seed=7)


def witness(fault: EvolutionFault = FAULT, **outputs: np.ndarray) -> EvolutionWitness:
    run = RunResult(REFERENCE, Stage.RUN, Exit.OK, outputs=outputs)
    return EvolutionWitness(fault, PROGRAM, {"x": np.array([-1, 1], np.float32)}, (run,))


def outcome(found: EvolutionWitness | None, **more: Any) -> EvolutionOutcome:
    fields: dict[str, Any] = {"best": (1.5, math.inf), "runs": 9, "unconfirmed": 0, "seconds": 1.23456, "genes": 4}
    return EvolutionOutcome(found, **{**fields, "left_out": (), **more})


def test_json_has_everything(tmp_path: Path) -> None:
    told = as_json(outcome(witness(), unconfirmed=2, left_out=("w",)), PLAN, "m", [REFERENCE], tmp_path)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told == {
        "schema": 1, "partial": False, "model": "m", "level": str(PLAN.level), "fitness": "nan", "seed": 7,
        "targets": {"reference": "1"}, "genes": 4, "left_out": ["w"], "generations": 2, "runs": 9, "seconds": 1.235,
        "best": [1.5, "inf"], "unconfirmed": 2,
        "found": {"kind": "nan", "targets": ["reference"], "value": "y", "shown": "y holds NaN"},
        "folder": str(tmp_path),
    }  # fmt: skip
    none = as_json(outcome(None), PLAN, "m", [], tmp_path, partial=True)
    assert (none["found"], none["folder"], none["partial"]) == (None, None, True)
    assert as_json(outcome(witness()), PLAN, "m", [], None)["folder"] is None


def test_text() -> None:
    last = f"in 2 generations, 9 runs, 1.23 s; 4 genes ({PLAN.level}), best nan fitness 1.5 to inf"
    assert as_text(outcome(None), PLAN, "m", Path("out")) == f"m: nothing found {last}"
    told = as_text(outcome(witness(), unconfirmed=2, left_out=("v", "w")), PLAN, "m", Path("out"), partial=True)
    assert told.splitlines() == [
        "partial: stopped before the search was over",
        "nan: y holds NaN",
        "    replay it with: python out/repro.py",
        "2 faults were not seen again in new processes with the weights in the model",
        "too many weights; these stayed as they are: v, w",
        f"m: found {last}",
    ]
    assert as_text(outcome(witness()), PLAN, "m", None).splitlines() == ["nan: y holds NaN", f"m: found {last}"]
    assert as_text(outcome(None, best=()), PLAN, "m", None).endswith("best nan fitness -")


def written(fault: EvolutionFault, folder: Path, *targets: Target, **outputs: np.ndarray) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    write_witness(witness(fault, **outputs), targets or (REFERENCE, OTHER), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_of_a_witness(tmp_path: Path) -> None:
    files = written(FAULT, tmp_path)
    assert set(files) == {"model.onnx", "inputs.npz", "repro.py"}
    assert onnx.load_from_string(files["model.onnx"]).graph.node[0].op_type == "Log"
    assert np.load(tmp_path / "inputs.npz")["x"].tolist() == [-1, 1]
    source = files["repro.py"].decode()
    assert "nan: y holds NaN" in source
    assert "onnxruntime" not in source, "only those that the fault names are asked"


def test_sources_of_frameworks_stand_beside_it_and_no_script_without_a_party(tmp_path: Path) -> None:
    torch = Target("torch:eager", "torch")
    files = written(replace(FAULT, targets=("torch:eager",)), tmp_path, torch)
    assert set(files) == {"model.onnx", "inputs.npz", "repro.py", "torch_model.py", "torch_weights.npz"}
    odd = Target("other", "other.py:Unknown")
    assert set(written(replace(FAULT, targets=("other",)), tmp_path / "odd", odd)) == {"model.onnx", "inputs.npz"}
    pair = replace(FAULT, targets=("reference", "other"))
    assert "repro.py" not in written(pair, tmp_path / "pair", REFERENCE, odd)


@pytest.mark.parametrize(
    ("kind", "shown", "symptom", "bound"),
    [
        ("nan", "y", "nan-inf", None),
        ("crash", "y", "crash", None),
        ("inconsistency", "differs by 1", "difference", 2.0),
        ("inconsistency", "NaN against 1", "nan-inf", None),
        ("other", "NaN", "difference", 2.0),
    ],
)
def test_what_the_script_is_about(kind: str, shown: str, symptom: str, bound: float | None) -> None:
    fault = EvolutionFault(kind, ("reference", "ort:a"), "y", shown, largest=4.0)
    parties = [genetic_search.TargetRun.by(target) for target in (REFERENCE, OTHER)]
    scene = genetic_search._scene(witness(fault), parties, odd_inputs=True)
    assert (scene.title, scene.symptom.value, scene.bound) == (f"{kind}: {shown}", symptom, bound)
    assert (scene.blamed, list(scene.witnesses), scene.output, scene.outputs) == (
        parties[0],
        parties[1:],
        "y",
        ["y", "z"],
    )
    assert (scene.odd_inputs, scene.odd_types, scene.alone) == (True, False, kind == "nan")


def test_types_that_numpy_lacks_are_odd() -> None:
    import ml_dtypes

    parties = [genetic_search.TargetRun.by(REFERENCE)]
    odd = witness(FAULT, y=np.ones(2, ml_dtypes.bfloat16))
    assert genetic_search._scene(odd, parties, odd_inputs=False).odd_types
    plain = witness(FAULT, y=np.ones(2, np.float32))
    assert not genetic_search._scene(plain, parties, odd_inputs=False).odd_types
