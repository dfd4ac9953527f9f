"""The source text of support functions and of all that they use."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from irfuzz.errors import InternalError


@dataclass(frozen=True, slots=True)
class Piece:
    """One top-level function, class or constant of the support modules.

    Attributes:
        text: its source, comments above it included.
        uses: names of the other pieces that it mentions.
        order: position among all pieces; text is printed in this order.
    """

    text: str
    uses: frozenset[str]
    order: int


PLAN = "irfuzz.export.size_arithmetic"
"""The functions on sizes that all frameworks share; they stand ahead of a framework's own."""


@functools.cache
def pieces(package: str, replacements: str = "") -> dict[str, Piece]:
    """Every top-level definition of the support modules in ``package``, and of the plan, by name.

    Modules are read as text, in alphabetical order, the plan's first; nothing is imported. Definitions are functions,
    classes and assignments to one name. The result is kept for later calls and must not be edited.

    Args:
        package: its import name, as ``irfuzz.export.torch.support``.
        replacements: import name of a package whose definitions stand for those of the same name; none if empty.

    Raises:
        InternalError: two of one package share a name.
    """
    found = _definitions([*_modules(PLAN), *_modules(package)])
    if replacements:
        own = _definitions(_modules(replacements))
        found = own | {name: definition for name, definition in found.items() if name not in own}
    return {
        name: Piece(source, frozenset(mentioned & found.keys()) - {name}, order)
        for order, (name, (source, mentioned)) in enumerate(found.items())
    }


def _definitions(files: Iterable[Traversable]) -> dict[str, tuple[str, set[str]]]:
    """Source of each top-level definition, and the names that it mentions and does not bind itself."""
    found: dict[str, tuple[str, set[str]]] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        for statement in ast.parse(text).body:
            name = _defined(statement)
            if name is None:
                continue
            if name in found:
                raise InternalError(f"support function {name!r} is defined twice, the second time in {file.name}")
            names = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
            own = {n.id for n in names if isinstance(n.ctx, ast.Store)}
            own |= {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}
            mentioned = {n.id for n in names} - own
            source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            found[name] = (source, mentioned)
    return found


def _modules(package: str) -> list[Traversable]:
    return sorted((f for f in resources.files(package).iterdir() if f.name.endswith(".py")), key=lambda f: f.name)


def _defined(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def support_text(names: Iterable[str], package: str, replacements: str = "") -> list[str]:
    """Source of the named functions and of all that they use, constants first, each text ready to print.

    Within constants and within functions the order is that of ``pieces``; each stands once.

    Args:
        names: of functions or constants.
        package: import name of the support package.
        replacements: as for ``pieces``.

    Raises:
        InternalError: the package has no definition of a name.
    """
    table = pieces(package, replacements)
    needed: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        if name not in table:
            raise InternalError(f"no support function {name!r} in {package}")
        needed.add(name)
        todo.extend(table[name].uses)
    constants_first = sorted(needed, key=lambda n: (table[n].text.startswith("def "), table[n].order))
    return [table[name].text for name in constants_first]
