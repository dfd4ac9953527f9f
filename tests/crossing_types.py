"""Types that modules take from other folders of a package: imported, or in signatures of what they use."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

Name = tuple[str, str]
"""A module and what it defines."""

GROUND = ("ir", "spec")
"""What programs are made of; of its types only ``Program`` is one that is handed on."""


class Package:
    """The modules of a package.

    Args:
        root: its folder.
    """

    def __init__(self, root: Path) -> None:
        self.name = root.name
        files = {".".join(p.relative_to(root.parent).with_suffix("").parts): p for p in sorted(root.rglob("*.py"))}
        self._trees = {m.removesuffix(".__init__"): ast.parse(p.read_text(encoding="utf-8")) for m, p in files.items()}
        self._packages = {m.removesuffix(".__init__") for m in files if m.endswith(".__init__")}
        self._defined: dict[Name, ast.stmt] = {}
        self._imported: dict[str, dict[str, Name]] = defaultdict(dict)
        for module, tree in self._trees.items():
            for node in tree.body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    self._defined[module, node.name] = node
                elif isinstance(node, ast.Assign | ast.AnnAssign):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        if isinstance(target, ast.Name):
                            self._defined[module, target.id] = node
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    self._imported[module].update({a.asname or a.name: (node.module, a.name) for a in node.names})

    def crossing(self, way: Sequence[str]) -> dict[str, set[str]]:
        """Types by name, each with the modules that take it from another folder.

        A type is a dataclass, a name for a tuple of several things, ``Program`` or ONNX's ``ModelProto``. A module
        takes it if it imports it, or uses a function or method of another folder which takes or gives it; methods are
        known by their names alone, so that rather too many are found.

        Args:
            way: the modules that are looked at, as ``folder/module``, or ``folder/`` for all of a folder.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for module in self._trees:
            path = module.replace(".", "/").removeprefix(f"{self.name}/")
            if any(path == one or (one.endswith("/") and f"{path}/".startswith(one)) for one in way):
                for where, name in self._taken(module):
                    if self._folder(where) not in ("", self._folder(module)):
                        found[name].add(path)
        return dict(found)

    def _folder(self, module: str) -> str:
        """Empty if it lies in none."""
        _, *parts = module.split(".")
        return parts[0] if len(parts) > 1 or (parts and module in self._packages) else ""

    def _taken(self, module: str) -> Iterator[Name]:
        tree = self._trees[module]
        yield from self._types(module, tree)
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | {"__init__"}
        for name in self._imported[module]:
            found = self._resolved(module, name)
            if found is None or self._folder(found[0]) == self._folder(module):
                continue
            definition = self._defined[found]
            if self._is_type(found):
                yield found
            for node in ast.walk(definition) if isinstance(definition, ast.ClassDef) else [definition]:
                if isinstance(node, ast.FunctionDef) and (node is definition or node.name in used):
                    yield from self._types(found[0], node.args)
                    yield from self._types(found[0], node.returns) if node.returns is not None else ()

    def _types(self, module: str, node: ast.AST) -> Iterator[Name]:
        """Those that are named in a piece of a module's text, quoted ones too."""
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                part = ast.Name(part.value)
            if isinstance(part, ast.Attribute) and part.attr == "ModelProto":
                yield "onnx.onnx_ml_pb2", part.attr
            if isinstance(part, ast.Name) and (found := self._resolved(module, part.id)) and self._is_type(found):
                yield found

    def _resolved(self, module: str, name: str) -> Name | None:
        """Where a name is defined that a module uses."""
        for _ in range(8):
            if (module, name) in self._defined:
                return module, name
            if name not in self._imported.get(module, {}):
                return None
            module, name = self._imported[module][name]
        return None

    def _is_type(self, name: Name) -> bool:
        node = self._defined[name]
        if self._folder(name[0]) in GROUND:
            return name[1] == "Program"
        if isinstance(node, ast.ClassDef):
            return any("dataclass" in ast.unparse(one) for one in node.decorator_list)
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        return (
            isinstance(value, ast.Subscript) and ast.unparse(value.value) == "tuple" and "..." not in ast.unparse(value)
        )
