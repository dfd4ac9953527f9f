"""The site is built strictly, all links in it lead somewhere, it fetches nothing from elsewhere, and the notebook runs.

Needs ``pip install 'irfuzz[docs]'``; skipped without.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

import irfuzz

ROOT = Path(__file__).resolve().parents[1]
BUGS = sorted(folder.name for folder in (ROOT / "docs" / "bugs").iterdir())

needs_mkdocs = pytest.mark.skipif(find_spec("material") is None, reason="needs pip install 'irfuzz[docs]' (mkdocs)")
needs_nbclient = pytest.mark.skipif(
    find_spec("nbclient") is None or find_spec("ipykernel") is None,
    reason="needs pip install 'irfuzz[docs]' (nbclient, ipykernel)",
)


class References(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link" and said.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(said.get("href", ""))
        elif tag in ("script", "img") and "src" in said:
            self.loaded.append(said["src"])
        self.places |= {said["id"]} if "id" in said else set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/site/mkdocs.yml", "-d", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, References]:
    return {path: References(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def broken(pages: dict[Path, References], page: Path) -> Iterator[str]:
    for link in pages[page].links:
        name, _, anchor = unquote(link).partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        target = (page.parent / name).resolve() if name else page
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or (anchor and anchor not in pages[target].places):
            yield f"{page.name}: {link}"


@needs_mkdocs
@pytest.mark.slow
def test_every_link_leads_somewhere(pages: dict[Path, References]) -> None:
    assert len(pages) > len(BUGS) + 30
    assert [one for page in pages for one in broken(pages, page) if not one.endswith("#__skip")] == []


@needs_mkdocs
@pytest.mark.slow
def test_every_page_and_every_bug_is_there(site: Path) -> None:
    written = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [str(path) for path in written if not (site / path).with_suffix(".html").is_file()] == []
    assert [name for name in BUGS if not (site / "bugs" / name / "index.html").is_file()] == []
    assert (site / "tutorials" / "notebook.ipynb").is_file()
    assert all((site / f"{name}.html").is_file() for name in ("readme", "changelog", "contributing"))


@needs_mkdocs
@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, References]) -> None:
    assert {one for page in pages.values() for one in page.loaded if re.match(r"(?:https?:)?//", one)} == set()


def test_references_are_found() -> None:
    found = References(
        '<a href="x.html#y">x</a><h2 id="z"></h2><script src="//a/b.js"></script><link rel="icon" href="i">'
    )
    assert (found.links, found.loaded, found.places) == (["x.html#y"], ["//a/b.js", "i"], {"z"})


@needs_nbclient
@pytest.mark.slow
@pytest.mark.backend
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(Path(irfuzz.__file__).parents[1]))
    notebook = nbformat.read(ROOT / "docs" / "tutorials" / "notebook.ipynb", as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")], "stored without outputs"
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    told = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", ()))
    assert "verdicts: []" in told
    assert list(tmp_path.iterdir()) == []
