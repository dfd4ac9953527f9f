"""A static numeric analysis as a table for people, as JSON and HTML, and its witnesses as folders."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import onnx

from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.analyze.warning_examination import ExaminedWarning, WarningReport
from irfuzz.errors import UsageError
from irfuzz.export.module_file_writing import npz_of
from irfuzz.frontends.onnx_file import save_file

SCHEMA = 1

WAYS = {
    "corner": "a corner of the ranges",
    "equal": "equal elements of what is reduced",
    "gradient": "gradients",
    "draw": "a draw",
    "step": "random steps",
    "bisection": "bisection",
}
"""How a witness was found, for people."""

REPRO = '''"""{title}

{needs}. Needs onnxruntime and numpy: prints operands and result, and exits with 1 where that is NaN or infinite.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

here = Path(__file__).parent
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(str(here / "model.onnx"), options, providers=["CPUExecutionProvider"])
inputs = dict(np.load(here / "inputs.npz"))
names = [o.name for o in session.get_outputs()]
values = dict(zip(names, session.run(names, inputs)))
for name in names:
    print(name, values[name])
result = np.asarray(values[{output!r}], dtype=np.float64)
sys.exit(int(not np.isfinite(result).all()))
'''


def as_json(report: WarningReport, model: str, *, partial: bool = False) -> dict[str, Any]:
    """Everything, with numbers and names only; bounds that are infinite are strings.

    Args:
        report: of the analysis.
        model: its name, for the reader.
        partial: the search for witnesses was interrupted.
    """
    return {
        "schema": SCHEMA,
        "partial": partial,
        "model": model,
        "seconds": round(report.seconds, 6),
        "searched": report.searched,
        "unguided": report.unguided,
        "warnings": [_entry(j) for j in report.judged],
        "unproved": [_plain(w) for w in report.analysis.unjudged],
        "safe": dict(sorted(report.analysis.safe.items())),
        "unsupported": dict(sorted(report.analysis.unknown.items())),
    }


def _plain(warning: Alarm) -> dict[str, Any]:
    fault = warning.fault
    return {
        "node": warning.node,
        "op": warning.op,
        "output": warning.output,
        "kind": fault.kind,
        "operand": warning.operand,
        "low": _number(fault.range.low),
        "high": _number(fault.range.high),
        "needs": fault.needs,
        "advice": fault.advice,
        "depends_on": list(warning.inputs),
    }


def _entry(judged: ExaminedWarning) -> dict[str, Any]:
    witness = judged.witness
    return {
        **_plain(judged.warning),
        "status": "confirmed" if witness is not None else "unconfirmed",
        "preconditions": [{"input": p.input, "low": p.low, "high": p.high} for p in judged.preconditions],
        "witness": None if witness is None else {"shown": witness.shown, "runs": witness.runs, "way": witness.way},
        "undecided": judged.undecided,
    }


def _number(number: float) -> float | str:
    """JSON has no infinities."""
    return number if abs(number) < float("inf") else str(number)


def as_text(report: WarningReport, model: str, *, partial: bool = False) -> str:
    """A table by severity, for a terminal: each warning with its interval, witness, preconditions and advice, then
    counts.

    Args:
        report: of the analysis.
        model: its name, for the reader.
        partial: the search for witnesses was interrupted.
    """
    lines: list[str] = []
    if partial:
        of = f"{report.searches} of {len(report.judged)} warnings"
        lines.append(f"partial: stopped after a search for witnesses of {of}")
    for judged in report.judged:
        warning, fault = judged.warning, judged.warning.fault
        status = "confirmed" if judged.witness is not None else "possible"
        lines.append(f"{status}: {fault.kind} in {warning.op} {warning.node!r}: needs {fault.needs}")
        lines.append(f"    {warning.operand} is in [{fault.range.low:.6g}, {fault.range.high:.6g}]" + _nan(judged))
        if judged.witness is not None:
            lines.append(f"    witness (by {WAYS[judged.witness.way]}): {judged.witness.shown}")
        if judged.undecided:
            lines.append(f"    undecided: {judged.undecided}")
        if warning.inputs:
            lines.append(f"    depends on {', '.join(warning.inputs)}")
        lines += [f"    safe with {p.input} in [{_told(p.low)}, {_told(p.high)}]" for p in judged.preconditions]
        lines.append(f"    to mend it: {fault.advice}")
    lines += [f"unproved: {w.fault.kind} in {w.op} {w.node!r}: {_why(w)}" for w in report.analysis.unjudged[:20]]
    if len(report.analysis.unjudged) > 20:
        lines.append(f"unproved: {len(report.analysis.unjudged) - 20} more")
    for op, count in sorted(report.analysis.unknown.items()):
        lines.append(f"unsupported: {op} (x{count}): its results were taken as anything")
    if report.unguided and any(j.witness is None for j in report.judged):
        lines.append(f"witnesses were looked for without gradients: {report.unguided}")
    confirmed = sum(j.witness is not None for j in report.judged)
    lines.append(
        f"{model}: {len(report.judged)} warnings ({confirmed} confirmed), {sum(report.analysis.safe.values())} checked "
        f"calls proved safe, {len(report.analysis.unjudged)} overflows not proved, {report.seconds:.2f} s"
    )
    return "\n".join(lines)


def _told(number: float) -> str:
    """A bound for people; of whole numbers every digit counts."""
    if number.is_integer() and abs(number) < 1e15:
        return f"{number:.0f}"
    short = f"{number:.6g}"
    return short if float(short) == number else repr(number)  # rounded, it would lie outside of what is proved


def _nan(judged: ExaminedWarning) -> str:
    return " or NaN" if judged.warning.fault.range.nan else ""


def _why(warning: Alarm) -> str:
    if warning.fault.loose:
        return f"nothing is said of {', '.join(warning.inputs) or 'its inputs'}; give --range"
    return "its bounds come from many operations and are seldom attained"


def as_html(report: WarningReport, model: str) -> str:
    """One page with a row for each warning, that needs nothing else.

    Args:
        report: of the analysis.
        model: its name, which stands in the title; it is escaped, as are all names.
    """
    rows: list[str] = []
    for judged in report.judged:
        fault, warning = judged.warning.fault, judged.warning
        cells = (
            "confirmed" if judged.witness is not None else "possible",
            f"{warning.op} {warning.node}",
            fault.kind,
            f"{warning.operand} in [{fault.range.low:.6g}, {fault.range.high:.6g}]",
            fault.needs,
            "; ".join(f"{p.input} in [{_told(p.low)}, {_told(p.high)}]" for p in judged.preconditions),
            judged.witness.shown if judged.witness is not None else "",
            fault.advice,
        )
        rows.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    head = ("status", "node", "kind", "interval", "needs", "precondition", "witness", "to mend it")
    title = html.escape(f"Numeric analysis of {model}")
    unknown = ", ".join(f"{op} (x{count})" for op, count in sorted(report.analysis.unknown.items())) or "none"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif }}
table {{ border-collapse: collapse }}
td, th {{ border: 1px solid #bbb; padding: 4px }}
</style>
</head><body><h1>{title}</h1>
<p>{len(report.judged)} warnings; {sum(report.analysis.safe.values())} checked calls proved safe;
{len(report.analysis.unjudged)} overflows not proved; unsupported operators: {html.escape(unknown)}.</p>
<table><tr>{"".join(f"<th>{h}</th>" for h in head)}</tr>
{chr(10).join(rows)}
</table></body></html>
"""


def write_witnesses(report: WarningReport, folder: Path) -> list[Path]:
    """A folder for each confirmed warning with its model, inputs and ``repro.py``.

    Args:
        report: of the analysis.
        folder: is made if it is missing; the new ones in it are called such as ``000-log-domain``.

    Returns:
        The new folders, in the order of the warnings.

    Raises:
        UsageError: a file cannot be written.
    """
    made: list[Path] = []
    for index, judged in enumerate(j for j in report.judged if j.witness is not None):
        witness, warning = judged.witness, judged.warning
        assert witness is not None
        place = folder / f"{index:03d}-{warning.op.lower()}-{warning.fault.kind}"
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{place}: cannot be made: {error.strerror}") from None
        save_file(_loadable(witness.probe.program.to_proto()), place / "model.onnx")
        save_file(npz_of(dict(witness.inputs)), place / "inputs.npz")
        title = f"{warning.op}: {warning.fault.kind}; {witness.shown}".replace('"""', "'''").replace("\\", "/")
        text = REPRO.format(title=title, needs=warning.fault.needs.capitalize(), output=warning.output)
        save_file(text.encode(), place / "repro.py")
        made.append(place)
    return made


def _loadable(proto: onnx.ModelProto) -> bytes:
    return proto.SerializeToString(deterministic=True)
