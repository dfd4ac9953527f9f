"""Curves over time and bars of shares, drawn as SVG that needs no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irfuzz.report.pages.html_elements import Markup, element

WIDTH, HEIGHT = 340, 172
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 24
"""Room around the curves for their scales."""

POINTS = 240
"""A curve of more points is drawn with every so many of them."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One quantity over time, or over what is counted instead.

    Attributes:
        name: for the legend.
        points: seconds of the campaign, and the quantity; in the order of time.
    """

    name: str
    points: Sequence[tuple[float, float]]


def duration_text(seconds: float) -> str:
    """A time for people: ``40 s``, ``12 min``, ``3.5 h``, ``2.1 d``."""
    for size, unit in ((172800, "d"), (7200, "h"), (120, "min")):
        if seconds >= size:
            one = {"d": 86400, "h": 3600, "min": 60}[unit]
            return f"{seconds / one:.3g} {unit}"
    return f"{seconds:.0f} s"


def line_chart(
    title: str,
    curves: Sequence[Curve],
    *,
    share: bool = False,
    steps: bool = False,
    along: Callable[[float], str] = duration_text,
) -> Markup:
    """A figure with curves over time, their scales, a legend if there are several, and their last values.

    Args:
        title: what is drawn.
        curves: with a point each at least; those without are left out.
        share: they are parts of a whole, from 0 to 1, and are shown in per cent.
        steps: a quantity stays as it is until its next point.
        along: how the scale of the points' first numbers is written.
    """
    drawn = [curve for curve in curves if curve.points]
    end = max((curve.points[-1][0] for curve in drawn), default=0.0) or 1.0
    top, ticks = _scale(max((y for curve in drawn for _, y in curve.points), default=0.0), share=share)
    parts = [_grid(tick / top, number_text(tick, share=share)) for tick in ticks]
    parts += [_time(part, along(part * end)) for part in (0.0, 0.5, 1.0)]
    for place, curve in enumerate(drawn):
        parts.append(element("path", d=_path(curve.points, end, top, steps=steps), class_=f"curve c{place}"))
        x, y = curve.points[-1]
        parts.append(element("circle", cx=_x(x / end), cy=_y(y / top), r=3, class_=f"dot c{place}"))
    told = "; ".join(f"{c.name}: {number_text(c.points[-1][1], share=share)}" for c in drawn) or "nothing yet"
    svg = element(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", class_="chart",
        aria_label=f"{title} over {along(end)}. At the end {told}",
    )  # fmt: skip
    return element("figure", element("figcaption", element("b", title), _legend(drawn, share=share)), svg)


def share_bar(parts: Sequence[tuple[str, float]], label: str) -> Markup:
    """A bar whose pieces have the widths of their parts.

    Args:
        parts: class of each piece, and its size; all sizes together are the whole bar.
        label: the same in words.
    """
    whole = sum(size for _, size in parts) or 1.0
    pieces: list[Markup] = []
    at = 0.0
    for name, size in parts:
        if size > 0:
            width = max(0.4, 100 * size / whole)  # what is rare is seen, too
            pieces.append(element("rect", x=f"{at:.2f}", width=f"{width:.2f}", height=10, class_=f"bar-{name}"))
            at += width
    box = {"viewBox": f"0 0 {max(at, 100):.2f} 10", "preserveAspectRatio": "none"}
    return element("svg", *pieces, role="img", aria_label=label, class_="share", **box)


def number_text(number: float, *, share: bool = False) -> str:
    """A number for people: ``12.5%`` of a share, ``1.2k``, ``3.4M``, or whole.

    Args:
        number: not negative.
        share: it is a part of 1.
    """
    if share:
        return f"{100 * number:.3g}%"
    for size, unit in ((999_500, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e6 if unit == 'M' else 1e3):.3g}{unit}"
    return f"{number:,.0f}" if number == int(number) else f"{number:.3g}"


def _scale(highest: float, *, share: bool) -> tuple[float, list[float]]:
    """The end of the scale, and its marks."""
    if highest <= 0:
        return 1.0, [0.0, 1.0]
    step = 10 ** math.floor(math.log10(highest / 3))
    step *= next(factor for factor in (1, 2, 5, 10) if highest / (step * factor) <= 4)
    if not share:
        step = max(1.0, step)
    count = max(1, math.ceil(highest / step - 1e-9))
    return step * count, [step * place for place in range(count + 1)]


def _x(part: float) -> str:
    return f"{LEFT + part * (WIDTH - LEFT - RIGHT):.1f}"


def _y(part: float) -> str:
    return f"{HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM):.1f}"


def _path(points: Sequence[tuple[float, float]], end: float, top: float, *, steps: bool) -> str:
    kept = [*points[:: math.ceil(len(points) / POINTS)], points[-1]]
    words: list[str] = []
    for place, (x, y) in enumerate(kept):
        if steps and place:
            words.append(f"H{_x(x / end)}")
        words.append(f"{'L' if words else 'M'}{_x(x / end)} {_y(y / top)}")
    return " ".join(words)


def _grid(part: float, text: str) -> Markup:
    y = _y(part)
    return element(
        "g",
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"),
        element("text", text, x=LEFT - 6, y=y, dy="0.32em", text_anchor="end"),
    )


def _time(part: float, text: str) -> Markup:
    anchor = {0.0: "start", 1.0: "end"}.get(part, "middle")
    return element("text", text, x=_x(part), y=HEIGHT - 6, text_anchor=anchor)


def _legend(curves: Sequence[Curve], *, share: bool) -> list[Markup]:
    return [
        element(
            "span",
            element("i", class_=f"key c{place}") if len(curves) > 1 else None,
            curve.name if len(curves) > 1 else "",
            " ",
            element("output", number_text(curve.points[-1][1], share=share)),
            class_="legend",
        )
        for place, curve in enumerate(curves)
    ]
