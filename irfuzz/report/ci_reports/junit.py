"""A campaign as JUnit XML, which Jenkins, GitLab, Azure and others show as tests."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from xml.etree import ElementTree as ET

from irfuzz.findings.disposition import DecidedFinding
from irfuzz.report.ci_reports.build_result import BuildResult, decision_text, lasting_name, place_of

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write; a component's message may hold them."""


def as_junit(result: BuildResult) -> str:
    """The text of a JUnit file.

    The campaign is a test, which passes unless irfuzz itself failed, and so is each finding: it fails if the build
    does because of it, else it is skipped with what is decided of it. Its name stays the same from night to night.

    Args:
        result: of the campaign.
    """
    failed, errors = len(result.failing), int(result.internal_errors > 0)
    counts = {
        "tests": str(len(result.rows) + 1),
        "failures": str(failed),
        "errors": str(errors),
        "skipped": str(len(result.rows) - failed),
        "time": f"{result.seconds:.3f}",
    }
    whole = ET.Element("testsuites", {"name": "irfuzz", **counts})
    suite = ET.SubElement(whole, "testsuite", {"name": xml_text(f"irfuzz fuzz {result.out}"), **counts})
    properties = ET.SubElement(suite, "properties")
    for name, version in [("fail-on", result.fail_on.value), *result.targets.items()]:
        ET.SubElement(properties, "property", {"name": xml_text(name), "value": xml_text(version)})
    about = {"classname": "irfuzz", "name": "campaign", "time": f"{result.seconds:.3f}"}
    campaign = ET.SubElement(suite, "testcase", about)
    if errors:
        text = f"irfuzz itself failed {result.internal_errors} times"
        ET.SubElement(campaign, "error", {"message": text, "type": "internal"})
    ET.SubElement(campaign, "system-out").text = xml_text(f"{result.headline}\n{result.progress}")
    names = Counter(lasting_name(row) for row in result.rows)
    for row in result.rows:
        name = lasting_name(row)
        _add_case(suite, row, name if names[name] == 1 else f"{name} ({row.folder.name})", place_of(row, result.out))
    return xml_document(whole)


def xml_document(whole: ET.Element) -> str:
    """The text of an XML file.

    Args:
        whole: its outermost element; it is indented in place.
    """
    ET.indent(whole, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, row: DecidedFinding, name: str, place: str) -> None:
    finding = row.finding
    case = ET.SubElement(suite, "testcase", {"classname": xml_text(finding.component), "name": xml_text(name)})
    if row.fails:
        about = {"message": xml_text(finding.title), "type": finding.verdict.symptom.value}
        replay = f"replay: python {shlex.quote(str(row.folder / 'repro.py'))}"
        text = "\n".join([finding.title, f"folder: {place}", replay, f"signature: {finding.signature}"])
        ET.SubElement(case, "failure", about).text = xml_text(text)
    else:
        ET.SubElement(case, "skipped", {"message": xml_text(f"{decision_text(row)}\n{finding.title}")})


def xml_text(text: str) -> str:
    """A text of a model or a component as XML can hold it: each other character is a question mark."""
    return _NOT_XML.sub("?", text)
