"""Writes a finding's folder, whole or not at all, and replays folders in fresh processes."""

from __future__ import annotations

import io
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from irfuzz.errors import InternalError, InvalidProgram, Unsupported
from irfuzz.execute.adapters.input_shape_freezing import settled
from irfuzz.execute.adapters.plugin import allowed_to
from irfuzz.execute.adapters.tool_made_model_runs import BEFORE
from irfuzz.execute.run_types import Exit, Stage
from irfuzz.export.lowerings import LOWERINGS
from irfuzz.export.module_file_writing import npz_of
from irfuzz.findings.codec import ABOUT, about_text, trace_text
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.findings.output_literals import element_place
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.finding_markdown import report_text
from irfuzz.report.plugin_module_copies import copies_of
from irfuzz.report.repro_scripts import two_form_script
from irfuzz.report.repro_scripts.framework_call_script import calls_in, calls_source, form_of
from irfuzz.report.repro_scripts.full_script import ReproSpec, can_run, kind_of_tool, repro_source
from irfuzz.report.repro_scripts.shared_weight_links import is_linked, reading_links, write_weights
from irfuzz.report.repro_scripts.short_script import LINES, one_file_source, short_source
from irfuzz.report.repro_scripts.tool_templates import files_of
from irfuzz.report.script_replay import IMPORTS, WORKER, replays
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.database import Status
from irfuzz.store.model_blob_packing import pack_model, write_model
from irfuzz.store.npz_tensors import MANIFEST, pack

MODEL, ORIGINAL = "model.onnx", "original/model.onnx"
"""The program, and it before it was made small."""

VALUES, KEPT_ELEMENTS = "values.npz", 1 << 18
"""What the target at fault and a witness gave for the output in question, if it has no more elements than that."""

WEIGHTS, SCRIPTS = "_weights.npz", ("repro.py", "compare.py")
"""Ending of the arrays beside a model as source, and what runs it."""

HANG_SECONDS = 30.0
"""A run in a process of its own that takes longer hangs; its imports count."""

MEMORY = 4 << 30
"""Bytes: what a run may take, its imports included, where the finding is that it takes too much."""

WITNESSES = 2
"""Most that a script runs: two independent ones decide, and a short script is read."""

PRINTED = 2000
"""Characters of what a script printed in vain that are kept."""

ERROR = 40
"""Characters of an error's text by which it is known again; further on there may be names."""

_ALONE = frozenset({Symptom.CRASH, Symptom.PROTOCOL})
"""Symptoms that need no witness."""


_LONG = frozenset({Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL})
"""Symptoms that no short script tells."""


def write_bundle(folder: Path, finding: Finding, *, blobs: FolderBlobs | None = None) -> None:
    """Write ``model.onnx``, ``inputs.npz``, ``repro.py``, ``report.md`` and what belongs to them (docs/findings.md).

    An older folder of that name is replaced once the new one is complete. Nothing is left behind if the writing
    fails. If ``blobs`` are given, large weights of the program before it was
    made small are links to them, and so are the weights of all files if there are many (``linked_weights``); a copy of
    the folder holds them itself.

    Raises:
        InternalError: the stored finding contradicts itself.
        OSError: the folder cannot be written.
    """
    files = _files(finding)
    if finding.verdict.oracle == two_form_script.ORACLE:
        blobs = None  # its script reads both forms as whole files
    linked = blobs is not None and is_linked(finding.case.model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        for name, data in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if blobs is not None and (name == ORIGINAL or (linked and name == MODEL)):
                write_model(pack_model(data, blobs), path, blobs)
            elif blobs is not None and linked and name.endswith(WEIGHTS):
                write_weights(data, path, blobs)
            elif linked and name in SCRIPTS:
                path.write_text(reading_links(data.decode()), encoding="utf-8")
            else:
                path.write_bytes(data)
        draft.chmod(0o755)
        _put(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _put(draft: Path, folder: Path) -> None:
    """Let the draft be the folder; what was there goes only afterwards, and comes back if that fails."""
    if not folder.exists():
        draft.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
    try:
        folder.rename(old / "kept")
        try:
            draft.rename(folder)
        except BaseException:
            (old / "kept").rename(folder)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _files(finding: Finding) -> dict[str, bytes]:
    """The folder's files by name."""
    files: dict[str, bytes] = {
        MODEL: finding.case.model,
        "inputs.npz": finding.case.packed,
        "report.md": report_text(finding).encode(errors="backslashreplace"),
        ORIGINAL: finding.original.model,
        "original/inputs.npz": finding.original.packed,
        "trace.json": trace_text(finding).encode(),
        ABOUT: about_text(finding).encode(),
    }
    if (values := _both_values(finding)) is not None:
        files[VALUES] = values
    blamed, witnesses = _parties(finding)
    tool = kind_of_tool(blamed)
    lowered = {name: _lowered_files(finding, name) for name in LOWERINGS if name in _components(blamed, *witnesses)}
    # Another variant of a tool says little, and its file would have to come along.
    witnesses = [w for w in witnesses if lowered.get(w.component, {"": b""}) and can_run(w) and not kind_of_tool(w)]
    copies = copies_of([blamed, *witnesses[:WITNESSES]])
    blamed, *witnesses = copies.parties
    files.update(copies.files)
    for name in _components(blamed, *witnesses):
        files.update(lowered.get(name, {}))
    if tool is not None:
        files.update(files_of(tool))
        files.update(_lowered_files(finding, tool.takes) if tool.takes in LOWERINGS else {})
    scene = _scene(finding, blamed, witnesses, copied=bool(copies.files))
    source = repro_source(scene)
    contradicts = finding.verdict.oracle == two_form_script.ORACLE
    whole = finding.long_script or contradicts
    short = None if whole else short_source(scene, finding.case) or _of_calls(finding, scene, files)
    if short is not None:
        files["compare.py"] = source.replace("python repro.py ", "python compare.py ").encode()
    files["repro.py"] = (short or source).encode()
    if contradicts:
        wanted = blamed.component if witnesses and blamed.component in LOWERINGS else ""
        before = module_files(finding.original.stored, wanted) if wanted else {}
        return two_form_script.with_both_forms(files, blamed, witnesses, before)
    return files


def one_file_script(finding: Finding) -> str | None:
    """A script of less than 40 lines that shows a finding and needs no file beside it; ``None`` if there is none.

    Args:
        finding: with what each target answered, as a campaign stores it.

    Raises:
        InternalError: the stored finding contradicts itself.
    """
    if finding.verdict.oracle == two_form_script.ORACLE:
        return None
    blamed, witnesses = _parties(finding)
    witnesses = [w for w in witnesses if not kind_of_tool(w)]
    return one_file_source(_scene(finding, blamed, witnesses[:WITNESSES], copied=False), finding.case)


def _both_values(finding: Finding) -> bytes | None:
    """An npz of the output at fault, by the names of the target at fault and of a witness, in this order.

    ``None`` if the results are not at hand, or one of the two gave no such tensor.
    """
    verdict = finding.verdict
    given = {r.target.name: r.outputs.get(verdict.output) for r in finding.results}
    fit = {n: v for n, v in given.items() if isinstance(v, np.ndarray) and v.size <= KEPT_ELEMENTS}
    witness = next((name for name in verdict.witnesses if name in fit and name != verdict.target), None)
    if witness is None or verdict.target not in fit:
        return None
    return pack({name: fit[name] for name in (verdict.target, witness)})


def _of_calls(finding: Finding, scene: ReproSpec, files: Mapping[str, bytes]) -> str | None:
    """The short script of a framework's own calls, if they are known."""
    form = form_of(scene.blamed)
    if form is None or finding.calls is None or f"{form.framework}_weights.npz" not in files:
        return None
    with np.load(io.BytesIO(files[f"{form.framework}_weights.npz"])) as members:
        weights = {name.removesuffix(".npy"): members[name] for name in members.files}
    return calls_source(scene, finding.case.proto, finding.calls, finding.case.inputs, weights)


def _components(*parties: TargetRun) -> list[str]:
    return list(dict.fromkeys(p.component for p in parties))


def _lowered_files(finding: Finding, framework: str) -> dict[str, bytes]:
    """The model as source for a framework; nothing if that cannot be made."""
    try:
        program = finding.case.stored
        # A Keras model has fixed sizes.
        return module_files(settled(program, finding.case.inputs) if framework == "keras" else program, framework)
    except InvalidProgram:
        return {}  # what was run as it stood in memory, such as a program with a wrong declaration, is kept as a model
    except Unsupported:
        if finding.component == framework:
            raise
        return {}  # that target said so, too; the others still tell


def module_files(program: Program, framework: str) -> dict[str, bytes]:
    """The files by which a script runs a program in a framework of ``LOWERINGS``: ``FRAMEWORK_model.py``, generated
    source, and ``FRAMEWORK_weights.npz``, its arrays.

    Args:
        program: stays as it is.
        framework: key of ``LOWERINGS``.

    Returns:
        Contents by file name.

    Raises:
        Unsupported: the program cannot be expressed in it.
    """
    source = LOWERINGS[framework](program)
    return {
        f"{framework}_model.py": source.source.encode(),
        f"{framework}_weights.npz": npz_of(source.arrays),
    }


def _parties(finding: Finding) -> tuple[TargetRun, list[TargetRun]]:
    """The blamed target and, best first, one witness of each component that went through, or should not have."""
    verdict = finding.verdict
    found = {r.name: r for r in finding.runs}
    if verdict.target not in found:
        raise InternalError(f"finding {finding.signature!r}: its runs lack the blamed target {verdict.target!r}")
    blamed = found[verdict.target]
    if verdict.symptom in _ALONE:
        return blamed, []
    went = {r.name for r in finding.runs if (r.stage, r.exit) == (Stage.RUN, Exit.OK)}
    if verdict.symptom is Symptom.LENIENCY:
        went = {r.name for r in finding.runs if r.exit == Exit.REJECTED}  # these are right
    chosen: dict[tuple[str, str], TargetRun] = {}
    for name in verdict.witnesses:
        if name in went and name != verdict.target:
            chosen.setdefault((found[name].component, found[name].environment), found[name])
    # Another way to run the same component says most about it; ONNX's own evaluator is at hand everywhere. What has the
    # place of the blamed one's package can only be quoted.
    tool = kind_of_tool(blamed)
    rank = {(blamed.component, blamed.environment): 0, ("reference", ""): 1}
    if tool is not None and tool.takes in LOWERINGS:
        rank[(tool.takes, "")] = 0  # what it was to convert
    worst = {blamed.component: 3}
    return blamed, sorted(
        chosen.values(), key=lambda p: rank.get((p.component, p.environment), worst.get(p.component, 2))
    )


def _scene(finding: Finding, blamed: TargetRun, witnesses: list[TargetRun], *, copied: bool) -> ReproSpec:
    graph, verdict = finding.case.proto.graph, finding.verdict
    runs, memory = _runs(verdict)
    kinds = {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
    return ReproSpec(
        title=finding.title,
        symptom=verdict.symptom,
        blamed=blamed,
        witnesses=witnesses,
        output=verdict.output,
        place=element_place(verdict.element, verdict.output),
        bound=verdict.bound,
        outputs=[v.name for v in graph.output],
        odd_inputs=need_manifest(finding.case),
        odd_types=any(kind >= onnx.TensorProto.BFLOAT16 for kind in kinds),
        seconds=HANG_SECONDS * (15 + runs) / 16,
        memory=memory,
        runs=runs,
        passes=verdict.passes,
        copied=copied,
    )


def _runs(verdict: Verdict) -> tuple[int, int]:
    """How often a script runs the model, and what memory it may take.

    A leak showed after ``runs`` of them under ``limit`` bytes beyond the imports; the script gets twice as many.
    """
    runs, limit = verdict.runs, verdict.limit or MEMORY
    if runs == 1 or verdict.symptom is not Symptom.MEMORY:
        return runs, MEMORY
    memory = min(MEMORY, limit + IMPORTS)
    return max(runs, math.ceil(2 * runs * memory / limit)), memory


def need_manifest(case: FailingCase) -> bool:
    """True unless every input is a tensor of numpy's own numbers under its own name.

    Then the arrays of ``inputs.npz`` are not the inputs themselves: a script has to put them together by the manifest
    in it.
    """
    values = case.inputs
    with np.load(io.BytesIO(case.packed), allow_pickle=False) as members:
        names = {*members.files} - {MANIFEST}
    arrays = [v for v in values.values() if isinstance(v, np.ndarray)]
    plain = len(arrays) == len(values) and all(a.dtype.isbuiltin != 2 and a.dtype.kind not in "OUSV" for a in arrays)
    return not plain or names != set(values)


def _calls(folder: Path, finding: Finding, seconds: float) -> dict[str, Any] | None:
    """The calls of a folder's source in the framework at fault; ``None`` if no script is made of them."""
    verdict = finding.verdict
    blamed, _ = _parties(finding)
    form = form_of(blamed)
    if form is None or blamed.environment or verdict.oracle == two_form_script.ORACLE or verdict.symptom in _LONG:
        return None
    there = (folder / f"{form.framework}_model.py").exists()
    calls = calls_in(folder, form.framework, seconds=seconds) if there else None
    return calls if calls is not None and len(calls["body"]) < LINES else None


def _tells_error(finding: Finding, told: str) -> bool:
    """Whether a script printed the error of the target at fault, or how it begins."""
    error = next(r.error for r in finding.runs if r.name == finding.verdict.target)
    kind, _, text = error.rpartition(BEFORE)[2].partition(": ")
    return kind in told and text[:ERROR] in told  # between them OpenVINO says where, which is not kept


def _left_to(finding: Finding) -> list[str]:
    """What a sandbox leaves to the classes of the user's that a finding's script runs."""
    classes = [(run.name, str(run.options["class"])) for run in finding.runs if "class" in run.options]
    return [word for name, source in classes for word in allowed_to(name, source)]


def write_shown(
    folder: Path,
    finding: Finding,
    *,
    seconds: float,
    python: str = sys.executable,
    until: float = math.inf,
    limits: Limits = WORKER,
) -> Finding:
    """Write a folder with a script that shows the finding: the short one, else the one that runs the witnesses.

    Args:
        folder: made, or replaced.
        finding: with what its scripts need.
        seconds: that a script may run.
        python: the interpreter of the environment that holds the blamed version.
        until: when all of them have to have ended, by ``time.monotonic``.
        limits: of their memory, beyond what a framework takes, and of files.

    Returns:
        The finding as it is to be stored: with what its last script printed if that did not show it.
    """

    def left() -> float:
        return max(0.0, min(seconds, until - time.monotonic()))

    allowed = _left_to(finding)

    def shows() -> tuple[bool, str]:
        return replays(folder, seconds=left(), python=python, limits=limits, allowed=allowed)

    write_bundle(folder, finding)
    calls = None if (folder / "compare.py").exists() else _calls(folder, finding, left())
    if calls is not None:
        finding = replace(finding, calls=calls)
        write_bundle(folder, finding)
    shown, told = shows()
    short = (folder / "compare.py").exists()
    # What is written down again may be refused for another reason.
    meant = not short or finding.verdict.symptom is not Symptom.REJECTION or _tells_error(finding, told)
    if short and not (shown and meant):
        finding = replace(finding, long_script=True)
        write_bundle(folder, finding)
        shown, told = shows()
    return finding if shown else replace(finding, status=Status.UNREPLAYED, printed=told[-PRINTED:] or "nothing")
