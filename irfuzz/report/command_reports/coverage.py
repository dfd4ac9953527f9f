"""Coverage of a set of models as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.execute.onnxruntime_passes import excluded
from irfuzz.search.coverage.coverable_call_space import LEFT_OUT_KINDS, left_out
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
from irfuzz.search.coverage.operator_call_coverage import Coverage
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.spec import load_specs

SCHEMA = 1

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
