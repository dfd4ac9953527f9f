"""A stored finding enters, the text of its ``report.md`` leaves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from irfuzz.report.reason import sections_of
from irfuzz.report.where import where_text
from irfuzz.store.database import FindingRow

ABBREVIATE = 32
"""Initializers with more elements are shown by type and shape only."""

MAX_LINES = 200
MAX_COLUMNS = 500
"""What of a program's text goes into a report; all of it is in ``model.onnx``."""


def report_text(row: FindingRow) -> str:
    """Markdown that can be pasted into a bug report as it is."""
    verdict: Mapping[str, Any] = json.loads(row.verdict)
    all_runs: list[Mapping[str, Any]] = json.loads(row.runs)
    runs = [r for r in all_runs if "target" in r]
    lines = [f"# {escape(row.title)}", ""]
    if row.suspect:
        lines += [f"**Suspect**: {escape(verdict['evidence'].get('suspect', 'the evidence is too thin'))}.", ""]
    lines += _summary(row, verdict)
    lines += _reasons(row, verdict)
    lines += ["", "## How to see it", "", "```", *_commands(row, runs), "```", ""]
    lines += ["It exits with 1 where the fault shows, 0 where it does not, 2 where it cannot be told.", ""]
    for told in (str(r["repro.py"]) for r in all_runs if "repro.py" in r):
        lines += ["**It did not show the fault**; it printed:", "", "```", _fenced(told), "```", ""]
    lines += ["## What every target did", "", "| target | version | ended | message |", "|---|---|---|---|"]
    lines += [
        f"| {escape(r['target'])} | {escape(r['version'])} | {escape(r['stage'])}: {escape(r['exit'])} "
        f"| {escape(r['error'])} |"
        for r in runs
    ]
    shown = verdict.get("shown", [])
    if len(shown) > 1:
        lines += ["", "## In which versions", "", "| target | version | shows | |", "|---|---|---|---|"]
        words = {True: "yes", False: "no", None: "cannot be told"}
        lines += [
            f"| {escape(s['target'])} | {escape(s['version'])} | {words[s['shows']]} | {escape(s['told'])} |"
            for s in shown
        ]
    lines += ["", "## The program", "", "```", _fenced(program_text(row.model)), "```", ""]
    lines += _origin(row)
    return "\n".join(lines)


def _summary(row: FindingRow, verdict: Mapping[str, Any]) -> list[str]:
    lines = [
        f"- symptom: {escape(row.symptom)}",
        f"- blamed: {_code(row.target)}",
        f"- witnesses that agree with each other: {', '.join(map(_code, verdict['witnesses'])) or 'none'}",
    ]
    if verdict["output"]:
        lines.append(f"- output: {_code(verdict['output'])}")
    if verdict["distance"] is not None:
        bound = verdict["bound"]
        accepted = "" if bound is None else f", accepted {bound:.6g}"
        ratio = verdict.get("ratio")
        times = "" if ratio is None else f", {ratio:.4g} times that"
        lines.append(f"- largest difference {verdict['distance']:.6g}{accepted}{times}")
    where = where_text(row.target.partition(":")[0].partition("@")[0], verdict.get("shown", []))
    if where:
        lines.append(f"- {escape(where)}")
    for known in verdict.get("known", []):
        link = f" <{known['link']}>" if known.get("link") else ""
        lines.append(f"- likely known: {_code(known['id'])}, {escape(known['title'])}{link}")
    return lines + [f"- {escape(key)}: {escape(value)}" for key, value in verdict["evidence"].items()]


def _reasons(row: FindingRow, verdict: Mapping[str, Any]) -> list[str]:
    """Why what is expected is right: who else says so, and what ONNX says of the operators."""
    try:
        sections = sections_of(onnx.load_model_from_string(row.model))
    except DecodeError:
        return []
    if not sections or row.symptom in ("crash", "hang", "memory", "protocol"):
        return []
    lines = ["", "## Why that is expected", ""]
    agree = ", ".join(map(_code, verdict["witnesses"]))
    if agree and "expected" in verdict["evidence"]:
        got = f"{agree}: {escape(verdict['evidence']['expected'])}; got {escape(verdict['evidence'].get('got', ''))}."
        lines += [got, ""]
    for section in sections:
        lines.append(f"- [{section.name}]({section.link})")
        lines += [f"  - {escape(quote)}" for quote in section.quotes]
    return lines


def _commands(row: FindingRow, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to type; the blamed version has to be installed first where it is another than that at hand."""
    needed = next((str(r.get("requirement", "")) for r in runs if r["target"] == row.target), "")
    if not needed:
        return ["python repro.py"]
    words = shlex.join(needed.split())
    return ["python -m venv old", f"old/bin/pip install {_fenced(words)}", "old/bin/python repro.py"]


def _origin(row: FindingRow) -> list[str]:
    trace: Mapping[str, Any] = json.loads(row.trace) if row.trace else {}
    seed: Mapping[str, Any] = trace.get("seed", {})
    lines = ["## How it was made", ""]
    lines += [f"Seed {_code(seed.get('name') or seed.get('digest') or 'unknown')}, then:", ""]
    lines += [
        f"{n}. {escape(e['mutator'])} at {_code(e['site'])}: {escape(e['detail'])}"
        for n, e in enumerate(trace.get("edits", []), 1)
    ]
    what = "The program before it was made small, and its inputs, are in `original/`; `trace.json` rebuilds it."
    if "cut out" in json.loads(row.verdict)["evidence"]:
        what += " It does not show the fault: what stands beside this part of it may excuse what comes out."
    return [*lines, "", what, ""]


def program_text(model: bytes) -> str:
    """ONNX's own text form, with long initializers left out; a summary where ONNX cannot print it."""
    try:
        proto = onnx.load_model_from_string(model)
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
    """Text that stays text, whatever a model or a component put into it."""
    flat = " ".join(str(text).split())
    for char in "\\`*_[]<>|#&~$":
        flat = flat.replace(char, f"\\{char}")
    return flat


def _code(text: object) -> str:
    """Text in code style."""
    return f"`{' '.join(str(text).split()).replace('`', chr(39))}`"


def _fenced(text: str) -> str:
    return text.replace("```", "'''")
