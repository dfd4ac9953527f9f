"""A stored finding enters, its folder leaves, whole or not at all; and a folder is replayed in a fresh process."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.errors import InternalError, Unsupported
from irfuzz.export.torch import lower
from irfuzz.ir.program import Program
from irfuzz.oracle.types import Symptom
from irfuzz.report.markdown import report_text
from irfuzz.report.repro import Party, repro_source
from irfuzz.store.database import FindingRow

SCHEMA = 1
"""Version of ``finding.json``."""

RUN_SECONDS = 60.0
"""A run that takes longer hangs, unless the finding is a hang: then a shorter time tells sooner."""

HANG_SECONDS = 30.0


def write_bundle(folder: Path, row: FindingRow) -> None:
    """Write ``model.onnx``, ``inputs.npz``, ``repro.py``, ``report.md`` and what belongs to them.

    An older folder of that name is replaced. Nothing is left behind where the writing fails.
    """
    verdict: Mapping[str, Any] = json.loads(row.verdict)
    files: dict[str, bytes] = {
        "model.onnx": row.model,
        "inputs.npz": row.inputs,
        "report.md": report_text(row).encode(),
        "original/model.onnx": row.original_model,
        "original/inputs.npz": row.original_inputs,
        "trace.json": row.trace.encode(),
        "finding.json": json.dumps(_summary(row, verdict), indent=1).encode(),
    }
    parties = _parties(row, verdict)
    if any(p.component == "torch" for p in parties):
        try:
            source = lower(Program.from_bytes(row.model))
            files["torch_model.py"] = source.source.encode()
            files["torch_weights.npz"] = _npz(source.arrays)
        except Unsupported:
            # The target itself said so, too; the others still tell.
            parties = [parties[0], *(p for p in parties[1:] if p.component != "torch")]
    files["repro.py"] = repro_source(
        row.title,
        row.symptom,
        parties[0],
        parties[1:],
        verdict["output"],
        verdict["bound"],
        HANG_SECONDS if row.symptom == Symptom.HANG else RUN_SECONDS,
        (4 << 30) if row.symptom == Symptom.MEMORY else 0,
    ).encode()
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        for name, data in files.items():
            path = draft / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _parties(row: FindingRow, verdict: Mapping[str, Any]) -> list[Party]:
    """The blamed target, then its witnesses; where it has none, every other target that went through."""
    runs = {r["target"]: r for r in json.loads(row.runs) if "target" in r}
    if row.target not in runs:
        raise InternalError(f"finding {row.signature!r}: its runs lack the blamed target {row.target!r}")
    names = [w for w in verdict["witnesses"] if w in runs and w != row.target]
    return [Party(n, runs[n]["component"], runs[n]["options"]) for n in dict.fromkeys([row.target, *names])]


def _summary(row: FindingRow, verdict: Mapping[str, Any]) -> dict[str, Any]:
    runs = [r for r in json.loads(row.runs) if "target" in r]
    return {
        "schema": SCHEMA,
        "title": row.title,
        "signature": row.signature,
        "symptom": row.symptom,
        "target": row.target,
        "suspect": row.suspect,
        "status": row.status,
        "verdict": verdict,
        "versions": {r["target"]: r["version"] for r in runs},
        "job": row.job,
        "iteration": row.iteration,
    }


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    members: dict[str, Any] = dict(arrays)
    np.savez(buffer, allow_pickle=False, **members)
    return buffer.getvalue()


def replays(folder: Path, *, seconds: float) -> tuple[bool, str]:
    """Run a folder's ``repro.py`` in a fresh process.

    Args:
        folder: made by ``write_bundle``.
        seconds: after which it is ended, and counts as not shown.

    Returns:
        Whether it exited with 1, and what it printed.
    """
    # Plug-ins are found as they were when the finding was made: from this folder and along this path.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, str(folder.resolve() / "repro.py")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=env,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        code = None
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    text = output.decode(errors="replace")
    return code == 1, text if code is not None else f"{text}\nended after {seconds} s"
