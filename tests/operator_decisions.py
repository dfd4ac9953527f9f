"""Finds places where Python decides something by the name of an operator, which belongs into a trait of ``ops/``.

A comparison, a ``case`` and a set, dict or split text of names count once each; so does a tuple or list that somebody
tests with ``in``. Building a node does not count: neither do names that are drawn, passed or returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx.defs
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

ELSEWHERE = ("spec/", "export/", "analyze/", "rewrite/")
"""Folders whose modules are about single operators: what each computes, and in what other terms."""


@dataclass(frozen=True, order=True)
class Decision:
    """A line that decides; ``explained`` if the line above is a comment."""

    path: str
    line: int
    text: str
    explained: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}{'' if self.explained else '   (no reason above)'}"


def decisions(package: Path) -> list[Decision]:
    """All decisions in a package's modules but those ``ELSEWHERE``."""
    texts = {path: path.read_text() for path in modules(package)}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    asked = {name for tree in trees.values() for name in _asked(tree)}
    found = []
    for path, tree in trees.items():
        lines = texts[path].splitlines()
        for line in (node.lineno for node in _Finder(asked).decisions(tree)):
            explained = lines[line - 2].lstrip().startswith("#")
            found.append(Decision(path.relative_to(package).as_posix(), line, lines[line - 1].strip(), explained))
    return sorted(found)


def only_names(package: Path) -> list[str]:
    """Modules that hold nothing but tables of names."""
    finder = _Finder(set())
    found = []
    for path in modules(package):
        body = [
            s for s in ast.parse(path.read_text()).body if not isinstance(s, ast.Import | ast.ImportFrom | ast.Expr)
        ]
        if body and all(finder.names_in(_value(s)) for s in body):
            found.append(path.relative_to(package).as_posix())
    return found


def modules(package: Path) -> list[Path]:
    paths = sorted(package.rglob("*.py"))
    return [p for p in paths if not p.relative_to(package).as_posix().startswith(ELSEWHERE)]


NAMES = frozenset({s.name for s in (*onnx.defs.get_all_schemas_with_history(), *get_all_operator_schema())})


def _value(statement: ast.AST) -> ast.AST | None:
    return statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def _asked(tree: ast.AST) -> Iterator[str]:
    """Names that stand to the right of an ``in``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn):
                    yield from (n.id for n in ast.walk(right) if isinstance(n, ast.Name))
                    yield from (n.attr for n in ast.walk(right) if isinstance(n, ast.Attribute))


def _is_name(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES


def _is_key(node: ast.AST | None) -> bool:
    """A name, or a tuple that holds one."""
    return _is_name(node) or (isinstance(node, ast.Tuple) and any(map(_is_name, node.elts)))


def _is_split_text(node: ast.AST) -> bool:
    words = node.value.split() if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
    return len(words) > 1 and NAMES.issuperset(words)


def _is_table(node: ast.AST) -> bool:
    """A collection that is there to be looked up in, wherever it stands."""
    if isinstance(node, ast.Dict):
        return any(map(_is_key, node.keys))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
        return any(k.arg in NAMES for k in node.keywords)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("frozenset", "set"):
        return any(_is_list(n) for a in node.args for n in ast.walk(a))
    return (isinstance(node, ast.Set) and _is_list(node)) or _is_split_text(node)


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Set | ast.Tuple | ast.List) and any(map(_is_key, node.elts))


def _is_prefix_test(node: ast.AST) -> bool:
    """``op.startswith("Reduce")`` and the like."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    asked = ast.unparse(node.func.value).rpartition(".")[2]
    if node.func.attr not in ("startswith", "endswith") or asked not in ("op", "op_type", "name"):
        return False
    texts = [n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return any(t[:1].isupper() and any(n.startswith(t) or n.endswith(t) for n in NAMES) for t in texts)


class _Finder:
    """Decisions of one module; ``asked`` are names to the right of an ``in`` anywhere in the package."""

    def __init__(self, asked: set[str]) -> None:
        self._asked = asked
        self._counted: set[ast.AST] = set()

    def names_in(self, node: ast.AST | None) -> bool:
        return node is not None and any(_is_table(n) or _is_list(n) for n in ast.walk(node))

    def decisions(self, tree: ast.Module) -> Iterator[ast.expr | ast.stmt | ast.pattern]:
        for statement in tree.body:
            value = _value(statement)
            if value is not None and self._is_asked(statement, value):
                yield from self._once(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _is_list(node.value) and self._is_asked(node, node.value):
                yield from self._once(node)
            elif isinstance(node, ast.match_case):
                if any(map(_is_name, ast.walk(node.pattern))):
                    yield from self._once(node.pattern)
            elif isinstance(node, ast.expr) and self._decides(node):
                yield from self._once(node)

    def _is_asked(self, statement: ast.AST, value: ast.AST) -> bool:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = {t.id for t in targets if isinstance(t, ast.Name)}
        return any(map(_is_table, ast.walk(value))) or (bool(names & self._asked) and self.names_in(value))

    def _decides(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Compare):
            return any(_is_name(side) or self.names_in(side) for side in (node.left, *node.comparators))
        if isinstance(node, ast.Subscript):
            return _is_name(node.slice) and isinstance(node.ctx, ast.Load)
        return _is_table(node) or _is_prefix_test(node)

    def _once(self, node: ast.expr | ast.stmt | ast.pattern) -> Iterator[ast.expr | ast.stmt | ast.pattern]:
        if node not in self._counted:
            self._counted.update(ast.walk(node))
            yield node


if __name__ == "__main__":
    everything = decisions(Path(__file__).resolve().parents[1] / "irfuzz")
    print(*everything, f"{len(everything)} decisions, {sum(d.explained for d in everything)} explained", sep="\n")
