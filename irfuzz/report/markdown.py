"""A stored finding enters, the text of its ``report.md`` leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import onnx

from irfuzz.store.database import FindingRow

ABBREVIATE = 32
"""Initializers with more elements are shown by type and shape only."""


def report_text(row: FindingRow) -> str:
    """Markdown that can be pasted into a bug report as it is."""
    verdict: Mapping[str, Any] = json.loads(row.verdict)
    runs: list[Mapping[str, Any]] = [r for r in json.loads(row.runs) if "target" in r]
    lines = [f"# {escape(row.title)}", ""]
    if row.suspect:
        lines += ["**Suspect**: the evidence is too thin to call this a finding; see *why* below.", ""]
    lines += [
        f"- symptom: {row.symptom}",
        f"- blamed: `{_code(row.target)}`",
        f"- witnesses that agree with each other: {', '.join(f'`{_code(w)}`' for w in verdict['witnesses']) or 'none'}",
    ]
    if verdict["output"]:
        lines.append(f"- output: `{_code(verdict['output'])}`")
    if verdict["distance"] is not None:
        lines.append(f"- largest difference {verdict['distance']:.6g}, accepted {verdict['bound']:.6g}")
    lines += [f"- {escape(key)}: {escape(value)}" for key, value in verdict["evidence"].items()]
    lines += ["", "## How to see it", "", "```", "python repro.py", "```", ""]
    lines += ["It exits with 1 where the fault shows, 0 where it does not, 2 where a package is missing.", ""]
    lines += ["## What every target did", "", "| target | version | ended | message |", "|---|---|---|---|"]
    lines += [
        f"| {escape(r['target'])} | {escape(r['version'])} | {escape(r['stage'])}: {escape(r['exit'])} | {escape(r['error'])} |"
        for r in runs
    ]
    lines += ["", "## The program", "", "```", _fenced(program_text(row.model)), "```", ""]
    lines += ["## How it was made", ""]
    trace = json.loads(row.trace) if row.trace else {}
    seed = trace.get("seed", {})
    lines.append(f"Seed `{_code(seed.get('name') or seed.get('digest') or 'unknown')}`, then:")
    lines.append("")
    lines += [
        f"{n}. {escape(e['mutator'])} at `{_code(e['site'])}`: {escape(e['detail'])}"
        for n, e in enumerate(trace.get("edits", []), 1)
    ]
    lines += ["", "The program before it was made small, and its inputs, are in `original/`; `trace.json` rebuilds it.", ""]
    return "\n".join(lines)


def program_text(model: bytes) -> str:
    """ONNX's own text form, with long initializers left out."""
    proto = onnx.load_model_from_string(model)
    left_out: list[str] = []
    for tensor in list(proto.graph.initializer):
        size = 1
        for d in tensor.dims:
            size *= d
        if size > ABBREVIATE:
            kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
            left_out.append(f"# {kind}{list(tensor.dims)} {tensor.name} = ... (in model.onnx)")
            proto.graph.initializer.remove(tensor)
    return "\n".join([onnx.printer.to_text(proto), *left_out])


def escape(text: object) -> str:
    """Text that stays text, whatever a model or a component put into it."""
    flat = " ".join(str(text).split())
    for char in "\\`*_[]<>|#":
        flat = flat.replace(char, f"\\{char}")
    return flat


def _code(text: object) -> str:
    return " ".join(str(text).split()).replace("`", "'")


def _fenced(text: str) -> str:
    return text.replace("```", "'''")
