"""A static numeric analysis as a table for people, as JSON and HTML, and its witnesses as folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.analyze.warning_examination import ExaminedWarning, WarningReport
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.export.module_file_writing import npz_of
from irfuzz.frontends.onnx_file import save_file
from irfuzz.ir.program import Program
from irfuzz.report.pages.html_elements import Markup, element
from irfuzz.report.pages.page_frame import PageAssets, page
from irfuzz.report.pages.program_graph import NodeMark, graph_data, graph_view

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


def as_html(report: WarningReport, model: str, program: Program | None = None) -> str:
    """One page with a row for each warning and each entry that is not proved, that needs nothing else.

    Args:
        report: of the analysis.
        model: its name, which stands in the title; it is escaped, as are all names.
        program: is drawn with what is said of its nodes; ``None``: no graph.
    """
    title = f"Numeric analysis of {model}"
    unknown = ", ".join(f"{op} (x{count})" for op, count in sorted(report.analysis.unknown.items())) or "none"
    counts = (
        f"{len(report.judged)} warnings; {sum(report.analysis.safe.values())} checked calls proved safe; "
        f"{len(report.analysis.unjudged)} overflows not proved; unsupported operators: {unknown}."
    )
    body = [element("section", element("h1", title), element("p", counts), class_="lead")]
    if program is not None:
        body.append(element("section", element("h2", "Where they are"), _drawing(report, model, program)))
    rows = [_warning_row(judged) for judged in report.judged]
    heads = ("status", "node", "kind", "interval", "needs", "precondition", "witness", "to mend it")
    body.append(element("section", element("h2", "Warnings"), _table(heads, rows)))
    if report.analysis.unjudged:
        unproved = [_unproved_row(warning) for warning in report.analysis.unjudged]
        heads = ("node", "kind", "interval", "needs", "why it is not proved")
        body.append(element("section", element("h2", "Not proved"), _table(heads, unproved)))
    return page(title, *body, assets=PageAssets())


def _drawing(report: WarningReport, model: str, program: Program) -> Markup:
    try:
        proto = program.to_proto()
    except InvalidProgram as error:  # of more than 2 GiB there is no such message
        return element("p", f"No graph: {error}")
    return graph_view("graph", graph_data(proto, _marks(report)), f"The program of {model}")


def _marks(report: WarningReport) -> dict[str, NodeMark]:
    """What is said of nodes, by their outputs; of several things the worst."""
    marks = {w.output: NodeMark("note", f"not proved: {w.fault.kind}") for w in report.analysis.unjudged}
    for confirmed in (False, True):
        for judged in report.judged:
            if (judged.witness is not None) is confirmed:
                kind, word = ("blamed", "confirmed") if confirmed else ("warning", "possible")
                marks[judged.warning.output] = NodeMark(kind, f"{word}: {judged.warning.fault.kind}")
    return marks


def _warning_row(judged: ExaminedWarning) -> tuple[str, ...]:
    fault, warning = judged.warning.fault, judged.warning
    return (
        "confirmed" if judged.witness is not None else "possible",
        f"{warning.op} {warning.node}",
        fault.kind,
        f"{warning.operand} in [{fault.range.low:.6g}, {fault.range.high:.6g}]",
        fault.needs,
        "; ".join(f"{p.input} in [{_told(p.low)}, {_told(p.high)}]" for p in judged.preconditions),
        judged.witness.shown if judged.witness is not None else "",
        fault.advice,
    )


def _unproved_row(warning: Alarm) -> tuple[str, ...]:
    fault = warning.fault
    interval = f"{warning.operand} in [{fault.range.low:.6g}, {fault.range.high:.6g}]"
    return f"{warning.op} {warning.node}", fault.kind, interval, fault.needs, _why(warning)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    lines = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    table = element("table", head, element("tbody", *lines))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {heads[0]}")


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
