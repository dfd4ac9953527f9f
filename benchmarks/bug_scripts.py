"""Writes the reproducers of docs/bugs in their short form, each with the sentence that the page quotes.

A script that irfuzz wrote in the long form is made short: it is read for the target at fault, the output and the
element, its witnesses are run once more for what is expected, and the model goes into it. A script that is short gets
the page's title and sentence into its docstring, and keeps the rest.

Run ``python -m benchmarks.bug_scripts [NUMBER ...]``; it writes in place, and says what stays as it is. Then
``pytest tests/test_bugs.py`` runs them all.
"""

from __future__ import annotations

import argparse
import re
import runpy
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import TargetRun
from irfuzz.findings.output_literals import special
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts.full_script import ReproSpec
from irfuzz.report.repro_scripts.short_script import COLUMNS, LINES, script_parts, script_text
from irfuzz.report.specification_quotes import PAGE as OPERATOR_PAGE
from irfuzz.store.npz_tensors import unpack

ROOT = Path(__file__).resolve().parents[1]
PAGE, FOLDERS = ROOT / "docs" / "bugs.md", ROOT / "docs" / "bugs"

CODES = "Exit code 1 where it shows, 0 where not, 2 where it cannot be told."

_ELEMENT = re.compile(r"np\.asarray\(outputs\[OUTPUT\]((?:\[\d+\])*)\)\[([\d, ()]*)\]")
_BOUND = re.compile(r"> ([\d.e+-]+)$", re.MULTILINE)
_VERSIONED = re.compile(r"^([A-Z]\w+)-(\d+)")


def sections(page: str) -> Mapping[int, tuple[str, str]]:
    """Title and first paragraph, which says what is expected and why, of every entry of the page by number."""
    found = re.findall(r"^## (\d+)\. ([^\n]+)\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    return {int(number): (title, " ".join(text.split())) for number, title, text in found}


def expectation(text: str) -> list[str]:
    """The paragraph as lines of a docstring, with the address of the operator's page if it begins with one."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("\\", "\\\\")
    lines = textwrap.wrap(f"Expected: {plain}", COLUMNS - 20, break_long_words=False, break_on_hyphens=False)
    named = _VERSIONED.match(plain)
    return [*lines, f"  {OPERATOR_PAGE.format(named[1])}"] if named else lines


def shortened(folder: Path, title: str, reason: str) -> str | None:
    """The short form of a long script; ``None`` if it has none."""
    text = (folder / "repro.py").read_text()
    scene, seen = _scene(text, runpy.run_path(str(folder / "repro.py")), title)
    case = FailingCase((folder / "model.onnx").read_bytes(), unpack((folder / "inputs.npz").read_bytes(), str(folder)))
    for parts in script_parts(scene, case):
        about = [f"Seen with {seen}; needs {', '.join(['numpy', *parts.packages])}. {CODES}", *expectation(reason)]
        made = script_text(scene, about, parts.imports, parts.built, parts.judged)
        if made is not None:
            return made
    return None


def _scene(text: str, names: Mapping[str, Any], title: str) -> tuple[ReproSpec, str]:
    targets: Mapping[str, tuple[Any, Mapping[str, Any]]] = names["TARGETS"]
    blamed = names.get("BLAMED", next(iter(targets)))
    symptom = _symptom(names)
    found, bound = _ELEMENT.search(text), _BOUND.search(text)
    place = None
    if found is not None:
        steps, index = (tuple(map(int, re.findall(r"\d+", part))) for part in found.groups())
        place = (steps, index)
    witnesses = [TargetRun(n, n, answer=_answer(names, n, symptom)) for n in targets if n != blamed]
    scene = ReproSpec(
        title, symptom, _party(blamed, targets[blamed][1]), [w for w in witnesses if w.answer], names.get("OUTPUT", ""),
        place, float(bound[1]) if bound else None,
    )  # fmt: skip
    return scene, re.search(r"^Seen with ([^;\n]*)\.$", text, re.MULTILINE)[1]  # type: ignore[index]


def _symptom(names: Mapping[str, Any]) -> Symptom:
    if "SECONDS" in names:
        return Symptom.CRASH
    if "look" not in names:
        return Symptom.REJECTION
    if "Type and shape" in (names["look"].__doc__ or ""):
        return Symptom.WRONG_SHAPE
    return Symptom.NAN_INF if "special" in names else Symptom.DIFFERENCE


def _party(name: str, options: Mapping[str, Any]) -> TargetRun:
    known = dict(options)
    if "level" in known:
        known["level"] = known["level"].removeprefix("ORT_").removeprefix("ENABLE_").lower()
        known["level"] = "disabled" if known["level"] == "disable_all" else known["level"]
    return TargetRun(name, name.partition(":")[0].partition("@")[0], known)


def _answer(names: Mapping[str, Any], witness: str, symptom: Symptom) -> str:
    """What a witness gives, as source; empty if it cannot run here."""
    if symptom in (Symptom.CRASH, Symptom.REJECTION):
        return "'answers'"
    run, options = names["TARGETS"][witness]
    try:
        value = names["look"](run(names["load_inputs"](), **options))
    except Exception as error:  # noqa: BLE001 - whatever a witness of another environment lacks
        print(f"{witness}: {error}", file=sys.stderr)
        return ""
    return repr(str(value)) if isinstance(value, str) else special(repr(np.asarray(value).item()))


def explained(script: str, title: str, reason: str) -> str:
    """A short script with the page's title and sentence in its docstring.

    Where that makes it longer than it may be, addresses of further operators go first, then blank lines.
    """
    _, about, code = script.split('"""', 2)
    seen = [line for line in about.splitlines() if line.startswith("Seen with ")]
    kept = [line for line in about.splitlines() if line.startswith(("It vanishes with", "Get it by"))]
    first = title.replace('"', "'")
    lines = [f'"""{first}', "", *seen, *expectation(reason), *kept, '"""']
    body = _compact(code.strip().splitlines())
    if len(lines) + len(body) > LINES:
        body = [line for line in body if line.strip()]
    return "\n".join([*lines, *body, ""])


def _compact(code: Sequence[str]) -> list[str]:
    """Imports of the standard library on one line, and one blank line where there were two."""
    plain = [line for line in code if re.fullmatch(r"import (os|sys|tempfile|io)", line)]
    rest = [line for line in code if line not in plain]
    body = [*([f"import {', '.join(line.split()[1] for line in plain)}"] if plain else []), *rest]
    return [line for n, line in enumerate(body) if line.strip() or (n and body[n - 1].strip())]


def main(words: Sequence[str]) -> int:
    """Write the scripts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", metavar="NUMBER", nargs="*", type=int, help="Of entries; all if none is given.")
    args = parser.parse_args(words)
    told = sections(PAGE.read_text())
    for folder in sorted(FOLDERS.iterdir()):
        number = int(folder.name[:3])
        if args.numbers and number not in args.numbers:
            continue
        path, (title, reason) = folder / "repro.py", told[number]
        text = path.read_text()
        is_long = "\nTARGETS = {" in text
        made = shortened(folder, title, reason) if is_long else explained(text, title, reason)
        lines = len((made or text).splitlines())
        if made is None or lines > LINES:
            print(f"{folder.name}: {'keeps its long form' if made is None else f'{lines} lines'}")
        if made is not None:
            path.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
