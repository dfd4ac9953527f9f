"""The page of a check: the verdict, the localisation maps as graphs, and the replays."""

from __future__ import annotations

import html
from collections.abc import Sequence

from irfuzz.localize.check_result import CheckResult
from irfuzz.localize.nodes.localization_map import LocalizationMap, MapLayer
from irfuzz.localize.nodes.single_node_replay import Replayed
from irfuzz.report.command_reports.check_text import as_text

LEGEND = """<p>Each box is a node with the mean absolute difference of its outputs (delta) and the rate at which it adds
to what its inputs bring (R). Orange: R above the third quartile. Red border: it differs alone, fed with the other
target's inputs.</p>"""

BOX = (190, 46)
GAP = (16, 30)


def as_html(report: CheckResult, model: str) -> str:
    """One page with the verdict, the maps as graphs and the replays, that needs nothing else.

    Args:
        report: of the check.
        model: its name, which stands in the title; it is escaped, as are all names.
    """
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


def _svg(made: LocalizationMap, faulty: dict[str, Replayed]) -> str:
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


def _places(layers: Sequence[MapLayer]) -> tuple[dict[str, tuple[int, int]], list[int]]:
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
