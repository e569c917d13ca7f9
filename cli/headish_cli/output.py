"""How values are printed: data on stdout, words on stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from headish import Store
    from headish.errors import HeadishError
    from headish.values.blocks import ContentBlock
    from headish.values.ids import TurnId

ROLE_COLOURS = {"system": "magenta", "developer": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
PLAIN_WIDTH = 100


class Told(click.ClickException):
    """An error of headish, told in one line."""

    def show(self, file: Any = None) -> None:
        click.echo(f"headish: {' '.join(printable(self.message).split())}", file=file, err=file is None)


def sentence(error: HeadishError) -> str:
    """What an error says, in the spelling of the command: ``--drop WORD`` where Python writes ``drop="WORD"``."""
    from headish.errors import Unrepresentable

    if isinstance(error, Unrepresentable):
        return error.advise(" ".join(f"--drop {word}" for word in error.drops))
    return str(error)


def printable(text: str) -> str:
    """Text without control characters: a name must not be able to write to the terminal."""
    return "".join(character if character.isprintable() or character in "\n\t " else "�" for character in text)


def print_json(value: Any, *, pretty: bool = False) -> None:
    """One JSON value on a line of its own, or indented."""
    import msgspec

    encoded = msgspec.json.encode(value)
    click.echo(msgspec.json.format(encoded, indent=2) if pretty else encoded)


def print_json_lines(values: Iterable[Any]) -> None:
    """One JSON value a line."""
    for value in values:
        print_json(value)


def say(words: str) -> None:
    """A sentence for the person, on stderr."""
    click.echo(words, err=True)


def counted(count: int, word: str) -> str:
    """``1 turn``, ``2,000 turns``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def width() -> int:
    """Columns of the terminal; a fixed number where the output goes elsewhere, so that it is always the same."""
    return shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def preview(blocks: Sequence[ContentBlock]) -> str:
    """A message on one line: its text, and a word for what is no text."""
    return " ".join(" ".join(_in_words(block) for block in blocks).split())


def shorten(store: Store, ids: Iterable[TurnId]) -> dict[TurnId, str]:
    """The first digits of each id, as many for all as the closest two need."""
    shortest = store.abbreviate(ids)
    digits = max(map(len, shortest.values()), default=0)
    return {turn_id: turn_id[:digits] for turn_id in shortest}


def one_line(text: str, columns: int) -> str:
    """Text cut to so many columns, with nothing in it that could move the cursor."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain if len(plain) <= columns else plain[: max(columns - 1, 0)] + "…"


def readable(text: str) -> str:
    """Text of several lines, safe for a terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)


def role_word(role: str | None) -> str:
    """A role in its colour, in a column of its own; a bare sequence has none."""
    return click.style(f"{role or '-':<9}", fg=ROLE_COLOURS.get(role or ""))


def marks(bookmarks: Iterable[str]) -> str:
    """Bookmarks behind a turn."""
    names = ", ".join(one_line(name, 60) for name in bookmarks)
    return " " + click.style(f"[{names}]", fg="blue", bold=True) if names else ""


def _in_words(block: ContentBlock) -> str:
    from headish.values import blocks

    match block:
        case blocks.Text(text=text):
            return text
        case blocks.Thinking():
            return "(thinking)"
        case blocks.Document(source=source, name=name):
            return f"(document {name or source.media_type})"
        case blocks.ToolUse(name=name):
            return f"(call {name})"
        case blocks.ToolResult(name=name, content=content):
            return f"(result{' of ' + name if name else ''}) {preview(content)}"
        case blocks.Other(type=kind):
            return f"({kind})"
        case _:
            return f"({block.__struct_config__.tag})"
