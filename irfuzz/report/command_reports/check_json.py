"""A check as JSON; ``check_text`` and ``check_page`` write it for people."""

from __future__ import annotations

import math
from typing import Any

from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.disagreement_grouping import Divergence
from irfuzz.localize.nodes.causal_testing import Causes
from irfuzz.localize.nodes.localization_map import LocalizationMap
from irfuzz.oracle.cradle_distances import unique
from irfuzz.report.command_reports.check_page import as_html
from irfuzz.report.command_reports.check_text import CheckSetup, as_text, bins_of, headline

__all__ = ["SCHEMA", "CheckSetup", "as_html", "as_json", "as_text"]

SCHEMA = 1


def as_json(report: CheckResult, model: str, setup: CheckSetup = CheckSetup()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Everything that a check found, with strings, numbers, lists and objects only, as ``json.dumps`` takes them.

    Args:
        report: of the check.
        model: its name, for the reader.
        setup: what the check was asked to do.

    Returns:
        An object with ``schema``; numbers that are not finite are strings such as ``inf``.
    """
    return {
        "schema": SCHEMA,
        "model": model,
        "agree": report.agree,
        "headline": headline(report),
        "base": report.base,
        "samples": report.samples,
        "wanted_samples": report.wanted,
        "stopped": report.stopped,
        "inputs": setup.inputs,
        "targets": {t.name: t.version for t in report.targets},
        "absent_targets": dict(report.absent),
        "not_run_targets": list(setup.left_out),
        "witnesses": list(report.witnesses),
        "largest_difference": {n: _number(f) for n, f in report.farthest.items()},
        "broken_rules": list(report.broken),
        "accepting": list(report.accepting),
        "empty_outputs": list(report.empty),
        "runs_nowhere": {str(number): why for number, why in report.nowhere.items()},
        "unclear": list(report.unclear),
        "left_out": list(report.left_out),
        "causes": [_divergence(d) for d in report.divergences],
        "outputs": _outputs(report),
        "disagreements": [
            {
                "sample": d.sample,
                "target": d.target,
                "also": list(d.also),
                "base": d.base,
                "symptom": d.symptom.value,
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
                "pattern": dict(zip(bins_of(i), i.pattern, strict=True)),
            }
            for i in report.inconsistencies
        ],
        "unique_inconsistencies": [[list(i.targets) for i in group] for group in unique(report.inconsistencies)],
        "located": [_located(found) for found in report.located],
    }


def _divergence(d: Divergence) -> dict[str, Any]:
    return {
        "targets": list(d.targets),
        "component": d.component,
        "base": d.base,
        "symptom": d.symptom.value,
        "output": d.output,
        "samples": list(d.samples),
        "distance": _number(d.distance),
        "bound": _number(d.bound),
        "what": d.what,
        "undecided": d.undecided,
        "excused": d.excused,
        "witness": d.witness,
        "limit": d.limit,
        "known": [{"id": k.id, "title": k.title, "link": k.link, "docs": k.docs} for k in d.known],
    }


def _outputs(report: CheckResult) -> list[dict[str, Any]]:
    return [
        {
            "name": r.output,
            "count": r.count,
            "min": _number(r.low),
            "max": _number(r.high),
            "mean": _number(r.mean),
            "not_finite": r.special,
            "empty": r.empty,
            "differences": [
                {
                    "target": d.target,
                    "count": d.count,
                    "apart": d.apart,
                    "largest": _number(d.largest),
                    "mean": _number(d.mean),
                    "median": _number(d.median),
                    "percentile_99": _number(d.percentile),
                    "sampled": d.sampled,
                    "smallest_atol": _number(d.atol),
                    "smallest_rtol": _number(d.rtol),
                }
                for d in report.distances
                if d.output == r.output
            ],
        }
        for r in report.ranges
    ]


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


def _map(made: LocalizationMap) -> dict[str, Any]:
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
