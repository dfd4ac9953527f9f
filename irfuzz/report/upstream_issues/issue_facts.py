"""Says in words what an issue has to state of a finding."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping

from google.protobuf.message import DecodeError

from irfuzz.findings.fault_severity import rating_of
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import operators_of, shipped
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.affected_versions_text import where_text
from irfuzz.report.finding_markdown import escape, program_text
from irfuzz.report.specification_quotes import sections_of
from irfuzz.report.upstream_issues.issue_trackers import IssueTracker

_DIES = frozenset({Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL})

_ARCHITECTURES = {"x86_64": "X64", "AMD64": "X64", "aarch64": "ARM64", "arm64": "ARM64"}


def facts_of(finding: Finding, script: str, tracker: IssueTracker) -> Mapping[str, str]:
    """The facts that sections of a tracker name, as Markdown.

    Args:
        finding: complete, with its case.
        script: Markdown of the script and of what it printed.
        tracker: of the component at fault.
    """
    return {
        "cause": _cause(finding),
        "expectation": _expectation(finding),
        "script": script,
        "versions": _versions(finding),
        "severity": f"Severity {escape(rating_of(finding))}.",
        "searched": _searched(finding, tracker),
        "version": escape(_version(finding) or "unknown"),
        "python": platform.python_version(),
        "system": escape(f"{platform.system()} {platform.release()}, {platform.machine()}"),
        "platform": platform.system(),
        "architecture": _ARCHITECTURES.get(platform.machine(), "Other / Unknown"),
    }


def _version(finding: Finding) -> str:
    run = next((r for r in finding.runs if r.name == finding.verdict.target), None)
    return "" if run is None else f"{run.component} {run.version}".strip()


def _cause(finding: Finding) -> str:
    """What goes wrong, in which element, and without what it vanishes."""
    verdict = finding.verdict
    lines = [f"{escape(finding.title)}."]
    if verdict.got and verdict.expected:
        place = f" in {escape(verdict.element or verdict.output)}" if verdict.element or verdict.output else ""
        lines.append(f"Got {escape(verdict.got)}{place}, expected {escape(verdict.expected)}.")
    if verdict.message:
        lines += ["It says:", "", "```", " ".join(verdict.message.replace("```", "'''").split()), "```", ""]
    if verdict.passes:
        joint = " and ".join(map(escape, verdict.passes))
        lines.append(f"It vanishes without the pass {joint}.")
    elif verdict.place:
        lines.append(f"It comes of the {escape(verdict.place)}.")
    lines += [f"It does not show without this: {escape('; '.join(finding.needs))}."] if finding.needs else []
    return "\n".join([*lines, "", "```", program_text(finding.case).replace("```", "'''"), "```"])


def _expectation(finding: Finding) -> str:
    """Who says otherwise, and the sentences of ONNX's specification that make it right."""
    verdict = finding.verdict
    lines = []
    if verdict.witnesses:
        versions = {r.name: r.version for r in finding.runs}
        agree = ", ".join(f"{w} {versions.get(w, '')}".strip() for w in verdict.witnesses)
        lines.append(f"Expected is what {escape(agree)} agree on.")
    if verdict.symptom in _DIES:
        lines.append("Whatever a model computes, a process that runs it must come back with an answer or an error.")
    try:
        sections = sections_of(finding.case.proto)
    except DecodeError:
        sections = []
    quoted = [(section, " ".join(f'"{escape(quote)}"' for quote in section.quotes)) for section in sections]
    return "\n".join([*lines, *(f"- [{section.name}]({section.link}): {text}" for section, text in quoted)])


def _versions(finding: Finding) -> str:
    ran = dict.fromkeys(f"{r.component} {r.version}".strip() for r in finding.runs if r.version)
    where = where_text(finding)
    own = any("class" in r.options for r in finding.runs if r.name == finding.verdict.target)
    unasked = "" if own else "\nOther versions were not asked (`irfuzz findings bisect` does)."
    return f"Ran with {escape(', '.join(ran))}." + (f"\n{escape(where)}." if where else unasked)


def _searched(finding: Finding, tracker: IssueTracker) -> str:
    """Which known issues were gone through, and a link that searches the tracker, which nothing here has asked."""
    rules = Counter(rule.component for rule in shipped())[finding.component]
    lines = [f"Looked for among the {rules} known issues of {escape(finding.component)} that irfuzz lists: "]
    if not rules and not finding.known:
        lines = [f"irfuzz lists no known issues of {escape(finding.component)}."]
    elif finding.known:
        told = [f"{k.id}, {escape(k.title)}" + (f" ({k.link})" if k.link else "") for k in finding.known]
        lines[0] += f"**likely known**: {'; '.join(told)}."
    else:
        lines[0] += "none explains it."
    try:
        words = sorted(operators_of(finding.case.proto.graph))
    except DecodeError:
        words = []
    if search := tracker.search(" ".join(words)):
        lines.append(f"The tracker itself: [open and closed issues with these operators]({search}).")
    return "\n".join(lines)
