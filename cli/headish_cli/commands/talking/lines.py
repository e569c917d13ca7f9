"""Read what a person types, one message at a time: with editing and history at a terminal, else as plain lines.

``Lines.read`` returns a message, or None when the person leaves. A message that begins with three quotes ends at the
next three quotes, so that it can have several lines, at a terminal or not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from headish.errors import TooLarge
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish_cli.options import decode_text
from headish_cli.printing.output import say

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyPressEvent

QUOTES = '"""'
NO_EDITING = "Without prompt_toolkit lines have no history and no editing: pip install 'headish[chat]'."


class Lines:
    """Plain lines of standard input. A terminal without line editing gets a prompt before each."""

    at_terminal = False
    """Whether a person can see an error and try again."""

    def read(self, prompt: str) -> str | None:
        """Read the next message that is not empty; None at the end of the input.

        Raises: TooLarge; InvalidContent if it is not UTF-8; KeyboardInterrupt.
        """
        while (line := self._line(prompt)) is not None:
            if line.startswith(QUOTES):
                return self._quoted(line)
            if line.strip():
                return line
        return None

    def _quoted(self, first: str) -> str | None:
        """Read the lines up to the closing quotes, or to the end of the input."""
        lines = [first.removeprefix(QUOTES)]
        while not lines[-1].endswith(QUOTES):
            line = self._line("... ")
            if line is None:
                break
            lines.append(line)
        return "\n".join(lines).removesuffix(QUOTES).strip("\n")

    def _line(self, prompt: str) -> str | None:
        if sys.stdin is None:
            return None
        if sys.stdin.isatty():
            click.echo(prompt, nl=False, err=True)
        # Bytes: the locale must not decide how a message is decoded, nor an endless line fill the memory.
        raw = sys.stdin.buffer.readline(PAYLOAD_LIMIT_BYTES + 1)
        if len(raw) > PAYLOAD_LIMIT_BYTES:
            raise TooLarge("a line", len(raw), PAYLOAD_LIMIT_BYTES, is_cut=True)
        if raw:
            return decode_text(raw).rstrip("\r\n")
        if sys.stdin.isatty():
            click.echo(err=True)  # Ctrl-D leaves the cursor behind the prompt
        return None


class EditedLines(Lines):
    """Lines of a terminal, with editing, a history and completion of the commands."""

    at_terminal = True

    def __init__(self, session: PromptSession[str]) -> None:
        self._session = session

    def _line(self, prompt: str) -> str | None:
        while True:
            try:
                return self._session.prompt(prompt)
            except KeyboardInterrupt:
                say("Ctrl-D or /quit leaves.")
            except EOFError:
                return None


def open_lines(history: Callable[[], Iterable[str]], commands: Iterable[str]) -> Lines:
    """Open the lines of the terminal or, without one, plain lines. ``history`` has earlier messages, oldest first.

    The history is not kept in a file: messages are in the database, where they can be erased.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        return Lines()
    try:
        return EditedLines(_session(history(), commands))
    except ImportError:
        say(NO_EDITING)
        plain = Lines()
        plain.at_terminal = True
        return plain


def _session(history: Iterable[str], commands: Iterable[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession  # late: it takes a tenth of a second
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    words = WordCompleter(sorted(commands), sentence=True)
    return PromptSession(
        history=InMemoryHistory(list(history)), completer=words, complete_while_typing=False, key_bindings=_keys(),
        multiline=True, prompt_continuation="... ", enable_open_in_editor=True,
    )  # fmt: skip


def _keys() -> Any:
    """Enter sends, Alt-Enter begins another line."""
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _another_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
