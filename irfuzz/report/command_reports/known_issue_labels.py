"""Labels what a check found with the known issues that explain it, as findings of campaigns are labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irfuzz.execute.run_types import Value
from irfuzz.findings.known_issues import KnownIssueRule, RuleSubject, shipped
from irfuzz.ir.program import Program
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.disagreement_grouping import Divergence, ExplainingIssue


def known_faults(rules: Sequence[KnownIssueRule] | None = None) -> Mapping[str, frozenset[str]]:
    """Operators by component that rules name, for the order in which nodes are looked at.

    Args:
        rules: of known issues; the shipped ones if omitted.
    """
    found: dict[str, frozenset[str]] = {}
    for rule in shipped() if rules is None else rules:
        found[rule.component] = found.get(rule.component, frozenset()) | {*rule.operators, *rule.one_of}
    return found


def with_known(
    report: CheckResult,
    program: Program,
    rules: Sequence[KnownIssueRule] | None = None,
    samples: Sequence[Mapping[str, Value]] = (),
) -> CheckResult:
    """The report with the known issues of each divergence.

    A rule fits the model as a whole, or the node that differs most alone, if that was looked for.

    Args:
        report: of a check.
        program: that was checked.
        rules: the shipped ones if omitted.
        samples: inputs that were checked; of each divergence the first one that shows it is what conditions on elements
            are asked about.
    """
    table = shipped() if rules is None else tuple(rules)
    versions = {t.name: t.version for t in report.targets}
    labelled = [
        replace(d, known=_issues(d, program, report.located, versions.get(d.targets[0], ""), table, _shown(d, samples)))
        for d in report.divergences
    ]
    return replace(report, divergences=tuple(labelled))


def _shown(d: Divergence, samples: Sequence[Mapping[str, Value]]) -> Mapping[str, Value]:
    return samples[d.samples[0]] if d.samples and d.samples[0] < len(samples) else {}


def _issues(
    d: Divergence,
    program: Program,
    located: Sequence[Located],
    version: str,
    rules: Sequence[KnownIssueRule],
    fed: Mapping[str, Value],
) -> tuple[ExplainingIssue, ...]:
    found: dict[str, ExplainingIssue] = {}
    for subject in _subjects(d, program, located, version, fed):
        for rule in rules:
            if rule.id not in found and rule.fits(subject):
                found[rule.id] = ExplainingIssue(rule.id, rule.title, rule.link, rule.docs)
        if found:
            break
    return tuple(found.values())


def _subjects(
    d: Divergence, program: Program, located: Sequence[Located], version: str, fed: Mapping[str, Value]
) -> Iterator[RuleSubject]:
    """The node that is worst alone, and the whole model."""
    for one in located:
        whole = program if one.unfolded is None else one.unfolded.program
        nodes = whole.nodes()
        worst = next((r for r in one.replayed if r.faulty and r.symptom is not None), None)
        if one.target in d.targets and worst is not None and worst.symptom is not None:
            yield RuleSubject.of_nodes(
                whole, nodes[worst.first : worst.end], d.component, version, worst.symptom, worst.said
            )
    yield RuleSubject.of_program(program, d.component, version, d.symptom, d.said, fed)
