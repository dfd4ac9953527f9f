"""The baseline of a project: a small file of findings that it knows, so that only others fail its build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.frontends.toml_file_reading import is_list, is_table
from irfuzz.oracle.message_normalization import normalise_message
from irfuzz.oracle.verdict import Symptom

FORMAT = 1
"""Version of the file; a file of another one is refused."""

_KEYS = ("signature", "title", "cause", "suspect", "note")
_BY_MESSAGE = frozenset({Symptom.CRASH, Symptom.PROTOCOL, Symptom.REJECTION})

_FOLDERS = re.compile(r"(?:(?<=\|)|^)[^|:]*/(?=[^|/:]+\.py:[\w.]+(?:\||$))")
"""The folders before a plug-in target's file, which are others in another checkout."""

_RELEASE = re.compile(r"((?:\||^)[\w.-]+)@[^|:]+(?=[|:]|$)")
"""The version in the name of a target, ``onnxruntime@1.31.1:all``; a device (``all@cuda``) comes behind the colon."""

_NUMBER = re.compile(r"(?<!\w)v?(?:#|\d+)(?:\.(?:#|\d+))+(?:\.?(?:a|b|rc|post|dev)\d+)?(?:\+\w+)?")
"""A version in a message, as far as ``normalise_message`` has left it (``#.1`` of 1.31.1)."""


def stable_signature(signature: str) -> str:
    """A signature without what changes with versions of the target and with the place of a checkout.

    Operators, passes, attributes and the words of a message stay.

    Args:
        signature: of a finding or suspect (``oracle.fault_signature``), or one that this gave before, which stays as
            it is.

    Returns:
        The signature without versions in names of targets and, of what refuses or dies, in messages, and without the
        folders of a plug-in's file.
    """
    text = _RELEASE.sub(r"\1", _FOLDERS.sub("", signature))
    parts = text.split("|")
    symptom = next((place for place, part in enumerate(parts[:2]) if part in _BY_MESSAGE), None)
    if symptom is None:
        return text
    behind = symptom + 2  # the target is between
    return "|".join([*parts[:behind], *map(_stable_words, parts[behind:])])


def _stable_words(message: str) -> str:
    """A normalised message as the newest normalisation would have it, without versions."""
    return _NUMBER.sub("#", normalise_message(message))


def _stable_cause(cause: Cause | None) -> Cause | None:
    if cause is None:
        return None
    words = _stable_words(cause.words) if cause.words else ""
    return replace(cause, target=stable_signature(cause.target), words=words)


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """One finding that a project knows.

    Attributes:
        signature: stable (``stable_signature``).
        title: one line for readers, as the finding had it that was written first.
        cause: what its program tells of the cause, so that other findings of the same cause are known, too; ``None``
            if that is not known.
        suspect: it was written as a suspect, and says nothing of a finding.
        note: what a person says of it.
    """

    signature: str
    title: str = ""
    cause: Cause | None = None
    suspect: bool = False
    note: str = ""

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> BaselineEntry:
        """The entry of a finding's ``finding.json``; what a person has said of it becomes the note.

        Args:
            about: read from JSON.

        Raises:
            KeyError, ValueError, TypeError: what is stored of its cause cannot be read.
        """
        cause = Cause.from_json(about["cause"]) if is_table(about.get("cause")) else None
        return cls(
            stable_signature(str(about.get("signature", ""))), str(about.get("title", "")), _stable_cause(cause),
            bool(about.get("suspect")), str(about.get("label", "")),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As the file has it; what is empty is left out."""
        cause = {} if self.cause is None else {"cause": self.cause.to_json()}
        suspect = {"suspect": True} if self.suspect else {}
        note = {"note": self.note} if self.note else {}
        return {"signature": self.signature, "title": self.title, **cause, **suspect, **note}


@dataclass(frozen=True, slots=True)
class FindingBaseline:
    """The entries of a baseline.

    Attributes:
        entries: in the order of their signatures, each signature once for findings and once for suspects.
    """

    entries: tuple[BaselineEntry, ...] = ()

    def entry_of(self, signature: str, cause: Cause | None = None, *, suspect: bool = False) -> BaselineEntry | None:
        """The entry that a finding is one with, as a campaign takes it for one with a finding that is stored.

        It has the same stable signature, or one explains the other (``Cause.explains``).

        Args:
            signature: of the finding.
            cause: of it, if it is known.
            suspect: it is a suspect, of which no cause is known. An entry of a finding holds for it, too; that of a
                suspect does not hold for a finding.

        Returns:
            ``None`` if the baseline has none.
        """
        usable = [entry for entry in self.entries if suspect or not entry.suspect]
        wanted = stable_signature(signature)
        same = next((entry for entry in usable if entry.signature == wanted), None)
        own = None if suspect else _stable_cause(cause)
        if same is not None or own is None:
            return same
        known = [(entry, entry.cause) for entry in usable if entry.cause is not None]
        explained = (entry for entry, head in known if head.explains(own))
        # What is simpler than several is the cause of any of them, and no news whichever it is.
        simpler = (entry for entry, head in known if own.explains(head))
        return next(explained, None) or next(simpler, None)

    def extended(self, more: Iterable[BaselineEntry]) -> FindingBaseline:
        """The entries with more; of those with one signature the first stays, so that titles and notes do not change.

        Args:
            more: of any order. One that has a note gives it to an entry without.
        """
        found = {(entry.signature, entry.suspect): entry for entry in self.entries}
        for entry in more:
            key = (entry.signature, entry.suspect)
            there = found.setdefault(key, entry)
            if not there.note and entry.note:
                found[key] = replace(there, note=entry.note)
        return FindingBaseline(tuple(found[key] for key in sorted(found)))

    def to_text(self) -> str:
        """The text of the file: sorted, a field a line, so that a diff shows what came and went."""
        entries = ",\n".join(f"  {{\n{_fields(entry)}\n  }}" for entry in self.entries)
        rows = f"[\n{entries}\n ]" if entries else "[]"
        return f'{{\n "format": {FORMAT},\n "findings": {rows}\n}}\n'


NO_BASELINE = FindingBaseline()
"""That of a project which has none."""


def _fields(entry: BaselineEntry) -> str:
    return ",\n".join(f'   "{key}": {json.dumps(value, sort_keys=True)}' for key, value in entry.to_json().items())


def read_baseline(path: Path, said: str = "") -> FindingBaseline:
    """Read a file that ``FindingBaseline.to_text`` made.

    Args:
        path: of the file.
        said: what messages begin with, such as the flag that named the file and its path; the path if omitted.

    Raises:
        UsageError: it cannot be read, is no baseline, has another format, or an entry is wrong. The message names the
            file, the entry and the field.
    """
    said = said or str(path)
    try:
        data: Any = json.loads(read_plain(path))
    except InvalidProgram as error:
        hint = "" if path.exists() else "; `irfuzz findings baseline CAMPAIGN -o FILE` writes one"
        raise UsageError(f"{said}: cannot be read: {error}{hint}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{said}: not JSON: {error}") from None
    if not is_table(data) or not is_list(data.get("findings")) or "format" not in data:
        raise UsageError(f'{said}: not a baseline: expected an object with "format" and a list "findings"')
    if data["format"] != FORMAT:
        raise UsageError(f"{said}: format: expected {FORMAT}, got {data['format']!r:.80}; use the irfuzz that wrote it")
    rows: Sequence[Any] = data["findings"]
    entries = [_entry(f"{said}: findings[{number}]", row) for number, row in enumerate(rows)]
    return FindingBaseline().extended(entries)


def _entry(where: str, row: Any) -> BaselineEntry:
    if not is_table(row):
        raise UsageError(f"{where}: expected an object, got {row!r:.80}")
    for key, value in row.items():
        if key not in _KEYS:
            raise UsageError(f"{where}: unknown key {key!r:.80}; known are {', '.join(_KEYS)}")
        if key != "cause" and not isinstance(value, bool if key == "suspect" else str):
            raise UsageError(
                f"{where}: {key}: expected {'true or false' if key == 'suspect' else 'text'}, got {value!r:.80}"
            )
    if not row.get("signature"):
        raise UsageError(f"{where}: signature: expected text that is not empty, got {row.get('signature')!r}")
    try:
        cause = Cause.from_json(row["cause"]) if row.get("cause") is not None else None
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{where}: cause: cannot be read: {type(error).__name__}: {error}") from None
    return BaselineEntry(
        stable_signature(row["signature"]), row.get("title", ""), _stable_cause(cause), row.get("suspect", False),
        row.get("note", ""),
    )  # fmt: skip
