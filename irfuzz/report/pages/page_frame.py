"""Puts a page together: head, policy, style, script, and what stands at its top and end."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irfuzz import __version__
from irfuzz.report.pages.html_elements import Markup, element, together

STYLE, SCRIPT, LICENCES = "irfuzz-pages.css", "irfuzz-pages.min.js", "LICENCES.txt"
"""Files of the folder ``script`` that pages need; the last one says under which licences the script is."""

_FOLDER = Path(__file__).parent / "script"

# An address that begins with ``file`` has no origin, for which 'self' would stand.
_OWN_FILES = "'self' file:"

REFRESH_SECONDS = 20
"""How often the page of a running campaign is loaded again."""


@dataclass(frozen=True, slots=True)
class PageAssets:
    """How a page finds its style sheet and script.

    Attributes:
        folder: relative address of the folder that holds them, ending in a slash; ``None`` if both stand in the page,
            which then needs no other file.
    """

    folder: str | None = None

    def head(self) -> Markup:
        """The policy, the style and the script as elements of a page's head."""
        if self.folder is None:
            style, script = asset(STYLE), asset(SCRIPT)
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            return together(
                _policy(f"'sha256-{digest}'", "'unsafe-inline'"),
                Markup(f"<style>{style}</style>"),
                Markup(f"<script>{script}</script>"),
            )
        return together(
            _policy(_OWN_FILES, f"{_OWN_FILES} 'unsafe-inline'"),
            element("link", rel="stylesheet", href=self.folder + STYLE),
            element("script", src=self.folder + SCRIPT, defer=True),
        )


@cache
def asset(name: str) -> str:
    """The text of a file that the package ships for pages.

    Args:
        name: ``STYLE``, ``SCRIPT`` or ``LICENCES``.
    """
    return (_FOLDER / name).read_text(encoding="utf-8")


def page(
    title: str,
    *body: Markup,
    assets: PageAssets,
    up: tuple[str, str] | None = None,
    refresh: bool = False,
) -> str:
    """A whole page.

    Args:
        title: for the tab of the browser.
        body: the sections of it.
        assets: which style and script it loads.
        up: name and relative address of the page to which it belongs.
        refresh: it loads itself again every ``REFRESH_SECONDS``, until its reader stops that.
    """
    again = element("noscript", element("meta", http_equiv="refresh", content=REFRESH_SECONDS)) if refresh else None
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"irfuzz {__version__}"),
        element("title", title),
        assets.head(),
        again,
    )
    bar = element(
        "header",
        element("span", "irfuzz", class_="brand"),
        element("nav", element("a", up[0], href=up[1]), aria_label="Up") if up else None,
        _refresh_switch() if refresh else None,
        class_="bar",
    )
    foot = element("footer", f"Written by irfuzz {__version__}. This page loads nothing from the network.")
    inside = element("body", bar, element("main", *body), foot)
    return f"<!doctype html>\n{element('html', head, inside, lang='en')}\n"


def _refresh_switch() -> Markup:
    """Says that the campaign runs, and lets the reader stop the reloading; the script wires it."""
    return element(
        "span",
        element("span", class_="pulse", aria_hidden="true"),
        "running",
        element("button", "Stop refreshing", type="button", data_refresh=REFRESH_SECONDS, hidden=True),
        class_="running",
    )


def _policy(script: str, style: str) -> Markup:
    rules = f"default-src 'none'; img-src data:; style-src {style}; script-src {script}; base-uri 'none'"
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{rules}">')
