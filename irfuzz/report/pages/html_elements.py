"""Makes HTML in which every text is escaped unless it is known to be markup."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any, TypeAlias


class Markup(str):
    """Text that is HTML already and stands in a page as it is."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Iterable[Child] | None"
"""What may stand inside of an element: text, markup, numbers, several of them, or nothing."""

_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
"""Elements without an end."""


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An HTML element.

    Example:
        >>> element("p", "1 < 2", element("b", "!"), class_="note")
        '<p class="note">1 &lt; 2<b>!</b></p>'

    Args:
        tag: its name, which is trusted.
        children: text is escaped, ``Markup`` is not, ``None`` is left out.
        attributes: values are escaped; ``True`` gives the name alone, and ``None`` and ``False`` nothing. ``class_`` is
            ``class``, and other underscores become hyphens.

    Returns:
        Markup.
    """
    told = "".join(_attribute(name, value) for name, value in attributes.items() if value not in (None, False))
    if tag in _VOID:
        return Markup(f"<{tag}{told}>")
    return Markup(f"<{tag}{told}>{together(*children)}</{tag}>")


def together(*children: Child) -> Markup:
    """Children one after the other, escaped as in ``element``, without an element around them.

    Args:
        children: text, markup, numbers, lists of them, or ``None``.
    """
    return Markup("".join(_text(child) for child in children))


def json_block(name: str, data: Any) -> Markup:
    """Data for the script, which it finds by ``name``; no text in it can end the block.

    Args:
        name: id of the element, which is trusted.
        data: what JSON can say.
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(f'<script type="application/json" id="{name}">{text}</script>')


def shown(text: object) -> str:
    """Text of a model or a component as a page may show it: what is not printable is spelt out.

    Characters that change the direction of text would show a name as another one.

    Args:
        text: any object; its ``str``.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in str(text))


def _attribute(name: str, value: str | float | bool | None) -> str:
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(shown(value))}"'


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int | float):
        return html.escape(shown(child))
    return "".join(_text(one) for one in child)
