"""Writes findings as rows of a database and as ``finding.json``, and reads both again; nothing else does."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from irfuzz import __version__
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.findings.blame.introduced_fixed_releases import fixed_in, introduced_in
from irfuzz.findings.causes.cause_grouping import Cause, explaining, groups
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_severity import rating_of
from irfuzz.findings.finding import Finding, KnownIssue, TargetRun, VersionAnswer
from irfuzz.findings.suspect_finding_rank import Rank, rank
from irfuzz.frontends.toml_file_reading import is_list, is_table
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.database import FindingRow, Status
from irfuzz.store.npz_tensors import unpack
from irfuzz.store.shared_weight_serialization import shared_program

ABOUT = "finding.json"
"""File in a finding's folder."""

SCHEMA = 1
"""Version of ``finding.json``, and of the texts in a finding's row; rows of older campaigns do not name theirs."""

_LONG = "long"
_PRINTED = "repro.py"
"""Key of the last of a row's runs, if its script did not show the finding."""


def row_of(finding: Finding) -> FindingRow:
    """The row that is stored; ``finding_of`` is the inverse.

    Args:
        finding: whole, with models and inputs. Results are not stored, only what ``runs`` keeps of them.
    """
    verdict = finding.verdict
    about: dict[str, Any] = {**verdict.to_json(), "schema": SCHEMA, "irfuzz": __version__}
    about |= {"shown": [asdict(s) for s in finding.shown]} if finding.shown else {}
    about |= {"known": [asdict(k) for k in finding.known]}
    about |= {"cause": finding.cause.to_json()} if finding.cause is not None else {}
    about |= {"group": finding.group} if finding.group else {}
    about |= {"script": _LONG} if finding.long_script else {}
    about |= {"calls": finding.calls} if finding.calls is not None else {}
    runs = [_run_json(run) for run in finding.runs]
    return FindingRow(
        signature=finding.signature,
        symptom=verdict.symptom.value,
        target=verdict.target,
        suspect=verdict.suspect,
        title=finding.title,
        verdict=json.dumps(about),
        runs=json.dumps([*runs, {_PRINTED: finding.printed}] if finding.printed else runs),
        trace=trace_text(finding),
        model=finding.case.model,
        inputs=finding.case.packed,
        original_model=finding.original.model,
        original_inputs=finding.original.packed,
        status=finding.status.value,
        job=finding.job,
        iteration=finding.iteration,
        times=finding.times,
        number=finding.number,
        first=finding.first,
        last=finding.last,
    )


def finding_of(row: FindingRow) -> Finding:
    """Read a row; models and inputs are read when they are asked for.

    Raises:
        UsageError: another version of irfuzz wrote it, or it is damaged.
    """
    where = f"finding {row.number}"
    try:
        about: Mapping[str, Any] = json.loads(row.verdict)
        _check_schema(about, where)
        runs: Sequence[Mapping[str, Any]] = json.loads(row.runs)
        return Finding(
            Verdict.from_json(about),
            FailingCase(row.model, row.inputs),
            FailingCase(row.original_model, row.original_inputs),
            runs=tuple(_run_of(run) for run in runs if "target" in run),
            trace=json.loads(row.trace) if row.trace else {},
            signature=row.signature,
            cause=_cause_of(about),
            group=str(about.get("group", "")),
            title=row.title,
            status=Status(row.status),
            shown=tuple(VersionAnswer(**s) for s in about.get("shown", ())),
            known=tuple(KnownIssue(**k) for k in about.get("known", ())),
            long_script=about.get("script") == _LONG,
            calls=about.get("calls"),
            printed="".join(str(run[_PRINTED]) for run in runs if _PRINTED in run),
            job=row.job,
            iteration=row.iteration,
            times=row.times,
            number=row.number,
            first=row.first,
            last=row.last,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{where}: cannot be read: {type(error).__name__}: {error}") from None


def _case_in(folder: Path) -> FailingCase:
    program = shared_program((folder / "model.onnx").read_bytes(), FolderBlobs(folder))
    return FailingCase(program, unpack((folder / "inputs.npz").read_bytes(), str(folder)))


def _cause_of(about: Mapping[str, Any]) -> Cause | None:
    """The cause that is stored, if one is."""
    data = about.get("cause")
    return Cause.from_json(data) if is_table(data) else None


def is_readable(verdict: str) -> bool:
    """Whether ``explained_by`` can read the verdict of a row, which another version of irfuzz may have written."""
    try:
        _cause_of(json.loads(verdict))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    return True


def explained_by(finding: Finding, verdicts: Sequence[str]) -> tuple[int, bool] | None:
    """The place of the stored finding of another's cause (``explaining``), and whether the other is simpler.

    Args:
        finding: the other; its program is smaller, or not larger and shows the fault with less.
        verdicts: of rows.
    """
    if finding.cause is None:
        return None
    causes = [_cause_of(json.loads(text)) for text in verdicts]
    found = explaining(finding.cause, causes)
    stored = None if found is None else causes[found[0]]
    if found is None or stored is None:
        return None
    place, with_less = found
    return place, finding.cause.nodes < stored.nodes + with_less


def grouped(found: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Places of the contents of ``finding.json`` that tell of one cause (``groups``); suspects stand alone.

    Args:
        found: contents of such files, read from JSON.

    Returns:
        Groups of indices into ``found``.
    """
    return groups([None if about.get("suspect") else _cause_of(about) for about in found])


def suspect_rank(about: Mapping[str, Any]) -> Rank:
    """The rank of a suspect (``suspect_rank.rank``) by the contents of its ``finding.json``.

    Args:
        about: read from JSON.

    Returns:
        A key for sorting: what is to be looked at first is the least.
    """
    verdict = {**about.get("verdict", {}), "symptom": about["symptom"], "target": about["target"]}
    return rank(Verdict.from_json(verdict), _cause_of(about))


def with_cases(finding: Finding, row: FindingRow) -> Finding:
    """A finding that was read without models and inputs, with those of its row.

    Args:
        finding: read from a bare row.
        row: the same row, whole.

    Returns:
        A copy; bytes are decoded when they are first asked for.
    """
    original = FailingCase(row.original_model, row.original_inputs)
    return replace(finding, case=FailingCase(row.model, row.inputs), original=original)


def _check_schema(about: Mapping[str, Any], where: str) -> None:
    found = about.get("schema", SCHEMA)
    if found != SCHEMA:
        by = f", written by irfuzz {about['irfuzz']}" if "irfuzz" in about else ""
        raise UsageError(f"{where}: expected schema {SCHEMA}, got {found}{by}; this is irfuzz {__version__}")


def _run_json(run: TargetRun) -> dict[str, Any]:
    return {
        "target": run.name,
        "component": run.component,
        "version": run.version,
        "environment": run.environment,
        "requirement": run.requirement,
        "options": dict(run.options),
        "stage": run.stage,
        "exit": run.exit,
        "error": run.error,
        "answer": run.answer,
    }


def _run_of(data: Mapping[str, Any]) -> TargetRun:
    """The inverse; runs of older versions have fewer fields."""
    texts = {
        key: str(data.get(key, ""))
        for key in ("version", "environment", "requirement", "answer", "stage", "exit", "error")
    }
    return TargetRun(str(data["target"]), str(data["component"]), data.get("options", {}), **texts)


def trace_text(finding: Finding) -> str:
    """The text of ``trace.json``; empty if nothing is known of how the program was made."""
    return json.dumps(finding.trace, allow_nan=False) if finding.trace else ""


# ---- folders ----------------------------------------------------------------------------------


def about_text(finding: Finding) -> str:
    """The text of ``finding.json`` (docs/findings.md).

    Args:
        finding: signed, so that it has a title, a signature and runs.

    Returns:
        JSON without NaN and infinities, which are written as texts.
    """
    verdict, runs, rated = finding.verdict, finding.runs, rating_of(finding)
    about = {
        "schema": SCHEMA,
        "irfuzz": __version__,
        "title": finding.title,
        "signature": finding.signature,
        "symptom": verdict.symptom.value,
        "target": verdict.target,
        "suspect": verdict.suspect,
        "status": finding.status.value,
        "label": finding.label,
        "known": [asdict(k) for k in finding.known],
        "cause": None if finding.cause is None else finding.cause.to_json(),
        **({"group": finding.group} if finding.group else {}),
        "severity": rated.severity.value,
        "severity_reasons": rated.reasons,
        "verdict": verdict.to_json(),
        "versions": {r.name: r.version for r in runs},
        "environments": {r.name: r.requirement for r in runs if r.requirement},
        **_versions(finding),
        "job": finding.job,
        "iteration": finding.iteration,
    }
    return json.dumps(_plain(about), indent=1, allow_nan=False)


def about_with_versions(text: str, finding: Finding) -> str:
    """The text of a ``finding.json`` with what versions show, which was asked later.

    Args:
        text: of the file as it is; all else in it stays.
        finding: with the answers.
    """
    return json.dumps({**json.loads(text), **_versions(finding)}, indent=1, allow_nan=False)


def _versions(finding: Finding) -> dict[str, Any]:
    shown = [asdict(s) for s in finding.shown]
    return {"shown": shown, "introduced": introduced_in(finding), "fixed": fixed_in(finding)}


def _plain(data: Any) -> Any:
    """Data with NaN and infinities as text: JSON has no such numbers."""
    if is_table(data):
        return {key: _plain(value) for key, value in data.items()}
    if is_list(data):
        return [_plain(item) for item in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def read_folder(folder: Path, *, cases: bool = True) -> Finding:
    """Read a finding's folder; of what targets did it has their versions only.

    Args:
        folder: of it.
        cases: models and inputs are read, too. Without them a finding whose model breaks a rule of ONNX on purpose can
            be read, of which no program can be made.

    Raises:
        UsageError: it is none, or of another schema version.
    """
    try:
        about = json.loads((folder / ABOUT).read_text())
        if missing := {"symptom", "target", "versions", "verdict"} - set(about):
            raise UsageError(f"{folder}/{ABOUT}: expected {', '.join(sorted(missing))} too")
        _check_schema(about, f"{folder}/{ABOUT}")
        places = (folder, folder / "original")
        case, original = (_case_in(at) if cases else FailingCase(b"", b"") for at in places)
        needed: Mapping[str, str] = about.get("environments", {})
        return Finding(
            Verdict.from_json({**about["verdict"], "symptom": about["symptom"], "target": about["target"]}),
            case,
            original,
            runs=tuple(
                TargetRun(
                    name, name.partition(":")[0].partition("@")[0], version=version, requirement=needed.get(name, "")
                )
                for name, version in dict(about["versions"]).items()
            ),
            trace=_trace(folder / "trace.json"),
            signature=str(about.get("signature", "")),
            cause=_cause_of(about),
            group=str(about.get("group", "")),
            title=str(about.get("title", "")),
            status=Status(about.get("status", Status.CONFIRMED)),
            shown=tuple(VersionAnswer(**s) for s in about.get("shown", ())),
            known=tuple(KnownIssue(**k) for k in about.get("known", ())),
            label=str(about.get("label", "")),
            job=int(about.get("job", 0)),
            iteration=int(about.get("iteration", 0)),
        )
    except OSError as error:
        raise UsageError(f"{folder}: not the folder of a finding: {error.filename}: {error.strerror}") from None
    except InvalidProgram as error:
        raise UsageError(f"{folder}: no program can be made of its model: {error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder}: not the folder of a finding that can be used: {error}") from None


def label_of(folder: Path) -> str:
    """What a person has said of the finding in a folder; nothing if the folder says nothing.

    Args:
        folder: with a ``finding.json``, of which the field ``label`` is read. A file that is missing or cannot be read
            counts as one that says nothing.
    """
    try:
        about = json.loads((folder / ABOUT).read_text())
    except (OSError, ValueError):
        return ""
    return str(about.get("label", "")) if is_table(about) else ""


def _trace(path: Path) -> Mapping[str, Any]:
    """How a program was made; nothing if the file does not say."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if is_table(found) else {}
