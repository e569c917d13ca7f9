"""A page as one HTML file that stands alone: nothing is loaded from elsewhere, and nothing in a message can run.

Three walls: every text is escaped (MarkupSafe; Markdown with raw HTML and images off), links lead to the web or to mail
only, and the page's own Content-Security-Policy allows this one style and this one script, by their hashes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from headish.renderings.pages import BOUNDARY, EDITED, INCOMPLETE, PageMessage, Part, Section, ThreadPage
from headish.values.times import local_time

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# What HTML refuses to hold: controls but tab and line breaks, and halves of surrogate pairs.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#-]*")
"""What a fence says where it names a language alone, or nothing."""
_PAGE = Markup(
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
    "<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    '<header><h1 dir="auto">{title}</h1>{model}{warning}'
    '<input id="search" type="search" placeholder="Search in the page" aria-label="Search in the page" hidden>'
    '<output id="found" for="search"></output></header>\n<main>\n{sections}</main>\n'
    "<footer>Turn {head}. Made with headish.</footer>\n<script>{script}</script>\n</body>\n</html>\n"
)


def render_html(page: ThreadPage) -> str:
    """The file's text. It works from a disk, on a phone, in light and dark, and on paper."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    warning = '<p class="debug">This is a debugging view: it shows what end users may not see.</p>'
    sections = Markup("").join(_write_section(section, is_first=not at) for at, section in enumerate(page.sections))
    return str(
        _PAGE.format(
            policy=policy,
            title=_clean(page.title),
            style=Markup(style),  # noqa: S704 - our own files
            script=Markup(script),  # noqa: S704
            model=Markup('<p class="model">Model: <bdi>{}</bdi></p>').format(_clean(page.model)) if page.model else "",
            warning=Markup(warning if page.debug else ""),  # noqa: S704
            sections=sections,
            head=page.head,
        )
    )


def _write_section(section: Section, *, is_first: bool) -> Markup:
    heading = Markup("") if is_first else Markup('<h2 dir="auto">Branch: {}</h2>\n').format(_clean(section.title))
    entries = Markup("").join(_write_entry(entry) for entry in section.entries)
    return Markup('<section id="{}">\n{}{}</section>\n').format(section.anchor, heading, entries)


def _write_entry(entry: PageMessage) -> Markup:
    if entry.role == BOUNDARY:
        return Markup('<p class="cut">{}</p>\n').format(entry.who)
    names = Markup("").join(Markup(' <span class="name">{}</span>').format(_clean(name)) for name in entry.bookmarks)
    links = Markup("").join(
        Markup('<li dir="auto"><a href="#{}">{}</a></li>').format(branch.anchor, _clean(branch.title))
        for branch in entry.branches
    )
    also = Markup("<nav><p>Also continued by</p><ul>{}</ul></nav>\n").format(links) if links else Markup("")
    model = Markup(' <span class="model">{}</span>').format(_clean(entry.model)) if entry.model else ""
    model += Markup(' <span class="model">{}</span>').format(EDITED) if entry.edited else ""
    version = Markup(' <span class="version" title="Version">{}</span>').format(entry.version) if entry.version else ""
    parts = Markup("").join(_write_part(part) for part in entry.parts)
    cut = Markup('<p class="cut">{}</p>\n').format(INCOMPLETE) if entry.incomplete else ""
    return Markup(
        '<article class="{role}" id="t{id}">\n<h3><bdi>{who}</bdi>{model}{version}{names} '
        '<time datetime="{iso}">{time}</time></h3>\n{parts}{cut}{also}</article>\n'
    ).format(
        role=entry.role, id=entry.id, who=_clean(entry.who), model=model, version=version, names=names,
        iso=entry.time.isoformat(timespec="seconds"), time=local_time(entry.time), parts=parts, cut=cut, also=also,
    )  # fmt: skip


def _write_part(part: Part) -> Markup:
    if part.kind == "text":
        rendered = _markdown().render(_clean(part.body))
        # Safe: the renderer was told to escape, and has no rule that lets HTML or an image through.
        return Markup('<div class="text" dir="auto">{}</div>\n').format(Markup(rendered))  # noqa: S704
    if part.kind in ("erased", "document"):
        return Markup('<p class="cut" dir="auto">{}: {}</p>\n').format(_clean(part.title), _clean(part.body))
    return Markup('<details class="{}"><summary dir="auto">{}</summary><pre dir="auto">{}</pre></details>\n').format(
        part.kind, _clean(part.title), _clean(part.body)
    )


def _clean(text: str) -> str:
    return _REFUSED.sub("�", text)


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: only a page needs it

    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    renderer.disable(["image", "html_block", "html_inline"])
    renderer.validateLink = lambda url: _LINK.match(url.strip()) is not None  # type: ignore[method-assign]
    renderer.add_render_rule("link_open", _open_link)
    renderer.add_render_rule("fence", _write_fence)
    return renderer


def _write_fence(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """A block of code, below the name of its file where the fence says more than a language."""
    info = " ".join(tokens[index].info.split())
    label = "" if _LANGUAGE.fullmatch(info) else Markup('<p class="file">{}</p>\n').format(info)
    return str(label) + str(self.fence(tokens, index, options, env))


def _open_link(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return str(self.renderToken(tokens, index, options, env))


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return files("headish.renderings").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
