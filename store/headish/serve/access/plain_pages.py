"""The pages that need no login and no template: errors, logged in, logged out."""

from __future__ import annotations

from html import escape

from headish.serve.access.themes import SYSTEM


def plain_page(title: str, text: str, theme: str = SYSTEM, *, home: str | None = None, head_html: str = "") -> str:
    """The HTML of a page with a title and one sentence, in the style of all others; with a link to the list at
    ``home``, unless it is None."""
    sentence = text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
    home_html = "" if home is None else f'<p><a href="{escape(home)}">All conversations</a></p>\n'
    theme_html = "" if theme == SYSTEM else f' data-theme="{escape(theme)}"'
    return (
        f'<!doctype html>\n<html lang="en"{theme_html}>\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)} – headish</title>\n{head_html}"
        '<link rel="stylesheet" href="/assets/page.css">\n<link rel="icon" href="/assets/icon.svg">\n</head>\n<body>\n'
        f'<header class="bar"><a class="home" href="{escape(home or "/")}">headish</a></header>\n'
        f'<main>\n<div class="narrow">\n<h1>{escape(title)}</h1>\n<p>{escape(sentence)}</p>\n'
        f"{home_html}</div>\n</main>\n</body>\n</html>\n"
    )
