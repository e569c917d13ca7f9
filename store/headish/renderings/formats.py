"""A page in each of its forms."""

from __future__ import annotations

from collections.abc import Callable

from headish.errors import UnknownFormat
from headish.renderings.html import render_html
from headish.renderings.pages import ThreadPage
from headish.renderings.texts import render_markdown, render_plain


def render(page: ThreadPage, format: str) -> str:
    """A page as ``html``, ``markdown`` or ``text``. Raises: UnknownFormat."""
    renderer = RENDERINGS.get(format)
    if renderer is None:
        raise UnknownFormat(format, tuple(RENDERINGS))
    return renderer(page)


RENDERINGS: dict[str, Callable[[ThreadPage], str]] = {
    "html": render_html,
    "markdown": render_markdown,
    "text": render_plain,
}
