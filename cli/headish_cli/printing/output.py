"""How values are printed: data on stdout, words on stderr.

A file or a pipe gets the true text of a turn. A terminal never gets a character that steers it
(``headish.values.checks.controls``), whatever a turn, a file name or a provider says; lists and words never hold one
at all.
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
"""Below so many columns a list gives up the time of each line."""
LEAST_WORDS = 20
"""How much of what a turn says a narrow terminal shows."""
MODEL_COLUMNS = 20
"""How much of a model's name a list shows at a terminal."""
_PIECES = r"([^\x1b]*)(\x1b\[[0-9;]*m|$)"
_AS_BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"), " ")


class Told(click.ClickException):
    """An error of headish, told in one line; ``details`` are lines below it, one for each of what it is about."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = details

    def show(self, file: Any = None) -> None:
        line = " ".join(escape_controls(self.message).split())
        click.echo(f"headish: {line}", file=file, err=file is None)
        for each in self.details:
            click.echo(f"  {one_line(each, None)}", file=file, err=file is None)


def sentence(error: HeadishError) -> str:
    """What an error says, in the spelling of the command: ``--drop WORD`` where Python writes ``drop="WORD"``."""
    from headish.errors import Unrepresentable  # late: only an error needs it

    if isinstance(error, Unrepresentable):
        return error.advise(" ".join(f"--drop {word}" for word in error.drops))
    return str(error)


class Misspelled(Told):
    """Words of the command line that cannot be right, whatever the database holds; click's own errors end alike."""

    exit_code = 2


def read_cursor(text: str | None) -> str | None:
    """A cursor that has the form of one; whether the space still holds what lay there, the database says.

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
    """Ctrl-C, and what there is to say about it."""

    exit_code = INTERRUPTED


def write(data: str | bytes) -> None:
    """Data on stdout as it is; at a terminal as text, with every character that steers one written out."""
    if not sys.stdout.isatty():
        # Bytes, because a text stream would change line ends on some systems, and click would cut ANSI sequences out.
        click.echo(data.encode() if isinstance(data, str) else data, nl=False)
        return
    text = data if isinstance(data, str) else data.decode(errors="backslashreplace")
    click.echo(escape_controls(text), nl=False)


def print_json(value: Any, *, pretty: bool = False) -> None:
    """One JSON value on a line of its own, or indented. Characters that steer a terminal are JSON escapes in it."""
    import msgspec

    encoded = msgspec.json.encode(value)
    text = (msgspec.json.format(encoded, indent=2) if pretty else encoded).decode()
    click.echo(escape_json_controls(text).encode())


def print_json_lines(values: Iterable[Any]) -> None:
    """One JSON value per line."""
    for value in values:
        print_json(value)


def say(words: str) -> None:
    """A sentence for the person, on stderr."""
    click.echo(escape_controls(words), err=True)


def counted(count: int, word: str) -> str:
    """``1 turn``, ``2,000 turns``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def width() -> int | None:
    """Columns of the terminal (or ``COLUMNS``), None where the output goes elsewhere: then no line is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def room_beside(*parts: str) -> int | None:
    """The columns that a line has left for its text beside its other parts; at least ``LEAST_WORDS``."""
    columns = width()
    return None if columns is None else max(columns - sum(map(_cells, parts)), LEAST_WORDS)


def lay_out(before: Sequence[str], said: str, behind: Sequence[str] = (), *, spare: Sequence[str] = ()) -> str:
    """A line of a list: what is said, in the room that the parts before and behind it leave.

    Where a terminal is too narrow for ``LEAST_WORDS`` of it, the ``spare`` parts go, one after the other; what is too
    long even then is cut. A file or a pipe gets all of it.
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
    """Rows as lines with their columns below each other: numbers, those at ``right``, by their last digit. An empty
    column takes no room."""
    sizes = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    shown = [index for index, size in enumerate(sizes) if size]
    for row in rows:
        blanks = [" " * (sizes[index] - cells(row[index])) for index in shown]
        padded = zip(shown, blanks, strict=True)
        yield "  ".join(some + row[index] if index in right else row[index] + some for index, some in padded).rstrip()


def fit(line: str) -> str:
    """A line with its colours, cut where the terminal ends."""
    room = width()
    if room is None or _cells(line) <= room:
        return line
    from rich.cells import set_cell_size

    kept, left = "", room - 1
    for text, style in re.findall(_PIECES, line):
        if cells(text) <= left:
            kept, left = kept + text, left - cells(text)
        elif left >= 0:
            kept, left = f"{kept}{set_cell_size(text, left).rstrip(' …')}…", -1
        kept += style
    return kept


def _cells(part: str) -> int:
    return cells(click.unstyle(part))


def is_narrow() -> bool:
    """Whether lines have no room for a time."""
    columns = width()
    return columns is not None and columns < NARROW


def cells(text: str) -> int:
    """The columns that a text takes at a terminal: wide characters take two, joiners and marks none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # late: most text is ASCII

    return cell_len(text)


def pad(text: str, columns: int) -> str:
    """Text with blanks up to so many columns."""
    return text + " " * max(columns - cells(text), 0)


def preview(blocks: Sequence[ContentBlock]) -> str:
    """A message on one line: its text, and a word for what is no text."""
    from headish.content.excerpts import in_short

    return in_short(blocks)


def content_of(store: Store, turn_id: TurnId) -> tuple[ContentBlock, ...]:
    """What a turn says; of an erased one the mark of its erasure."""
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


def shorten(store: Store, ids: Iterable[TurnId]) -> dict[TurnId, str]:
    """The handle of each turn."""
    return store.abbreviate(list(ids))


def handle_columns(handles: Iterable[str]) -> int:
    """The columns that a list keeps for handles. Those of twins are longer, and rare: they do not widen the list."""
    return max((len(each.partition(":")[0]) for each in handles), default=0)


def one_line(text: str, columns: int | None) -> str:
    """Text on one line, cut to so many columns (None: whole), with nothing in it that steers a terminal."""
    if columns is None:
        return escape_controls(text.translate(_AS_BLANKS))
    # A long text is not measured whole: even with a mark on every letter, this is more than fits.
    line = escape_controls(text[: 16 * columns].translate(_AS_BLANKS))
    if len(text) <= 16 * columns and cells(line) <= columns:
        return line
    if line.isascii():
        return line[: max(columns - 1, 0)] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(line, max(columns - 1, 0)).rstrip() + "…"


def role_word(role: str | None) -> str:
    """A role in its colour, in a column of its own; a bare sequence has none."""
    word = role or "-"
    # The blanks are outside of the colour: who needs none can take them off.
    return click.style(word, fg=ROLE_COLOURS.get(word)) + " " * (9 - len(word))


def reply_mark(turn: Meta | TreeTurn) -> str:
    """What stands behind a reply in a list: the model, without the path before its name, and that it was cut off."""
    model, incomplete = turn.reply.get("model"), turn.is_cut_off
    named = [one_line(model.rpartition("/")[2], MODEL_COLUMNS if width() else None)] if isinstance(model, str) else []
    edited = ["edited"] if turn.reply.get("edited") else []
    facts = ", ".join([*named, *edited, *(["incomplete"] if incomplete else [])])
    return " " + click.style(f"({facts})", fg="red" if incomplete else None, dim=not incomplete) if facts else ""


def version_mark(version: object) -> str:
    """Which version of how many a turn is; nothing where it is the only one."""
    return " " + click.style(f"{version}", fg="yellow", dim=True) if version else ""


def marks(bookmarks: Iterable[str]) -> str:
    """Bookmarks behind a turn."""
    names = ", ".join(one_line(name, 60) for name in bookmarks)
    return " " + click.style(f"[{names}]", fg="blue", bold=True) if names else ""
