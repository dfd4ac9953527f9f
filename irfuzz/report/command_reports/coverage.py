"""Coverage of a set of models as a table for people, as JSON, and as a page with its growth."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.execute.onnxruntime_passes import excluded
from irfuzz.report.pages.html_elements import Markup, element, together
from irfuzz.search.coverage.coverable_call_space import LEFT_OUT_KINDS, left_out
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage, Share
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.spec import load_specs

SCHEMA = 1
WIDTH, HEIGHT = 640, 320
TOPS = (0.01, 0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares at which the curves' scale may end."""

COLOURS = {"input": "#1f77b4", "parameter": "#d62728", "sequence": "#2ca02c"}

Lines = Mapping[str, tuple[int, int]]
"""Of the Python code of components by package: how many lines ran, of how many."""

Curve = Sequence[tuple[str, dict[str, float]]]
"""After each model: its name, and the share of each criterion."""


def as_json(
    coverage: Coverage,
    curve: Curve,
    skipped: int,
    fusions: Fusions,
    lines: Lines | None = None,
    levels: OperatorLevel | None = None,
    *,
    passes: PassCoverage | None = None,
    partial: bool = False,
) -> dict[str, Any]:
    """Everything, with strings, numbers, lists and objects only.

    Args:
        coverage: of the calls in the models.
        curve: the shares after each model.
        skipped: how many models could not be used.
        fusions: patterns that the models show.
        lines: of the components' Python code; ``None`` if they were not traced.
        levels: counts of operators; ``None`` if nobody counted them.
        passes: of an optimiser that fired; ``None`` likewise.
        partial: it was interrupted.
    """
    return {
        "schema": SCHEMA,
        "partial": partial,
        "opset": coverage.opset,
        "models": coverage.programs,
        "skipped": skipped,
        "criteria": {
            name: {"covered": s.covered, "total": s.total, "share": round(s.ratio, 6)}
            for name, s in coverage.shares().items()
        },
        "left_out": {**left_out(load_specs()), **{f"attributes of kind {k}": why for k, why in LEFT_OUT_KINDS.items()}},
        "operator_level": None if levels is None else levels.counts(),
        "other_domains": None if levels is None else levels.other_domains(),
        "operators": {
            op: {"input": [i.covered, i.total], "parameter": [p.covered, p.total]}
            for op, (i, p) in coverage.by_operator().items()
        },
        "fusions": {
            **{kind: {"covered": s.covered, "total": s.total} for kind, s in fusions.shares().items()},
            "missing": fusions.missing(),
        },
        "passes": None if passes is None else passes_json(passes),
        "python_lines": {name: {"ran": ran, "of": total} for name, (ran, total) in (lines or {}).items()},
        "curve": [{"model": name, **{c: round(v, 6) for c, v in shares.items()}} for name, shares in curve],
    }


def as_text(
    coverage: Coverage,
    fusions: Fusions,
    lines_of: Lines | None = None,
    levels: OperatorLevel | None = None,
    *,
    passes: PassCoverage | None = None,
    operators: bool,
) -> str:
    """A table for a terminal: a row for each criterion with what is covered, of how much, and the share.

    Args:
        coverage: of the calls in the models.
        fusions: patterns that the models show.
        lines_of: of the components' Python code; ``None`` if they were not traced.
        levels: counts of operators; ``None`` if nobody counted them.
        passes: of an optimiser that fired; ``None`` likewise.
        operators: add a row for each operator, and lists of what is missing or not in the space.
    """
    lines = [
        f"{coverage.programs} models, by the space of opset {coverage.opset}",
        "",
        f"{'criterion':<22}{'covered':>9}{'of':>8}{'share':>9}",
    ]
    for name, share in coverage.shares().items():
        label = "all together" if name == "all" else f"layer {name}"
        lines.append(f"{label:<22}{share.covered:>9}{share.total:>8}{share.ratio:>9.1%}")
    for name, share in fusions.labelled().items():
        lines.append(f"{name:<22}{share.covered:>9}{share.total:>8}{share.ratio:>9.1%}")
    for version, share in (passes.shares() if passes is not None else {}).items():
        lines.append(f"{f'passes of {version}':<28}{share.covered:>3}{share.total:>8}{share.ratio:>9.1%}")
    if levels is not None:
        lines += ["", *(f"{name:<22}{count:>9}" for name, count in levels.counts().items())]
    if levels is not None and (others := levels.other_domains()):
        told = ", ".join(f"{count} of {domain}" for domain, count in others.items())
        lines += ["", f"nodes of other domains, not counted: {told}"]
    if lines_of:
        lines += ["", f"{'Python lines':<28}{'ran':>9}{'of':>9}{'share':>9}"]
        lines += [f"{name:<28}{ran:>9}{of:>9}{ran / max(of, 1):>9.1%}" for name, (ran, of) in lines_of.items()]
    if operators:
        lines += ["", f"{'operator':<28}{'input':>12}{'parameter':>12}"]
        for op, (inputs, parameters) in coverage.by_operator().items():
            lines.append(
                f"{op:<28}{f'{inputs.covered}/{inputs.total}':>12}{f'{parameters.covered}/{parameters.total}':>12}"
            )
        lines += ["", *(f"not in the space: {name} ({why})" for name, why in left_out(load_specs()).items())]
        lines += [f"not in the space: attributes of kind {kind} ({why})" for kind, why in LEFT_OUT_KINDS.items()]
        for kind, names in fusions.missing().items():
            lines += ["", f"patterns that no model shows ({kind}): {', '.join(names) or 'none'}"]
        for version, names in (passes.missing() if passes is not None else {}).items():
            lines += ["", f"passes of {version} that no program fired: {', '.join(names) or 'none'}"]
        if passes is not None and passes.shares():
            out = (f"{name} ({why})" for name, why in excluded().items())
            lines += ["", f"passes that the CPU cannot reach: {'; '.join(out)}"]
    return "\n".join(lines)


def passes_json(passes: PassCoverage) -> dict[str, Any]:
    """By version: how many of its passes fired, of how many, each with the program that shows it, and which did not.

    ``pairs`` counts pairs of passes, and ``excluded`` says which passes the CPU cannot reach, and why.
    """
    fired, missing, pairs = passes.fired(), passes.missing(), passes.pairs()
    return {
        version: {
            "covered": share.covered,
            "total": share.total,
            "fired": fired.get(version, {}),
            "missing": missing[version],
            "pairs": pairs.get(version, 0),
            "excluded": dict(excluded()),
        }
        for version, share in passes.shares().items()
    }


def as_html(
    coverage: Coverage,
    curve: Curve,
    fusions: Fusions,
    python: Lines | None = None,
    times: Sequence[float] | None = None,
) -> str:
    """One page with the curve of each criterion over the models, or over times, that needs nothing else.

    Args:
        coverage: of the calls in the models, for the table.
        curve: the shares after each model.
        fusions: for the table.
        python: lines of the components' Python code, for the table.
        times: of the points of the curve, one each; they are spread evenly if omitted.
    """
    most = max((share for _, shares in curve for share in shares.values()), default=0.0)
    top = next(share for share in TOPS if share >= min(most, 1.0))
    lines = [
        f'<line x1="0" x2="{WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>'
        f'<text x="{WIDTH + 6}" y="{y + 4}" font-size="12">{100 * top * part / 4:.3g}%</text>'
        for part in range(5)
        for y in (HEIGHT - part * HEIGHT // 4,)
    ]
    places = range(len(curve)) if times is None else times
    first, last = (places[0], places[-1]) if curve else (0, 0)
    for name in CRITERIA:
        points = " ".join(
            f"{(place - first) / ((last - first) or 1) * WIDTH:.1f},{HEIGHT - shares[name] / top * HEIGHT:.1f}"
            for place, (_, shares) in zip(places, curve, strict=True)
        )
        lines.append(f'<polyline fill="none" stroke="{COLOURS[name]}" stroke-width="2" points="{points}"/>')
    if curve:
        lines.append(f'<text x="0" y="{HEIGHT + 18}" font-size="12">{html.escape(curve[0][0])}</text>')
        end = html.escape(curve[-1][0])
        lines.append(f'<text x="{WIDTH}" y="{HEIGHT + 18}" font-size="12" text-anchor="end">{end}</text>')
    rows = "\n".join(
        f"<tr><td>{html.escape(name)}</td><td>{s.covered}</td><td>{s.total}</td><td>{s.ratio:.1%}</td></tr>"
        for name, s in (coverage.shares() | fusions.labelled()).items()
    )
    rows += "".join(
        f"\n<tr><td>Python lines of {html.escape(name)}</td><td>{ran}</td><td>{of}</td>"
        f"<td>{ran / max(of, 1):.1%}</td></tr>"
        for name, (ran, of) in (python or {}).items()
    )
    legend = " ".join(f'<span style="color:{COLOURS[name]}">layer {name}</span>' for name in CRITERIA)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Coverage of {coverage.programs} models</title></head>
<body style="font-family: sans-serif"><h1>Coverage of {coverage.programs} models</h1>
<table><tr><th>criterion</th><th>covered</th><th>of</th><th>share</th></tr>
{rows}
</table>
<p>Share {"after each model" if times is None else "over time"}: {legend}</p>
<svg viewBox="-4 -8 {WIDTH + 50} {HEIGHT + 34}" width="{WIDTH + 50}" height="{HEIGHT + 34}">
{chr(10).join(lines)}
</svg>
{_operator_table(coverage)}</body></html>
"""


def _operator_table(coverage: Coverage) -> Markup:
    """Each operator by the criteria that count it, the least covered first."""
    heads = ("operator", "input", "of", "parameter", "of", "share")
    rows = sorted(coverage.by_operator().items(), key=lambda row: (_together(row[1]), row[0]))
    lines = (
        element(
            "tr",
            *(element("td", cell) for cell in (op, i.covered, i.total, p.covered, p.total, f"{_together((i, p)):.1%}")),
        )
        for op, (i, p) in rows
    )
    head = element("tr", *(element("th", text) for text in heads))
    return together(element("h2", "Operators by criteria"), element("table", head, *lines))


def _together(shares: tuple[Share, Share]) -> float:
    """What part of both is covered."""
    return sum(share.covered for share in shares) / max(1, sum(share.total for share in shares))
