"""Make a message's text harmless before it goes into a page of Markdown: it runs nothing and loads nothing.

Who opens the page may have a reader that lets raw HTML through. So outside code ``<`` is written as an entity, which
stops tags, comments and autolinks; an image becomes a link; a link that leads elsewhere than to http, https or mailto
becomes text. Code stays as it was said: it is code to every reader of CommonMark.

Where a line is code is decided with caution. A fenced or indented block is what markdown-it says. A code span counts
only where it begins and ends on its line and nothing in its paragraph leaves a backtick open; otherwise its ``<`` is
written as an entity too, which a reader then shows as ``&lt;``. That is ugly, and safe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A backslash before the character would escape the entity's ampersand instead: it is taken along.
_LIVE = re.compile(r"(?<!\\)(\\*+)(<|!(?=\[)|\](?= ?[(:]\s*+(?!https?://|mailto:)))", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", "!": "&#33;", "]": "&#93;"}
_TICKS = re.compile(r"`+")


def disarm(text: str) -> str:
    """Markdown of a message that can neither run nor load anything, with every fence of it closed."""
    lines = re.sub("\r\n?", "\n", text).rstrip("\n").split("\n")
    blocks = [token for token in _parser().parse("\n".join(lines)) if token.type in ("fence", "code_block")]
    written: list[str] = []
    outside: list[str] = []
    for line, is_code in zip(lines, _code_lines(blocks, len(lines)), strict=True):
        if is_code:
            written += [*_disarm_lines(outside), line]
            outside = []
        else:
            outside.append(line)
    written += _disarm_lines(outside)
    return "\n".join([*written, *_closing_fence(blocks, lines)])


def disarm_line(text: str) -> str:
    """Text that is no Markdown, on one line: a name, a title."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`\[\]])", r"\\\1", line)


def _code_lines(blocks: Sequence[Token], count: int) -> list[bool]:
    """Which lines stand in a fenced or indented block of code, its fences included."""
    inside = [False] * count
    for block in blocks:
        # {=html} makes raw HTML of a block of code in Pandoc's Markdown.
        if block.map is not None and "{=" not in block.info:
            start, end = block.map
            inside[start:end] = [True] * (min(end, count) - start)
    return inside


def _closing_fence(blocks: Sequence[Token], lines: Sequence[str]) -> list[str]:
    """The line that closes a fence which the message left open: it would swallow the messages that follow.

    A fence inside a list or quotation ends with it.
    """
    last = blocks[-1] if blocks else None
    if last is None or last.type != "fence" or last.level or last.map is None:
        return []
    first, end = last.map
    closing = rf" {{0,3}}{re.escape(last.markup)}{last.markup[0]}*[ \t]*"
    is_closed = end - 1 > first and re.fullmatch(closing, lines[end - 1])
    return [] if is_closed else [last.markup]


def _disarm_lines(lines: Sequence[str]) -> list[str]:
    """Lines outside blocks of code. A paragraph is searched as a whole: a link's target may be on the next line."""
    if not lines:
        return []
    return "".join(_disarm_paragraph(part) for part in re.split(r"(\n[ \t]*(?=\n))", "\n".join(lines))).split("\n")


def _disarm_paragraph(paragraph: str) -> str:
    spans = _code_spans(paragraph)
    pieces, at = [], 0
    for start, end in spans:
        pieces += [_LIVE.sub(_as_entity, paragraph[at:start]), paragraph[start:end]]
        at = end
    return "".join([*pieces, _LIVE.sub(_as_entity, paragraph[at:])])


def _code_spans(paragraph: str) -> list[tuple[int, int]]:
    """The beginnings and ends of code spans, each on one line. There are none if some reader could pair the backticks
    in another way."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in paragraph.split("\n"):
        runs = list(_TICKS.finditer(line))
        # An escaped backtick, and a cell of a table, end a span for some readers.
        if runs and ("\\`" in line or "|" in line or "{=" in line):
            return []
        opening: re.Match[str] | None = None
        for run in runs:
            if opening is None:
                opening = run
            elif run.group() == opening.group():
                spans.append((at + opening.start(), at + run.end()))
                opening = None
        if opening is not None:
            return []
        at += len(line) + 1
    return spans


def _as_entity(found: re.Match[str]) -> str:
    backslashes, character = found.groups()
    return backslashes[: len(backslashes) // 2 * 2] + _ENTITIES[character]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: only a page needs it

    # Without HTML, for its ``<`` will be an entity; so the blocks are those of the finished page.
    return MarkdownIt("commonmark", {"html": False}).disable(["html_block", "inline"])
