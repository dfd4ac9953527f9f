"""Makes HTML of the Markdown of reports, in which nothing but Markdown is markup."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt

from irfuzz.report.pages.html_elements import Markup, shown


@cache
def _renderer() -> MarkdownIt:
    # HTML stays text, and addresses that are scripts are no links (the library's ``validateLink``).
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def rendered(text: str, *, below: int = 1) -> Markup:
    """HTML of a report.

    Args:
        text: Markdown; HTML in it is shown as text.
        below: by how many levels its headings stand below those that it says, for they stand in a page that has some.
    """
    tokens = _renderer().parse(shown(text))
    for token in tokens:
        if token.tag[:1] == "h" and token.tag[1:].isdecimal():
            token.tag = f"h{min(6, int(token.tag[1:]) + below)}"
    renderer = _renderer()
    html = str(renderer.renderer.render(tokens, renderer.options, {}))
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>')
    return Markup(html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">'))
