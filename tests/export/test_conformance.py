"""ONNX's own cases, run on generated modules: each passes or is refused for a reason that the documentation lists."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.export.cases import COUNTED, difference, is_counted, outcomes_of
from tests.export.conformance_table import DOCUMENT, LEAST, TITLES, figures, rest, share

pytestmark = pytest.mark.conformance


def rows(lines: list[str], column: int) -> dict[tuple[str, str], int]:
    """Counts of a column of a table, by its first two columns."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {(row[0], row[1]): int(row[column]) for row in cells if row[column] not in ("0", "---", *TITLES.values())}


@pytest.mark.backend
def test_every_case_passes_or_is_refused_as_documented(framework: str) -> None:
    """``python -m benchmarks.conformance --write`` makes the document anew."""
    found = outcomes_of(framework)
    every = [o for outcomes in found.values() for o in outcomes]
    assert [f"{o.name}: {o.wrong}" for o in every if o.wrong] == []
    assert len(every) >= 1950
    assert share(every) >= LEAST[framework]
    text = DOCUMENT.read_text(encoding="utf-8").splitlines()
    assert [line for line in figures({framework: found}) if line not in text] == []
    places = [text.index(title) for title in ("## Refused, of the types above", "## Refused, with other types")]
    column = 2 + list(TITLES).index(framework)
    for counted, lines in zip((True, False), (text[places[0] + 2 : places[1] - 1], text[places[1] + 2 :]), strict=True):
        assert rows(rest({framework: found}, counted=counted), 2) == rows(lines, column)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("g (float[2] x) => (int8[2] y) { y = Cast<to = 3>(x) }", True),
        ("g (float[2] x) => (float[2] y) { z = Cast<to = 17>(x) y = Cast<to = 1>(z) }", False),
        ("g (string[2] x) => (string[2] y) { y = Identity(x) }", False),
        ("g (seq(bfloat16[2]) x) => (seq(bfloat16[2]) y) { y = Identity(x) }", True),
        ("g (seq(int4[2]) x) => (seq(int4[2]) y) { y = Identity(x) }", False),
        ('g (float[2] x) => (float[2] y) <string[1] s = {"a"}> { y = Identity(x) }', False),
    ],
)
def test_which_cases_count(text: str, counted: bool) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    assert is_counted(model) is counted
    assert len(COUNTED) == 13


@pytest.mark.unit
@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.float32([1, 2]), np.float32([1, 2.1])),
        (np.float32([1]), np.float64([1])),
        (np.float32([[1]]), np.float32([1])),
        (np.int8([1]), np.int8([2])),
        (np.float32([np.nan]), np.float32([0])),
        (np.array(["a"], object), np.array(["b"])),
        ([np.float32([1])], [np.float32([1]), np.float32([1])]),
        (None, np.float32([1])),
    ],
)
def test_what_counts_as_wrong(actual: object, expected: object) -> None:
    assert difference(actual, expected, 1e-3, 1e-7)
