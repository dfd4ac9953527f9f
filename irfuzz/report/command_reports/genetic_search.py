"""What a genetic search found, as lines for people, as JSON, and as a folder that replays alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.execute.run_types import Target
from irfuzz.export.lowerings import LOWERINGS
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import TargetRun
from irfuzz.frontends.onnx_file import save_file
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.finding_folder_writer import HANG_SECONDS, module_files, need_manifest
from irfuzz.report.repro_scripts.full_script import ReproSpec, can_run, repro_source
from irfuzz.search.input_weight_evolution import EvolutionOutcome, EvolutionPlan, EvolutionWitness

SCHEMA = 1


def as_json(
    outcome: EvolutionOutcome,
    plan: EvolutionPlan,
    model: str,
    targets: Sequence[Target],
    folder: Path | None,
    *,
    partial: bool = False,
) -> dict[str, Any]:
    """Everything, with numbers and names only.

    Args:
        outcome: of the search.
        plan: that it followed.
        model: its name, for the reader.
        targets: that were searched, with versions.
        folder: that the witness is in; ``None`` if it was not written.
        partial: the search was interrupted.
    """
    witness = outcome.witness
    return {
        "schema": SCHEMA,
        "partial": partial,
        "model": model,
        "level": str(plan.level),
        "fitness": plan.fitness,
        "seed": plan.seed,
        "targets": {t.name: t.version for t in targets},
        "genes": outcome.genes,
        "left_out": list(outcome.left_out),
        "generations": len(outcome.best),
        "runs": outcome.runs,
        "seconds": round(outcome.seconds, 3),
        "best": [b if math.isfinite(b) else str(b) for b in outcome.best],
        "unconfirmed": outcome.unconfirmed,
        "found": None
        if witness is None
        else {
            "kind": witness.fault.kind,
            "targets": list(witness.fault.targets),
            "value": witness.fault.value,
            "shown": witness.fault.shown,
        },
        "folder": None if folder is None or witness is None else str(folder),
    }


def as_text(
    outcome: EvolutionOutcome, plan: EvolutionPlan, model: str, folder: Path | None, *, partial: bool = False
) -> str:
    """A few lines for a terminal: what was found and how to replay it, then what the search did.

    Args:
        outcome: of the search.
        plan: that it followed.
        model: its name, for the reader.
        folder: that the witness is in; ``None`` if it was not written.
        partial: the search was interrupted.
    """
    lines = ["partial: stopped before the search was over"] if partial else []
    if outcome.witness is not None:
        lines.append(f"{outcome.witness.fault.kind}: {outcome.witness.fault.shown}")
        lines += [f"    replay it with: python {folder / 'repro.py'}"] if folder is not None else []
    if outcome.unconfirmed:
        lines.append(f"{outcome.unconfirmed} faults were not seen again in new processes with the weights in the model")
    if outcome.left_out:
        lines.append(f"too many weights; these stayed as they are: {', '.join(outcome.left_out)}")
    ends = f"{outcome.best[0]:.6g} to {outcome.best[-1]:.6g}" if outcome.best else "-"
    found = "found" if outcome.witness is not None else "nothing found"
    lines.append(
        f"{model}: {found} in {len(outcome.best)} generations, {outcome.runs} "
        f"runs, {outcome.seconds:.2f} s; {outcome.genes} genes ({plan.level}), best {plan.fitness} fitness {ends}"
    )
    return "\n".join(lines)


def write_witness(witness: EvolutionWitness, targets: Sequence[Target], folder: Path) -> None:
    """Write ``model.onnx``, ``inputs.npz``, ``repro.py``, and the source that a PyTorch or TensorFlow target runs.

    There is no ``repro.py`` if a script cannot run one of the targets of the fault.

    Args:
        witness: program, inputs and fault.
        targets: of the search; those that the fault names are used.
        folder: that they are written into.

    Raises:
        UsageError: the folder cannot be written.
    """
    fault = witness.fault
    parties = [TargetRun.by(t) for name in fault.targets for t in targets if t.name == name]
    parties = [p for p in parties if can_run(p)]
    case = FailingCase(witness.program, witness.inputs)
    files = {"model.onnx": case.model, "inputs.npz": case.packed}
    for component in dict.fromkeys(p.component for p in parties if p.component in LOWERINGS):
        files.update(module_files(witness.program, component))
    if len(parties) == len(fault.targets):
        files["repro.py"] = repro_source(_scene(witness, parties, need_manifest(case))).encode()
    for name, data in files.items():
        save_file(data, folder / name)


def _scene(witness: EvolutionWitness, parties: list[TargetRun], odd_inputs: bool) -> ReproSpec:
    fault = witness.fault
    symptom = {"nan": Symptom.NAN_INF, "crash": Symptom.CRASH}.get(fault.kind, Symptom.DIFFERENCE)
    if fault.kind == "inconsistency" and "NaN" in fault.shown:
        symptom = Symptom.NAN_INF
    arrays = [*witness.inputs.values(), *(v for r in witness.results for v in r.outputs.values())]
    return ReproSpec(
        title=f"{fault.kind}: {fault.shown}",
        symptom=symptom,
        blamed=parties[0],
        witnesses=parties[1:],
        output=fault.value,
        bound=fault.largest / 2 if symptom is Symptom.DIFFERENCE else None,
        outputs=[v.name or "" for v in witness.program.graph.outputs],
        odd_inputs=odd_inputs,
        odd_types=any(isinstance(a, np.ndarray) and a.dtype.isbuiltin == 2 for a in arrays),
        seconds=HANG_SECONDS,
        alone=fault.kind == "nan",
    )
