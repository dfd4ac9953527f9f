"""The page of a finding: what is wrong, the program as a graph, values, how to see it, and how it was found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from irfuzz.errors import InvalidProgram
from irfuzz.findings.codec import ABOUT
from irfuzz.findings.fault_severity import SeverityRating, rating_in
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.oracle.verdict import Verdict
from irfuzz.report.command_reports.finding_list import ListedFinding
from irfuzz.report.finding_folder_writer import MODEL, ORIGINAL, VALUES
from irfuzz.report.pages.html_elements import Markup, element
from irfuzz.report.pages.markdown_text import rendered
from irfuzz.report.pages.page_frame import PageAssets, page
from irfuzz.report.pages.program_graph import NodeMark, graph_data, graph_view
from irfuzz.report.pages.value_pictures import BothSides, value_section
from irfuzz.store.npz_tensors import Value, unpack

SCRIPTS = ("repro.py", "compare.py")

FILES = (*SCRIPTS, MODEL, "inputs.npz", ABOUT, "trace.json", "report.md")
"""Of a finding's folder, offered on its page."""

LARGEST_MODEL = 64 << 20
"""Bytes of a model that is drawn; a larger one is mostly weights, which nobody sees."""


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """How the page of a finding lies among others.

    Attributes:
        assets: which style and script it loads.
        files: relative address of the folder with the finding's files, ending in a slash or empty.
        up: name and address of the page of its campaign, if there is one.
        same_cause: name and address of the pages of findings of the same cause.
    """

    assets: PageAssets
    files: str = ""
    up: tuple[str, str] | None = None
    same_cause: Sequence[tuple[str, str]] = ()


def finding_page(entry: ListedFinding, place: FindingPlace) -> str:
    """The page of one finding, as HTML.

    Args:
        entry: its folder is read; what is missing there is left out of the page.
        place: of the page among others.
    """
    folder, about = entry.folder, entry.about
    verdict = verdict_of(about)
    title = str(about.get("title", folder.name))
    body = [
        _head(entry, verdict, title, place),
        _graph_section(folder, verdict),
        _values_section(folder, verdict),
        _repro_section(folder, place.files),
        _steps_section(folder, about),
        _report_section(folder),
    ]
    return page(title, *(part for part in body if part), assets=place.assets, up=place.up)


def verdict_of(about: Mapping[str, Any]) -> Verdict | None:
    """The verdict in a ``finding.json``; ``None`` if it lacks something, as one written by hand may.

    Args:
        about: contents of the file.
    """
    try:
        return Verdict.from_json({**about["verdict"], "symptom": about["symptom"], "target": about["target"]})
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def severity_pill(rated: SeverityRating | None) -> Markup:
    """How grave it is, as a small coloured word.

    Args:
        rated: ``None`` if that is not known.
    """
    if rated is None:
        return element("span", "unknown", class_="pill")
    level = rated.severity.value
    return element("span", level, class_=f"pill sev-{level}", title=", ".join(rated.reasons))


def state_pill(entry: ListedFinding) -> Markup:
    """Whether it is new, known, labelled, in the baseline, of others or a suspect, as a small word."""
    state, why = state_of(entry)
    return element("span", state, class_=f"pill is-{state}", title=why or None)


def state_of(entry: ListedFinding) -> tuple[str, str]:
    """What is decided of a finding, in a word, and why.

    Returns:
        ``labelled``, ``known``, ``baseline``, ``others``, ``suspect``, ``unreplayed`` or ``new``; the label, the ids of
        known issues, what the baseline says, or empty.
    """
    if entry.label:
        return "labelled", entry.label
    if entry.known:
        return "known", ", ".join(entry.known)
    if entry.expected is not None:
        return "baseline", entry.expected
    if entry.others:
        return "others", "a fault of another component than the one that is tested"
    if entry.about.get("suspect"):
        return "suspect", ""
    return ("unreplayed", "") if entry.about.get("status") == "unreplayed" else ("new", "")


def when(seconds: float) -> Markup:
    """A date and time in UTC that programs can read, too.

    Args:
        seconds: since 1970.
    """
    at = datetime.fromtimestamp(seconds, UTC)
    return element("time", at.strftime("%Y-%m-%d %H:%M"), datetime=at.strftime("%Y-%m-%dT%H:%MZ"))


def _head(entry: ListedFinding, verdict: Verdict | None, title: str, place: FindingPlace) -> Markup:
    about = entry.about
    target = str(about.get("target", ""))
    versions = about.get("versions", {})
    version = versions.get(target, "") if isinstance(versions, dict) else ""
    facts: list[tuple[str, Any]] = [
        ("symptom", about.get("symptom", "")),
        ("target", element("code", target)),
        ("version", version),
        ("introduced", about.get("introduced", "")),
        ("fixed", about.get("fixed", "")),
        ("first seen", when(entry.seen.first) if entry.seen else ""),
        ("last seen", [when(entry.seen.last), f" ({entry.seen.times} times)"] if entry.seen else ""),
        ("label", entry.label),
        ("likely known", [_known(one) for one in about.get("known", ())]),
        ("same cause", [element("a", name, href=address, class_="chip") for name, address in place.same_cause]),
    ]
    tiles = (element("div", element("dt", n), element("dd", v)) for n, v in facts if v)
    return element(
        "section",
        element("p", severity_pill(rating_in(entry.about)), " ", state_pill(entry), class_="pills"),
        element("h1", title),
        _sides(verdict),
        element("dl", *tiles, class_="tiles"),
        class_="lead",
    )


def _sides(verdict: Verdict | None) -> Markup | None:
    """What was given beside what was expected, or what was said."""
    if verdict is None or not (verdict.got or verdict.expected or verdict.message):
        return None
    if verdict.message and not verdict.expected:
        return element("p", element("code", verdict.message), class_="said")
    who = f"{verdict.witnesses[0]} and {len(verdict.witnesses) - 1} more" if len(verdict.witnesses) > 1 else "witness"
    return element(
        "div",
        element("div", element("span", verdict.target), element("code", verdict.got or "nothing"), class_="got"),
        element("div", element("span", who), element("code", verdict.expected or "nothing"), class_="expected"),
        class_="sides",
    )


def _known(issue: Mapping[str, Any]) -> Markup:
    name, link = str(issue.get("id", "")), str(issue.get("link", ""))
    told = element("a", name, href=link) if link.startswith("https://") else element("span", name)
    return element("span", told, f": {issue['title']}" if issue.get("title") else "", class_="known")


def _model(path: Path) -> onnx.ModelProto | None:
    """The model of a file; ``None`` if it is missing, too large or none."""
    try:
        if path.stat().st_size > LARGEST_MODEL:
            return None
        return onnx.load(path, load_external_data=False)
    except (OSError, DecodeError, ValueError):
        return None


def _graph_section(folder: Path, verdict: Verdict | None) -> Markup | None:
    reduced, original = _model(folder / MODEL), _model(folder / ORIGINAL)
    if reduced is None:
        return None
    blamed = blamed_values(reduced, verdict)
    marks = {name: NodeMark("blamed", "at fault") for name in blamed}
    parts = [graph_view("graph", graph_data(reduced, marks), "The program, made small")]
    if original is not None and len(original.graph.node) > len(reduced.graph.node):
        ops = {o: n.op_type for n in reduced.graph.node for o in n.output if o in blamed}
        there = {o: n.op_type for n in original.graph.node for o in n.output if o}
        kept = {name: mark for name, mark in marks.items() if there.get(name) == ops.get(name)}
        told = f"Before it was made small: {len(original.graph.node)} nodes"
        drawing = graph_view("original", graph_data(original, kept), told)
        parts.append(element("details", element("summary", told), drawing))
    return element("section", element("h2", "The program"), *parts)


def blamed_values(model: onnx.ModelProto, verdict: Verdict | None) -> list[str]:
    """Outputs of the nodes at fault: those of the operator that the verdict names, of what its output depends on.

    Args:
        model: the program.
        verdict: names the output, and perhaps the operator.

    Returns:
        Of all nodes if the program has only one; the one that makes the output if nothing else is known.
    """
    nodes = [node for node in model.graph.node if any(node.output)]
    if len(nodes) == 1 or verdict is None:
        return [name for node in nodes[:1] for name in node.output if name]
    if verdict.operator:
        named = [n for n in nodes if n.op_type == verdict.operator]
        if named:
            return [name for node in named for name in node.output if name]
    last = [n for n in nodes if verdict.output in n.output] or nodes[-1:]
    return [name for node in last for name in node.output if name]


def _values_section(folder: Path, verdict: Verdict | None) -> Markup | None:
    sides = read_values(folder, verdict)
    if sides is None:
        return None
    return element("section", element("h2", "The values"), value_section(sides))


def read_values(folder: Path, verdict: Verdict | None) -> BothSides | None:
    """What both sides gave for the output at fault, if the folder holds it.

    Args:
        folder: of the finding.
        verdict: of it.
    """
    if verdict is None or not (folder / VALUES).is_file():
        return None
    try:
        found = unpack(read_plain(folder / VALUES), str(folder / VALUES))
    except InvalidProgram:
        return None
    if len(found) != 2:
        return None
    (target, got), (witness, expected) = found.items()
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray):
        return None
    return BothSides(verdict.output, got, expected, target, witness, verdict.bound)


def _repro_section(folder: Path, files: str) -> Markup | None:
    script = folder / SCRIPTS[0]
    if not script.is_file():
        return None
    text = script.read_text(encoding="utf-8", errors="replace")
    links = [element("a", name, href=files + name, class_="chip", download=True) for name in FILES if _is(folder, name)]
    return element(
        "section",
        element("h2", "See it yourself"),
        element(
            "p", "It needs only the packages in question, and exits with 1 where the fault shows, 0 where it does not, "
            "and 2 where that cannot be told.",
        ),
        element(
            "div",
            element("button", "Copy", type="button", class_="copy", hidden=True),
            element("pre", element("code", text), tabindex="0"),
            class_="script",
        ),
        element("p", "Files: ", links, class_="chips"),
    )  # fmt: skip


def _is(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _steps_section(folder: Path, about: Mapping[str, Any]) -> Markup:
    """From the seed to the small program: each edit, and what making it small left."""
    trace = _json(folder / "trace.json")
    seed = trace.get("seed", {})
    steps = [element("li", element("b", "Seed "), element("code", seed.get("name") or "unknown"))]
    steps += [
        element(
            "li",
            element("b", e.get("mutator", "")),
            " at ",
            element("code", e.get("site", "")),
            f": {e.get('detail', '')}",
        )
        for e in trace.get("edits", ())
    ]
    original, reduced = (_size(folder / path) for path in (ORIGINAL, MODEL))
    steps.append(element("li", element("b", "Targets disagreed"), f" on {original}"))
    steps.append(element("li", element("b", "Made small"), f": {reduced}"))
    cause = about.get("cause")
    needs = cause.get("needs", ()) if isinstance(cause, dict) else ()
    if needs:
        told = element("ul", *(element("li", str(need)) for need in needs))
        steps.append(element("li", element("b", "It goes away"), " with any one of these changes", told))
    shown = "is not shown by its own script" if about.get("status") == "unreplayed" else "shows it in a fresh process"
    steps.append(element("li", element("b", "Replayed"), f": repro.py {shown}" if "unr" not in shown else f": {shown}"))
    return element("section", element("h2", "How it was found and made small"), element("ol", *steps, class_="steps"))


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(read_plain(path))
    except (InvalidProgram, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _size(path: Path) -> str:
    """Nodes of a model and elements of its inputs, in words."""
    model = _model(path)
    if model is None:
        return "a program that cannot be read"
    many = len(model.graph.node)
    try:
        elements = _elements(list(unpack(read_plain(path.parent / "inputs.npz"), "inputs").values()))
    except InvalidProgram:
        return f"{many} node{'s' * (many != 1)}"
    return f"{many} node{'s' * (many != 1)}, inputs of {elements:,} element{'s' * (elements != 1)}"


def _elements(value: Value) -> int:
    """Of an array, or of all arrays of a sequence."""
    return sum(map(_elements, value)) if isinstance(value, list) else 0 if value is None else value.size


def _report_section(folder: Path) -> Markup | None:
    try:
        text = read_plain(folder / "report.md").decode(errors="replace")
    except InvalidProgram:
        return None
    _, _, rest = text.partition("\n")  # the title stands at the top of the page
    return element("section", element("h2", "The report"), rendered(rest), class_="report")
