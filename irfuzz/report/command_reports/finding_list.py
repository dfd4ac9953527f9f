"""Lists of the findings in folders, and the labels that people put into them."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.findings.baseline import BaselineEntry, FindingBaseline
from irfuzz.findings.codec import ABOUT, grouped, suspect_rank
from irfuzz.findings.fault_severity import rating_in
from irfuzz.findings.suspect_finding_groups import alike
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.finding_sightings import DATABASE, Sightings, read_seen

FOLDERS = ("findings", "suspects", "unreplayed")
"""Of a campaign's ``--out`` folder."""


@dataclass(frozen=True, slots=True)
class ListedFinding:
    """A finding's folder, the contents of its ``finding.json``, and when its campaign saw it, if that is known.

    Attributes:
        folder: of it.
        about: contents of its ``finding.json``.
        seen: when, by the campaign's database.
        expected: note or title of its entry in the baseline of the project; ``None`` if that has none, or there is no
            baseline.
        others: its campaign tests targets none of which is blamed.
    """

    folder: Path
    about: Mapping[str, Any]
    seen: Sightings | None = None
    expected: str | None = None
    others: bool = False

    @property
    def known(self) -> list[str]:
        """Ids of the known issues that explain it; empty if none does."""
        return [k["id"] for k in self.about.get("known", [])]

    @property
    def label(self) -> str:
        """What a person has said of it (``label``); empty if nobody has said anything."""
        return str(self.about.get("label", ""))

    @property
    def news(self) -> bool:
        """Nobody has decided on it: it is neither known nor labelled nor in the baseline nor of other components."""
        return not (self.known or self.label or self.expected is not None or self.others)

    @property
    def severity(self) -> str:
        """How grave it is (``fault_severity``): high, medium or low; empty if its file lacks what that hangs on."""
        rated = rating_in(self.about)
        return "" if rated is None else rated.severity.value

    def to_json(self) -> dict[str, Any]:
        """What stands of it in a list for programs.

        Its folder, title, symptom, target, signature, status, severity, known issues, label, ``baseline`` (what that
        says of it, or ``None``), ``others`` (whether none is blamed that is tested), and ``seen`` (how many times,
        first and last in seconds since 1970; ``None`` if that is not known).
        """
        keys = ("title", "symptom", "target", "signature", "suspect", "status")
        about = {key: self.about.get(key, "") for key in keys}
        seen = None if self.seen is None else asdict(self.seen)
        return {
            "folder": str(self.folder),
            **about,
            "severity": self.severity,
            "known": self.known,
            "label": self.label,
            "baseline": self.expected,
            "others": self.others,
            "seen": seen,
        }


def suspects(found: Sequence[ListedFinding]) -> list[ListedFinding]:
    """The suspects among entries, the likeliest fault first.

    Raises:
        UsageError: what is stored of one cannot be read.
    """
    doubted = [entry for entry in found if kind_of(entry) == "suspects"]
    try:
        ranks = {entry.folder: suspect_rank(entry.about) for entry in doubted}
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{ABOUT}: cannot be read: {error}") from None
    return sorted(doubted, key=lambda entry: ranks[entry.folder])


def suspects_text(found: Sequence[ListedFinding]) -> str:
    """The first of each group of suspects that are alike, with its doubt and their number, and how many there are.

    Args:
        found: suspects only, in the order in which they are to be shown.
    """
    rows = by_group(found)
    lines: list[str] = []
    for first, *others in rows:
        lines += [*_lines(first), f"  in doubt: {_doubt(first)}"]
        lines += [f"  and {len(others)} more like it"] if others else []
    return "\n".join([*lines, _count_of(rows)])


def _count_of(rows: Sequence[Sequence[ListedFinding]]) -> str:
    suspects = sum(map(len, rows))
    groups = f" in {len(rows)} group{'s' if len(rows) > 1 else ''}" if len(rows) < suspects else ""
    return f"{suspects} suspects{groups}"


def by_group(found: Sequence[ListedFinding]) -> list[list[ListedFinding]]:
    """Suspects that are alike (``suspect_finding_groups``) together, in the order of the first of each group."""
    return [[found[place] for place in row] for row in alike([str(entry.about.get("group", "")) for entry in found])]


def _doubt(entry: ListedFinding) -> str:
    verdict = entry.about.get("verdict")
    evidence = verdict.get("evidence") if isinstance(verdict, dict) else None
    told = evidence.get("suspect", "") if isinstance(evidence, dict) else ""
    return str(told or "the evidence is too thin")


def by_cause(found: Sequence[ListedFinding]) -> list[list[ListedFinding]]:
    """Entries of one cause together, each group behind the entry that explains the others; suspects stand alone.

    Raises:
        UsageError: what is stored of a cause cannot be read.
    """
    try:
        rows = grouped([entry.about for entry in found])
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{ABOUT}: cause: cannot be read: {error}") from None
    return [[found[place] for place in row] for row in rows]


def to_json(found: Sequence[ListedFinding]) -> list[dict[str, Any]]:
    """The list for programs.

    ``same_cause`` is the folder of the finding that explains one, and ``like`` that of the first of the suspects that
    are alike; empty if there is none before it.
    """
    causes = {entry.folder: row[0].folder for row in by_cause(found) for entry in row[1:]}
    groups = {entry.folder: row[0].folder for row in by_group(found) for entry in row[1:]}
    return [
        {
            **entry.to_json(),
            "same_cause": str(causes.get(entry.folder, "")),
            "like": str(groups.get(entry.folder, "")),
        }
        for entry in found
    ]


def kind_of(entry: ListedFinding) -> str:
    """Whether it is a finding, too thinly proven, or was not shown by its own script."""
    if entry.about.get("suspect"):
        return "suspects"
    return "unreplayed" if entry.about.get("status") == "unreplayed" else "findings"


def entries(paths: Sequence[Path]) -> list[ListedFinding]:
    """The findings that paths name: a finding's folder, a folder of such, or a campaign's.

    Raises:
        UsageError: a path has none, or a ``finding.json`` cannot be read.
    """
    found: dict[Path, ListedFinding] = {}
    for path in paths:
        places = [path, *(path / name for name in FOLDERS)]
        folders = [p for p in places if (p / ABOUT).is_file()]
        folders += sorted(f.parent for p in places for f in p.glob(f"*/{ABOUT}"))
        if not folders and not any(p.exists() for p in (*places[1:], path / DATABASE)):
            raise UsageError(f"{path}: no finding there: expected a folder with {ABOUT}, or a campaign's --out folder")
        seen = read_seen(path / DATABASE)
        for folder in folders:
            listed = read(folder)
            others = bool(seen.own) and not seen.own & _blamed(listed.about)
            found[folder] = replace(listed, seen=seen.sightings.get(_number(folder)), others=others)
    return list(found.values())


def _blamed(about: Mapping[str, Any]) -> set[str]:
    """Names of the targets that show it."""
    try:
        return {*Verdict.from_json(about["verdict"]).blamed}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {str(about["target"])}


def _number(folder: Path) -> int:
    """The number in front of a folder's name; -1 if there is none."""
    number = folder.name.partition("-")[0]
    return int(number) if number.isdecimal() else -1


def newest_campaign(place: Path) -> Path:
    """The campaign whose database in ``place`` or a folder of it was written last; of one that runs, its log counts.

    Raises:
        UsageError: there is none.
    """
    found = [path for path in (place / DATABASE, *place.glob(f"*/{DATABASE}")) if path.is_file()]
    if not found:
        raise UsageError(f"{place}: no campaign in a folder here; expected PATH, a finding's or a campaign's folder")

    def written(path: Path) -> float:
        with contextlib.suppress(FileNotFoundError):
            return max(path.stat().st_mtime, path.with_name(f"{path.name}-wal").stat().st_mtime)
        return path.stat().st_mtime

    return max(found, key=written).parent


def read(folder: Path) -> ListedFinding:
    """The finding in one folder, from its ``finding.json``; nothing else in the folder is read.

    Raises:
        UsageError: the folder is none, or that file is no JSON or lacks something.
    """
    try:
        about = json.loads(read_plain(folder / ABOUT))
    except InvalidProgram as error:
        raise UsageError(f"{folder}: not the folder of a finding: {ABOUT}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{folder / ABOUT}: not JSON: {error}") from None
    if not isinstance(about, dict) or "symptom" not in about or "target" not in about:
        raise UsageError(f"{folder / ABOUT}: expected an object with symptom and target")
    known = about.get("known", [])
    if not isinstance(known, list) or not all(isinstance(k, dict) and isinstance(k.get("id"), str) for k in known):
        raise UsageError(f"{folder / ABOUT}: known: expected a list of objects with an id")
    return ListedFinding(folder, about)


def with_baseline(found: Sequence[ListedFinding], baseline: FindingBaseline) -> list[ListedFinding]:
    """The entries with what the baseline of the project says of each.

    Args:
        found: in any order, which is kept.
        baseline: of the project.

    Raises:
        UsageError: what is stored of a cause cannot be read.
    """
    rows: list[ListedFinding] = []
    for listed in found:
        try:
            own = BaselineEntry.of(listed.about)
        except (KeyError, ValueError, TypeError) as error:
            raise UsageError(f"{listed.folder / ABOUT}: cause: cannot be read: {error}") from None
        entry = baseline.entry_of(own.signature, own.cause, suspect=own.suspect)
        rows.append(listed if entry is None else replace(listed, expected=entry.note or entry.title))
    return rows


def label(folder: Path, text: str) -> ListedFinding:
    """Say of a finding what it is; an empty text takes that back.

    Raises:
        UsageError: the folder is no finding, or cannot be written.
    """
    entry = read(folder)
    about = {**entry.about, "label": text}
    draft = folder / f".{ABOUT}.part"
    try:
        draft.write_text(json.dumps(about, indent=1) + "\n")
        draft.replace(folder / ABOUT)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
    return ListedFinding(folder, about)


def _lines(entry: ListedFinding) -> list[str]:
    marks = [f"severity: {severity}"] if (severity := entry.severity) else []
    marks += [f"known: {', '.join(entry.known)}"] if entry.known else []
    marks += [f"label: {entry.label}"] if entry.label else []
    marks += ["in the baseline"] if entry.expected is not None else []
    marks += ["of another component"] if entry.others else []
    marks += [str(entry.seen)] if entry.seen is not None else []
    return [f"{entry.folder}\n  {entry.about.get('title', '')}", *([f"  {'; '.join(marks)}"] if marks else [])]


def as_text(found: Sequence[ListedFinding]) -> str:
    """A line or two for each, and how many are known or labelled.

    Findings of one cause stand together, and so do suspects that are alike, of which only the first is shown. The last
    lines count findings, suspects, known issues and labels.

    Raises:
        UsageError: what is stored of a cause cannot be read.
    """
    lines: list[str] = []
    kinds = {kind: [e for e in found if kind_of(e) == kind] for kind in FOLDERS}
    groups = by_group(kinds["suspects"])
    for kind in FOLDERS:
        for first, *others in groups if kind == "suspects" else by_cause(kinds[kind]):
            lines += _lines(first)
            if kind == "suspects":
                lines += [f"  and {len(others)} more like it"] if others else []
            else:
                lines += [f"  of the same cause: {entry.folder}" for entry in others]
    known = Counter(name for entry in found for name in entry.known)
    labels = Counter(entry.label for entry in found if entry.label)
    new = sum(entry.news for entry in kinds["findings"])
    decided = "neither known nor labelled"
    if any(entry.expected is not None for entry in found):
        decided += " nor in the baseline"
    if any(entry.others for entry in found):
        decided += " nor of another component"
    causes = len(by_cause(kinds["findings"]))
    of_causes = f" of {causes} cause{'s' if causes > 1 else ''}" if causes < len(kinds["findings"]) else ""
    lines.append(f"{len(kinds['findings'])} findings{of_causes}, {new} of them {decided}")
    apart = [_count_of(groups)] if groups else []
    apart += [f"{len(kinds['unreplayed'])} unreplayed"] if kinds["unreplayed"] else []
    lines += [f"apart from them: {', '.join(apart)}"] if apart else []
    lines += [f"  {count} x {name}" for name, count in [*known.most_common(), *labels.most_common()]]
    return "\n".join(lines)
