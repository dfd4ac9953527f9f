"""How the package reads, in figures: docstrings, names of two things, and the size of functions and folders.

A riddle is a module docstring of the form "X enters, Y leaves". "if" is for conditions and "where" for places, so a
docstring that has many a "where" has conditions that read like places. Public are modules, functions and classes
without an underscore in front, and methods of such classes.

Run ``python -m benchmarks.readability [--package irfuzz] [--json] [--worst N]``. It exits 1 if a limit of ``LIMITS`` is
passed; ``tests/test_house.py`` keeps to the same limits.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

RIDDLE = re.compile(r"\benters?\b.*\bleaves?\b", re.DOTALL)

COPIED = ("workers", "support")
"""Folders of files that other interpreters run, one beside the other: frameworks have classes of the same name."""

LIMITS: Mapping[str, tuple[float | None, float | None]] = {
    "riddles": (None, 0),
    "where": (None, 150),
    "names of two classes": (None, 0),
    "folders above 22 modules": (None, 0),
    "words in a public function's docstring, mean": (25, None),
}
"""Least and most of some figures."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method.

    Attributes:
        place: ``path:line name``.
        lines: of it, with its docstring.
        words: of its docstring; 0 without one.
        public: it and what it stands in have no underscore in front.
    """

    place: str
    lines: int
    words: int
    public: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What ``measured`` gives.

    Attributes:
        numbers: by what they count.
        classes: files of each public class name that more than one has.
        folders: modules of each folder that has more than 22.
        riddles: modules whose docstring is one.
        functions: all of them.
    """

    numbers: Mapping[str, float]
    classes: Mapping[str, list[str]]
    folders: Mapping[str, int]
    riddles: list[str]
    functions: list[Function]


def measured(package: Path) -> Figures:
    """Read every module of a package; nothing is imported."""
    trees = {p: ast.parse(p.read_text()) for p in sorted(package.rglob("*.py"))}
    texts = [ast.get_docstring(node) or "" for tree in trees.values() for node in ast.walk(tree) if _described(node)]
    words = Counter(word for text in texts for word in re.findall(r"\w+", text.lower()))
    functions = [f for path, tree in trees.items() for f in _functions(tree, path.relative_to(package.parent))]
    riddles = [
        str(p.relative_to(package.parent)) for p, tree in trees.items()
        if RIDDLE.search((ast.get_docstring(tree) or "").partition("\n\n")[0])
    ]  # fmt: skip
    classes = _classes(trees, package)
    folders = Counter(p.parent for p in trees)
    flat = {str(folder.relative_to(package.parent)): many for folder, many in folders.items() if many > 22}
    public = [f for f in functions if f.public]
    lines = sorted(f.lines for f in functions)
    numbers = {
        "modules": len(trees),
        "riddles": len(riddles),
        "where": words["where"],
        "if": words["if"],
        "names of two classes": len(classes),
        "folders above 22 modules": len(flat),
        "modules of the fullest folder": max(folders.values()),
        "words in a public function's docstring, mean": round(statistics.mean(f.words for f in public if f.words), 1),
        "public functions with a docstring, %": round(100 * sum(f.words > 0 for f in public) / len(public), 1),
        "lines of a function, 95th percentile": lines[int(0.95 * len(lines))],
        "lines of the longest function": lines[-1],
    }
    return Figures(numbers, classes, flat, riddles, functions)


def _described(node: ast.AST) -> bool:
    return isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)


def _functions(tree: ast.AST, path: Path, public: bool = True) -> Iterator[Function]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            words = len((ast.get_docstring(node) or "").split())
            shown = public and not node.name.startswith("_")
            yield Function(f"{path}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1, words, shown)
            yield from _functions(node, path, public=False)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, path, public=public and not node.name.startswith("_"))
        else:
            yield from _functions(node, path, public)


def _classes(trees: Mapping[Path, ast.Module], package: Path) -> dict[str, list[str]]:
    """Files of each public class that has the name of another one."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        inner = path.relative_to(package)
        if not any(part in COPIED for part in inner.parts):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(inner))
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def beyond(numbers: Mapping[str, float]) -> list[str]:
    """Which figures are beyond their limits, each as a sentence."""
    told = []
    for name, (least, most) in LIMITS.items():
        if least is not None and numbers[name] < least:
            told.append(f"{name}: expected at least {least:g}, got {numbers[name]:g}")
        if most is not None and numbers[name] > most:
            told.append(f"{name}: expected at most {most:g}, got {numbers[name]:g}")
    return told


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--package", type=Path, default=Path(__file__).parents[1] / "irfuzz", help="its folder")
    arguments.add_argument("--json", action="store_true", help="print one JSON object")
    arguments.add_argument("--worst", type=int, default=0, metavar="N", help="list so many of the longest functions")
    given = arguments.parse_args()
    if not given.package.is_dir():
        arguments.error(f"--package: expected the folder of a package, got {given.package}")
    found = measured(given.package.resolve())
    wrong = beyond(found.numbers)
    if given.json:
        print(json.dumps({**asdict(found), "functions": None, "beyond": wrong}, indent=1))
        return int(bool(wrong))
    for name, number in found.numbers.items():
        print(f"{name:<48}{number:>8g}")
    for name, paths in sorted(found.classes.items()):
        print(f"class {name}: {', '.join(paths)}")
    for folder, many in sorted(found.folders.items()):
        print(f"folder {folder}: {many} modules")
    for function in sorted(found.functions, key=lambda f: -f.lines)[: given.worst]:
        print(f"{function.lines:>4} lines  {function.place}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
