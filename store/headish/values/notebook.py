"""The HTML that a notebook shows for turns, threads, trees and windows (``_repr_html_``).

This module knows neither turns nor messages: each value makes its own entries, and imports this module only in a
notebook. Everything that a turn says is escaped, and so are characters that reorder a line; nothing is a link, an image
or a script. Reasoning is named and not shown. Text has the colours of the page, so that it is readable in light and
dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse, kind_of
from headish.values.checks.controls import escape_controls

SHOWN, SHOWN_FIRST = 100, 20
"""How many turns of a list are shown at most, and how many of them are its first."""
TEXT_CHARACTERS = 4000
_HUES = {"system": 300, "developer": 300, "user": 200, "assistant": 130, "tool": 45}
_ENTRY = Markup(
    '<div style="border-left:3px solid hsl({hue} 50% 50%);padding:0 0 0 .7em;margin:.4em 0 .4em {indent}em">'
    '<div style="opacity:.7;font-size:85%"><b>{role}</b> {about}</div>'
    '<div style="white-space:pre-wrap">{said}</div></div>'
)
_PART = Markup('<div style="opacity:.7">{what}</div>')
_LEFT_OUT = Markup('<div style="opacity:.7">⋮ {count} more</div>')


class NotebookEntry(NamedTuple):
    """A turn as a notebook shows it; ``indent`` is its depth in a tree."""

    role: str | None
    about: Sequence[str]
    content: Sequence[ContentBlock]
    indent: int = 0


def html_of(entries: Sequence[NotebookEntry]) -> str:
    """Entries as HTML, without the middle of a long list."""
    if len(entries) <= SHOWN:
        return "".join(map(_html_of_entry, entries))
    last = SHOWN - SHOWN_FIRST
    left_out = _LEFT_OUT.format(count=len(entries) - SHOWN)
    first = "".join(map(_html_of_entry, entries[:SHOWN_FIRST]))
    return first + left_out + "".join(map(_html_of_entry, entries[-last:]))


def _html_of_entry(entry: NotebookEntry) -> str:
    body = Markup("\n").join(_html_of_block(block) for block in entry.content)
    about = escape_controls(" · ".join(each for each in entry.about if each))
    hue, role = _HUES.get(entry.role or "", 0), escape_controls(entry.role or "sequence")
    return str(_ENTRY.format(hue=hue, indent=2 * entry.indent, role=role, about=about, said=body))


def _html_of_block(block: ContentBlock) -> Markup:
    match block:
        case Text(text=text):
            cut = text[:TEXT_CHARACTERS] + ("…" if len(text) > TEXT_CHARACTERS else "")
            return Markup("{}").format(escape_controls(cut))
        case ToolUse(name=name):
            return _PART.format(what=escape_controls(f"(call {name})"))
        case ToolResult(name=name):
            return _PART.format(what=escape_controls(f"(result{' of ' + name if name else ''})"))
        case _:
            return _PART.format(what=escape_controls(f"({kind_of(block)})"))


def html_of_lines(lines: Sequence[str]) -> str:
    """The lines below the entries as HTML, one part for each."""
    return "".join(str(_PART.format(what=escape_controls(each))) for each in lines)
