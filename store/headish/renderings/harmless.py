"""Make a message's text harmless before it goes into a page of Markdown: it runs nothing and loads nothing.

The program that shows the page may let raw HTML through. So outside code ``<`` is written as an entity, which stops
tags, comments and autolinks; an image becomes a link; a link to anything but http, https or mailto becomes text. Code
stays as it was said: it is code to every reader of CommonMark.

The check for code is cautious. A fenced or indented block is what markdown-it takes for one. A code span counts only if
it begins and ends on its line and its paragraph leaves no backtick open; otherwise its ``<`` becomes an entity too,
which a reader then shows as ``&lt;``. That is ugly, and safe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Tags and autolinks; an image; the target of a link or of its definition that is not on the web. The match includes
# the backslashes before the character: they would escape the ampersand of its entity instead.
_LIVE = re.compile(r"(?<!\\)(\\*+)(<|!(?=\[)|\](?= ?[(:]\s*+(?!https?://|mailto:)))", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", "!": "&#33;", "]": "&#93;"}
_TICKS = re.compile(r"`+")


def disarm(text: str) -> str:
    """Return a message's Markdown so that it can neither run nor load anything, with its last fence closed."""
    # Readers of CommonMark end a line at a bare carriage return, too.
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
    """A name or title as one line that holds no Markdown."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`\[\]])", r"\\\1", line)


def _code_lines(blocks: Sequence[Token], count: int) -> list[bool]:
    """For each line, whether it is in a fenced or indented block of code, fences included."""
    inside = [False] * count
    for block in blocks:
        # Pandoc turns a block of code marked {=html} into raw HTML.
        if block.map is not None and "{=" not in block.info:
            start, end = block.map
            inside[start:end] = [True] * (min(end, count) - start)
    return inside


def _closing_fence(blocks: Sequence[Token], lines: Sequence[str]) -> list[str]:
    """The line that closes a fence which the message left open, if any: the fence would swallow the next messages.

    A fence inside a list or quotation needs none: it ends with the list.
    """
    last = blocks[-1] if blocks else None
    if last is None or last.type != "fence" or last.level or last.map is None:
        return []
    first, end = last.map
    closing = rf" {{0,3}}{re.escape(last.markup)}{last.markup[0]}*[ \t]*"
    is_closed = end - 1 > first and re.fullmatch(closing, lines[end - 1])
    return [] if is_closed else [last.markup]


def _disarm_lines(lines: Sequence[str]) -> list[str]:
    """Disarm lines outside blocks of code, a paragraph at a time: a link's target may be on the next line."""
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
    """The beginnings and ends of code spans, each on one line; none if some reader could pair the backticks in another
    way."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in paragraph.split("\n"):
        runs = list(_TICKS.finditer(line))
        # For some readers an escaped backtick or a table cell ends a span; {=html} after one makes it raw HTML.
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
    # Pairs of backslashes are text. A single one escaped the character, and no entity needs it.
    return backslashes[: len(backslashes) // 2 * 2] + _ENTITIES[character]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: only a page needs it

    # Without HTML, because each ``<`` becomes an entity: so the blocks are those of the finished page.
    return MarkdownIt("commonmark", {"html": False}).disable(["html_block", "inline"])
