"""How values are printed: data on stdout, words on stderr.

A file or a pipe gets the text of a turn unchanged. A terminal never gets a control character
(``headish.values.checks.controls``), whatever a turn, a file name or a provider says. Lists and messages never hold
one, wherever they go.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from headish.errors import HeadishError, InvalidArgument, TurnErased
from headish.values.checks.controls import escape_controls, escape_json_controls
from headish_cli.options import INTERRUPTED

if TYPE_CHECKING:
    from headish import Store
    from headish.values.blocks import ContentBlock
    from headish.values.ids import TurnId
    from headish.values.turns import Meta, TreeTurn

ROLE_COLOURS = {"system": "magenta", "developer": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
NARROW = 70
"""Below this many columns, a list leaves out the time of each line."""
LEAST_WORDS = 20
"""The fewest columns for the text of a turn, on a terminal of any width."""
MODEL_COLUMNS = 20
"""The columns for a model's name in a list at a terminal."""
_PIECES = r"([^\x1b]*)(\x1b\[[0-9;]*m|$)"
_AS_BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"), " ")


class Told(click.ClickException):
    """An error, shown in one line on stderr; ``details`` follow below it, one per line."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = details

    def show(self, file: Any = None) -> None:
        # One line: scripts read the message by its first word, and an error may quote text with line breaks.
        line = " ".join(escape_controls(self.message).split())
        click.echo(f"headish: {line}", file=file, err=file is None)
        for each in self.details:
            click.echo(f"  {one_line(each, None)}", file=file, err=file is None)


def sentence(error: HeadishError) -> str:
    """The message of an error as the command spells it: ``--drop WORD`` where Python writes ``drop="WORD"``."""
    from headish.errors import Unrepresentable  # late: only an error needs them
    from headish_cli.printing.spelling import spell

    if isinstance(error, Unrepresentable):
        return error.advise(" ".join(f"--drop {word}" for word in error.drops))
    return spell(str(error))


class Misspelled(Told):
    """A command line that cannot be right, whatever the database holds. Exits with 2, as click's own errors do."""

    exit_code = 2


def read_cursor(text: str | None) -> str | None:
    """Check the form of a cursor. Only the database can tell whether the space still has that position.

    Raises: Misspelled.
    """
    if text is None:
        return None
    from headish.history.feeds.cursors import parse_cursor

    try:
        return str(parse_cursor(text))
    except InvalidArgument as error:
        raise Misspelled(sentence(error)) from None


class Stopped(Told):
    """An end by Ctrl-C that has something to report."""

    exit_code = INTERRUPTED


def write(data: str | bytes) -> None:
    """Write data to stdout unchanged; at a terminal as text, with control characters escaped."""
    if not sys.stdout.isatty():
        # As bytes: a text stream would change line ends on some systems, and click would remove ANSI sequences.
        # A path may be bytes that are not UTF-8, which Python keeps as lone surrogates.
        click.echo(data.encode(errors="backslashreplace") if isinstance(data, str) else data, nl=False)
        return
    text = data if isinstance(data, str) else data.decode(errors="backslashreplace")
    click.echo(escape_controls(text), nl=False)


def print_json(value: Any, *, pretty: bool = False) -> None:
    """Print a JSON value on one line, or indented. Control characters are JSON escapes in it."""
    import msgspec

    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        # A path may be bytes that are not UTF-8, which Python keeps as lone surrogates. JSON has escapes for them.
        encoded = json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()
    text = (msgspec.json.format(encoded, indent=2) if pretty else encoded).decode()
    click.echo(escape_json_controls(text).encode())


def print_json_lines(values: Iterable[Any]) -> None:
    """Print one JSON value per line."""
    for value in values:
        print_json(value)


def say(words: str) -> None:
    """Print a message for the person on stderr, so that stdout holds data alone."""
    click.echo(escape_controls(words), err=True)


def counted(count: int, word: str) -> str:
    """``1 turn``, ``2,000 turns``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def width() -> int | None:
    """The columns of the terminal (or ``COLUMNS``); None if the output goes elsewhere, where no line is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def room_beside(*parts: str) -> int | None:
    """The columns that the other parts of a line leave for its text; at least ``LEAST_WORDS``."""
    columns = width()
    return None if columns is None else max(columns - sum(map(_cells, parts)), LEAST_WORDS)


def lay_out(before: Sequence[str], said: str, behind: Sequence[str] = (), *, spare: Sequence[str] = ()) -> str:
    """Lay out a line of a list: ``said``, cut to the room that the parts before and behind it leave.

    If a terminal is too narrow for ``LEAST_WORDS`` columns of it, the ``spare`` parts are dropped one by one, then the
    line is cut. A file or a pipe gets all of it.
    """
    room = width()
    parts = (list(before), list(behind))
    if room is not None:
        least = min(LEAST_WORDS, _cells(one_line(said, LEAST_WORDS)))
        for part in spare:
            if sum(map(_cells, [*parts[0], *parts[1]])) + least <= room:
                break
            for each in parts:
                each[:] = [other for other in each if other is not part]
    first, last = map("".join, parts)
    return fit(first + one_line(said, room_beside(first, last)) + last)


def in_columns(rows: Sequence[Sequence[str]], right: Container[int]) -> Iterator[str]:
    """Align the columns of rows; those at the indices ``right`` (numbers) by their right edge. An empty column takes
    no room."""
    sizes = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    shown = [index for index, size in enumerate(sizes) if size]
    for row in rows:
        blanks = [" " * (sizes[index] - cells(row[index])) for index in shown]
        padded = zip(shown, blanks, strict=True)
        yield "  ".join(some + row[index] if index in right else row[index] + some for index, some in padded).rstrip()


def fit(line: str) -> str:
    """Cut a line with its colours to the width of the terminal."""
    room = width()
    if room is None or _cells(line) <= room:
        return line
    from rich.cells import set_cell_size

    # Pieces of text and colour in turn: after the cut, the colours still follow, so the last one is switched off.
    kept, room_left = "", room - 1
    for text, style in re.findall(_PIECES, line):
        if cells(text) <= room_left:
            kept, room_left = kept + text, room_left - cells(text)
        elif room_left >= 0:
            kept, room_left = f"{kept}{set_cell_size(text, room_left).rstrip(' …')}…", -1
        kept += style
    return kept


def _cells(part: str) -> int:
    return cells(click.unstyle(part))


def is_narrow() -> bool:
    """Whether the terminal is too narrow for the time of each line."""
    columns = width()
    return columns is not None and columns < NARROW


def cells(text: str) -> int:
    """The columns that a text takes at a terminal: wide characters take two, joiners and marks none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # late: most text is ASCII

    return cell_len(text)


def pad(text: str, columns: int) -> str:
    """Pad text with blanks to ``columns``."""
    return text + " " * max(columns - cells(text), 0)


def preview(blocks: Sequence[ContentBlock]) -> str:
    """A message on one line: its text, and a word for each block that is not text."""
    from headish.content.excerpts import in_short

    return in_short(blocks)


def content_of(store: Store, turn_id: TurnId) -> tuple[ContentBlock, ...]:
    """The content of a turn; for an erased one, the mark of its erasure."""
    try:
        return store.blocks(turn_id)
    except TurnErased:
        [(_, message)] = store.messages(turn_id, limit=1)
        return message.content


class ContentsAhead:
    """What turns of a list say, each as it is asked for, and many of them read at once."""

    def __init__(self, store: Store, ids: Sequence[TurnId]) -> None:
        self._store, self._waiting = store, dict.fromkeys(ids)
        self._held: dict[TurnId, tuple[ContentBlock, ...]] = {}

    def take(self, turn_id: TurnId) -> tuple[ContentBlock, ...]:
        """As ``content_of``. Raises: as it does, for a damaged turn once its row comes."""
        from headish.errors import CorruptTurn

        try:
            while turn_id not in self._held:
                self._held |= self._store.contents([turn_id, *self._waiting])
                for each in self._held:
                    self._waiting.pop(each, None)
        except CorruptTurn:
            return content_of(self._store, turn_id)
        return self._held.pop(turn_id)


def handle_columns(handles: Iterable[str]) -> int:
    """The columns for handles in a list. Handles of twins are longer and rare, so they do not widen it."""
    return max((len(each.partition(":")[0]) for each in handles), default=0)


def one_line(text: str, columns: int | None) -> str:
    """Text on one line, cut to ``columns`` (None: whole), without control characters."""
    if columns is None:
        return escape_controls(text.translate(_AS_BLANKS))
    # A payload may be megabytes: measure no more than can fit, even if every letter has combining marks.
    line = escape_controls(text[: 16 * columns].translate(_AS_BLANKS))
    if len(text) <= 16 * columns and cells(line) <= columns:
        return line
    if line.isascii():
        return line[: max(columns - 1, 0)] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(line, max(columns - 1, 0)).rstrip() + "…"


def role_word(role: str | None) -> str:
    """A role in its colour, padded to the column of roles; ``-`` for a bare sequence, which has no role."""
    word = role or "-"
    # Nine columns hold "assistant". The blanks are outside of the colour, so that a caller can strip them.
    return click.style(word, fg=ROLE_COLOURS.get(word)) + " " * (9 - len(word))


def reply_mark(turn: Meta | TreeTurn) -> str:
    """The mark after a reply in a list: the model without the path before its name, ``edited``, ``incomplete``."""
    model, incomplete = turn.reply.get("model"), turn.is_cut_off
    named = [one_line(model.rpartition("/")[2], MODEL_COLUMNS if width() else None)] if isinstance(model, str) else []
    edited = ["edited"] if turn.reply.get("edited") else []
    facts = ", ".join([*named, *edited, *(["incomplete"] if incomplete else [])])
    return " " + click.style(f"({facts})", fg="red" if incomplete else None, dim=not incomplete) if facts else ""


def version_mark(version: object) -> str:
    """The mark for which version of how many a turn is; empty if it is the only one."""
    return " " + click.style(f"{version}", fg="yellow", dim=True) if version else ""


def marks(bookmarks: Iterable[str]) -> str:
    """The bookmarks of a turn in brackets; empty without any."""
    names = ", ".join(one_line(name, 60) for name in bookmarks)
    return " " + click.style(f"[{names}]", fg="blue", bold=True) if names else ""
