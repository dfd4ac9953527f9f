"""The page of the documentation, and the figures that it states, from outcomes of ONNX's own cases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.export.cases import KINDS, Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
MARK = "<!-- made by benchmarks/conformance.py; the text above is written by hand -->"
TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy"}

LEAST = {"torch": 0.95, "tensorflow": 0.90, "numpy": 0.95}
"""Share of the counted cases that must pass."""

Outcomes = Mapping[str, Mapping[str, Sequence[Outcome]]]
"""By framework and kind."""


def figures(outcomes: Outcomes) -> list[str]:
    """How many cases of each kind pass, as Markdown."""
    lines = [
        "| framework | kind | cases | of the types above | pass | | refused | other types | pass | refused | wrong |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, kinds in outcomes.items():
        for kind in (*KINDS, "all"):
            found = [o for k in KINDS for o in kinds[k]] if kind == "all" else kinds[kind]
            counted, others = [o for o in found if o.counted], [o for o in found if not o.counted]
            passed = sum(o.passed for o in counted)
            numbers: list[object] = [
                *(TITLES[name], kind, len(found), len(counted), passed, f"{share(found):.1%}"),
                *(sum(o.refused is not None for o in counted), len(others), sum(o.passed for o in others)),
                *(sum(o.refused is not None for o in others), sum(bool(o.wrong) for o in found)),
            ]
            lines.append("| " + " | ".join(map(str, numbers)) + " |")
    return lines


def share(found: Sequence[Outcome]) -> float:
    """Share of the counted cases that pass."""
    counted = [o for o in found if o.counted]
    return sum(o.passed for o in counted) / max(len(counted), 1)


def rest(outcomes: Outcomes, *, counted: bool) -> list[str]:
    """Refused cases by operator and reason, as Markdown."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, kinds in outcomes.items():
        for o in (o for found in kinds.values() for o in found):
            if o.refused is not None and o.counted is counted:
                reasons[_shown(*o.refused)][name].append(o.name)
    lines = ["| operator | why | " + " | ".join(TITLES[n] for n in outcomes) + " | cases |", "|---|---|---|---|---|"]
    for (op, why), by in sorted(reasons.items()):
        names = sorted({case.removeprefix("test_") for found in by.values() for case in found})
        text = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        lines.append(f"| {op} | {why} | " + " | ".join(str(len(by[n])) for n in outcomes) + f" | {text} |")
    return lines


def _shown(op: str, why: str) -> tuple[str, str]:
    """Operator and reason as they stand in the table: one row for an element type, wherever it turned up."""
    if (found := re.search(r"for element type (\w+)", why)) is not None:
        return "any", f"element type {found[1]}"
    return op, re.sub("^(torch|tensorflow|numpy) convolves", "it convolves", why).replace("|", "/")


def document(outcomes: Outcomes, text: str) -> str:
    """The page with new tables under its hand-written part."""
    parts = [
        *(text.partition(MARK)[0].rstrip(), "", MARK, "", *figures(outcomes)),
        *("", "## Refused, of the types above", "", *rest(outcomes, counted=True)),
        *("", "## Refused, with other types", "", *rest(outcomes, counted=False)),
    ]
    return "\n".join(parts) + "\n"
