"""A page as one HTML file that stands alone: nothing is loaded from elsewhere, and nothing in a message can run.

Three walls: every text is escaped (``marking.clean``; Markdown with raw HTML and images off), links lead to the web or
to mail only, and the page's own Content-Security-Policy allows this one style and this one script, by their hashes.
Functions here take a page's text and return HTML. A variable whose name ends in ``_html`` holds HTML.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from headish.renderings.marking import clean, write_markdown
from headish.renderings.pages import BOUNDARY, EDITED, INCOMPLETE, PageMessage, Part, Section, ThreadPage
from headish.values.times import local_time

_WARNING = '<p class="debug">This is a debugging view: it shows what end users may not see.</p>'


def render_html(page: ThreadPage) -> str:
    """The file's text. It works from a disk, on a phone, in light and dark, and on paper."""
    return "".join(stream_html(page, (_write_section(section, at) for at, section in enumerate(page.sections))))


def stream_html(page: ThreadPage, sections: Iterable[str]) -> Iterator[str]:
    """Yield the file in pieces, with ``sections`` of HTML instead of the page's own.

    So a long thread is written as it is read, without the whole page in memory.
    """
    yield _head(page)
    yield from sections
    yield (
        f"</main>\n<footer>Turn {clean(page.head)}. Made with headish.</footer>\n"
        f"<script>{_asset('page.js')}</script>\n</body>\n</html>\n"
    )


def open_section(anchor: str) -> str:
    """The HTML before the entries of a section without a heading."""
    return f'<section id="{clean(anchor)}">\n'


CLOSE_SECTION = "</section>\n"


def _head(page: ThreadPage) -> str:
    style, script, title_html = _asset("page.css"), _asset("page.js"), clean(page.title)
    # By hashes: a file cannot have a fresh nonce for each reader.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    model_html = f'<p class="model">Model: <bdi>{clean(page.model)}</bdi></p>' if page.model else ""
    # The search field is hidden until the script runs: without it, the field would do nothing.
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{clean(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{title_html}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><h1 dir="auto">{title_html}</h1>{model_html}{_WARNING if page.debug else ""}'
        '<input id="search" type="search" placeholder="Search in the page" aria-label="Search in the page" hidden>'
        '<output id="found" for="search"></output></header>\n<main>\n'
    )


def _write_section(section: Section, at: int) -> str:
    # The first section is the thread: the page's title is its heading.
    heading_html = f'<h2 dir="auto">Branch: {clean(section.title)}</h2>\n' if at else ""
    return open_section(section.anchor) + heading_html + "".join(map(write_entry, section.entries)) + CLOSE_SECTION


def write_entry(entry: PageMessage) -> str:
    """The HTML of one message, or of a line between messages."""
    if entry.role == BOUNDARY:
        return f'<p class="cut">{clean(entry.who)}</p>\n'
    about_html = f' <span class="model">{clean(entry.model)}</span>' if entry.model else ""
    about_html += f' <span class="model">{EDITED}</span>' if entry.edited else ""
    about_html += f' <span class="version" title="Version">{clean(entry.version)}</span>' if entry.version else ""
    about_html += "".join(f' <span class="name">{clean(name)}</span>' for name in entry.bookmarks)
    parts_html = "".join(map(write_part, entry.parts))
    cut = f'<p class="cut">{INCOMPLETE}</p>\n' if entry.incomplete else ""
    return (
        f'<article class="{clean(entry.role)}" id="t{clean(entry.id)}">\n'
        f"<h3><bdi>{clean(entry.who)}</bdi>{about_html} "
        f'<time datetime="{entry.time.isoformat(timespec="seconds")}">{local_time(entry.time)}</time></h3>\n'
        f"{parts_html}{cut}{_write_branches(entry)}</article>\n"
    )


def _write_branches(entry: PageMessage) -> str:
    if not entry.branches:
        return ""
    links_html = "".join(
        f'<li dir="auto"><a href="#{clean(branch.anchor)}">{clean(branch.title)}</a></li>' for branch in entry.branches
    )
    return f"<nav><p>Also continued by</p><ul>{links_html}</ul></nav>\n"


def write_part(part: Part) -> str:
    """The HTML of one part of a message; calls, results and reasoning are folded."""
    if part.kind == "text":
        return f'<div class="text" dir="auto">{write_markdown(part.body)}</div>\n'
    if part.kind in ("erased", "document"):
        return f'<p class="cut" dir="auto">{clean(part.title)}: {clean(part.body)}</p>\n'
    return (
        f'<details class="{clean(part.kind)}"><summary dir="auto">{clean(part.title)}</summary>'
        f'<pre dir="auto">{clean(part.body)}</pre></details>\n'
    )


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return files("headish.renderings").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
