"""Makes the text of a finding's ``report.md``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.affected_versions_text import where_text
from irfuzz.report.specification_quotes import sections_of

ABBREVIATE = 32
"""Initializers with more elements are shown by type and shape only."""

_ENDS = frozenset({Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL})
"""Whatever ONNX says of the operators, these are wrong."""

_VERSIONS, _PROGRAM = "## In which versions", "## The program"

MAX_LINES = 200
MAX_COLUMNS = 500
"""What of a program's text goes into a report; all of it is in ``model.onnx``."""


def report_text(finding: Finding) -> str:
    """Markdown that can be pasted into a bug report as it is.

    It tells the verdict, why that is expected, how to see it, what every target did, the program, and how it was made.
    Whatever comes from models and components is escaped or in code blocks.
    """
    verdict = finding.verdict
    lines = [f"# {escape(finding.title)}", ""]
    if verdict.suspect:
        lines += [f"**Suspect**: {escape(verdict.doubt or 'the evidence is too thin')}.", ""]
    lines += _summary(finding)
    lines += _reasons(finding)
    lines += ["", "## How to see it", "", "```", *_commands(finding), "```", ""]
    lines += ["It exits with 1 where the fault shows, 0 where it does not, 2 where it cannot be told.", ""]
    if finding.printed:
        lines += ["**It did not show the fault**; it printed:", "", "```", _fenced(finding.printed), "```", ""]
    lines += ["## What every target did", "", "| target | version | ended | message |", "|---|---|---|---|"]
    lines += [
        f"| {escape(r.name)} | {escape(r.version)} | {escape(r.stage)}: {escape(r.exit)} | {escape(r.error)} |"
        for r in finding.runs
    ]
    lines += versions_section(finding)
    lines += ["", _PROGRAM, "", "```", _fenced(program_text(finding.case)), "```", ""]
    lines += _origin(finding)
    return "\n".join(lines)


def versions_section(finding: Finding) -> list[str]:
    """What each version showed, as the lines of a section with a table; no lines if fewer than two versions
    were asked.
    """
    if len(finding.shown) < 2:
        return []
    words = {True: "yes", False: "no", None: "cannot be told"}
    rows = [
        f"| {escape(s.target)} | {escape(s.version)} | {words[s.shows]} | {escape(s.told)} |" for s in finding.shown
    ]
    return ["", _VERSIONS, "", "| target | version | shows | |", "|---|---|---|---|", *rows]


def report_with_versions(report: str, finding: Finding) -> str:
    """A report that was written before more versions were asked, with what they showed.

    Args:
        report: text of ``report.md``; what it says of versions already is replaced.
        finding: with the versions that were asked (``shown``).
    """
    lines = report.split("\n")
    begins = f"- {escape(finding.component)}: "
    lines = [x for x in lines if not (x.startswith(begins) and ("shows in " in x or "not in " in x))]
    if _VERSIONS in lines:
        start = lines.index(_VERSIONS)
        end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("## ")), len(lines))
        del lines[start - 1 : end - 1]
    program = lines.index(_PROGRAM) - 1 if _PROGRAM in lines else len(lines)
    lines[program:program] = versions_section(finding)
    where = where_text(finding)
    blamed = next((i for i, x in enumerate(lines) if x.startswith("- witnesses that agree")), None)
    if where and blamed is not None:
        lines.insert(blamed + 1, f"- {escape(where)}")
    return "\n".join(lines)


def _summary(finding: Finding) -> list[str]:
    verdict = finding.verdict
    lines = [
        f"- symptom: {escape(verdict.symptom)}",
        f"- blamed: {_code(verdict.target)}",
        f"- witnesses that agree with each other: {', '.join(map(_code, verdict.witnesses)) or 'none'}",
    ]
    if verdict.output:
        lines.append(f"- output: {_code(verdict.output)}")
    if verdict.distance is not None:
        accepted = "" if verdict.bound is None else f", accepted {verdict.bound:.6g}"
        times = "" if verdict.ratio is None else f", {verdict.ratio:.4g} times that"
        lines.append(f"- largest difference {verdict.distance:.6g}{accepted}{times}")
    where = where_text(finding)
    if where:
        lines.append(f"- {escape(where)}")
    for known in finding.known:
        link = f" <{known.link}>" if known.link else ""
        lines.append(f"- likely known: {_code(known.id)}, {escape(known.title)}{link}")
    return lines + [f"- {escape(key)}: {escape(value)}" for key, value in verdict.told().items()]


def _reasons(finding: Finding) -> list[str]:
    """Why what is expected is right: who else says so, and what ONNX says of the operators."""
    verdict = finding.verdict
    try:
        sections = sections_of(finding.case.proto)
    except DecodeError:
        return []
    if not sections or verdict.symptom in _ENDS:
        return []
    lines = ["", "## Why that is expected", ""]
    agree = ", ".join(map(_code, verdict.witnesses))
    if agree and verdict.expected:
        lines += [f"{agree}: {escape(verdict.expected)}; got {escape(verdict.got)}.", ""]
    for section in sections:
        lines.append(f"- [{section.name}]({section.link})")
        lines += [f"  - {escape(quote)}" for quote in section.quotes]
    return lines


def _commands(finding: Finding) -> list[str]:
    """What to type; the blamed version has to be installed first if it is another than that at hand."""
    needed = next((r.requirement for r in finding.runs if r.name == finding.verdict.target), "")
    if not needed:
        return ["python repro.py"]
    words = shlex.join(needed.split())
    return ["python -m venv old", f"old/bin/pip install {_fenced(words)}", "old/bin/python repro.py"]


def _origin(finding: Finding) -> list[str]:
    trace = finding.trace
    seed: Mapping[str, Any] = trace.get("seed", {})
    lines = ["## How it was made", ""]
    lines += [f"Seed {_code(seed.get('name') or seed.get('digest') or 'unknown')}, then:", ""]
    lines += [
        f"{n}. {escape(e['mutator'])} at {_code(e['site'])}: {escape(e['detail'])}"
        for n, e in enumerate(trace.get("edits", []), 1)
    ]
    what = "The program before it was made small, and its inputs, are in `original/`; `trace.json` rebuilds it."
    if finding.verdict.cut_out:
        what += " It does not show the fault: what stands beside this part of it may excuse what comes out."
    return [*lines, "", what, ""]


def program_text(case: FailingCase) -> str:
    """ONNX's own text form, with long initializers left out; a summary if ONNX cannot print it.

    Initializers of more than ``ABBREVIATE`` elements are listed by type and shape behind it, and lines and columns are
    cut. Bytes that are no model give one line that says so.
    """
    try:
        proto = onnx.ModelProto()
        proto.CopyFrom(case.proto)
    except DecodeError as error:
        return f"# not a model: {error}"
    left_out: list[str] = []
    for tensor in list(proto.graph.initializer):
        size = 1
        for d in tensor.dims:
            size *= d
        if size > ABBREVIATE:
            kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
            left_out.append(f"# {kind}{list(tensor.dims)} {tensor.name} = ... (in model.onnx)")
            proto.graph.initializer.remove(tensor)
    try:
        text = onnx.printer.to_text(proto)
    except (RuntimeError, ValueError) as error:  # ONNX's printer does not know every type
        nodes = (f"{list(n.output)} = {n.op_type}({list(n.input)})" for n in proto.graph.node)
        text = "\n".join([f"# {error}", *nodes])
    lines = [line if len(line) <= MAX_COLUMNS else f"{line[:MAX_COLUMNS]}..." for line in text.splitlines()]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"# ... {len(lines) - MAX_LINES} more lines (in model.onnx)"]
    return "\n".join([*lines, *left_out])


def escape(text: object) -> str:
    """Text that stays text in Markdown, whatever a model or a component put into it: on one line, with a backslash
    before each character that Markdown would take for more.
    """
    flat = " ".join(str(text).split())
    for char in "\\`*_[]<>|#&~$":
        flat = flat.replace(char, f"\\{char}")
    return flat


def _code(text: object) -> str:
    """Text in code style."""
    return f"`{' '.join(str(text).split()).replace('`', chr(39))}`"


def _fenced(text: str) -> str:
    return text.replace("```", "'''")
