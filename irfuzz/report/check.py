"""A check of a model enters; a table for people, JSON, and a page with localisation maps leave."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from irfuzz.localize.audee import T1, Causes
from irfuzz.localize.check import Located, Report
from irfuzz.localize.hidden import Layer, Map
from irfuzz.localize.replay import Outcome, Replayed
from irfuzz.oracle.cradle import CLASS_BINS, MAD_BINS, Inconsistency, Metric, unique

SCHEMA = 1
SHOWN = 8
"""So many entries of a list are printed; JSON and the page have all."""

LEGEND = """<p>Each box is a node with the mean absolute difference of its outputs (delta) and the rate at which it adds
to what its inputs bring (R). Orange: R above the third quartile. Red border: it differs alone, fed with the other
target's inputs.</p>"""

BOX = (190, 46)
GAP = (16, 30)


def as_json(report: Report, model: str) -> dict[str, Any]:
    """Everything."""
    return {
        "schema": SCHEMA,
        "model": model,
        "agree": report.agree,
        "base": report.base,
        "samples": report.samples,
        "targets": {t.name: t.version for t in report.targets},
        "absent_targets": dict(report.absent),
        "largest_difference": {n: _number(f) for n, f in report.farthest.items()},
        "disagreements": [
            {
                "sample": d.sample,
                "target": d.target,
                "base": d.base,
                "output": d.output,
                "distance": _number(d.distance),
                "bound": _number(d.bound),
                "what": d.what,
                "undecided": d.undecided,
            }
            for d in report.disagreements
        ],
        "inconsistencies": [
            {
                "targets": list(i.targets),
                "metric": i.metric.value,
                "threshold": i.threshold,
                "triggering": i.triggering.tolist(),
                "inconsistent": i.inconsistent,
                "pattern": dict(zip(_bins(i), i.pattern, strict=True)),
            }
            for i in report.inconsistencies
        ],
        "unique_inconsistencies": [[list(i.targets) for i in group] for group in unique(report.inconsistencies)],
        "located": [_located(found) for found in report.located],
    }


def _located(found: Located) -> dict[str, Any]:
    return {
        "base": found.base,
        "target": found.target,
        "sample": found.sample,
        "why_no_map": found.why_not,
        "map": None if found.map is None else _map(found.map),
        "causes": None if found.causes is None else _causes(found.causes),
        "closed": {} if found.unfolded is None else dict(found.unfolded.left),
        "replay": [
            {
                "name": r.name,
                "place": r.place,
                "op": r.op,
                "nodes": [r.first, r.end],
                "outcome": r.outcome.value,
                "ratio": _number(r.ratio),
                "distance": _number(r.distance),
                "bound": _number(r.bound),
                "detail": r.detail,
            }
            for r in found.replayed
        ],
    }


def _map(made: Map) -> dict[str, Any]:
    return {
        "faithful": made.faithful,
        "quartile": made.quartile,
        "layers": [
            {
                "name": layer.name,
                "place": layer.place,
                "op": layer.op,
                "inbound": list(layer.inbound),
                "delta": _number(layer.delta),
                "rate": _number(layer.rate),
                "highlighted": layer.highlighted,
            }
            for layer in made.layers
        ],
    }


def _causes(found: Causes) -> dict[str, Any]:
    return {
        "why_none": found.why_not,
        "largest_rate": _number(found.largest),
        "amplified": found.amplified,
        "sources": [
            {
                "name": s.name,
                "op": s.op,
                "rate": _number(s.rate),
                "alone": s.alone,
                "parameters": [
                    {"name": p.name, "was": p.was, "now": p.now, "rate": _number(p.rate), "why": p.why}
                    for p in s.parameters
                ],
            }
            for s in found.sources
        ],
    }


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return value if math.isfinite(value) else str(value)


def _bins(pair: Inconsistency) -> tuple[str, ...]:
    return CLASS_BINS if pair.metric is Metric.CLASS else MAD_BINS


def as_text(report: Report, model: str) -> str:
    """What a person wants to know first."""
    verdict = "agree" if report.agree else "DISAGREE"
    lines = [f"{model}: {len(report.targets)} targets {verdict} on {report.samples} inputs", ""]
    width = max(len(t.name) for t in report.targets) + 2
    lines.append(f"{'target':<{width}}{'version':<14}{'largest difference to ' + report.base}")
    for target in report.targets:
        far = report.farthest.get(target.name)
        told = "-" if far is None else f"{far:.3g}"
        lines.append(f"{target.name:<{width}}{target.version or '-':<14}{told}")
    lines += [f"{name:<{width}}cannot run it: {why}" for name, why in report.absent.items()]
    decided = [d for d in report.disagreements if not d.undecided]
    if decided:
        lines += ["", f"disagreements: {len(decided)} on {len({d.sample for d in decided})} inputs"]
        lines += [f"  input {d.sample}: {d.target} against {d.base}: {d.what}" for d in decided[:SHOWN]]
        lines += _more(len(decided))
    if count := len(report.disagreements) - len(decided):
        why = next(d.what for d in report.disagreements if d.undecided)
        lines += ["", f"undecided differences, where no target is known to be wrong: {count}; the first: {why}"]
    lines += _patterns(report)
    for found in report.located:
        lines += ["", *_located_lines(found)]
    return "\n".join(lines)


def _more(count: int) -> list[str]:
    return [f"  ... and {count - SHOWN} more"] if count > SHOWN else []


def _patterns(report: Report) -> list[str]:
    if not report.inconsistencies:
        return []
    groups = unique(report.inconsistencies)
    bad = [i for i in report.inconsistencies if i.inconsistent]
    first = report.inconsistencies[0]
    counts = f"{len(bad)} of {len(report.inconsistencies)} pairs of targets are inconsistent"
    limit = f"distance of at least {first.threshold:g}"
    lines = ["", f"{first.metric} distance to the labels: {counts} ({limit}), {len(groups)} unique"]
    if bad:
        lines.append("  " + "".join(f"{b:>9}" for b in _bins(first)) + "  pair")
        worst = sorted(bad, key=lambda i: -len(i.triggering))[:SHOWN]
        lines += ["  " + "".join(f"{n:>9}" for n in i.pattern) + "  " + " - ".join(i.targets) for i in worst]
        lines += _more(len(bad))
    return lines


def _located_lines(found: Located) -> list[str]:
    faulty = [r for r in found.replayed if r.faulty]
    lines = [f"where {found.target} and {found.base} part, on input {found.sample}:"]
    if faulty:
        lines += [f"  {'node':<44}{'operator':<24}{'over bound':>11}  alone, on the inputs it has on {found.base}"]
        lines += [f"  {_where(r)}{r.op[:22]:<24}{r.ratio:>11.3g}  {r.detail}" for r in faulty[:SHOWN]]
        lines += _more(len(faulty))
    else:
        lines.append("  no node differs alone by more than rounding")
    skipped = sum(r.outcome in (Outcome.SKIPPED, Outcome.UNSUPPORTED) for r in found.replayed)
    if skipped:
        lines.append(f"  ({skipped} nodes could not be run alone)")
    if found.unfolded is not None:
        lines += [f"  ({site} stays closed: {why})" for site, why in list(found.unfolded.left.items())[:SHOWN]]
    if found.causes is not None:
        lines += _cause_lines(found.causes)
    if found.map is None:
        return [*lines, f"  no map: {found.why_not}"]
    high = [layer for layer in found.map.ranked if layer.highlighted]
    lines += [f"  {'hidden state':<44}{'operator':<24}{'delta':>11}{'R':>13}  CRADLE's map, highest rates"]
    lines += [f"  {_where(x)}{x.op[:22]:<24}{x.delta:>11.3g}{x.rate:>13.4g}" for x in high[:SHOWN]]
    lines += _more(len(high))
    if not found.map.faithful:
        lines.append("  (reading hidden states changed the outputs: what is fused otherwise was not)")
    return lines


def _where(found: Replayed | Layer) -> str:
    """The name of a node, or its place inside a body, of which the end says more than the beginning."""
    text = found.place or found.name
    return f"{text if len(text) <= 42 else '...' + text[-39:]:<44}"


def _cause_lines(found: Causes) -> list[str]:
    if found.why_not:
        return [f"  no causes: {found.why_not}"]
    if not found.sources:
        return [f"  no causes: the largest rate is {found.largest:.4g}, and above {T1:g} one would be looked for"]
    lines = [f"  {'source':<44}{'operator':<24}{'R':>13}  with what the layer is consistent (AUDEE, algorithm 2)"]
    for source in found.sources[:SHOWN]:
        told = ", ".join(f"{p.name} {p.now} for {p.was}" + (f" ({p.why})" if p.why != "consistent" else "")
                         for p in source.parameters)  # fmt: skip
        none = "no other value of a parameter" if source.alone else "consistent alone: nodes beside it are part of it"
        lines.append(f"  {source.name[:42]:<44}{source.op[:22]:<24}{source.rate:>13.4g}  {told or none}")
    return [*lines, *_more(len(found.sources))]


def as_html(report: Report, model: str) -> str:
    """One page with the verdict, the maps as graphs and the replays, that needs nothing else."""
    title = f"{html.escape(model)}: targets {'agree' if report.agree else 'disagree'}"
    parts = [f"<h1>{title}</h1>", f"<pre>{html.escape(as_text(report, model))}</pre>"]
    for found in report.located:
        parts.append(f"<h2>{html.escape(found.target)} against {html.escape(found.base)}, input {found.sample}</h2>")
        faulty = {r.name: r for r in found.replayed if r.faulty}
        if found.map is None:
            parts.append(f"<p>No map: {html.escape(found.why_not)}</p>")
        else:
            parts += [LEGEND, _svg(found.map, faulty)]
        parts.append(_replay_table(found.replayed))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif }} td, th {{ text-align: left; padding: 2px 10px }}
svg text {{ font-size: 11px }}
</style></head>
<body>
{chr(10).join(parts)}
</body></html>
"""


def _svg(made: Map, faulty: dict[str, Replayed]) -> str:
    """The graph, a row for each depth."""
    places, rows = _places(made.layers)
    across, down = BOX[0] + GAP[0], BOX[1] + GAP[1]
    width, height = max(rows, default=1) * across, len(rows) * down
    lines: list[str] = []
    boxes: list[str] = []
    for layer in made.layers:
        column, row = places[layer.name]
        x, y = column * across + 4, row * down + 4
        for name in layer.inbound:
            from_column, from_row = places[name]
            x1, y1 = from_column * across + 4 + BOX[0] / 2, from_row * down + 4 + BOX[1]
            lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x + BOX[0] / 2}" y2="{y}" stroke="#999"/>')
        fill = "#ffb74d" if layer.highlighted else "#eef2f5"
        edge = 'stroke="#c62828" stroke-width="3"' if layer.name in faulty else 'stroke="#777"'
        label = html.escape(layer.op[:26])
        boxes.append(
            f"<g><title>{html.escape(layer.place or layer.name)}</title>"
            f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="5" fill="{fill}" {edge}/>'
            f'<text x="{x + 6}" y="{y + 17}" font-weight="bold">{label}</text>'
            f'<text x="{x + 6}" y="{y + 35}">delta {layer.delta:.3g}, R {layer.rate:.4g}</text></g>'
        )
    size = f'viewBox="0 0 {width + 8} {height}" width="{width + 8}" height="{height}"'
    return f'<svg {size} role="img">{"".join(lines)}{"".join(boxes)}</svg>'


def _places(layers: Sequence[Layer]) -> tuple[dict[str, tuple[int, int]], list[int]]:
    """Column and row of each layer, below all that feed it, and how many stand in each row."""
    places: dict[str, tuple[int, int]] = {}
    rows: list[int] = []
    for layer in layers:
        row = max((places[name][1] + 1 for name in layer.inbound), default=0)
        rows += [0] * (row + 1 - len(rows))
        places[layer.name] = (rows[row], row)
        rows[row] += 1
    return places, rows


def _replay_table(replayed: Sequence[Replayed]) -> str:
    rows = "\n".join(
        f"<tr><td>{html.escape(r.place or r.name)}</td><td>{html.escape(r.op)}</td><td>{r.outcome}</td>"
        f"<td>{r.ratio:.3g}</td><td>{r.distance:.3g}</td><td>{html.escape(r.detail)}</td></tr>"
        for r in replayed
    )
    return (
        "<table><tr><th>node</th><th>operator</th><th>alone</th><th>over bound</th><th>largest difference</th>"
        f"<th>where</th></tr>\n{rows}\n</table>"
    )
