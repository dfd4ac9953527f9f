"""Conformance as JUnit XML: a suite for each target, a test for each case."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from irfuzz.conformance.target_results import FAULTS, CaseStatus, TargetResults
from irfuzz.report.ci_reports.junit import xml_document, xml_text


def as_junit(targets: Sequence[TargetResults]) -> str:
    """The text of a JUnit file.

    A test fails if the target computes the case wrongly, dies of it or hangs; one that is refused or undecided is
    skipped.

    Args:
        targets: results of each.
    """
    whole = ET.Element("testsuites", {"name": "irfuzz conform", **_counts(targets)})
    for one in targets:
        suite = ET.SubElement(whole, "testsuite", {"name": xml_text(f"{one.target} {one.version}"), **_counts([one])})
        for outcome in one.outcomes:
            about = {"classname": xml_text(f"{one.target}.{outcome.operator}"), "name": xml_text(outcome.case)}
            case = ET.SubElement(suite, "testcase", about)
            told = {"message": xml_text(f"{outcome.status}: {outcome.told()}")}
            if outcome.status in FAULTS:
                ET.SubElement(case, "failure", {**told, "type": outcome.status.value})
            elif outcome.status is not CaseStatus.RIGHT:
                ET.SubElement(case, "skipped", told)
    return xml_document(whole)


def _counts(targets: Sequence[TargetResults]) -> dict[str, str]:
    statuses = [outcome.status for one in targets for outcome in one.outcomes]
    failed = sum(status in FAULTS for status in statuses)
    right = sum(status is CaseStatus.RIGHT for status in statuses)
    numbers = {"tests": len(statuses), "failures": failed, "errors": 0, "skipped": len(statuses) - failed - right}
    return {name: str(number) for name, number in numbers.items()}
