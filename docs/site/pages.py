"""Puts into the site what lies outside of ``docs/``, and a page for each bug; mkdocs calls it (``hooks``).

Pages link as they do on a forge: ``../README.md``, ``bugs/001-x/``. Here such a link gets the place that the site has
for it, so that one text serves both.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "README.md": "docs/readme.md",
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "LICENSE": "docs/LICENSE.txt",
}
"""Files of the repository that are in the site, too, and where."""

LINK = re.compile(r"(\]\()([^)\s#]+)([^)\s]*\))")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of ``OUTSIDE`` and a page for the folder of each bug."""
    from mkdocs.structure.files import File

    for name, place in OUTSIDE.items():
        path = place.removeprefix("docs/")
        files.append(File.generated(config, path, content=(ROOT / name).read_text(encoding="utf-8")))
    for folder in sorted((ROOT / "docs" / "bugs").iterdir()):
        files.append(File.generated(config, f"bugs/{folder.name}/index.md", content=bug_page(folder)))
    return files


def bug_page(folder: Path) -> str:
    """Markdown of a bug's folder: its files, and the script."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    listed = "\n".join(f"* [{name}]({name})" for name in names)
    scripts = [f"## {name}\n\n````python\n{(folder / name).read_text()}````" for name in names if name.endswith(".py")]
    return f"# {folder.name}\n\nAn entry of [bugs](../../bugs.md).\n\n{listed}\n\n" + "\n\n".join(scripts)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page with links as the site has them; code stays."""
    source = next(
        (name for name, place in OUTSIDE.items() if place == f"docs/{page.file.src_uri}"), f"docs/{page.file.src_uri}"
    )
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(lambda m: linked(m, source), part) for part in parts)


def linked(match: re.Match[str], source: str) -> str:
    """One link, from where the page lies in the repository to where its target is in the site."""
    target = match[2]
    if re.match(r"[a-z]+:", target):
        return match[0]
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    here = OUTSIDE.get(source, source)
    if target.endswith("/") or (ROOT / place).is_dir():
        place += "/index.md"
    return match[1] + posixpath.relpath(OUTSIDE.get(place, place), posixpath.dirname(here)) + match[3]
