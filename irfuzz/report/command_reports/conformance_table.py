"""Tables of conformance as text: a line for each target, and of each target a line for each operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from irfuzz.conformance.result_comparison import ChangedCase, ResultComparison
from irfuzz.conformance.target_results import FAULTS, CaseStatus, TargetResults
from irfuzz.report.terminal_text_cleaning import one_line, printable

SHOWN_FAULTS = 20
"""Cases of a target that are told of one by one."""


def faults_of(results: TargetResults) -> int:
    """How many cases a target gets wrong, dies of or hangs with.

    Args:
        results: of the target.
    """
    counts = results.counts()
    return sum(counts[status] for status in FAULTS)


def as_text(targets: Sequence[TargetResults], left_out: Mapping[str, str]) -> str:
    """The tables.

    Args:
        targets: a line of the first table each, then a table by operator each.
        left_out: cases that irfuzz cannot take in, with the reason.
    """
    lines = _table("target", [(_label(one), one.counts(), _note(one)) for one in targets])
    if left_out:
        first = min(left_out)
        lines.append(f"{len(left_out)} cases are left out: irfuzz cannot take them in ({first}: {left_out[first]})")
    for one in targets:
        lines += ["", f"{_label(one)}:", *_table("operator", [(op, n, "") for op, n in one.by_operator().items()])]
        lines += _faults(one)
    return printable("\n".join(lines))


def comparison_text(comparisons: Sequence[ResultComparison]) -> str:
    """What changed of each target, a line a case.

    Args:
        comparisons: of the targets.
    """
    lines: list[str] = []
    for one in comparisons:
        better = sum(case.better for case in one.changed)
        lines.append(
            f"{one.before} -> {one.after}: of {one.same} cases {len(one.worse)} worse, {better} better, "
            f"{len(one.changed) - len(one.worse) - better} otherwise changed"
            + (f"; {one.other} cannot be compared" if one.other else "")
        )
        lines += [f"  {_change(case)}" for case in one.changed]
    return printable("\n".join(lines))


def _change(case: ChangedCase) -> str:
    word = "worse" if case.worse else "better" if case.better else "other"
    why = one_line(case.after.detail or case.before.detail)
    return f"{word}: {case.after.case} ({case.after.operator}): {case.before.status} -> {case.after.status}; {why}"


def _label(one: TargetResults) -> str:
    return f"{one.target} {one.version}".strip()


def _note(one: TargetResults) -> str:
    note = one.coverage_note()
    if not one.outcomes or one.counts_as_runtime:
        return note
    inside, refused = one.in_types()
    does_not = f"does not count: refuses {refused} of {inside} cases in its types"
    return f"{note}; {does_not}" if note else does_not


def _table(head: str, rows: Sequence[tuple[str, Counter[CaseStatus], str]]) -> list[str]:
    """Lines with a number for each status, under its name."""
    width = max(len(head), *(len(name) for name, _, _ in rows)) if rows else len(head)
    heads = ["cases", *(status.value for status in CaseStatus)]
    lines = [f"{head:<{width}}  {'  '.join(f'{name:>{_wide(name)}}' for name in heads)}"]
    for name, counts, note in rows:
        numbers = [counts.total(), *(counts[status] for status in CaseStatus)]
        cells = "  ".join(f"{number:>{_wide(head)}}" for number, head in zip(numbers, heads, strict=True))
        lines.append(f"{name:<{width}}  {cells}" + (f"  {note}" if note else ""))
    return lines


def _wide(head: str) -> int:
    return max(5, len(head))


def _faults(one: TargetResults) -> list[str]:
    """The first cases that a target gets wrong, dies of or hangs with."""
    found = [outcome for outcome in one.outcomes if outcome.status in FAULTS]
    lines = [f"{outcome.status}: {outcome.case}: {one_line(outcome.told())}" for outcome in found[:SHOWN_FAULTS]]
    if len(found) > SHOWN_FAULTS:
        lines.append(f"and {len(found) - SHOWN_FAULTS} more; --json has all")
    return lines
