"""How the command tells an error: its sentence, and hints, as the database that it looked into, and how to make one."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from headish_cli.options import GlobalOptions


def refusal(error: HeadishError | OSError, settings: object, *, about: str = "") -> Told:
    """An error as the line and the exit code with which the command ends; ``about`` is what it happened to."""
    before = about and f"{about}: "
    if isinstance(error, OSError):
        return Told(before + told_by_system(error))
    if isinstance(error, Ambiguous) and error.described:
        return Told(f"{before}several turns have the handle {error.prefix!r}; take one of these:", error.described)
    is_misspelled = isinstance(error, InvalidHeadish | InvalidName | InvalidRole | UnknownFormat)
    return (Misspelled if is_misspelled else Told)(before + sentence(error) + hint(error, settings))


def hint(error: HeadishError, settings: object) -> str:
    """What stands behind an error's sentence; often nothing."""
    from headish_cli.options import GlobalOptions

    is_missing = isinstance(error, UnknownDatabase) and not isinstance(error, UnknownSpace)
    if is_missing and click.get_current_context().invoked_subcommand != "restore":  # which looks for a backup
        return "; 'headish add', 'headish ask' and 'headish import' make one"
    if isinstance(error, UnknownTurn) and isinstance(settings, GlobalOptions) and settings.db is None:
        return _where(settings)
    return ""


def told_by_system(error: OSError) -> str:
    """What the system refused, without the number that it has for it."""
    if error.strerror is None or error.filename is None:
        return error.strerror or str(error)
    name = error.filename.decode(errors="replace") if isinstance(error.filename, bytes) else str(error.filename)
    return f"{name}: {error.strerror}"


def _where(settings: GlobalOptions) -> str:
    """A database that nobody named is easily the wrong one."""
    return f" (of {settings.target}, as neither --db nor HEADISH_DB names another)"
