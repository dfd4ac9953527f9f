"""Shows what two sides gave for one output: figures, maps of both and of their difference, and histograms."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irfuzz.report.pages.html_elements import Markup, element, together

SIDE = 192
"""Cells of a map along either side; of more elements a cell shows the largest of several."""

TABLE = 48
"""So many elements at most are written out in a table."""

BINS = 32

_RAMP = np.array(
    [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], np.float64
)  # viridis: even steps for every kind of eye
_ODD = (214, 39, 119)
"""Colour of NaN and infinities, which no ramp has."""


@dataclass(frozen=True, slots=True)
class BothSides:
    """One output as the target at fault and a witness gave it.

    Attributes:
        output: its name.
        got, expected: the values, of the same shape or not.
        target, witness: names of who gave them.
        bound: what difference is accepted; ``None`` if that is not known.
    """

    output: str
    got: np.ndarray
    expected: np.ndarray
    target: str
    witness: str
    bound: float | None = None


def value_section(sides: BothSides) -> Markup:
    """Figures, maps, histograms and, of few elements, a table of both sides.

    Args:
        sides: of any shapes and element types; what has no numbers gets a table alone.
    """
    got, expected = _numbers(sides.got), _numbers(sides.expected)
    parts: list[Markup | None] = [_kinds(sides)]
    if got is not None and expected is not None and got.shape == expected.shape and got.size:
        apart = _apart(got, expected)
        parts.append(_figures(sides, apart))
        if got.size > 1:
            parts.append(_maps(sides, got, expected, apart))
            parts.append(_histograms(sides, got, expected, apart))
    parts.append(_table(sides))
    return together(*parts)


def _numbers(array: np.ndarray) -> np.ndarray | None:
    """The elements as float64; ``None`` of text and objects. Of complex numbers it is their size."""
    if array.dtype.kind in "OUSM":
        return None
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(array) if array.dtype.kind == "c" else array).astype(np.float64)


def _apart(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How far they are from each other, element by element; infinite if only one is NaN or infinite."""
    with np.errstate(all="ignore"):
        apart = np.abs(got - expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype.name if array.dtype.kind != 'O' else 'string'}[{', '.join(map(str, array.shape))}]"


def _kinds(sides: BothSides) -> Markup:
    return element(
        "p", "Output ", element("code", sides.output), ": ", element("b", sides.target), " gave ",
        element("code", _kind(sides.got)), ", ", element("b", sides.witness), " ",
        element("code", _kind(sides.expected)), ".",
    )  # fmt: skip


def _figures(sides: BothSides, apart: np.ndarray) -> Markup:
    over = apart > (sides.bound or 0.0)
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.ndim else ()
    place = f"at [{', '.join(map(str, map(int, worst)))}]" if worst else ""
    rows = [
        ("largest difference", f"{apart.max():.6g}", place),
        ("accepted", "unknown" if sides.bound is None else f"{sides.bound:.6g}", ""),
        ("elements beyond it", f"{int(over.sum()):,}", f"of {apart.size:,} ({over.mean():.1%})"),
        ("median difference", f"{np.median(apart):.3g}", ""),
    ]
    tiles = (
        element("div", element("dt", name), element("dd", value, " ", element("small", more) if more else None))
        for name, value, more in rows
    )
    return element("dl", *tiles, class_="tiles small")


def _maps(sides: BothSides, got: np.ndarray, expected: np.ndarray, apart: np.ndarray) -> Markup:
    finite = np.concatenate([x[np.isfinite(x)] for x in (got.ravel(), expected.ravel())])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    far = apart[np.isfinite(apart)]
    most = float(far.max()) if far.size else 0.0
    pictures = [
        _map(got, low, high, f"{sides.target} gave", f"{low:.4g} to {high:.4g}"),
        _map(expected, low, high, f"{sides.witness} gave", f"{low:.4g} to {high:.4g}"),
        _map(apart, 0.0, most, "difference", f"0 to {most:.4g}"),
    ]
    odd = element("p", element("i", class_="key odd"), " NaN or infinite", class_="note")
    return together(element("div", *pictures, class_="maps"), odd if not _all_finite(got, expected, apart) else None)


def _all_finite(*arrays: np.ndarray) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)


def _map(values: np.ndarray, low: float, high: float, title: str, scale: str) -> Markup:
    cells = _cells(values)
    uri = "data:image/png;base64," + base64.b64encode(_png(_colours(cells, low, high))).decode()
    rows, columns = cells.shape
    ratio = min(4.0, max(0.25, columns / rows))
    told = f"Map of what {title}: {values.size} elements, colours from {scale}"
    return element(
        "figure",
        element("figcaption", element("b", title), element("span", scale, class_="legend")),
        element(
            "img",
            src=uri,
            alt=told,
            style=f"aspect-ratio:{ratio:.3f};width:{320 * min(1.0, ratio):.0f}px",
            width=columns,
            height=rows,
        ),
        class_="map",
    )


def _cells(values: np.ndarray) -> np.ndarray:
    """At most ``SIDE`` by ``SIDE`` cells: the last axis across, all others down; lines alone are folded."""
    flat = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(1, -1)
    if flat.shape[0] == 1 and flat.shape[1] > SIDE:
        width = int(np.ceil(np.sqrt(flat.shape[1])))
        room = np.full(width * width, np.nan)
        room[: flat.size] = flat.ravel()
        flat = room.reshape(width, width)
    for axis in (0, 1):
        size = flat.shape[axis]
        if size > SIDE:
            starts = np.unique(np.linspace(0, size, SIDE, endpoint=False).astype(int))
            flat = np.maximum.reduceat(flat, starts, axis=axis)
    return flat


def _colours(cells: np.ndarray, low: float, high: float) -> np.ndarray:
    """RGB bytes of each cell."""
    finite = np.isfinite(cells)
    with np.errstate(all="ignore"):
        part = np.where(finite, (cells - low) / (high - low if high > low else 1.0), 0.0)
    place = np.clip(part, 0, 1) * (len(_RAMP) - 1)
    below = np.minimum(place.astype(int), len(_RAMP) - 2)
    rest = (place - below)[..., None]
    colours = _RAMP[below] * (1 - rest) + _RAMP[below + 1] * rest
    return np.where(finite[..., None], colours, _ODD).astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    """An RGB picture as the bytes of a PNG file (ISO/IEC 15948)."""
    rows, columns, _ = pixels.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)  # 0: no filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _histograms(sides: BothSides, got: np.ndarray, expected: np.ndarray, apart: np.ndarray) -> Markup:
    finite = [x[np.isfinite(x)] for x in (got.ravel(), expected.ravel())]
    both = np.concatenate(finite)
    parts: list[Markup] = []
    if both.size and both.max() > both.min():
        edges = np.linspace(both.min(), both.max(), BINS + 1)
        counts = [np.histogram(x, edges)[0] for x in finite]
        parts.append(
            _bars("Values of both", counts, [sides.target, sides.witness], f"{edges[0]:.4g}", f"{edges[-1]:.4g}")
        )
    far = apart[np.isfinite(apart) & (apart > 0)]
    if far.size:
        powers = np.log10(far)
        low, high = np.floor(powers.min()), np.ceil(powers.max())
        edges = np.linspace(low, max(high, low + 1), BINS + 1)
        counts = [np.histogram(powers, edges)[0]]
        mark = None
        if sides.bound:
            mark = float((np.log10(sides.bound) - edges[0]) / (edges[-1] - edges[0]))
        ends = f"1e{edges[0]:.0f}", f"1e{edges[-1]:.0f}"
        parts.append(_bars("Differences that are not 0", counts, ["elements"], *ends, mark=mark))
    return element("div", *parts, class_="maps")


def _bars(
    title: str, counts: Sequence[np.ndarray], names: Sequence[str], low: str, high: str, mark: float | None = None
) -> Markup:
    """A histogram of one or two sides; ``mark`` is the accepted difference, as a part of the width."""
    most = max(1, *(int(c.max()) for c in counts))
    wide = 320 / BINS / len(counts)
    bars = [
        element(
            "rect", x=f"{place * 320 / BINS + side * wide:.2f}", width=f"{wide * 0.92:.2f}",
            y=f"{100 - 96 * n / most:.2f}", height=f"{96 * n / most:.2f}", class_=f"fill c{side}",
        )
        for side, row in enumerate(counts)
        for place, n in enumerate(row.tolist())
        if n
    ]  # fmt: skip
    line: list[Markup] = []
    if mark is not None and 0 <= mark <= 1:
        x = f"{mark * 320:.1f}"
        line = [element("line", x1=x, x2=x, y1=0, y2=100, class_="mark")]
    axis = [
        element("line", x1=0, x2=320, y1=100, y2=100, class_="grid"),
        element("text", low, x=0, y=116),
        element("text", high, x=320, y=116, text_anchor="end"),
    ]
    keys: list[Markup] = []
    if len(names) > 1:
        keys = [
            element("span", element("i", class_=f"key c{i}"), name, class_="legend") for i, name in enumerate(names)
        ]
    if line:
        keys.append(element("span", element("i", class_="key mark"), "accepted", class_="legend"))
    told = f"{title}: histogram from {low} to {high}, at most {most} elements in a bin"
    svg = element("svg", *bars, *axis, *line, viewBox="0 0 320 122", role="img", aria_label=told, class_="chart")
    return element("figure", element("figcaption", element("b", title), keys), svg)


def _table(sides: BothSides) -> Markup | None:
    """Elements side by side; of many the farthest from each other, and nothing if they have no order in common."""
    got, expected = sides.got, sides.expected
    if got.shape != expected.shape:
        return _lines(sides) if max(got.size, expected.size) <= TABLE else None
    first, second = _numbers(got), _numbers(expected)
    order = np.arange(got.size)
    apart = _apart(first, second).ravel() if first is not None and second is not None else None
    if got.size > TABLE:
        if apart is None:
            return None
        order = np.argsort(-apart, kind="stable")[:12]
    rows = [_row(sides, int(place), apart) for place in order]
    more = f"The {len(rows)} elements farthest from each other" if got.size > TABLE else "Every element"
    head = element(
        "tr", *(element("th", text, scope="col") for text in ("at", sides.target, sides.witness, "difference"))
    )
    table = element("table", element("caption", more), element("thead", head), element("tbody", *rows), class_="values")
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Elements")


def _row(sides: BothSides, place: int, apart: np.ndarray | None) -> Markup:
    index = [int(i) for i in np.unravel_index(place, sides.got.shape)] if sides.got.ndim else []
    got, expected = (str(x.reshape(-1)[place])[:80] for x in (sides.got, sides.expected))
    far = None if apart is None else float(apart[place])
    wrong = got != expected if far is None else far > (sides.bound or 0.0)
    cells = (str(index), got, expected, "" if far is None else f"{far:.4g}")
    return element("tr", *(element("td", cell) for cell in cells), class_="wrong" if wrong else None)


def _lines(sides: BothSides) -> Markup:
    """Both sides as text, whose shapes differ."""
    told = ((sides.target, sides.got), (sides.witness, sides.expected))
    return element("dl", *((element("dt", n), element("dd", element("code", str(a.tolist())[:600]))) for n, a in told))
