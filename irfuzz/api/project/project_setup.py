"""Sets a project up for campaigns: its ``irfuzz.toml``, a baseline, first seeds, and a job for its build server."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from irfuzz.api.project.first_seed_choice import choose_first_seeds
from irfuzz.errors import UsageError
from irfuzz.execute.target_table import resolve
from irfuzz.findings.baseline import NO_BASELINE
from irfuzz.frontends.project_file import NAME
from irfuzz.shipped_folders import seeds_dir

SEEDS, BASELINE = "irfuzz-seeds", "irfuzz-baseline.json"
"""Folder and file of a project, as ``irfuzz.toml`` names them."""

TEMPLATES = Path(__file__).parent / "job_templates"
EXTRA = "'irfuzz[onnxruntime]'"

SKIPPED = frozenset({"build", "dist", "docs", "node_modules", "site-packages", "test", "tests", "venv"})
"""Folders in which no target is looked for; neither is one in those that begin with a dot or an underscore."""


class BuildServer(StrEnum):
    """What runs campaigns of a project by itself."""

    GITHUB = "github"
    GITLAB = "gitlab"
    CRON = "cron"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ProjectSetup:
    """What was set up.

    Attributes:
        written: files, in the order in which they were written.
        kept: files that were there and stay.
        tried: models and calls that were run on the target to find seeds.
        refused: what it said of the last one that it did not take; empty if it took all.
        to_do: what is left for a person; empty if nothing is.
    """

    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    tried: int
    refused: str
    to_do: str

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        files = {"written": [str(p) for p in self.written], "kept": [str(p) for p in self.kept]}
        return {**files, "tried": self.tried, "refused": self.refused, "to_do": self.to_do}

    def __str__(self) -> str:
        """The files, a line each, seeds together; then what to do next."""
        seeds = [path for path in self.written if path.suffix == ".onnx"]
        lines = [f"wrote {path}" for path in self.written if path not in seeds]
        lines += [f"wrote {seeds[0].parent}: {len(seeds)} models of {self.tried or len(seeds)} tried"] if seeds else []
        lines += [f"kept {path}, which was there" for path in self.kept]
        return "\n".join([*lines, *([self.to_do] if self.to_do else []), "try it: irfuzz fuzz --budget pull-request"])


def set_up_project(
    folder: Path,
    target: str | None = None,
    *,
    targets: Sequence[str] | None = None,
    server: BuildServer = BuildServer.GITHUB,
    force: bool = False,
) -> ProjectSetup:
    """Write what a project needs for campaigns; nothing is written if anything is wrong.

    Args:
        folder: of the project; classes of the user's are looked for in the working folder.
        target: a class of the user's, or another target that seeds have to run on; ``None``: seeds are taken untried.
        targets: that are compared, if not those that ``irfuzz fuzz`` chooses.
        server: whose job is written.
        force: files that are there are replaced, except for the baseline, in which people have written.

    Raises:
        UsageError: a target cannot be used or runs no seed, or a file is there already or cannot be written.
    """
    for argument, names in (("target", [target] if target else []), ("targets", targets or ())):
        for name in names:
            try:
                resolve([name])
            except UsageError as error:
                raise UsageError(f"{argument}: {error}") from None
    job = _job(folder, server)
    texts = {NAME: _settings(target, targets), **job.files}
    there = [folder / name for name in texts if (folder / name).exists()]
    if there and not force:
        raise UsageError(f"{', '.join(map(str, there))}: is there already; --force has it replaced")
    seeds = choose_first_seeds(seeds_dir(), target)
    files = {folder / name: text.encode() for name, text in texts.items()}
    added = {folder / BASELINE: NO_BASELINE.to_text().encode()}
    added |= {folder / SEEDS / name: data for name, data in seeds.models.items()}
    kept = tuple(path for path in added if path.exists())
    files |= {path: data for path, data in added.items() if path not in kept}
    for path, data in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    return ProjectSetup(tuple(files), kept, seeds.tried, seeds.refused, job.to_do)


def _settings(target: str | None, targets: Sequence[str] | None) -> str:
    """The text of ``irfuzz.toml``; JSON's texts and lists are TOML's, too."""
    values: dict[str, Any] = {"seeds": [SEEDS]}
    values |= {"target": [target], "learn": True} if target else {}
    values |= {"targets": [*targets]} if targets else {}
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in {**values, "baseline": BASELINE}.items()
    ]
    return "\n".join(["# Flags of `irfuzz fuzz`, by their long names.", "[fuzz]", *lines, ""])


@dataclass(frozen=True, slots=True)
class _Job:
    """The files of a build server, by their paths in the project, and what is left for a person."""

    files: Mapping[str, str]
    to_do: str = ""


def _job(folder: Path, server: BuildServer) -> _Job:
    if server is BuildServer.NONE:
        return _Job({})
    if server is BuildServer.CRON:
        text = (TEMPLATES / "cron.txt").read_text()
        words = {"FOLDER": shlex.quote(str(folder.absolute())), "PYTHON": shlex.quote(sys.executable)}
        for word, value in words.items():
            text = text.replace(word, value.replace("%", "\\%"))  # which ends a line of cron's otherwise
        return _Job({"irfuzz.cron": text}, "to have cron run it: (crontab -l; cat irfuzz.cron) | crontab -")
    text = (TEMPLATES / f"{server}.yml").read_text().replace("INSTALL", _installed(folder))
    if server is BuildServer.GITHUB:
        return _Job({".github/workflows/irfuzz.yml": text})
    if not (folder / ".gitlab-ci.yml").exists():
        return _Job({".gitlab-ci.yml": text})
    return _Job({"irfuzz.gitlab-ci.yml": text}, "add to .gitlab-ci.yml: include: irfuzz.gitlab-ci.yml")


def _installed(folder: Path) -> str:
    """What pip installs: irfuzz, and the project with what it needs."""
    words = ["-r requirements.txt"] if (folder / "requirements.txt").is_file() else []
    words += ["."] if any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")) else []
    return " ".join([*words, EXTRA])


def likely_targets(folder: Path) -> list[str]:
    """Classes below a folder that look like targets, as ``--target`` takes them.

    They have a method ``run`` of two arguments. Files are read and not run; those that cannot be read are left out.

    Args:
        folder: of the project.
    """
    found: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if any(part in SKIPPED or part.startswith((".", "_")) for part in parts[:-1]) or len(parts) > 4:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        inner = parts[1:] if "src" in parts[:1] else parts
        module = ".".join([*inner[:-1], path.stem]).removesuffix(".__init__")
        found += [f"{module}:{node.name}" for node in tree.body if isinstance(node, ast.ClassDef) and _runs(node)]
    return found


def _runs(node: ast.ClassDef) -> bool:
    methods = [line for line in node.body if isinstance(line, ast.FunctionDef) and line.name == "run"]
    return any(len(method.args.posonlyargs) + len(method.args.args) == 3 for method in methods)
