"""How the command reports an error: its message, and a hint such as which database it read or how to make one."""

from __future__ import annotations

import os
import sys

import click

from headish.errors import (
    Ambiguous,
    HeadishError,
    InvalidHeadish,
    InvalidName,
    InvalidRole,
    UnknownDatabase,
    UnknownFormat,
    UnknownSpace,
    UnknownTurn,
)
from headish_cli.printing.output import Misspelled, Told, sentence


def refusal(error: HeadishError | OSError, settings: object, *, about: str = "") -> Told:
    """Convert an error to the message and exit code with which the command ends. ``about`` names what failed."""
    before = about and f"{about}: "
    if isinstance(error, OSError):
        return Told(before + told_by_system(error))
    if isinstance(error, Ambiguous) and error.described:
        return Told(f"{before}several turns have the handle {error.prefix!r}; take one of these:", error.described)
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    is_misspelled = isinstance(error, InvalidHeadish | InvalidName | InvalidRole | UnknownFormat)
    return (Misspelled if is_misspelled else Told)(before + sentence(error) + hint(error, settings) + notes)


def hint(error: HeadishError, settings: object) -> str:
    """The hint to append to an error's message; often empty."""
    from headish_cli.options import GlobalOptions

    is_missing = isinstance(error, UnknownDatabase) and not isinstance(error, UnknownSpace)
    if is_missing and click.get_current_context().invoked_subcommand != "restore":  # where the backup is missing
        return "; 'headish add', 'headish ask' and 'headish import' make one"
    # Python reads such bytes as lone surrogates, a word that tells a person nothing.
    if "surrogate" in str(error) and any(os.fsencode(word) != word.encode(errors="replace") for word in sys.argv):
        return "; the command line holds bytes that are not UTF-8"
    if isinstance(error, UnknownTurn) and isinstance(settings, GlobalOptions) and settings.db is None:
        # The default database is easily not the one that was meant.
        return f" (of {settings.target}, as neither --db nor HEADISH_DB names another)"
    return ""


def told_by_system(error: OSError) -> str:
    """The system's message for an error, with the file's name and without the error number."""
    if error.strerror is None or error.filename is None:
        return error.strerror or str(error)
    name = error.filename.decode(errors="replace") if isinstance(error.filename, bytes) else str(error.filename)
    return f"{name}: {error.strerror}"
