"""What the commands share: where the store is, how it is opened, and what they all accept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from headish import Database, Store

F = TypeVar("F", bound=Callable[..., Any])


class Settings(NamedTuple):
    """The options before the command."""

    db: str | None
    space: str

    @property
    def target(self) -> str:
        """``--db``, else ``HEADISH_DB``, else a file in the platform's folder for users' data."""
        if self.db:
            return self.db
        from platformdirs import user_data_path

        return str(user_data_path("headish") / "headish.db")

    def open(self, *, create: bool = False) -> Store:
        """The store. Only commands that store something make what is missing."""
        from headish import Store

        return Store.open(self.target, space=self.space, create=create)

    def open_database(self, *, create: bool = False) -> Database:
        """The database, for the commands that look at all of its spaces."""
        from headish import Database

        return Database.open(self.target, create=create)


pass_settings: Callable[[F], F] = click.make_pass_decorator(Settings)  # type: ignore[assignment]
headish_argument = click.argument("headish", default="@")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or one a line for a list.")


def read_text(text: str | None) -> str:
    """The argument, or standard input for ``-`` (and where nothing is given and nobody types).

    Text is UTF-8, whatever the machine's locale says.
    """
    if text is None and os.isatty(0):
        raise click.UsageError("give the text, or - to read it from standard input")
    if text not in (None, "-"):
        return text or ""
    data = sys.stdin.buffer.read()
    if text is None and not data:
        raise click.UsageError("there is nothing to store: give the text, or - with something on standard input")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        from headish.errors import InvalidContent

        raise InvalidContent("standard input", f"it is not UTF-8 ({error.reason} at byte {error.start})") from None


def parse_settings(pairs: tuple[str, ...], option: str = "--set") -> dict[str, Any]:
    """``KEY=JSON`` pairs as options; ``params.temperature=0.2`` sets a key inside a record."""
    from headish.content.merge import combine

    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not key or not separator:
            raise click.BadParameter(f"{pair!r} is not KEY=JSON", param_hint=option)
        value: Any = _decode(text, key, option)
        for part in reversed(key.split(".")):
            value = {part: value}
        options = combine(options, value)
    return options


def _decode(text: str, key: str, option: str) -> Any:
    from headish.content import strictjson
    from headish.errors import InvalidContent

    what = f"{option} {key}"
    if text.isidentifier() and text not in ("true", "false", "null", "NaN", "Infinity"):
        raise InvalidContent(what, f"it is not JSON; a text stands in quotes: {key}='\"{text}\"'")
    return strictjson.decode(text, what)


def input_path(path: str) -> Any:
    """An open binary stream for ``-``, else the path."""
    return sys.stdin.buffer if path == "-" else Path(path)
