"""What a notebook shows of turns, threads, trees and windows: ``_repr_html_``.

Everything that a turn says is escaped, and so are characters that reorder a line; nothing is a link, an image or a
script. Reasoning is named and not shown. Colours are those of the page, so that it is readable in light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse, kind_of
from headish.values.checks.controls import escape_controls
from headish.values.times import local_time

if TYPE_CHECKING:
    from headish.values.messages import ContextWindow, Message, ThreadRecord
    from headish.values.turns import TreeTurn, Turn

SHOWN, SHOWN_FIRST = 100, 20
"""So many turns of a list are shown at the most, and so many of them are its first."""
TEXT_CHARACTERS = 4000
_HUES = {"system": 300, "developer": 300, "user": 200, "assistant": 130, "tool": 45}
_ENTRY = Markup(
    '<div style="border-left:3px solid hsl({hue} 50% 50%);padding:0 0 0 .7em;margin:.4em 0 .4em {indent}em">'
    '<div style="opacity:.7;font-size:85%"><b>{role}</b> {about}</div>'
    '<div style="white-space:pre-wrap">{said}</div></div>'
)
_PART = Markup('<div style="opacity:.7">{what}</div>')
_LEFT_OUT = Markup('<div style="opacity:.7">⋮ {count} more</div>')


class Entry(NamedTuple):
    """A turn as a notebook shows it: ``indent`` is how deep it stands in a tree."""

    role: str | None
    about: Sequence[str]
    content: Sequence[ContentBlock]
    indent: int = 0


def html_of(entries: Sequence[Entry]) -> str:
    """Entries as HTML, the middle of a long list left out."""
    if len(entries) <= SHOWN:
        return "".join(map(_html_of_entry, entries))
    last = SHOWN - SHOWN_FIRST
    left_out = _LEFT_OUT.format(count=len(entries) - SHOWN)
    first = "".join(map(_html_of_entry, entries[:SHOWN_FIRST]))
    return first + left_out + "".join(map(_html_of_entry, entries[-last:]))


def _html_of_entry(entry: Entry) -> str:
    said = Markup("\n").join(_html_of_block(block) for block in entry.content)
    about = escape_controls(" · ".join(each for each in entry.about if each))
    hue, role = _HUES.get(entry.role or "", 0), escape_controls(entry.role or "sequence")
    return str(_ENTRY.format(hue=hue, indent=2 * entry.indent, role=role, about=about, said=said))


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


def turn_entry(turn: Turn, content: Sequence[ContentBlock]) -> Entry:
    """A turn with what it says."""
    model, cut = turn.meta.reply.get("model"), "incomplete" if turn.meta.is_cut_off else ""
    about = [local_time(turn.said_at), str(model or ""), turn.meta.bookmark or "", cut, turn.id]
    return Entry(turn.meta.role, about, content)


def message_entry(message: Message) -> Entry:
    """A message of a window."""
    return Entry(message.role, [message.turn or ""], message.content)


def window_html(window: ContextWindow) -> str:
    """A window: its messages, its options and its notes."""
    told = [*(["options " + ", ".join(sorted(window.options))] if window.options else []), *map(str, window.notes)]
    notes = "".join(str(_PART.format(what=escape_controls(each))) for each in told)
    return html_of([message_entry(message) for message in window.messages]) + notes


def tree_html(tree: Sequence[TreeTurn]) -> str:
    """A tree in commit order, each branch indented."""
    depths: dict[str, int] = {}
    firsts = {turn.id: turn.children[0] for turn in tree if turn.children}
    for turn in tree:
        before = turn.continues[0] if turn.continues else turn.id
        depths[turn.id] = depths.get(before, 0) + (
            0 if firsts.get(before, turn.id) == turn.id or before == turn.id else 1
        )
    return html_of(
        [Entry(each.role, [", ".join(each.bookmarks), each.id], each.content, depths[each.id]) for each in tree]
    )


def thread_html(thread: Sequence[ThreadRecord]) -> str:
    """The records of a thread."""
    return html_of([Entry(each.role, [each.id], each.content) for each in thread])
